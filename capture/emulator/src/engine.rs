//! Turns frames that arrive at ports into frames that leave at the times their links compute: the main loop.
//!
//! One thread: receive what waits, hand out what is due, sleep until shortly before the next deadline, spin the rest.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use crate::clock::Clock;
use crate::config::{Applied, Change, Plan};
use crate::control::Control;
use crate::error::{Error, warn};
use crate::fabric::Fabric;
use crate::fates::Fates;
use crate::lateness::Lateness;
use crate::pace::Pace;
use crate::port::{Port, Sent};
use crate::schedule::Schedule;
use crate::spin::Spin;
use crate::stats::{ChangeStats, LinkStats, PortStats, Stats};
use crate::switch::{PortIndex, Switch};
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

/// The emulator's state.
pub struct Engine {
    seed: u64,
    clock: Clock,
    wall_offset_ns: i64,
    spin: Spin,
    pace: Pace,
    scheduling: &'static str,
    ports: Vec<Port>,
    /// Per port: not to be sent to before this time.
    retry_ns: Vec<u64>,
    /// How long ports rest after receiving, and until when they do.
    rest_ns: u64,
    resting_until_ns: u64,
    switch: Switch,
    fabric: Fabric,
    schedule: Schedule,
    changes: Vec<ChangeStats>,
    lateness: Lateness,
    batch: ReceiveBatch,
    offload_warned: bool,
}

impl Engine {
    /// Opens every port of the plan, and the log of fates where one is asked for.
    pub fn open(plan: Plan, spin_ns: u64, fates: Option<&Path>) -> Result<Self, Error> {
        let clock = Clock::start();
        let wall_offset_ns = clock.now().wall_offset_ns();
        let names: Vec<_> = plan.ports.iter().map(|port| port.name.as_str()).collect();
        let links: Vec<_> = plan
            .network
            .directions()
            .iter()
            .map(|planned| [names[planned.from], names[planned.to]])
            .collect();
        let fates = fates
            .map(|path| Fates::create(path, &links, wall_offset_ns))
            .transpose()?;
        let fabric = Fabric::new(&plan.network, &plan.parameters, plan.seed, &names, fates);
        let ports = plan
            .ports
            .into_iter()
            .map(Port::open)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            seed: plan.seed,
            clock,
            wall_offset_ns,
            spin: Spin::new(spin_ns),
            pace: Pace::default(),
            scheduling: "other",
            retry_ns: vec![0; ports.len()],
            ports,
            rest_ns: rest_ns(&fabric),
            resting_until_ns: 0,
            switch: Switch::default(),
            fabric,
            schedule: Schedule::new(plan.network, plan.schedule, plan.schedule_waits),
            changes: Vec::new(),
            lateness: Lateness::default(),
            batch: ReceiveBatch::default(),
            offload_warned: false,
        })
    }

    /// Runs until a signal, then delivers what is queued; a second signal ends at once. `scheduling` is what this
    /// thread was granted.
    pub fn run(
        &mut self,
        scheduling: &'static str,
        signals: &Signals,
        control: &mut Control,
    ) -> Result<(), Error> {
        self.scheduling = scheduling;
        self.schedule.ready(self.clock.now_ns());
        let (mut descriptors, mut ready) = (Vec::new(), Vec::new());
        let mut receiving = true;
        loop {
            self.change_network()?;
            self.send_due();
            if !receiving && self.fabric.is_empty() {
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
                control.serve(|line| self.answer(line));
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
        let deadline = deadline.map(|deadline_ns| deadline_ns.max(self.pace.not_before_ns()));
        let sleep = deadline.map(|deadline_ns| self.spin.sleep_ns(now_ns, deadline_ns));
        let rest = resting.then(|| self.resting_until_ns.saturating_sub(now_ns));
        let timeout_ns = [sleep, rest].into_iter().flatten().min();
        process::poll(descriptors, ready, timeout_ns).map_err(Error::system("waiting for frames"))
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        let queues = self.fabric.leaving.iter().zip(&self.retry_ns);
        let leaving = queues.filter_map(|(queue, &retry_ns)| {
            let first = queue.front()?;
            Some(first.deliver_ns.max(retry_ns))
        });
        leaving
            .chain(self.fabric.next_ns())
            .chain(self.schedule.next_ns())
            .min()
    }

    /// Makes the changes of the schedule that are due.
    fn change_network(&mut self) -> Result<(), Error> {
        while self
            .schedule
            .next_ns()
            .is_some_and(|at_ns| at_ns <= self.clock.now_ns())
        {
            // Frames that came before the change are under the old rules.
            for port in 0..self.ports.len() {
                self.receive(port)?;
            }
            if let Some((at_ns, key, applied)) = self.schedule.take() {
                self.apply(at_ns, key, applied);
            }
        }
        Ok(())
    }

    fn apply(&mut self, at_ns: u64, key: String, applied: Vec<Applied>) {
        for part in applied {
            self.fabric.apply(part, at_ns);
        }
        self.rest_ns = rest_ns(&self.fabric);
        self.changes.push(ChangeStats {
            time_ns: at_ns as i64 + self.wall_offset_ns,
            change: key,
        });
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
        if !more {
            let group_ns = self.pace.not_before_ns();
            self.resting_until_ns = self.resting_until_ns.max(group_ns);
        }
        Ok(())
    }

    /// Reads one batch from a port; true when more may wait.
    fn receive(&mut self, port: PortIndex) -> Result<bool, Error> {
        let floor_ns = self.ports[port].emptied_ns();
        let more = self.ports[port].receive(&mut self.batch, self.clock)?;
        let now = self.clock.now();
        for frame in self.batch.frames() {
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
            let arrival_ns = Port::arrival_ns(&frame, now, floor_ns);
            let route = self.switch.route(frame.bytes, port);
            let entered = self
                .fabric
                .enter(port, route, arrival_ns, frame.bytes, frame.wire_bytes);
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
        let now_ns = self.clock.now_ns();
        if now_ns < self.pace.not_before_ns() {
            return;
        }
        self.fabric.advance(now_ns);
        if self.fabric.leaving.iter().all(VecDeque::is_empty) {
            return;
        }
        self.pace.handed_out(now_ns);
        for to in 0..self.ports.len() {
            if self.retry_ns[to] <= self.clock.now_ns() {
                self.send_due_to(to);
            }
        }
    }

    fn send_due_to(&mut self, to: PortIndex) {
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        let queue = &self.fabric.leaving[to];
        let count = queue.len().min(BATCH);
        for (place, leaving) in batch.iter_mut().zip(queue) {
            *place = &leaving.trip.frame;
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
                for left_ns in (before_ns..).step_by(step_ns.max(1) as usize).take(sent) {
                    if let Some(deliver_ns) = self.fabric.sent(to, left_ns) {
                        self.lateness.record(left_ns.saturating_sub(deliver_ns));
                    }
                }
            }
            Sent::Busy => self.drop_or_retry(to, after_ns),
            Sent::Refused => self.fabric.refused(to),
        }
    }

    fn drop_or_retry(&mut self, to: PortIndex, now_ns: u64) {
        let first = self.fabric.leaving[to].front();
        if first.is_some_and(|first| first.deliver_ns + GIVE_UP_NS < now_ns) {
            self.fabric.refused(to);
        }
        self.retry_ns[to] = now_ns + RETRY_NS;
    }

    /// Answers a line of the control socket with one line of JSON.
    fn answer(&mut self, line: &[u8]) -> String {
        let now_ns = self.clock.now_ns();
        match line {
            b"stats" => return self.json(),
            b"start" => self.schedule.start(now_ns),
            [b'{', ..] => {
                let change = String::from_utf8_lossy(line);
                let found = Change::read(&change).and_then(|change| self.schedule.change(&change));
                match found {
                    Ok(applied) => self.apply(now_ns, "change".into(), applied),
                    Err(fault) => {
                        let mut answer = serde_json::json!(fault);
                        answer["error"] = "unusable change".into();
                        return answer.to_string();
                    }
                }
            }
            other => {
                let found = String::from_utf8_lossy(other);
                let expected = ["stats", "start", "{\"change\": {...}}"];
                return serde_json::json!({"error": "unknown command", "found": found, "expected": expected})
                    .to_string();
            }
        }
        serde_json::json!({"ok": true, "time_ns": now_ns as i64 + self.wall_offset_ns}).to_string()
    }

    /// Ends the log of fates.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.fabric.finish()
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
                .fabric
                .lanes
                .iter()
                .map(|lane| {
                    LinkStats::new(name(lane.from), name(lane.to), &lane.link, &lane.counters)
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
            changes: &self.changes,
        };
        // Numbers and strings only: serialisation cannot fail.
        serde_json::to_string(&stats).unwrap_or_default()
    }
}

/// How long ports may rest: a part of the shortest time in which a frame can pass a link.
fn rest_ns(fabric: &Fabric) -> u64 {
    (fabric.shortest_ns() / REST_SHARE).min(REST_LIMIT_NS)
}
