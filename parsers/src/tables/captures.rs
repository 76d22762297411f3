//! What was read of each file and interface to the table `captures`.

use arrow_array::RecordBatch;

use super::arrays;
use super::columns::{
    Column,
    Kind::{Bool, Int32, Int64, Text, Time},
};
use super::text::NO_LINK;
use super::{Table, text};
use crate::common::error::Error;
use crate::decode::{Checksum, Outcome, Packet};
use crate::records::{Interface, Record};

pub(super) const COLUMNS: &[Column] = &[
    Column::new("file", Text, "", "Name of the capture file as it was given.", ""),
    Column::new("interface", Int32, "", "Number of the interface within the file, from 0.", ""),
    Column::new("interface_name", Text, "", "Name of the interface, where the file gives one.", "").or_null(),
    Column::new("link_type", Text, "", "Link-layer header type, by its name in the tcpdump registry without LINKTYPE_.", "https://www.tcpdump.org/linktypes.html"),
    Column::new("ts_resolution_ns", Int64, "ns", "One tick of the time stamps, rounded down, at least 1.", "draft-ietf-opsawg-pcapng if_tsresol"),
    Column::new("snaplen", Int64, "B", "Greatest number of bytes captured of a packet; 0 for no limit.", ""),
    Column::new("packets", Int64, "packets", "Packets in the file.", ""),
    Column::new("wire_bytes", Int64, "B", "Sum of the packets' lengths on the wire, with link header, without FCS.", ""),
    Column::new("captured_bytes", Int64, "B", "Sum of the bytes captured.", ""),
    Column::new("first_time", Time, "", "Time of the first packet in the order of the file.", "").or_null(),
    Column::new("last_time", Time, "", "Time of the last packet in the order of the file.", "").or_null(),
    Column::new("truncated_tail", Bool, "", "The file ends in the middle of a record, or reading stopped at a damaged one.", ""),
    Column::new("undecoded_packets", Int64, "packets", "Packets that belong to no flow; the five columns that follow say why and add up to this.", ""),
    Column::new("not_ip_packets", Int64, "packets", "Of these: the link header names something else than IP, such as ARP.", ""),
    Column::new("unknown_link_packets", Int64, "packets", "Of these: the link-layer header type is not known.", ""),
    Column::new("cut_packets", Int64, "packets", "Of these: the captured bytes end inside a header that is needed.", ""),
    Column::new("malformed_packets", Int64, "packets", "Of these: a header contradicts itself, or more follow one another than are walked (64 of IP, 32 layers in all).", ""),
    Column::new("bad_checksum_packets", Int64, "packets", "Of these: a checksum of IPv4, TCP, UDP or ICMP is wrong, so that whoever the packet is for discards it. Unknown unless checksums were to be verified.", "RFC 1071").or_null(),
    Column::new("unverified_packets", Int64, "packets", "Packets of flows with a checksum that could not be verified: not captured whole, a fragment, left to the interface, or of another protocol. Unknown unless checksums were to be verified.", "").or_null(),
    Column::new("unread_tcp_packets", Int64, "packets", "Packets of TCP flows whose header is cut behind the ports, or contradicts itself: counted with a payload of 0, unknown to the TCP columns.", ""),
    Column::new("fragments", Int64, "packets", "IP fragments, first ones included.", "RFC 791, RFC 8200 4.5"),
    Column::new("super_packets", Int64, "packets", "Packets that offloading merged or did not yet divide: the IP length field is 0, the IP packet is longer than 9,216 bytes, or a TCP payload is longer than any MSS announced on this interface (and than 1,460 bytes).", ""),
    Column::new("tunnelled_packets", Int64, "packets", "Packets whose flow lies inside a tunnel.", ""),
    Column::new("snapped_packets", Int64, "packets", "Packets of which fewer bytes were captured than were on the wire.", ""),
    Column::new("time_regressions", Int64, "packets", "Packets earlier than the packet before them in the file.", ""),
    Column::new("dropped_kernel", Int64, "packets", "Packets the kernel dropped for lack of buffer, as the file or the capture's manifest says. Where a pcapng file has no totals: the sum of what its packets say was lost before them, by the kernel or the interface.", "").or_null(),
    Column::new("dropped_interface", Int64, "packets", "Packets the interface dropped, as the file or the capture's manifest says.", "").or_null(),
];

/// The longest IP packet that a network with jumbo frames carries; longer ones were merged.
const LONGEST_JUMBO: u32 = 9216;

/// One row: the counts of one file and interface.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaptureRow {
    pub file: String,
    pub number: u32,
    pub interface: Interface,
    pub truncated_tail: bool,
    packets: i64,
    wire_bytes: i64,
    captured_bytes: i64,
    first_time: Option<i64>,
    last_time: Option<i64>,
    not_ip: i64,
    unknown_link: i64,
    cut: i64,
    malformed: i64,
    bad_checksum: i64,
    unverified: i64,
    unread_tcp: i64,
    fragments: i64,
    /// Packets that no network carries.
    longest: i64,
    /// TCP packets by payload, of those longer than [`COMMON_MSS`]: whether the network carries them is known
    /// when all SYNs were seen.
    long: Vec<u32>,
    greatest_mss: u16,
    tunnelled: i64,
    snapped: i64,
    time_regressions: i64,
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
        let nothing = Interface {
            link_type: NO_LINK,
            resolution_ns: 1,
            ..Interface::default()
        };
        Self::new(file, 0, nothing)
    }

    /// Counts `records`; `before` is the time of the one before them in the file.
    pub(crate) fn count(&mut self, records: &[Record], mut before: i64) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return;
        };
        self.packets += records.len() as i64;
        self.first_time.get_or_insert(first.time);
        self.last_time = Some(last.time);
        for record in records {
            self.wire_bytes += i64::from(record.wire);
            self.captured_bytes += i64::from(record.captured);
            self.snapped += i64::from(record.captured < record.wire);
            self.time_regressions += i64::from(record.time < before);
            before = record.time;
        }
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

    /// Packets whose headers could not be read.
    pub(crate) fn unreadable(&self) -> u64 {
        (self.unknown_link + self.cut + self.malformed) as u64
    }

    pub(crate) fn bad_checksums(&self) -> u64 {
        self.bad_checksum as u64
    }

    /// Packets that offloading made.
    fn super_packets(&self) -> i64 {
        let most = usize::from(self.greatest_mss).max(COMMON_MSS as usize);
        let longer = self.long.iter().skip(most + 1);
        let known = if self.greatest_mss > 0 {
            longer.map(|&count| i64::from(count)).sum()
        } else {
            0
        };
        self.longest + known
    }

    /// Counts what became of `packet`.
    pub(crate) fn count_decoded(&mut self, packet: &Packet) {
        self.fragments += i64::from(packet.fragment);
        match packet.outcome {
            Outcome::Flow => {
                if packet.tcp {
                    self.greatest_mss = self.greatest_mss.max(packet.options.mss.unwrap_or(0));
                }
                if packet.offloaded || packet.ip_bytes > LONGEST_JUMBO {
                    self.longest += 1;
                } else if packet.tcp && packet.payload > COMMON_MSS {
                    self.count_long(packet.ip_bytes, packet.payload);
                }
                self.tunnelled += i64::from(packet.is_inside());
                self.unverified += i64::from(packet.checksum == Checksum::Unverified);
                self.unread_tcp += i64::from(packet.has_unread_tcp());
            }
            Outcome::NotIp => self.not_ip += 1,
            Outcome::UnknownLink => self.unknown_link += 1,
            Outcome::Cut => self.cut += 1,
            Outcome::Malformed => self.malformed += 1,
            Outcome::BadChecksum => self.bad_checksum += 1,
        }
    }
}

/// All rows as one batch; `verified`: checksums were looked at.
pub(crate) fn captures(rows: &[CaptureRow], verified: bool) -> Result<RecordBatch, Error> {
    let int = |value: fn(&CaptureRow) -> i64| arrays::int64(rows.iter().map(value));
    let if_verified = |value: fn(&CaptureRow) -> i64| {
        arrays::int64_or_null(rows.iter().map(move |row| verified.then(|| value(row))))
    };
    arrays::batch(
        Table::Captures,
        rows.len(),
        vec![
            arrays::text(rows.iter().map(|row| &row.file)),
            arrays::int32(rows.iter().map(|row| row.number as i32)),
            arrays::text_or_null(rows.iter().map(|row| row.interface.name.as_ref())),
            arrays::text(
                rows.iter()
                    .map(|row| text::link_type(row.interface.link_type)),
            ),
            int(|row| row.interface.resolution_ns),
            int(|row| i64::from(row.interface.snaplen)),
            int(|row| row.packets),
            int(|row| row.wire_bytes),
            int(|row| row.captured_bytes),
            arrays::time_or_null(rows.iter().map(|row| row.first_time)),
            arrays::time_or_null(rows.iter().map(|row| row.last_time)),
            arrays::boolean(rows.iter().map(|row| row.truncated_tail)),
            int(|row| row.not_ip + row.unknown_link + row.cut + row.malformed + row.bad_checksum),
            int(|row| row.not_ip),
            int(|row| row.unknown_link),
            int(|row| row.cut),
            int(|row| row.malformed),
            if_verified(|row| row.bad_checksum),
            if_verified(|row| row.unverified),
            int(|row| row.unread_tcp),
            int(|row| row.fragments),
            int(CaptureRow::super_packets),
            int(|row| row.tunnelled),
            int(|row| row.snapped),
            int(|row| row.time_regressions),
            arrays::int64_or_null(
                rows.iter()
                    .map(|row| row.interface.dropped_kernel.map(|count| count as i64)),
            ),
            arrays::int64_or_null(
                rows.iter()
                    .map(|row| row.interface.dropped_interface.map(|count| count as i64)),
            ),
        ],
    )
}
