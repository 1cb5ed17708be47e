//! See `toolgate_tests::fuzz::load`.
#![no_main]

use toolgate_tests::fuzz::{self, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write(&seeds::load()), |data: &[u8]| {
    fuzz::load(data);
});
