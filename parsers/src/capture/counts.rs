//! The counts of each file and interface.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::capture::datagrams::{DatagramSizes, LONGEST_JUMBO};
use crate::capture::ticks::Ticks;
use crate::decode::{Checksum, Outcome, Packet, UDP};
use crate::records::{Interface, Record, UNDESCRIBED};

/// One row: the counts of one file and interface.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaptureRow {
    pub file: String,
    pub number: u32,
    pub interface: Interface,
    pub truncated_tail: bool,
    pub packets: i64,
    pub wire_bytes: i64,
    pub captured_bytes: i64,
    pub first_time: Option<i64>,
    pub last_time: Option<i64>,
    pub not_ip: i64,
    pub unknown_link: i64,
    pub cut: i64,
    pub malformed: i64,
    pub bad_checksum: i64,
    pub unverified: i64,
    pub unread_tcp: i64,
    pub unread_rdma: i64,
    /// Packets behind the first in a frame of several (A-MSDU), which are not read.
    pub others_in_frames: i64,
    pub fragments: i64,
    /// Packets that no network carries.
    longest: i64,
    /// TCP packets by payload, of those longer than [`COMMON_MSS`]: whether the network carries them is known
    /// when all SYNs were seen.
    long: Vec<u32>,
    greatest_mss: u16,
    datagrams: DatagramSizes,
    /// Packets whose lengths contradict each other.
    pub length_conflicts: i64,
    pub tunnelled: i64,
    pub snapped: i64,
    ticks: Ticks,
    pub time_regressions: i64,
    /// How long before the packet ahead of it in the file a packet lies at most, in ns.
    pub largest_step_back: i64,
    pub sifted: SiftedCounts,
}

/// What a careful reading found of the packets of one file and interface.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiftedCounts {
    /// Copies of other packets.
    pub duplicate_packets: i64,
    pub duplicate_bytes: i64,
    /// Packets put in front of later ones.
    pub reordered_packets: i64,
    /// Packets earlier than the window reaches.
    pub late_packets: i64,
}

/// The MSS of Ethernet's MTU, RFC 9293 3.7.1; no segment as long is divided.
const COMMON_MSS: u32 = 1460;

impl CaptureRow {
    /// The row of interface `number`, with nothing counted.
    pub(crate) fn new(file: &str, number: u32, interface: Interface) -> Self {
        Self {
            file: file.to_owned(),
            number,
            interface,
            ..Self::default()
        }
    }

    /// The row of a pcapng file that describes no interface.
    pub(crate) fn without_interface(file: &str) -> Self {
        Self::new(file, 0, Interface::undescribed())
    }

    /// A number of the file's name.
    pub(crate) fn file_hash(&self) -> u32 {
        FixedState::default().hash_one(&self.file) as u32
    }

    /// The row of the interfaces that no block of a pcapng file describes.
    pub(crate) fn undescribed(file: &str) -> Self {
        Self::new(file, UNDESCRIBED, Interface::undescribed())
    }

    /// Counts `records`, and says whether a time went back; `before` is that of the record before them in the file.
    pub(crate) fn count(&mut self, records: &[Record], mut before: i64) -> bool {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return false;
        };
        let regressions = self.time_regressions;
        self.ticks.see(records);
        self.packets += records.len() as i64;
        self.first_time.get_or_insert(first.time);
        self.last_time = Some(last.time);
        for record in records {
            self.wire_bytes += i64::from(record.wire);
            self.captured_bytes += i64::from(record.captured);
            self.snapped += i64::from(record.captured < record.wire);
            if record.time < before {
                self.time_regressions += 1;
                let back = before.saturating_sub(record.time);
                self.largest_step_back = self.largest_step_back.max(back);
            }
            before = record.time;
        }
        self.time_regressions > regressions
    }

    /// Counts a TCP packet that is not in a tunnel, no fragment, no SYN.
    #[inline]
    pub(crate) fn count_plain(&mut self, ip_bytes: u32, payload: u32) {
        if payload > COMMON_MSS {
            self.count_long(ip_bytes, payload);
        }
    }

    #[cold]
    fn count_long(&mut self, ip_bytes: u32, payload: u32) {
        if ip_bytes > LONGEST_JUMBO {
            self.longest += 1;
            return;
        }
        let payload = payload as usize;
        if self.long.len() <= payload {
            self.long.resize(payload + 1, 0);
        }
        self.long[payload] += 1;
    }

    /// Length of one tick of the time stamps in ns: as the file states it, or as the stamps show it.
    pub(crate) fn resolution_ns(&self) -> i64 {
        let stated = self.interface.resolution_ns;
        self.ticks.coarse().map_or(stated, |tick| tick.max(stated))
    }

    /// Packets whose headers could not be read.
    pub(crate) fn unreadable(&self) -> u64 {
        (self.unknown_link + self.cut + self.malformed) as u64
    }

    pub(crate) fn bad_checksums(&self) -> u64 {
        self.bad_checksum as u64
    }

    /// Packets that belong to no flow.
    pub(crate) fn undecoded(&self) -> i64 {
        self.not_ip + self.unknown_link + self.cut + self.malformed + self.bad_checksum
    }

    /// Packets that offloading made.
    pub(crate) fn super_packets(&self) -> i64 {
        let most = usize::from(self.greatest_mss).max(COMMON_MSS as usize);
        let longer = self.long.iter().skip(most + 1);
        let known = if self.greatest_mss > 0 {
            longer.map(|&count| i64::from(count)).sum()
        } else {
            0
        };
        self.longest + known + self.datagrams.merged(self.greatest_mss)
    }

    /// Counts that the lengths of `packet` contradict each other, and what that of its frame is thought to be instead.
    #[cold]
    pub(crate) fn count_conflict(&mut self, record: &Record, packet: &Packet) {
        self.length_conflicts += 1;
        self.wire_bytes += i64::from(packet.wire) - i64::from(record.wire);
        let snapped = |wire: u32| i64::from(record.captured < wire);
        self.snapped += snapped(packet.wire) - snapped(record.wire);
    }

    /// Counts what became of `packet`.
    pub(crate) fn count_decoded(&mut self, packet: &Packet) {
        self.fragments += i64::from(packet.fragment);
        self.others_in_frames += i64::from(packet.others);
        match packet.outcome {
            Outcome::Flow => {
                if packet.tcp {
                    self.greatest_mss = self.greatest_mss.max(packet.options.mss.unwrap_or(0));
                }
                if packet.offloaded || packet.ip_bytes > LONGEST_JUMBO {
                    self.longest += 1;
                } else if packet.tcp && packet.payload > COMMON_MSS {
                    self.count_long(packet.ip_bytes, packet.payload);
                } else if packet.key.protocol == UDP || packet.fragment {
                    self.datagrams.count(packet);
                }
                self.tunnelled += i64::from(packet.is_inside());
                self.unverified += i64::from(packet.checksum == Checksum::Unverified);
                self.unread_tcp += i64::from(packet.has_unread_tcp());
                self.unread_rdma += i64::from(packet.unread_rdma);
            }
            Outcome::NotIp => self.not_ip += 1,
            Outcome::UnknownLink => self.unknown_link += 1,
            Outcome::Cut => self.cut += 1,
            Outcome::Malformed => self.malformed += 1,
            Outcome::BadChecksum => self.bad_checksum += 1,
        }
    }
}

/// The drop counters of a file, from the capture agent's manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manifest {
    /// Packets the kernel dropped.
    pub dropped_kernel: Option<u64>,
    /// Packets the interface dropped.
    pub dropped_interface: Option<u64>,
}
