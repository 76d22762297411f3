//! Captures to tables: connects the stages.

pub(crate) mod counting;
pub(crate) mod matched;
pub(crate) mod options;
pub(crate) mod run;
pub(crate) mod stages;
pub mod stream;
