//! Lengths of packets: which of them offloading merged or has not divided yet.

use crate::capture::datagrams::DatagramSizes;
use crate::decode::{Packet, UDP};

/// The longest IP packet on a network with jumbo frames; longer ones were merged.
const LONGEST_JUMBO: u32 = 9216;
/// The MSS for Ethernet's MTU, RFC 9293 3.7.1; segments up to this length were not merged.
const COMMON_MSS: u32 = 1460;

/// Lengths of the packets of one interface, either between hosts or from a host to itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    /// Packets too long for any network.
    longest: i64,
    /// TCP packets longer than [`COMMON_MSS`], by payload: whether the network carries them is known only after all
    /// SYNs were seen.
    long: Vec<u32>,
    greatest_mss: u16,
    datagrams: DatagramSizes,
}

impl Lengths {
    /// Returns whether a TCP packet with this payload may have been merged.
    #[inline]
    pub(super) fn are_doubtful(payload: u32) -> bool {
        payload > COMMON_MSS
    }

    /// Counts a packet of a flow. `is_local`: its host sends it to itself; there Linux carries 64 KiB in one packet.
    pub(super) fn count(&mut self, packet: &Packet, is_local: bool) {
        if packet.tcp {
            self.greatest_mss = self.greatest_mss.max(packet.options.mss.unwrap_or(0));
        }
        if packet.offloaded || !is_local && packet.ip_bytes > LONGEST_JUMBO {
            self.longest += 1;
        } else if packet.tcp && Self::are_doubtful(packet.payload) {
            self.count_segment(packet.ip_bytes, packet.payload, is_local);
        } else if packet.key.protocol == UDP || packet.fragment {
            self.datagrams.count(packet);
        }
    }

    /// Counts a TCP packet that [may have been merged](Self::are_doubtful).
    #[cold]
    pub(super) fn count_segment(&mut self, ip_bytes: u32, payload: u32, is_local: bool) {
        if !is_local && ip_bytes > LONGEST_JUMBO {
            self.longest += 1;
            return;
        }
        let payload = payload as usize;
        if self.long.len() <= payload {
            self.long.resize(payload + 1, 0);
        }
        self.long[payload] += 1;
    }

    /// Returns the number of packets merged by offloading.
    pub(super) fn merged(&self) -> i64 {
        let most = usize::from(self.greatest_mss).max(COMMON_MSS as usize);
        let longer = self.long.iter().skip(most + 1);
        let known = if self.greatest_mss > 0 {
            longer.map(|&count| i64::from(count)).sum()
        } else {
            0
        };
        self.longest + known + self.datagrams.merged(self.greatest_mss)
    }
}
