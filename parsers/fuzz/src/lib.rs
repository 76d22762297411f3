//! The entry points: a fuzzer's bytes become captures and then tables, which are checked.
//!
//! Everything uses the parser's public interface. `parsers/tests/replay.rs` replays kept inputs with the same
//! code, without libFuzzer.

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

/// Takes any bytes; panics if the parser is wrong.
pub type Entry = fn(&[u8]);

/// Every entry point by its name.
pub const ENTRIES: [(&str, Entry); 5] = [
    ("capture", capture::enter),
    ("frames", frames::enter),
    ("pcapng", pcapng::enter),
    ("compressed", compressed::enter),
    ("tcp", tcp::enter),
];
