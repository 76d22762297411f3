//! What is counted for one direction of one connection, whatever its protocol.

use super::gaps::Gaps;
use super::tcp::TcpDirection;
use crate::decode::Packet;

/// Counts of one direction.
#[derive(Debug)]
pub(crate) struct Direction {
    /// Time of the last packet in the order of the capture, which need not be the latest.
    last_time: i64,
    pub earliest: i64,
    pub latest: i64,
    pub packets: u64,
    pub wire_bytes: u64,
    pub ip_bytes: u64,
    pub payload_bytes: u64,
    pub time_regressions: u32,
    pub gaps: Gaps,
    pub tcp: TcpDirection,
}

impl Direction {
    pub(crate) fn new(time: i64) -> Self {
        Self {
            last_time: time,
            earliest: time,
            latest: time,
            packets: 0,
            wire_bytes: 0,
            ip_bytes: 0,
            payload_bytes: 0,
            time_regressions: 0,
            gaps: Gaps::default(),
            tcp: TcpDirection::default(),
        }
    }

    /// Counts `packet`; the gap to the one before it.
    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet, count_gaps: bool) -> Option<i64> {
        let gap = (self.packets > 0).then(|| packet.time.saturating_sub(self.last_time));
        if let Some(gap) = gap {
            if count_gaps {
                self.gaps.count(gap);
            }
            if gap < 0 {
                self.time_regressions += 1;
            }
        }
        self.last_time = packet.time;
        self.earliest = self.earliest.min(packet.time);
        self.latest = self.latest.max(packet.time);
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire);
        self.ip_bytes += u64::from(packet.ip_bytes);
        self.payload_bytes += u64::from(packet.payload);
        gap
    }

    /// Asks for the slot in which the gap before `packet` will be counted.
    #[inline]
    pub(crate) fn prefetch_gap(&self, packet: &Packet) {
        self.gaps
            .prefetch(packet.time.saturating_sub(self.last_time));
    }
}
