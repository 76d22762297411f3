//! The inner loops of the workloads, compiled: each turns a part of a problem into its answer.
//!
//! The Python programs call them through the C functions of [`abi`]; tests use the safe ones here.

pub mod abi;
pub mod nqueens;
