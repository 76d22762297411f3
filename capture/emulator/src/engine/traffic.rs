//! Turns frames that wait at ports into frames on links, and frames that are due into frames that left.

use std::collections::VecDeque;

use super::Engine;
use crate::error::{Error, warn};
use crate::fabric::Fabric;
use crate::port::{Port, Sent};
use crate::switch::PortIndex;
use crate::sys::packet::BATCH;

/// A busy interface is tried again after this time; a frame that is this late for it is given up.
const RETRY_NS: u64 = 20_000;
const GIVE_UP_NS: u64 = 10_000_000;

/// After receiving, the ports rest for a quarter of the shortest way through a link, and at most for this time: frames
/// keep their kernel stamps, so none is late for it, and thousands of wake-ups per second are saved.
const REST_SHARE: u64 = 4;
const REST_LIMIT_NS: u64 = 200_000;
/// Shorter rests cost more than they save.
const REST_LEAST_NS: u64 = 20_000;

impl Engine {
    /// Reads one batch from each port that has frames, then lets the ports rest unless more frames wait already.
    pub(super) fn receive_ready(&mut self, ready: &[bool]) -> Result<(), Error> {
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

    /// Reads one batch from a port; returns true when more may wait.
    pub(super) fn receive(&mut self, port: PortIndex) -> Result<bool, Error> {
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
    pub(super) fn receive_rest(&mut self) -> Result<(), Error> {
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
    pub(super) fn send_due(&mut self) {
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
}

/// Returns how long ports may rest: a part of the shortest time in which a frame can pass a link.
pub(super) fn rest_ns(fabric: &Fabric) -> u64 {
    (fabric.shortest_ns() / REST_SHARE).min(REST_LIMIT_NS)
}
