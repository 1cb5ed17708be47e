//! See `toolgate_tests::fuzz::validate`.
#![no_main]

use toolgate_tests::fuzz::{self, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write(&seeds::validate()), |data: &[u8]| {
    fuzz::validate(data);
});
