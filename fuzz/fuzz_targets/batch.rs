//! cargo-fuzz's entry to `targets::batch`.

#![no_main]

#[path = "../../tests/support/fuzz_targets.rs"]
#[allow(dead_code)]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::batch(bytes));
