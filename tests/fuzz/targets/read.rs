//! See `toolgate_tests::fuzz::read`.
#![no_main]

use toolgate_tests::fuzz::{self, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write(&seeds::read()), |data: &[u8]| {
    fuzz::read(data);
});
