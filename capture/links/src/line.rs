//! Turns (arrival time, frame size) into the time at which a line with a queue in front has sent the frame.
//!
//! Pure: no clock, no I/O. All times are computed from arrival times, so a late scheduler delays single frames and
//! never lowers the rate:
//!
//! ```text
//! start  = max(arrival, end of the frame before)      depart = start + bits / rate
//! ```
//!
//! Frames wait here until they are taken out: so decisions of a queue discipline at the start of a frame, and a change
//! of the rate, act on all frames that have not started.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::codel::{Codel, Targets};

const NANOSECONDS: u64 = 1_000_000_000;

/// A line and the queue in front of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineParameters {
    /// Rate in bit/s; `None` is unlimited.
    pub rate_bit_s: Option<NonZeroU64>,
    /// Limits of the queue.
    pub queue: Queue,
    /// Added to every frame's size when its time on the line is computed.
    pub overhead_bytes: u64,
    /// Least bytes that a frame takes, before the overhead.
    pub least_frame_bytes: u64,
}

/// Limits of a queue. A frame that finds the line idle always passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    /// Bytes that may wait, the frame under transmission included.
    pub bytes: u64,
    /// Frames that may wait, the one under transmission included.
    pub packets: u64,
    /// Drops by delay, too: `CoDel`.
    pub codel: Option<Targets>,
}

/// A frame that left the queue.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Its last bit is sent at this time.
    Departed {
        /// Nanoseconds.
        at_ns: u64,
        /// The frame.
        item: T,
    },
    /// `CoDel` dropped it when it would have started.
    Dropped {
        /// Nanoseconds.
        at_ns: u64,
        /// The frame.
        item: T,
    },
}

#[derive(Debug, Clone)]
struct Queued<T> {
    arrival_ns: u64,
    line_bytes: u64,
    item: T,
}

/// The end of a transmission: `at_ns + remainder / rate` nanoseconds. The remainder keeps the rate exact forever.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    at_ns: u64,
    remainder: u64,
}

/// A line with its queue.
#[derive(Debug, Clone)]
pub struct Line<T> {
    parameters: LineParameters,
    queue: VecDeque<Queued<T>>,
    queued_bytes: u64,
    /// The end of the frame that started last.
    free: End,
    codel: Codel,
    /// The largest frame seen, on the line: `CoDel`'s MAXPACKET.
    largest_bytes: u64,
}

impl<T> Line<T> {
    /// Returns an idle line.
    pub fn new(parameters: LineParameters) -> Self {
        Self {
            parameters,
            queue: VecDeque::new(),
            queued_bytes: 0,
            free: End::default(),
            codel: Codel::default(),
            largest_bytes: 0,
        }
    }

    /// Sets other parameters for every frame that has not started. Call it after those that have are taken out.
    pub fn set(&mut self, parameters: LineParameters) {
        if parameters.rate_bit_s != self.parameters.rate_bit_s {
            // A remainder is a part of a nanosecond at the old rate.
            self.free.at_ns += u64::from(self.free.remainder > 0);
            self.free.remainder = 0;
        }
        self.parameters = parameters;
    }

    /// Puts a frame into the queue, or gives it back when there is no room. Frames come in the order of their arrival,
    /// after those that started up to that time were taken out.
    pub fn offer(&mut self, arrival_ns: u64, bytes: u64, item: T) -> Result<(), T> {
        let line_bytes =
            bytes.max(self.parameters.least_frame_bytes) + self.parameters.overhead_bytes;
        if let Some(rate) = self.parameters.rate_bit_s {
            let sending = self.sending_bytes(arrival_ns, rate);
            let waiting = self.queued_bytes + sending;
            let packets = self.queue.len() as u64 + u64::from(sending > 0);
            let Queue {
                bytes: limit,
                packets: most,
                ..
            } = self.parameters.queue;
            if waiting > 0 && (waiting + line_bytes > limit || packets >= most) {
                return Err(item);
            }
        }
        self.largest_bytes = self.largest_bytes.max(line_bytes);
        self.queued_bytes += line_bytes;
        self.queue.push_back(Queued {
            arrival_ns,
            line_bytes,
            item,
        });
        Ok(())
    }

    /// Returns the frame at the head and when it departs unless it is dropped.
    pub fn head(&self) -> Option<(u64, &T)> {
        let head = self.queue.front()?;
        Some((self.end_of(head).at_ns, &head.item))
    }

    /// Takes the frame at the head if it starts by this time.
    pub fn take_started(&mut self, until_ns: u64) -> Option<Outcome<T>> {
        let start_ns = self.queue.front()?.arrival_ns.max(self.free.at_ns);
        if start_ns > until_ns {
            return None;
        }
        self.take_head()
    }

    /// Takes the frame at the head, whenever it starts.
    pub fn take_head(&mut self) -> Option<Outcome<T>> {
        let head = self.queue.pop_front()?;
        self.queued_bytes -= head.line_bytes;
        let start_ns = head.arrival_ns.max(self.free.at_ns);
        if let (Some(targets), Some(_)) = (self.parameters.queue.codel, self.parameters.rate_bit_s)
        {
            let sojourn_ns = start_ns - head.arrival_ns;
            if self.codel.drop(
                targets,
                start_ns,
                sojourn_ns,
                self.queued_bytes,
                self.largest_bytes,
            ) {
                if self.queue.is_empty() {
                    self.codel.empty();
                }
                return Some(Outcome::Dropped {
                    at_ns: start_ns,
                    item: head.item,
                });
            }
        }
        self.free = self.end_of(&head);
        Some(Outcome::Departed {
            at_ns: self.free.at_ns,
            item: head.item,
        })
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn end_of(&self, frame: &Queued<T>) -> End {
        let begin = if self.free.at_ns < frame.arrival_ns {
            End {
                at_ns: frame.arrival_ns,
                remainder: 0,
            }
        } else {
            self.free
        };
        let Some(rate) = self.parameters.rate_bit_s else {
            return begin;
        };
        // At most 67,000 bytes and 1e13 bit/s: far below 2^64.
        let numerator = frame.line_bytes * 8 * NANOSECONDS + begin.remainder;
        End {
            at_ns: begin.at_ns + numerator / rate,
            remainder: numerator % rate,
        }
    }

    /// Returns the bytes of started frames that are not yet sent at this time; a begun byte counts whole.
    fn sending_bytes(&self, at_ns: u64, rate: NonZeroU64) -> u64 {
        if self.free.at_ns < at_ns {
            return 0;
        }
        let left_ns = self.free.at_ns - at_ns;
        let bit_ns = u128::from(left_ns) * u128::from(rate.get()) + u128::from(self.free.remainder);
        // Division of 64 bits is many times faster, and nearly always enough.
        match u64::try_from(bit_ns) {
            Ok(bit_ns) => bit_ns.div_ceil(8 * NANOSECONDS),
            Err(_) => bit_ns.div_ceil(8 * u128::from(NANOSECONDS)) as u64,
        }
    }
}
