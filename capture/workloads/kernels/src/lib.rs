//! The inner loops of the workloads, compiled: each turns a part of a problem into its answer.
//!
//! The Python programs call them through the C functions of [`abi`]; tests use the safe ones here.

pub mod abi;
pub mod awari;
pub mod bulk;
pub mod elevator;
pub mod jigsaw;
pub mod lu;
pub mod nqueens;
pub mod outbox;
pub mod ssor;
pub mod supernova;
pub mod video;
