//! The counts of each file and interface.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::capture::lengths::Lengths;
use crate::capture::ticks::Ticks;
use crate::decode::{Checksum, Outcome, Packet, fast};
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
    /// Packets after the first in an aggregated frame (A-MSDU), which are not read.
    pub others_in_frames: i64,
    pub fragments: i64,
    /// Lengths of packets between hosts, and of packets that a host sends to itself.
    lengths: [Lengths; 2],
    /// Packets whose lengths contradict each other.
    pub length_conflicts: i64,
    pub tunnelled: i64,
    pub snapped: i64,
    ticks: Ticks,
    pub time_regressions: i64,
    /// The longest time in ns by which a packet precedes the packet before it in the file.
    pub largest_step_back: i64,
    pub sifted: SiftedCounts,
}

/// What a careful reading found in the packets of one file and interface.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiftedCounts {
    /// Copies of other packets.
    pub duplicate_packets: i64,
    pub duplicate_bytes: i64,
    /// Copies too late to come from another interface of the same machine.
    pub distant_duplicates: i64,
    /// Packets that were moved before later ones.
    pub reordered_packets: i64,
    /// Packets that go back further than the order window.
    pub late_packets: i64,
}

impl CaptureRow {
    /// Returns an empty row for interface `number`.
    pub(crate) fn new(file: &str, number: u32, interface: Interface) -> Self {
        Self {
            file: file.to_owned(),
            number,
            interface,
            ..Self::default()
        }
    }

    /// Returns the row of a pcapng file that describes no interface.
    pub(crate) fn without_interface(file: &str) -> Self {
        Self::new(file, 0, Interface::undescribed())
    }

    /// Returns a hash of the file's name.
    pub(crate) fn file_hash(&self) -> u32 {
        FixedState::default().hash_one(&self.file) as u32
    }

    /// Returns the row for interfaces that no block of a pcapng file describes.
    pub(crate) fn undescribed(file: &str) -> Self {
        Self::new(file, UNDESCRIBED, Interface::undescribed())
    }

    /// Counts `records` and returns whether a time went back; `before` is the time of the previous record of the file.
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

    /// Counts a packet that [is plain](fast::plain).
    #[inline]
    pub(crate) fn count_plain(&mut self, frame: &[u8], ip_bytes: u32, payload: u32) {
        if Lengths::are_doubtful(payload) {
            let is_local = fast::is_local(frame);
            self.lengths[usize::from(is_local)].count_segment(ip_bytes, payload, is_local);
        }
    }

    /// Returns the length of one tick of the timestamps in ns, as the file states it or as the stamps show it.
    pub(crate) fn resolution_ns(&self) -> i64 {
        let stated = self.interface.resolution_ns;
        self.ticks.coarse().map_or(stated, |tick| tick.max(stated))
    }

    /// Returns the number of packets whose headers could not be read.
    pub(crate) fn unreadable(&self) -> u64 {
        (self.unknown_link + self.cut + self.malformed) as u64
    }

    pub(crate) fn bad_checksums(&self) -> u64 {
        self.bad_checksum as u64
    }

    /// Returns the number of packets that belong to no flow.
    pub(crate) fn undecoded(&self) -> i64 {
        self.not_ip + self.unknown_link + self.cut + self.malformed + self.bad_checksum
    }

    /// Returns the number of packets merged by offloading.
    pub(crate) fn super_packets(&self) -> i64 {
        self.lengths.iter().map(Lengths::merged).sum()
    }

    /// Counts `packet`, whose lengths contradict each other, and replaces the length of its frame by the likely one.
    #[cold]
    pub(crate) fn count_conflict(&mut self, record: &Record, packet: &Packet) {
        self.length_conflicts += 1;
        self.wire_bytes += i64::from(packet.wire) - i64::from(record.wire);
        let snapped = |wire: u32| i64::from(record.captured < wire);
        self.snapped += snapped(packet.wire) - snapped(record.wire);
    }

    /// Counts the outcome of decoding `packet`.
    pub(crate) fn count_decoded(&mut self, packet: &Packet) {
        self.fragments += i64::from(packet.fragment);
        self.others_in_frames += i64::from(packet.others);
        match packet.outcome {
            Outcome::Flow => {
                let is_local = packet.key.is_local();
                self.lengths[usize::from(is_local)].count(packet, is_local);
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
