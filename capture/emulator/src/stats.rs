//! Turns the counters of links and ports into the one JSON object that the control socket and the statistics file give.

use serde::Serialize;

use crate::lateness::Quantiles;
use crate::link::Parameters;

/// Frames and bytes of one link direction by fate. At any time
/// `received = delivered + dropped_queue + dropped_send + dropped_oversize + in_flight`, in frames and in bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct LinkCounters {
    /// Frames that entered this direction.
    pub received: u64,
    /// Their bytes, 14-byte header included, FCS not.
    pub received_bytes: u64,
    /// Frames that the interface at the far end took.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that found the queue full.
    pub dropped_queue: u64,
    /// Their bytes.
    pub dropped_queue_bytes: u64,
    /// Frames that the interface at the far end refused.
    pub dropped_send: u64,
    /// Their bytes.
    pub dropped_send_bytes: u64,
    /// Frames larger than the emulator's receive buffer.
    pub dropped_oversize: u64,
    /// Their bytes.
    pub dropped_oversize_bytes: u64,
    /// Frames that wait for their time.
    pub in_flight: u64,
    /// Their bytes.
    pub in_flight_bytes: u64,
}

impl LinkCounters {
    /// A frame entered this direction and its queue refused it.
    pub const fn drop_at_queue(&mut self, bytes: u64) {
        self.receive(bytes);
        self.dropped_queue += 1;
        self.dropped_queue_bytes += bytes;
    }

    /// A frame entered this direction of which only the beginning was read.
    pub const fn drop_oversize(&mut self, bytes: u64) {
        self.receive(bytes);
        self.dropped_oversize += 1;
        self.dropped_oversize_bytes += bytes;
    }

    /// A frame entered this direction and waits for its time.
    pub const fn accept(&mut self, bytes: u64) {
        self.receive(bytes);
        self.in_flight += 1;
        self.in_flight_bytes += bytes;
    }

    /// A waiting frame left at the far end.
    pub const fn deliver(&mut self, bytes: u64) {
        self.leave(bytes);
        self.delivered += 1;
        self.delivered_bytes += bytes;
    }

    /// A waiting frame was refused at the far end.
    pub const fn drop_at_send(&mut self, bytes: u64) {
        self.leave(bytes);
        self.dropped_send += 1;
        self.dropped_send_bytes += bytes;
    }

    const fn receive(&mut self, bytes: u64) {
        self.received += 1;
        self.received_bytes += bytes;
    }

    const fn leave(&mut self, bytes: u64) {
        self.in_flight -= 1;
        self.in_flight_bytes -= bytes;
    }
}

/// Frames at one port.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Frames read from the interface.
    pub received: u64,
    /// Frames that the kernel dropped because the socket's buffer was full.
    pub kernel_dropped: u64,
    /// Frames read that enter no link: their destination is behind this port.
    pub filtered: u64,
    /// Frames whose checksum the sender left to hardware that does not exist: offloads are on.
    pub checksum_missing: u64,
}

/// One direction of a link, with what it was asked to do.
#[derive(Debug, Serialize)]
pub struct LinkStats<'a> {
    /// Name of the port that frames come from.
    pub from: &'a str,
    /// Name of the port that frames go to.
    pub to: &'a str,
    /// One-way delay asked for.
    pub delay_ns: u64,
    /// Rate asked for; null is unlimited.
    pub rate_bit_s: Option<u64>,
    /// Queue in force, 0 where the rate is unlimited.
    pub queue_bytes: u64,
    /// The counters.
    #[serde(flatten)]
    pub counters: &'a LinkCounters,
}

impl<'a> LinkStats<'a> {
    /// Puts names, parameters and counters together.
    pub fn new(from: &'a str, to: &'a str, asked: Parameters, counters: &'a LinkCounters) -> Self {
        Self {
            from,
            to,
            delay_ns: asked.delay_ns,
            rate_bit_s: asked.rate_bit_s.map(std::num::NonZeroU64::get),
            queue_bytes: asked.queue_bytes,
            counters,
        }
    }
}

/// One port's counters with its name.
#[derive(Debug, Serialize)]
pub struct PortStats<'a> {
    /// Name of the port.
    pub name: &'a str,
    /// Its interface.
    pub interface: &'a str,
    /// The counters.
    #[serde(flatten)]
    pub counters: PortCounters,
}

/// Everything the emulator says about itself.
#[derive(Debug, Serialize)]
pub struct Stats<'a> {
    /// Version of the emulator.
    pub version: &'static str,
    /// Seed in force.
    pub seed: u64,
    /// Link directions, in the order of the configuration.
    pub links: Vec<LinkStats<'a>>,
    /// Ports, in the order of the configuration.
    pub ports: Vec<PortStats<'a>>,
    /// How much later than computed frames were handed to the far end.
    pub lateness_ns: Quantiles,
    /// "fifo" with real-time priority, else "other".
    pub scheduling: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_received_frame_has_one_fate() {
        let mut link = LinkCounters::default();
        for _ in 0..4 {
            link.accept(100);
        }
        link.drop_at_queue(60);
        link.drop_oversize(70_000);
        link.deliver(100);
        link.deliver(100);
        link.drop_at_send(100);
        let fates = link.delivered
            + link.dropped_queue
            + link.dropped_send
            + link.dropped_oversize
            + link.in_flight;
        assert_eq!((link.received, link.in_flight, fates), (6, 1, 6));
        let bytes = link.delivered_bytes
            + link.dropped_queue_bytes
            + link.dropped_send_bytes
            + link.dropped_oversize_bytes
            + link.in_flight_bytes;
        assert_eq!((link.received_bytes, link.in_flight_bytes), (bytes, 100));
    }
}
