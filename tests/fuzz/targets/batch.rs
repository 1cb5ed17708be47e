//! See `toolgate_tests::fuzz::batch`.
#![no_main]

use toolgate_tests::fuzz::{self, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write(&seeds::batch()), |data: &[u8]| fuzz::batch(data));
