//! Any bytes as one file, plain or compressed.

use super::checks::checked_with;

/// The entry point.
pub fn enter(bytes: &[u8]) {
    // Threads only sometimes, because they cost more than such a file.
    let threads = if bytes.len() % 8 == 7 { 2 } else { 1 };
    checked_with(&[bytes], threads, bytes.len() % 4 == 3);
}
