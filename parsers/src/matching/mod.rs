//! Combines the captures of several hosts of one run: finds each packet where it was sent and where it arrived, and
//! determines its fate.
//!
//! Packets of all points are read in one order of time (`offsets`, `point`), as [sightings](sighting), with the
//! addresses that their hosts use for themselves (`nat`, `translation`); after a clock was set, in the order of the
//! other points' times (`jumps`, `early_steps`). Sightings of one packet have the same key (`groups`); they wait for each other in a
//! `window` that is limited in time and number. `matcher` pairs them. Segments that interfaces cut or merged are
//! matched by their bytes (`resegmented`); the fates of datagrams that interfaces cut or merged (`datagrams`), and of
//! packets that a router divides (`fragmented`), are unknown. `streams` collects what TCP acknowledgements prove about
//! packets that a capture lacks, and `reorder` counts the packets that overtook another one. Everything is read twice:
//! the first reading finds how complete the captures are and how the `clocks` differ; the second determines each
//! packet's fate and its delay (`one_way`). If segments were cut or merged, the first reading is repeated.

mod ahead;
mod clocks;
mod datagrams;
mod early_steps;
mod fate;
mod first;
mod fragmented;
mod groups;
mod jumps;
mod matcher;
mod nat;
mod offsets;
mod one_way;
mod owners;
mod point;
mod reading;
mod reorder;
mod resegmented;
mod second;
mod sighting;
mod streams;
mod summary;
mod translation;
mod window;

pub use clocks::Reading as ClockReading;
pub(crate) use clocks::{ClockRow, Method};
pub(crate) use fate::{Evidence, Fate, FateRow};
pub(crate) use one_way::OneWayRow;
pub use point::Point;
pub use reading::MatchOptions;
pub(crate) use reading::match_points;
pub(crate) use second::Tables;
pub(crate) use sighting::Sighting;
pub use summary::{ClockFound, MatchSummary, PathCounts, TranslationFound};
