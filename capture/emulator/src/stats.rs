//! Writes the counters of links and ports as the JSON object of the control socket and the statistics file.

use flowsweep_links::Direction;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::lateness::Quantiles;

/// Frames and their bytes, 14-byte header included, FCS not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    /// Adds one frame.
    pub const fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

/// What one link direction did not deliver, by cause.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Drops {
    /// Found the queue full.
    pub queue: Amount,
    /// Dropped by `CoDel`.
    pub codel: Amount,
    /// Lost on the line.
    pub loss: Amount,
    /// Dropped at the uplink of the site they came from.
    pub uplink: Amount,
    /// Dropped at the uplink of the site they went to.
    pub downlink: Amount,
    /// Refused by the interface at the far end.
    pub send: Amount,
    /// Larger than the emulator's receive buffer.
    pub oversize: Amount,
}

/// Frames of one link direction by fate. At any time
/// `received + duplicated = delivered + dropped, for every cause + in_flight`, in frames and in bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames that entered this direction.
    pub received: u64,
    received_bytes: u64,
    /// Frames made by duplication.
    duplicated: Amount,
    /// Frames that the interface at the far end took.
    delivered: Amount,
    dropped: Drops,
    in_flight: Amount,
}

impl LinkCounters {
    /// Notes a frame that entered this direction and of which only the beginning was read.
    pub const fn drop_oversize(&mut self, bytes: u64) {
        self.accept(bytes);
        self.leave(bytes).oversize.add(bytes);
    }

    /// Notes a frame that entered this direction and waits for its fate.
    pub const fn accept(&mut self, bytes: u64) {
        self.received += 1;
        self.received_bytes += bytes;
        self.in_flight.add(bytes);
    }

    /// Notes a frame that was doubled.
    pub const fn duplicate(&mut self, bytes: u64) {
        self.duplicated.add(bytes);
        self.in_flight.add(bytes);
    }

    /// Notes a waiting frame that left at the far end.
    pub const fn deliver(&mut self, bytes: u64) {
        self.leave(bytes);
        self.delivered.add(bytes);
    }

    /// Takes a frame out of those in flight; returns where to count it if it was lost.
    pub const fn leave(&mut self, bytes: u64) -> &mut Drops {
        self.in_flight.frames -= 1;
        self.in_flight.bytes -= bytes;
        &mut self.dropped
    }
}

impl Serialize for LinkCounters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let received = Amount {
            frames: self.received,
            bytes: self.received_bytes,
        };
        let mut map = serializer.serialize_map(None)?;
        for (name, amount) in [
            ("received", received),
            ("duplicated", self.duplicated),
            ("delivered", self.delivered),
            ("dropped_queue", self.dropped.queue),
            ("dropped_codel", self.dropped.codel),
            ("dropped_loss", self.dropped.loss),
            ("dropped_uplink", self.dropped.uplink),
            ("dropped_downlink", self.dropped.downlink),
            ("dropped_send", self.dropped.send),
            ("dropped_oversize", self.dropped.oversize),
            ("in_flight", self.in_flight),
        ] {
            map.serialize_entry(name, &amount.frames)?;
            map.serialize_entry(&format!("{name}_bytes"), &amount.bytes)?;
        }
        map.end()
    }
}

/// Frames at one port.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
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

/// One direction of a link, with its parameters.
#[derive(Debug, serde::Serialize)]
pub struct LinkStats<'a> {
    /// Name of the port that frames come from.
    pub from: &'a str,
    /// Name of the port that frames go to.
    pub to: &'a str,
    /// Requested one-way delay.
    pub delay_ns: u64,
    /// Requested rate; null is unlimited.
    pub rate_bit_s: Option<u64>,
    /// Queue in force, 0 where the rate is unlimited.
    pub queue_bytes: u64,
    /// Links bundled.
    pub parallel: usize,
    /// Frames whose delay with jitter would have been below 0.
    pub jitter_clipped: u64,
    /// Frames that waited for the one before to keep the order.
    pub order_held: u64,
    /// The counters.
    #[serde(flatten)]
    pub counters: &'a LinkCounters,
}

impl<'a> LinkStats<'a> {
    /// Puts names, parameters and counters together.
    pub fn new<T: Clone>(
        from: &'a str,
        to: &'a str,
        link: &Direction<T>,
        counters: &'a LinkCounters,
    ) -> Self {
        let parameters = link.parameters();
        Self {
            from,
            to,
            delay_ns: parameters.delay_ns,
            rate_bit_s: parameters.line.rate_bit_s.map(std::num::NonZeroU64::get),
            queue_bytes: parameters.line.queue.bytes,
            parallel: parameters.parallel,
            jitter_clipped: link.jitter_clipped,
            order_held: link.order_held,
            counters,
        }
    }
}

/// One port's counters with its name.
#[derive(Debug, serde::Serialize)]
pub struct PortStats<'a> {
    /// Name of the port.
    pub name: &'a str,
    /// Its interface.
    pub interface: &'a str,
    /// The counters.
    #[serde(flatten)]
    pub counters: PortCounters,
}

/// The whole statistics of the emulator.
#[derive(Debug, serde::Serialize)]
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
    /// Changes so far.
    pub changes: &'a [ChangeStats],
}

/// A change of the network during the run.
#[derive(Debug, serde::Serialize)]
pub struct ChangeStats {
    /// When it took effect, wall clock, nanoseconds since the epoch.
    pub time_ns: i64,
    /// Its key: of the schedule, or "change" for a command.
    pub change: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_has_one_fate() {
        let mut link = LinkCounters::default();
        for _ in 0..5 {
            link.accept(100);
        }
        link.drop_oversize(70_000);
        link.duplicate(100);
        link.deliver(100);
        link.deliver(100);
        link.leave(100).send.add(100);
        link.leave(100).loss.add(100);
        let value = serde_json::to_value(&link).expect("numbers");
        for unit in ["", "_bytes"] {
            let count = |name: &str| value[format!("{name}{unit}")].as_u64().expect("a number");
            let fates = [
                "delivered",
                "dropped_oversize",
                "dropped_send",
                "dropped_loss",
                "in_flight",
            ];
            assert_eq!(
                count("received") + count("duplicated"),
                fates.into_iter().map(count).sum::<u64>()
            );
        }
        assert_eq!(
            (&value["in_flight"], &value["in_flight_bytes"]),
            (&2.into(), &200.into())
        );
    }
}
