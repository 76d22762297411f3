//! The captures of several hosts of one run, put together: each packet is found where it was sent and where it
//! arrived, and has a fate.
//!
//! Packets are read point by point in one order of time (`offsets`, `point`), as [sightings](sighting), with the addresses
//! that their hosts have for themselves (`nat`, `translation`); where a clock was set meanwhile, from there on in the order of the
//! others' times (`jumps`). Those of one
//! packet have one key (`groups`); they wait for each other in a `window` of bounded time and number. `matcher` pairs
//! them; segments that interfaces cut or merged are matched by their bytes (`resegmented`), and datagrams that they cut or
//! merged count as unknown, not as lost (`datagrams`), like packets that a router divides (`fragmented`). `streams` keeps what TCP's
//! acknowledgements prove of packets that a capture lacks, and `reorder` counts what overtook a packet. All is read
//! twice: the first reading finds how complete the captures are and how the `clocks` differ; the second gives each packet
//! its fate, and the time that it was under way (`one_way`). Where segments were cut or merged, the first is repeated.

mod ahead;
mod clocks;
mod datagrams;
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
