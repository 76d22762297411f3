//! What every stage uses: errors, progress, switches of the fast paths, memory and its limit, threads, and two
//! collections.

pub(crate) mod arena;
pub(crate) mod budget;
pub(crate) mod error;
pub(crate) mod fast_paths;
pub(crate) mod index;
pub(crate) mod memory;
pub(crate) mod progress;
pub(crate) mod suspicion;
pub(crate) mod threads;
