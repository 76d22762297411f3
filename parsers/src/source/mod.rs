//! Turns a file, a pipe or a compressed stream into windows of plain bytes.

mod ahead;
mod compression;
mod input;
mod members;
mod open_input;
mod unpacked;
mod unpacking;
mod window;

pub use compression::Compression;
pub use input::Input;
pub(crate) use open_input::Stamp;
pub use unpacked::{UnpackedBytes, count};
pub(crate) use window::{Source, window};
