//! Writes what was read of each file and interface to the table `captures`.

use arrow_array::RecordBatch;

use super::Table;
use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Bool, Int32, Int64, Text, Time},
    columns,
};
use crate::capture::counts::CaptureRow;
use crate::common::error::Error;
use crate::decode::links;

/// All rows.
struct CaptureRows<'a> {
    rows: &'a [CaptureRow],
    /// Whether checksums were verified.
    verified: bool,
}

impl<'a> CaptureRows<'a> {
    fn each(&self) -> std::slice::Iter<'a, CaptureRow> {
        self.rows.iter()
    }

    fn int(&self, value: fn(&CaptureRow) -> i64) -> Making<'a> {
        arrays::int64(self.each().map(value))
    }

    /// Makes the column of bad checksums; null if none was found and checksums were not verified.
    fn bad_checksums(&self) -> Making<'a> {
        let verified = self.verified;
        let found =
            move |row: &CaptureRow| (verified || row.bad_checksum > 0).then_some(row.bad_checksum);
        arrays::int64_or_null(self.each().map(found))
    }

    /// Makes a column that is null unless checksums were verified.
    fn if_verified(&self, value: fn(&CaptureRow) -> i64) -> Making<'a> {
        let verified = self.verified;
        arrays::int64_or_null(self.each().map(move |row| verified.then(|| value(row))))
    }
}

columns! {
    <'a> rows: &CaptureRows<'a>;
    Column::new("file", Text, "", "Name of the capture file as it was given.", "")
        => arrays::text(rows.each().map(|row| &row.file));
    Column::new("interface", Int32, "", "Number of the interface within the file, from 0; -1 stands for those that no block of the file describes.", "")
        => arrays::int32(rows.each().map(|row| row.number as i32));
    Column::new("interface_name", Text, "", "Name of the interface, where the file gives one.", "").or_null()
        => arrays::text_or_null(rows.each().map(|row| row.interface.name.as_ref()));
    Column::new("link_type", Text, "", "Link-layer header type, by its name in the tcpdump registry without LINKTYPE_.", "https://www.tcpdump.org/linktypes.html")
        => arrays::text(rows.each().map(|row| links::name(row.interface.link_type)));
    Column::new("ts_resolution_ns", Int64, "ns", "One tick of the time stamps, rounded down, at least 1: as the file states it; longer where all distances between 50 stamps and more are multiples of a time of at least 1 ms, and a quarter of the packets have the stamp of the packet before them.", "draft-ietf-opsawg-pcapng if_tsresol")
        => rows.int(CaptureRow::resolution_ns);
    Column::new("snaplen", Int64, "B", "Greatest number of bytes captured of a packet; 0 for no limit.", "")
        => rows.int(|row| i64::from(row.interface.snaplen));
    Column::new("packets", Int64, "packets", "Packets in the file.", "")
        => rows.int(|row| row.packets);
    Column::new("wire_bytes", Int64, "B", "Sum of the packets' lengths on the wire, with link header, without FCS (where the file says that there is one).", "")
        => rows.int(|row| row.wire_bytes);
    Column::new("captured_bytes", Int64, "B", "Sum of the bytes captured, without FCS.", "")
        => rows.int(|row| row.captured_bytes);
    Column::new("fcs_bytes", Int64, "B", "Most bytes of frame check sequence behind a packet, which no length counts; 0 where the file does not say that there are any.", "draft-ietf-opsawg-pcapng if_fcslen, epb_flags")
        => rows.int(|row| i64::from(row.interface.fcs));
    Column::new("first_time", Time, "", "Time of the first packet in the order of the file.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.first_time));
    Column::new("last_time", Time, "", "Time of the last packet in the order of the file.", "").or_null()
        => arrays::time_or_null(rows.each().map(|row| row.last_time));
    Column::new("untimed_packets", Int64, "packets", "Packets whose blocks have no time (Simple Packet Blocks): each has that of the packet before it in the file, or of the first that follows within 64 KiB.", "draft-ietf-opsawg-pcapng 4.4")
        => rows.int(|row| row.interface.untimed as i64);
    Column::new("times_out_of_range", Int64, "packets", "Packets with a time before 1678 or after 2261, which 64 bits of nanoseconds do not hold, or in pcap with a fraction of two seconds and more, such as nanoseconds in a file of microseconds: a wrong clock or a damaged file. Each has a time as untimed packets have.", "")
        => rows.int(|row| row.interface.times_out_of_range as i64);
    Column::new("truncated_tail", Bool, "", "The file ends in the middle of a record, or reading stopped at a damaged one.", "")
        => arrays::boolean(rows.each().map(|row| row.truncated_tail));
    Column::new("undecoded_packets", Int64, "packets", "Packets that belong to no flow; the five columns that follow say why and add up to this.", "")
        => rows.int(CaptureRow::undecoded);
    Column::new("not_ip_packets", Int64, "packets", "Of these: the link header names something else than IP, such as ARP.", "")
        => rows.int(|row| row.not_ip);
    Column::new("unknown_link_packets", Int64, "packets", "Of these: the link-layer header type is not known.", "")
        => rows.int(|row| row.unknown_link);
    Column::new("cut_packets", Int64, "packets", "Of these: the captured bytes end inside a header that is needed.", "")
        => rows.int(|row| row.cut);
    Column::new("malformed_packets", Int64, "packets", "Of these: a header contradicts itself, or there are more headers than are read (64 of IP, 32 layers in all).", "")
        => rows.int(|row| row.malformed);
    Column::new("bad_checksum_packets", Int64, "packets", "Of these: packets with a wrong checksum of IPv4, TCP, UDP or ICMP, which their receiver discards, and 802.11 frames that the capture marks as damaged. Null unless checksums were verified or there are such frames.", "RFC 1071").or_null()
        => rows.bad_checksums();
    Column::new("unverified_packets", Int64, "packets", "Packets of flows with a checksum that could not be verified: not captured whole, a fragment, left to the interface, or of another protocol. Unknown unless checksums were to be verified.", "").or_null()
        => rows.if_verified(|row| row.unverified);
    Column::new("unread_tcp_packets", Int64, "packets", "Packets of TCP flows whose header is cut behind the ports, or contradicts itself: counted with a payload of 0, unknown to the TCP columns.", "")
        => rows.int(|row| row.unread_tcp);
    Column::new("unread_rdma_packets", Int64, "packets", "Packets to UDP port 4791 without transport headers of InfiniBand that can be read: cut, of an unknown opcode, or something else than RDMA. They count for their UDP flow alone.", "InfiniBand Architecture Specification vol. 1, A17")
        => rows.int(|row| row.unread_rdma);
    Column::new("unread_subframes", Int64, "packets", "Captured packets behind the first in an 802.11 frame of several (A-MSDU): they are in no flow and in no other count.", "IEEE 802.11-2020 9.3.2.2.2")
        => rows.int(|row| row.others_in_frames);
    Column::new("fragments", Int64, "packets", "IP fragments, first ones included.", "RFC 791, RFC 8200 4.5")
        => rows.int(|row| row.fragments);
    Column::new("length_conflict_packets", Int64, "packets", "Packets whose lengths contradict each other: captured above original, original far above what the IP header says or below it, UDP or TCP header longer than the IP packet, an IP packet longer than the one around it. A frame counts with what was captured, or with the end of its IP packet; UDP ends with its IP packet.", "RFC 768, RFC 791, RFC 8200")
        => rows.int(|row| row.length_conflicts);
    Column::new("super_packets", Int64, "packets", "Packets that offloading merged or did not yet divide: the IP length field is 0 or that of one segment of many, the IP packet is longer than 9,216 bytes, a TCP payload is longer than any MSS announced on this interface (and than 1,460 bytes), or a UDP datagram of more than 1,500 bytes is longer than the MSS and fragments say a packet may be, or a multiple of what its flow mostly sends. What a host sends to itself (loopback) counts only by the MSS that it announces to itself, and by such multiples.", "")
        => rows.int(CaptureRow::super_packets);
    Column::new("tunnelled_packets", Int64, "packets", "Packets whose flow lies inside a tunnel.", "")
        => rows.int(|row| row.tunnelled);
    Column::new("snapped_packets", Int64, "packets", "Packets of which fewer bytes were captured than were on the wire.", "")
        => rows.int(|row| row.snapped);
    Column::new("time_regressions", Int64, "packets", "Packets earlier than the packet before them in the file.", "")
        => rows.int(|row| row.time_regressions);
    Column::new("largest_step_back_ns", Int64, "ns", "The most by which a packet is earlier than the packet before it in the file; 0 if none is earlier.", "")
        => rows.int(|row| row.largest_step_back);
    Column::new("duplicate_packets", Int64, "packets", "Copies of other packets of the capture, as mirrors of two ports, bridges and several interfaces record them: in no flow, rate, retransmission or RTT. The IPv4 identification tells them from packets that were sent again; without one, the packets around them do, which are recorded as often. 802.11 frames that the radio sent again have the same number. Packets that belong to no flow, such as ARP, are not compared.", "RFC 6864")
        => rows.int(|row| row.sifted.duplicate_packets);
    Column::new("duplicate_bytes", Int64, "B", "Their lengths on the wire.", "")
        => rows.int(|row| row.sifted.duplicate_bytes);
    Column::new("distant_duplicate_packets", Int64, "packets", "Copies that came more than 1 ms after the same packet was seen before: captures of several places were put together, or a queue lies between two interfaces. Data count where they were seen first, and so do their acknowledgements: where these are different places, and where the interfaces do not tell them apart, the connection has no RTT, and what limited it is unknown.", "")
        => rows.int(|row| row.sifted.distant_duplicates);
    Column::new("reordered_packets", Int64, "packets", "Packets that stood behind later ones in the capture and were put in front of them.", "")
        => rows.int(|row| row.sifted.reordered_packets);
    Column::new("late_packets", Int64, "packets", "Packets earlier than the order window reaches, by time or by number: they stayed where they were, and the gap before each is below 0.", "")
        => rows.int(|row| row.sifted.late_packets);
    Column::new("received_packets", Int64, "packets", "Packets that the interface received for the capture, those dropped included, as the statistics of a pcapng file say. Those of a file that holds a part of a capture (one of several, or what a filter left) are of the whole capture, and so are its drops.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.interface.received.map(|count| count as i64)));
    Column::new("dropped_kernel", Int64, "packets", "Packets the kernel dropped for lack of buffer, as the file or the capture's manifest says, and those that the agent received and could not write. Where a pcapng file has no totals: the sum of what its packets say was lost before them, by the kernel or the interface.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.interface.dropped_kernel.map(|count| count as i64)));
    Column::new("dropped_interface", Int64, "packets", "Packets the interface dropped, as the file or the capture's manifest says.", "").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.interface.dropped_interface.map(|count| count as i64)));
}

/// Returns all rows as one batch; `verified`: checksums were verified.
pub(crate) fn captures(rows: &[CaptureRow], verified: bool) -> Result<RecordBatch, Error> {
    let rows = CaptureRows { rows, verified };
    arrays::batch(Table::Captures, rows.rows.len(), columns(&rows))
}
