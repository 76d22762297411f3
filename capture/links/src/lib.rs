//! The model of a link: a pure function from the frames offered, with their arrival times, to the fate of each.
//!
//! It has no clock and does no I/O, so the emulator runs it in real time, and a test or a prediction in simulated time.
//!
//! Two frames of 1,250 bytes that are offered at once to a link of 10 Mbit/s and 5 ms arrive 1 ms apart:
//!
//! ```
//! use flowsweep_links::flow::Policy;
//! use flowsweep_links::{Direction, LineParameters, Parameters, Queue};
//!
//! let line = LineParameters {
//!     rate_bit_s: std::num::NonZeroU64::new(10_000_000),
//!     queue: Queue { bytes: 64 << 10, packets: u64::MAX, codel: None },
//!     overhead_bytes: 0,
//!     least_frame_bytes: 0,
//! };
//! let parameters = Parameters {
//!     delay_ns: 5_000_000,
//!     line,
//!     jitter: None,
//!     reorder: false,
//!     loss: None,
//!     duplicate: 0.0,
//!     parallel: 1,
//!     hash: Policy::Layer34,
//! };
//! let mut link = Direction::new(parameters, 1, ["west", "east"]);
//! for (number, frame) in ["first", "second"].into_iter().enumerate() {
//!     link.offer(0, 1250, number as u64, 0, frame);
//! }
//! let arrivals = std::iter::from_fn(|| link.take_due(u64::MAX));
//! let times: Vec<_> = arrivals.map(|arrival| (arrival.item, arrival.deliver_ns)).collect();
//! assert_eq!(times, [("first", 6_000_000), ("second", 7_000_000)]);
//! ```

mod codel;
pub mod flow;
mod jitter;
mod line;
mod link;
mod loss;
mod random;

pub use codel::Targets;
pub use jitter::{Jitter, Law};
pub use line::{LineParameters, Queue};
pub use link::{Arrival, Direction, Drop, Parameters, Reason};
pub use loss::Loss;
