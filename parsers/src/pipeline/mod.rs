//! Turns captures into tables: connects the stages.

mod care;
pub(crate) mod counting;
pub(crate) mod matched;
pub(crate) mod options;
mod pass;
pub(crate) mod run;
mod schedule;
mod stages;
pub mod stream;
