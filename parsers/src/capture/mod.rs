//! Capture files to chunks of decoded packets, with the counts of each file and interface.

pub(crate) mod chunk;
pub(crate) mod counts;
mod datagrams;
pub(crate) mod file;
mod lengths;
pub(crate) mod merge;
pub(crate) mod order;
pub(crate) mod sizes;
mod ticks;
