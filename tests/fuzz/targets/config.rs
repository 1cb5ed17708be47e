//! See `toolgate_tests::fuzz::config`.
#![no_main]

use toolgate_tests::fuzz::{self, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write(&seeds::config()), |data: &[u8]| {
    fuzz::config(data);
});
