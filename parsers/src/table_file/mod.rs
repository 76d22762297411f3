//! Writes Arrow batches to Parquet files.

mod blocks;
mod column;
mod delta;
mod dictionary;
mod file;
pub mod folder;
mod listed;
mod pages;
mod rle;
mod texts;
mod values;
