//! The entry points: bytes that a fuzzer makes, to captures, to tables, to checks of the tables.
//!
//! Everything goes through the public interface of the parser. The same code replays kept inputs in
//! `parsers/tests/replay.rs`, without libFuzzer.

pub mod capture;
pub mod checks;
pub mod compressed;
pub mod fields;
pub mod files;
pub mod frames;
pub mod model;
pub mod pcapng;
pub mod tables;
pub mod tcp;

/// Takes any bytes; panics where the parser is wrong.
pub type Entry = fn(&[u8]);

/// Every entry point by its name.
pub const ENTRIES: [(&str, Entry); 5] = [
    ("capture", capture::enter),
    ("frames", frames::enter),
    ("pcapng", pcapng::enter),
    ("compressed", compressed::enter),
    ("tcp", tcp::enter),
];
