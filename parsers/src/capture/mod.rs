//! Reads capture files into chunks of decoded packets, and counts packets by file and interface.

pub(crate) mod chunk;
pub(crate) mod counts;
mod datagrams;
pub(crate) mod file;
mod lengths;
pub(crate) mod merge;
pub(crate) mod order;
pub(crate) mod sizes;
mod ticks;
