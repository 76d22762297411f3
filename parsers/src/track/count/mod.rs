//! Counts the packets of a connection in its two directions.

pub(crate) mod bucket_counts;
pub(crate) mod buckets;
pub(crate) mod direction;
pub(crate) mod gaps;
mod marks;
pub(crate) mod partition;
pub(crate) mod state;
pub(crate) mod states;
