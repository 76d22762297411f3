//! Turns frames that arrive at ports into frames that leave at the times their links compute: the main loop.
//!
//! One thread: receive what waits, hand out what is due, sleep until shortly before the next deadline, spin the rest.

mod answers;
mod traffic;

use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use crate::clock::Clock;
use crate::config::{Applied, Plan};
use crate::control::Control;
use crate::error::Error;
use crate::fabric::Fabric;
use crate::fates::Fates;
use crate::lateness::Lateness;
use crate::pace::Pace;
use crate::port::Port;
use crate::schedule::Schedule;
use crate::spin::Spin;
use crate::stats::ChangeStats;
use crate::switch::Switch;
use crate::sys::process::{self, Signals};
use crate::sys::receive::ReceiveBatch;

/// The emulator's state.
pub struct Engine {
    seed: u64,
    clock: Clock,
    wall_offset_ns: i64,
    spin: Spin,
    pace: Pace,
    scheduling: &'static str,
    ports: Vec<Port>,
    /// Per port: the time before which nothing is sent to it.
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
    /// Opens every port of the plan, and the log of fates if one is requested.
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
            rest_ns: traffic::rest_ns(&fabric),
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
            let now_ns = self.clock.now_ns();
            control.add_descriptors(now_ns, &mut descriptors);
            let next_control_ns = control.next_ns(now_ns);
            self.wait(&descriptors, &mut ready, resting, next_control_ns)?;
            if ready[1..first_control].contains(&true) {
                self.receive_ready(&ready[1..first_control])?;
            }
            if next_control_ns.is_some() || ready[first_control..].contains(&true) {
                control.serve(self.clock, |line| self.answer(line));
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
    /// `resting`: the ports are not among the descriptors, so the end of their rest must wake us, even if it has passed
    /// meanwhile. `control_ns`: when to look at the control socket.
    fn wait(
        &mut self,
        descriptors: &[RawFd],
        ready: &mut Vec<bool>,
        resting: bool,
        control_ns: Option<u64>,
    ) -> Result<(), Error> {
        let now_ns = self.clock.now_ns();
        let deadline = self.next_deadline_ns();
        let deadline = deadline.map(|deadline_ns| deadline_ns.max(self.pace.not_before_ns()));
        let sleep = deadline.map(|deadline_ns| self.spin.sleep_ns(now_ns, deadline_ns));
        let rest = resting.then(|| self.resting_until_ns.saturating_sub(now_ns));
        let control = control_ns.map(|until_ns| until_ns.saturating_sub(now_ns));
        let timeout_ns = [sleep, rest, control].into_iter().flatten().min();
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
            // Frames that came before the change follow the old rules.
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
        self.rest_ns = traffic::rest_ns(&self.fabric);
        self.changes.push(ChangeStats {
            time_ns: at_ns as i64 + self.wall_offset_ns,
            change: key,
        });
    }
}
