//! Turns (arrival time, frame) into the frame's fate on one direction of a link.
//!
//! Pure: no clock, no I/O; a function of the frames offered, the seed and the names of the ports.
//!
//! ```text
//! member  = number of the flow modulo the parallel links           (flow.rs)
//! depart  = start on the member's line + bits / rate               (line.rs: queue, CoDel)
//! deliver = max(depart + max(delay + jitter, 0), deliver before)   (the last only where order is kept)
//! ```
//!
//! Jitter, loss and duplication are drawn by the frame's number in its direction, so neither a full queue nor the
//! timing of other frames shifts them. A lost frame has used the line: it is lost after it.

use std::collections::VecDeque;

use crate::flow::Policy;
use crate::jitter::Jitter;
use crate::line::{Line, LineParameters, Outcome};
use crate::loss::{Loss, LossState};
use crate::random::Stream;

/// Settings of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Propagation delay, nanoseconds, one way.
    pub delay_ns: u64,
    /// Each member's line and queue.
    pub line: LineParameters,
    /// Deviation of the delay.
    pub jitter: Option<Jitter>,
    /// Frames may overtake each other.
    pub reorder: bool,
    /// Loss on the line.
    pub loss: Option<Loss>,
    /// Probability that a frame arrives twice.
    pub duplicate: f64,
    /// Links bundled.
    pub parallel: usize,
    /// How flows are spread over them.
    pub hash: Policy,
}

/// Why a frame does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The queue had no room for it.
    Queue,
    /// `CoDel` dropped it.
    Codel,
    /// Lost on the line.
    Loss,
}

/// A frame that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival<T> {
    /// When it reaches the other end, in the clock of the arrival times.
    pub deliver_ns: u64,
    /// When its last bit left the line's near end.
    pub depart_ns: u64,
    /// The member link it took.
    pub member: usize,
    /// The second of two.
    pub copy: bool,
    /// The frame.
    pub item: T,
}

/// A frame that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drop<T> {
    /// When that was decided or, for a loss, when it had left the line.
    pub at_ns: u64,
    /// Why.
    pub reason: Reason,
    /// The member link it took.
    pub member: usize,
    /// The frame.
    pub item: T,
}

/// A frame with its random draws, which are made before it enters the queue.
#[derive(Debug, Clone)]
struct Draw<T> {
    jitter_ns: i64,
    lost: bool,
    twice: bool,
    item: T,
}

/// One of the bundled links.
#[derive(Debug, Clone)]
struct Member<T> {
    line: Line<Draw<T>>,
    /// Frames taken from the line, in the order of their delivery.
    flying: VecDeque<Arrival<T>>,
    last_deliver_ns: u64,
}

/// One direction of a link with the frames on it.
#[derive(Debug, Clone)]
pub struct Direction<T> {
    parameters: Parameters,
    members: Vec<Member<T>>,
    last_arrival_ns: u64,
    loss: LossState,
    jitter: Stream,
    duplicate: Stream,
    dropped: Vec<Drop<T>>,
    /// Frames whose delay would have been below 0.
    pub jitter_clipped: u64,
    /// Frames that waited for the one before to keep the order.
    pub order_held: u64,
}

impl<T: Clone> Direction<T> {
    /// Creates an idle direction; `names` are those of the ports it leads from and to.
    pub fn new(parameters: Parameters, seed: u64, names: [&str; 2]) -> Self {
        let mut direction = Self {
            parameters,
            members: Vec::new(),
            last_arrival_ns: 0,
            loss: LossState::new(parameters.loss, seed, names),
            jitter: Stream::new(seed, names, "jitter"),
            duplicate: Stream::new(seed, names, "duplicate"),
            dropped: Vec::new(),
            jitter_clipped: 0,
            order_held: 0,
        };
        direction.add_members();
        direction
    }

    /// Returns the parameters of this direction.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Sets other parameters for the frames that have not started at this time; frames that arrive before `at_ns` must
    /// have been offered already. Members that are no longer used send what they still have.
    pub fn set(&mut self, parameters: Parameters, at_ns: u64) {
        for member in 0..self.members.len() {
            self.start(member, at_ns);
        }
        self.parameters = parameters;
        self.loss.set(parameters.loss);
        for member in &mut self.members {
            member.line.set(parameters.line);
        }
        self.add_members();
    }

    fn add_members(&mut self) {
        while self.members.len() < self.parameters.parallel {
            self.members.push(Member {
                line: Line::new(self.parameters.line),
                flying: VecDeque::new(),
                last_deliver_ns: 0,
            });
        }
    }

    /// Takes the next frame. Frames come in the order of their arrival; a stamp that goes back is taken as equal to the
    /// one before. `number` is the frame's number in this direction, `flow` that of its flow.
    pub fn offer(&mut self, arrival_ns: u64, bytes: u64, number: u64, flow: u32, item: T) {
        let arrival_ns = arrival_ns.max(self.last_arrival_ns);
        self.last_arrival_ns = arrival_ns;
        let member = flow as usize % self.parameters.parallel;
        self.start(member, arrival_ns);
        let parameters = self.parameters;
        let draw = Draw {
            jitter_ns: parameters
                .jitter
                .map_or(0, |jitter| jitter.sample_ns(self.jitter, number)),
            lost: self.loss.lose(number),
            twice: parameters.duplicate > 0.0
                && self.duplicate.chance(number, parameters.duplicate),
            item,
        };
        match self.members[member].line.offer(arrival_ns, bytes, draw) {
            Err(draw) => self.dropped.push(Drop {
                at_ns: arrival_ns,
                reason: Reason::Queue,
                member,
                item: draw.item,
            }),
            // Nothing can change any more for a frame that need not wait for the line.
            Ok(()) if parameters.line.rate_bit_s.is_none() => self.start(member, arrival_ns),
            Ok(()) => {}
        }
    }

    /// Returns the next time to call `take_due`: no frame arrives at the other end before it.
    pub fn next_ns(&self) -> Option<u64> {
        (0..self.members.len())
            .filter_map(|member| self.member_next_ns(member))
            .min()
    }

    fn member_next_ns(&self, member: usize) -> Option<u64> {
        let flying = self.members[member]
            .flying
            .front()
            .map(|first| first.deliver_ns);
        [flying, self.head_next_ns(member)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns when to look at the head of the queue: at its delivery, or with jitter at its departure, as the frame
    /// behind it may be delivered first, if that overtakes it or this one is dropped.
    fn head_next_ns(&self, member: usize) -> Option<u64> {
        let member = &self.members[member];
        let (depart_ns, draw) = member.line.head()?;
        Some(if self.parameters.jitter.is_some() {
            depart_ns
        } else {
            (depart_ns + self.flight_ns(draw)).max(member.last_deliver_ns)
        })
    }

    fn flight_ns(&self, draw: &Draw<T>) -> u64 {
        self.parameters
            .delay_ns
            .saturating_add_signed(draw.jitter_ns)
    }

    /// Returns the next frame that arrives by this time.
    pub fn take_due(&mut self, now_ns: u64) -> Option<Arrival<T>> {
        for member in 0..self.members.len() {
            while self
                .head_next_ns(member)
                .is_some_and(|next_ns| next_ns <= now_ns)
            {
                let outcome = self.members[member].line.take_head();
                self.fly(member, outcome);
            }
        }
        let first = (0..self.members.len())
            .filter_map(|member| Some((self.members[member].flying.front()?.deliver_ns, member)))
            .min()?;
        if first.0 > now_ns {
            return None;
        }
        self.members[first.1].flying.pop_front()
    }

    /// Returns the frames dropped since the last call.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, Drop<T>> {
        self.dropped.drain(..)
    }

    /// Returns whether no frame is on the way.
    pub fn is_empty(&self) -> bool {
        let mut members = self.members.iter();
        members.all(|member| member.line.is_empty() && member.flying.is_empty())
    }

    /// Lets every frame that starts by this time leave the queue.
    fn start(&mut self, member: usize, until_ns: u64) {
        while let Some(outcome) = self.members[member].line.take_started(until_ns) {
            self.fly(member, Some(outcome));
        }
    }

    fn fly(&mut self, member: usize, outcome: Option<Outcome<Draw<T>>>) {
        let (depart_ns, draw) = match outcome {
            None => return,
            Some(Outcome::Departed { at_ns, item }) => (at_ns, item),
            Some(Outcome::Dropped { at_ns, item }) => {
                self.dropped.push(Drop {
                    at_ns,
                    reason: Reason::Codel,
                    member,
                    item: item.item,
                });
                return;
            }
        };
        if draw.lost {
            self.dropped.push(Drop {
                at_ns: depart_ns,
                reason: Reason::Loss,
                member,
                item: draw.item,
            });
            return;
        }
        let early_ns = draw.jitter_ns.min(0).unsigned_abs();
        self.jitter_clipped += u64::from(early_ns > self.parameters.delay_ns);
        let mut deliver_ns = depart_ns + self.flight_ns(&draw);
        let this = &mut self.members[member];
        if !self.parameters.reorder && deliver_ns < this.last_deliver_ns {
            deliver_ns = this.last_deliver_ns;
            self.order_held += 1;
        }
        this.last_deliver_ns = deliver_ns.max(this.last_deliver_ns);
        let arrival = Arrival {
            deliver_ns,
            depart_ns,
            member,
            copy: false,
            item: draw.item,
        };
        // After all that arrive before or with it; at the end unless it overtakes.
        let place = match this.flying.back() {
            Some(last) if last.deliver_ns > deliver_ns => this
                .flying
                .partition_point(|other| other.deliver_ns <= deliver_ns),
            _ => this.flying.len(),
        };
        if draw.twice {
            let mut second = arrival.clone();
            second.copy = true;
            this.flying.insert(place, second);
        }
        this.flying.insert(place, arrival);
    }
}

#[cfg(test)]
#[path = "link_tests/mod.rs"]
mod tests;
