//! Turns frames that arrive at ports into frames that leave at the times their links compute: the main loop.
//!
//! One thread: receive what waits, hand out what is due, sleep until shortly before the next deadline, spin the rest.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use crate::clock::Clock;
use crate::config::Plan;
use crate::control::Control;
use crate::error::{Error, warn};
use crate::lateness::Lateness;
use crate::link::{Direction, Fate};
use crate::port::{Port, Sent};
use crate::spin::Spin;
use crate::stats::{LinkCounters, LinkStats, PortStats, Stats};
use crate::switch::{PortIndex, Route, Switch};
use crate::sys::packet::{BATCH, ReceiveBatch};
use crate::sys::process::{self, Signals};

/// A busy interface is tried again after this time, and given up when a frame is this late.
const RETRY_NS: u64 = 20_000;
const GIVE_UP_NS: u64 = 10_000_000;

/// After receiving, the ports rest for a quarter of the shortest way through a link, and at most for this time: frames
/// keep their kernel stamps, so none is late for it, and thousands of wake-ups per second are saved.
const REST_SHARE: u64 = 4;
const REST_LIMIT_NS: u64 = 200_000;
/// Shorter rests cost more than they save.
const REST_LEAST_NS: u64 = 20_000;

/// A frame that waits for its time.
struct Waiting {
    deliver_ns: u64,
    frame: Rc<[u8]>,
}

/// One direction of a link with the frames on it.
struct Lane {
    from: PortIndex,
    to: PortIndex,
    link: Direction,
    counters: LinkCounters,
    /// In the order of `deliver_ns`, since a link direction keeps its frames in order.
    waiting: VecDeque<Waiting>,
}

/// The emulator's state.
pub struct Engine {
    seed: u64,
    clock: Clock,
    spin: Spin,
    scheduling: &'static str,
    ports: Vec<Port>,
    /// Per port: not to be sent to before this time.
    retry_ns: Vec<u64>,
    /// How long ports rest after receiving, and until when they do.
    rest_ns: u64,
    resting_until_ns: u64,
    switch: Switch,
    lanes: Vec<Lane>,
    lateness: Lateness,
    batch: ReceiveBatch,
    /// Per lane: frames in the batch being put together; kept to save an allocation.
    taken: Vec<usize>,
    offload_warned: bool,
}

impl Engine {
    /// Opens every port of the plan.
    pub fn open(plan: Plan, spin_ns: u64, scheduling: &'static str) -> Result<Self, Error> {
        let ports = plan
            .ports
            .into_iter()
            .map(Port::open)
            .collect::<Result<Vec<_>, _>>()?;
        let lanes: Vec<_> = plan
            .directions
            .into_iter()
            .map(|planned| Lane {
                from: planned.from,
                to: planned.to,
                link: Direction::new(planned.parameters),
                counters: LinkCounters::default(),
                waiting: VecDeque::new(),
            })
            .collect();
        Ok(Self {
            seed: plan.seed,
            clock: Clock::start(),
            spin: Spin::new(spin_ns),
            scheduling,
            retry_ns: vec![0; ports.len()],
            ports,
            rest_ns: rest_ns(&lanes),
            resting_until_ns: 0,
            switch: Switch::default(),
            taken: vec![0; lanes.len()],
            lanes,
            lateness: Lateness::default(),
            batch: ReceiveBatch::default(),
            offload_warned: false,
        })
    }

    /// Runs until a signal, then delivers what is queued; a second signal ends at once.
    pub fn run(&mut self, signals: &Signals, control: &mut Control) -> Result<(), Error> {
        let (mut descriptors, mut ready) = (Vec::new(), Vec::new());
        let mut receiving = true;
        loop {
            self.send_due();
            if !receiving && self.lanes.iter().all(|lane| lane.waiting.is_empty()) {
                return Ok(());
            }
            descriptors.clear();
            descriptors.push(signals.as_raw_fd());
            let resting = self.clock.now_ns() < self.resting_until_ns;
            if receiving && !resting {
                descriptors.extend(self.ports.iter().map(AsRawFd::as_raw_fd));
            }
            let first_control = descriptors.len();
            control.add_descriptors(&mut descriptors);
            self.wait(&descriptors, &mut ready, resting)?;
            if ready[1..first_control].contains(&true) {
                self.receive_ready(&ready[1..first_control])?;
            }
            if ready[first_control..].contains(&true) {
                control.serve(|| self.json());
            }
            if ready[0] && signals.take() {
                if !receiving {
                    return Ok(());
                }
                self.receive_rest()?;
                receiving = false;
            }
        }
    }

    /// Sleeps until a descriptor can be read or the next frame is nearly due.
    ///
    /// `resting`: the ports are not among the descriptors, so the end of their rest must wake us, also if it has
    /// passed meanwhile.
    fn wait(
        &mut self,
        descriptors: &[RawFd],
        ready: &mut Vec<bool>,
        resting: bool,
    ) -> Result<(), Error> {
        let now_ns = self.clock.now_ns();
        let deadline = self.next_deadline_ns();
        let sleep = deadline.map(|deadline_ns| self.spin.sleep_ns(now_ns, deadline_ns));
        let rest = resting.then(|| self.resting_until_ns.saturating_sub(now_ns));
        let timeout_ns = [sleep, rest].into_iter().flatten().min();
        process::poll(descriptors, ready, timeout_ns).map_err(Error::system("waiting for frames"))
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        let heads = self.lanes.iter().filter_map(|lane| {
            let head = lane.waiting.front()?;
            Some(head.deliver_ns.max(self.retry_ns[lane.to]))
        });
        heads.min()
    }

    /// Reads one batch from each port that has frames, then lets the ports rest unless more frames wait already.
    fn receive_ready(&mut self, ready: &[bool]) -> Result<(), Error> {
        let mut more = false;
        for (port, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
            more |= self.receive(port)?;
        }
        if !more && self.rest_ns >= REST_LEAST_NS {
            self.resting_until_ns = self.clock.now_ns() + self.rest_ns;
        }
        Ok(())
    }

    /// Reads one batch from a port; true when more may wait.
    fn receive(&mut self, port: PortIndex) -> Result<bool, Error> {
        let floor_ns = self.ports[port].emptied_ns();
        let more = self.ports[port].receive(&mut self.batch, self.clock)?;
        let now = self.clock.now();
        for frame in self.batch.frames() {
            let arrival_ns = Port::arrival_ns(&frame, now, floor_ns);
            if frame.checksum_missing {
                self.ports[port].counters.checksum_missing += 1;
                if !self.offload_warned {
                    self.offload_warned = true;
                    warn(format_args!(
                        "frames arrive at {} without checksums; on the sending hosts: \
                         ethtool -K INTERFACE tx off tso off gso off gro off",
                        self.ports[port].interface
                    ));
                }
            }
            let route = self.switch.route(frame.bytes, port);
            let mut shared: Option<Rc<[u8]>> = None;
            let size = frame.wire_bytes as u64;
            let mut entered = false;
            for lane in &mut self.lanes {
                let wanted = match route {
                    Route::Port(to) => lane.to == to,
                    Route::Flood => true,
                    Route::Nowhere => false,
                };
                if lane.from != port || !wanted {
                    continue;
                }
                entered = true;
                if frame.bytes.len() < frame.wire_bytes {
                    lane.counters.drop_oversize(size);
                    continue;
                }
                match lane.link.offer(arrival_ns, size) {
                    Fate::QueueFull => lane.counters.drop_at_queue(size),
                    Fate::Deliver { at_ns } => {
                        lane.counters.accept(size);
                        let frame = shared.get_or_insert_with(|| frame.bytes.into());
                        lane.waiting.push_back(Waiting {
                            deliver_ns: at_ns,
                            frame: Rc::clone(frame),
                        });
                    }
                }
            }
            if !entered {
                self.ports[port].counters.filtered += 1;
            }
        }
        Ok(more)
    }

    /// Reads what the kernel had received when the signal came, and no more than that.
    fn receive_rest(&mut self) -> Result<(), Error> {
        for port in &self.ports {
            port.close_inlet()?;
        }
        for port in 0..self.ports.len() {
            while self.receive(port)? {
                self.send_due();
            }
        }
        Ok(())
    }

    /// Hands due frames to every port that is not busy, at most one batch each, so that receiving is never starved.
    fn send_due(&mut self) {
        for to in 0..self.ports.len() {
            let now_ns = self.clock.now_ns();
            if self.retry_ns[to] <= now_ns {
                self.send_due_to(to, now_ns);
            }
        }
    }

    fn send_due_to(&mut self, to: PortIndex, now_ns: u64) {
        // Which lane each frame of the batch comes from; frames of several lanes merge in the order of their times.
        let mut sources = [0; BATCH];
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        let taken = &mut self.taken;
        taken.fill(0);
        let mut count = 0;
        while count < BATCH {
            let heads = self.lanes.iter().enumerate().filter_map(|(index, lane)| {
                let head = (lane.to == to).then(|| lane.waiting.get(taken[index]))??;
                (head.deliver_ns <= now_ns).then_some((head.deliver_ns, index, &head.frame))
            });
            let Some((_, index, frame)) = heads.min_by_key(|head| (head.0, head.1)) else {
                break;
            };
            batch[count] = frame;
            sources[count] = index;
            taken[index] += 1;
            count += 1;
        }
        if count == 0 {
            return;
        }
        let before_ns = self.clock.now_ns();
        let result = self.ports[to].send(&batch[..count]);
        let after_ns = self.clock.now_ns();
        match result {
            Sent::Frames(sent) => {
                // The kernel takes one frame after the other, and on a virtual link works for the receiver in between.
                let step_ns = (after_ns - before_ns) / sent.max(1) as u64;
                for (&source, left_ns) in sources[..sent]
                    .iter()
                    .zip((before_ns..).step_by(step_ns.max(1) as usize))
                {
                    let lane = &mut self.lanes[source];
                    if let Some(waiting) = lane.waiting.pop_front() {
                        lane.counters.deliver(waiting.frame.len() as u64);
                        self.lateness
                            .record(left_ns.saturating_sub(waiting.deliver_ns));
                    }
                }
            }
            Sent::Busy => self.drop_or_retry(to, sources[0], after_ns),
            Sent::Refused => self.drop_first(sources[0]),
        }
    }

    fn drop_or_retry(&mut self, to: PortIndex, source: usize, now_ns: u64) {
        let first = self.lanes[source].waiting.front();
        if first.is_some_and(|first| first.deliver_ns + GIVE_UP_NS < now_ns) {
            self.drop_first(source);
        }
        self.retry_ns[to] = now_ns + RETRY_NS;
    }

    fn drop_first(&mut self, source: usize) {
        let lane = &mut self.lanes[source];
        if let Some(waiting) = lane.waiting.pop_front() {
            lane.counters.drop_at_send(waiting.frame.len() as u64);
        }
    }

    /// Counters of everything, as one line of JSON.
    pub fn json(&mut self) -> String {
        for port in &mut self.ports {
            port.update_drops();
        }
        let name = |port: PortIndex| self.ports[port].name.as_str();
        let stats = Stats {
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            links: self
                .lanes
                .iter()
                .map(|lane| {
                    LinkStats::new(
                        name(lane.from),
                        name(lane.to),
                        lane.link.parameters(),
                        &lane.counters,
                    )
                })
                .collect(),
            ports: self
                .ports
                .iter()
                .map(|port| PortStats {
                    name: &port.name,
                    interface: &port.interface,
                    counters: port.counters,
                })
                .collect(),
            lateness_ns: self.lateness.quantiles(),
            scheduling: self.scheduling,
        };
        // Numbers and strings only: serialisation cannot fail.
        serde_json::to_string(&stats).unwrap_or_default()
    }
}

/// How long ports may rest: a part of the shortest time in which a frame can pass a link.
fn rest_ns(lanes: &[Lane]) -> u64 {
    let shortest = lanes
        .iter()
        .map(|lane| lane.link.parameters().delay_ns)
        .min();
    (shortest.unwrap_or(0) / REST_SHARE).min(REST_LIMIT_NS)
}
