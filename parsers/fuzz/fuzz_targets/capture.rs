#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| flowsweep_parsers_fuzz::capture::enter(bytes));
