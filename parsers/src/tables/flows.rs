//! Writes the connections of the tracker to the table `flows`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;

use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Bool, Int32, Int64, Text, Time},
    columns,
};
use super::dictionary::{DIRECTIONS, ValueList, numbered, texts};
use super::{Table, text};
use crate::common::error::Error;
use crate::decode::{Key, NO_VLAN, Outer, has_ports};
use crate::track::{
    Connections, Direction, LimitTimes, RareCounts, Rtt, Side, States, SynOptions, sides,
};

/// What is computed once for several columns of a row.
struct FlowRow<'a> {
    side: Side<'a>,
    key: Key,
    tcp: bool,
    tunnel: Option<&'a Outer>,
    rtt: Option<Rtt>,
    rare: RareCounts,
    limits: LimitTimes,
}

impl<'a> FlowRow<'a> {
    fn new(side: Side<'a>, connections: &'a Connections) -> Self {
        let key = side.connection.key();
        let tcp = key.protocol == 6;
        let own = &side.own.tcp;
        let rtt = own.rtt();
        Self {
            key,
            tcp,
            tunnel: connections.tunnels.get(side.number, side.from_high),
            rtt: (tcp && rtt.samples > 0).then_some(rtt),
            rare: own.rare(),
            // Without a captured packet of the other side no acknowledgement shows what the sender waited for; if the
            // first sightings of the two sides are at different places, their times do not show it either.
            limits: if side.peer.is_none_or(|peer| {
                let is_scattered = own.is_scattered() || peer.tcp.is_scattered();
                is_scattered || is_far(&rtt, &peer.tcp.rtt())
            }) {
                own.limit_times().as_unknown()
            } else {
                own.limit_times()
            },
            side,
        }
    }

    fn source(&self) -> (u128, u16) {
        if self.side.from_high {
            (self.key.high, self.key.high_port)
        } else {
            (self.key.low, self.key.low_port)
        }
    }

    fn destination(&self) -> (u128, u16) {
        if self.side.from_high {
            (self.key.low, self.key.low_port)
        } else {
            (self.key.high, self.key.high_port)
        }
    }

    /// Returns the address of the tunnel's source, or of its destination.
    fn tunnel_end(&self, source: bool) -> Option<String> {
        let Outer { key, from_high, .. } = self.tunnel?;
        let end = if *from_high == source {
            key.high
        } else {
            key.low
        };
        Some(text::address(end, key.v6))
    }

    fn port(&self, port: u16) -> Option<i32> {
        has_ports(self.key.protocol).then_some(i32::from(port))
    }

    /// Returns the place in [`STARTS`].
    fn start(&self) -> u16 {
        u16::from(self.side.connection.syn_seen())
    }

    /// Returns the place in [`ENDS`].
    fn end(&self) -> u16 {
        match self.side.own.tcp.fin_packets {
            _ if self.side.connection.reset() => 2,
            0 => 0,
            1.. => 1,
        }
    }
}

/// If the RTT of the other side is this many times longer than this one's, and longer by this much, the capture was
/// made next to the receiver.
const FAR: i64 = 4;
const FAR_NS: i64 = 100_000;

/// Returns whether the capture was made next to the receiver, where acknowledgements come at once: nothing shows when
/// they and the segments that they release passed the sender.
fn is_far(own: &Rtt, peer: &Rtt) -> bool {
    let both = own.samples > 0 && peer.samples > 0;
    both && peer.min_ns / FAR > own.min_ns && peer.min_ns - own.min_ns > FAR_NS
}

static PROTOCOLS: ValueList = LazyLock::new(|| texts((0..=u8::MAX).map(text::protocol)));
static STARTS: ValueList = LazyLock::new(|| texts(["midstream", "syn"]));
static ENDS: ValueList = LazyLock::new(|| texts(["open", "fin", "rst"]));

/// Rows in a batch: few enough that their states stay in the cache while every column is read from them.
const FLOW_ROWS: usize = 1 << 10;

/// Passes all rows to `emit` in batches, by connection, forward first.
pub(crate) fn flows(
    connections: &Connections,
    states: &States,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut sides = sides(connections, states);
    let mut rows = Vec::with_capacity(FLOW_ROWS.min(connections.len() * 2));
    let batches = std::iter::from_fn(|| {
        rows.clear();
        rows.extend(
            sides
                .by_ref()
                .take(FLOW_ROWS)
                .map(|side| FlowRow::new(side, connections)),
        );
        (!rows.is_empty()).then(|| batch(&rows))
    });
    arrays::hand_over(batches, emit)
}

/// Rows of a batch, and which of them have TCP columns.
struct FlowRows<'a> {
    rows: &'a [FlowRow<'a>],
    with_tcp: Option<NullBuffer>,
    with_rtt: Option<NullBuffer>,
}

impl<'a> FlowRows<'a> {
    fn each(&self) -> std::slice::Iter<'a, FlowRow<'a>> {
        self.rows.iter()
    }

    /// Makes a column of a count of any direction.
    fn int(&self, value: fn(&Direction) -> u64) -> Making<'a> {
        arrays::int64(self.each().map(move |row| value(row.side.own) as i64))
    }

    /// Makes a column of a TCP count; null for other protocols.
    fn tcp(&self, value: fn(&FlowRow<'_>) -> i64) -> Making<'a> {
        arrays::int64_where(self.with_tcp.as_ref(), self.each().map(value))
    }

    /// Makes a column of a TCP count that headers may not show; null then, and for other protocols.
    fn tcp_or_null(&self, value: fn(&Direction) -> Option<u64>) -> Making<'a> {
        let rows = self.each();
        arrays::int64_or_null(rows.map(move |row| {
            let known = row.tcp.then(|| value(row.side.own)).flatten();
            known.map(|count| count as i64)
        }))
    }

    /// Makes a column of a value that a SYN announced; null if none was captured.
    fn syn(&self, value: fn(&SynOptions) -> Option<i64>) -> Making<'a> {
        arrays::int64_or_null(self.each().map(move |row| value(&row.side.own.tcp.syn()?)))
    }

    /// Makes a column of RTT values; null without an RTT sample.
    fn rtt(&self, value: fn(&Rtt) -> i64) -> Making<'a> {
        let values = self
            .each()
            .map(move |row| row.rtt.as_ref().map_or(0, value));
        arrays::int64_where(self.with_rtt.as_ref(), values)
    }
}

columns! {
    <'a> rows: &FlowRows<'a>;
    Column::new("connection", Int64, "", "Number of the connection in order of its first packet, from 0.", "")
        => arrays::int64(rows.each().map(|row| i64::from(row.side.number)));
    Column::new("direction", Text, "", "forward: sent by the initiator (who sent the SYN or was answered with the SYN-ACK; else who sent the first packet); backward: by the other side.", "").in_dictionary()
        => numbered(&DIRECTIONS, None, rows.each().map(|row| row.side.backward.into()));
    Column::new("protocol", Text, "", "tcp, udp, icmp and so on, of the innermost IP packet; fragment: IP fragments behind the first, which have no ports.", "IANA protocol numbers").in_dictionary()
        => numbered(&PROTOCOLS, None, rows.each().map(|row| row.key.protocol.into()));
    Column::new("src_ip", Text, "", "Sender.", "")
        => arrays::addresses(rows.each().map(|row| (row.source().0, row.key.v6)));
    Column::new("src_port", Int32, "", "Sender's port; null where the protocol has none.", "").or_null()
        => arrays::int32_or_null(rows.each().map(|row| row.port(row.source().1)));
    Column::new("dst_ip", Text, "", "Receiver.", "")
        => arrays::addresses(rows.each().map(|row| (row.destination().0, row.key.v6)));
    Column::new("dst_port", Int32, "", "Receiver's port; null where the protocol has none.", "").or_null()
        => arrays::int32_or_null(rows.each().map(|row| row.port(row.destination().1)));
    Column::new("vlan", Int32, "", "Outermost VLAN id of the connection's first packet; null without a tag, or where tags carry a priority alone (id 0).", "IEEE 802.1Q").or_null()
        => arrays::int32_or_null(rows.each().map(|row| { let vlan = row.side.connection.vlan; (vlan != NO_VLAN).then_some(i32::from(vlan)) }));
    Column::new("tunnel", Text, "", "Outermost tunnel around this direction's first packet that is in one: vxlan, gre, 6in4 and so on; null where none is.", "").or_null()
        => arrays::text_or_null(rows.each().map(|row| Some(row.tunnel?.kind)));
    Column::new("tunnel_id", Int64, "", "Its network identifier (VXLAN, Geneve), key (GRE) or endpoint identifier (GTP-U); null where it has none.", "RFC 7348, RFC 8926, RFC 2890, 3GPP TS 29.281").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.tunnel?.id.map(i64::from)));
    Column::new("tunnel_src_ip", Text, "", "Who sent that packet into the tunnel; null without a tunnel.", "").or_null()
        => arrays::text_or_null(rows.each().map(|row| row.tunnel_end(true)));
    Column::new("tunnel_dst_ip", Text, "", "Where the tunnel ends; null without a tunnel.", "").or_null()
        => arrays::text_or_null(rows.each().map(|row| row.tunnel_end(false)));
    Column::new("first_time", Time, "", "Time of the earliest packet of this direction.", "")
        => arrays::time(rows.each().map(|row| row.side.own.earliest));
    Column::new("last_time", Time, "", "Time of the latest packet of this direction.", "")
        => arrays::time(rows.each().map(|row| row.side.own.latest()));
    Column::new("duration_ns", Int64, "ns", "From first_time to last_time.", "")
        => rows.int(|own| own.latest().saturating_sub(own.earliest) as u64);
    Column::new("packets", Int64, "packets", "Packets.", "")
        => rows.int(|own| own.packets);
    Column::new("wire_bytes", Int64, "B", "Lengths on the wire, with link header, without FCS.", "")
        => rows.int(|own| own.wire_bytes);
    Column::new("ip_bytes", Int64, "B", "Lengths of the innermost IP packets: IPv4 total length, or IPv6 payload length + 40.", "RFC 791, RFC 8200")
        => rows.int(|own| own.ip_bytes);
    Column::new("largest_packet_bytes", Int64, "B", "Longest of these IP packets: while it is sent nothing else is, so that no bin shorter than that shows a rate.", "")
        => rows.int(|own| own.largest_packet.into());
    Column::new("payload_bytes", Int64, "B", "TCP or UDP payload by the headers' own lengths, never by what was captured. Text in a segment with RST is counted, although it says why the connection was reset and is not part of the stream: messages leave it out.", "RFC 9293 3.5.3")
        => rows.int(|own| own.payload_bytes);
    Column::new("time_regressions", Int64, "packets", "Packets earlier than the one before them in this direction.", "")
        => rows.int(Direction::time_regressions);
    Column::new("outgoing_packets", Int64, "packets", "Packets that the capturing host sent, as the file marks them: Linux cooked captures (packet type 4), PKTAP, epb_flags of pcapng. 0 where it does not mark any.", "")
        => rows.int(Direction::outgoing_packets);
    Column::new("ecn_capable_packets", Int64, "packets", "Packets whose innermost IP header has ECT(0), ECT(1) or CE: a queue may mark them instead of dropping them.", "RFC 3168 5")
        => rows.int(|own| own.marks().capable_packets);
    Column::new("ce_packets", Int64, "packets", "Those of them that a queue before the capture point marked: Congestion Experienced. A mark on the outer header of a tunnel is not counted.", "RFC 3168 5")
        => rows.int(|own| own.marks().marked_packets);
    Column::new("ece_packets", Int64, "packets", "Segments of this side with ECE, SYNs apart: each says that a packet it received was marked, and a receiver repeats that until it sees CWR. Null where AE shows that the bits are the counter of AccECN.", "RFC 3168 6.1.3, RFC 9768 3.2.2").or_null()
        => rows.tcp_or_null(|own| own.marks().echoes());
    Column::new("cwr_packets", Int64, "packets", "Segments of this side with CWR, SYNs apart: it reduced its congestion window because of a mark or a loss. Null as ece_packets.", "RFC 3168 6.1.2").or_null()
        => rows.tcp_or_null(|own| own.marks().answers());
    Column::new("start", Text, "", "syn: a SYN of the connection was captured; midstream: none was; null for protocols other than TCP.", "").or_null().in_dictionary()
        => numbered(&STARTS, rows.with_tcp.as_ref(), rows.each().map(FlowRow::start));
    Column::new("end", Text, "", "rst: either side sent one; fin: this side sent one; open: neither; null for protocols other than TCP.", "").or_null().in_dictionary()
        => numbered(&ENDS, rows.with_tcp.as_ref(), rows.each().map(FlowRow::end));
    Column::new("syn_packets", Int64, "packets", "Segments with SYN.", "").or_null()
        => rows.tcp(|row| row.side.own.tcp.syn_packets.into());
    Column::new("fin_packets", Int64, "packets", "Segments with FIN.", "").or_null()
        => rows.tcp(|row| row.side.own.tcp.fin_packets.into());
    Column::new("rst_packets", Int64, "packets", "Segments with RST. They may carry text, which is not part of the stream.", "RFC 9293 3.5.3").or_null()
        => rows.tcp(|row| row.side.own.tcp.rst_packets.into());
    Column::new("retransmitted_packets", Int64, "packets", "Segments that repeat at least one byte seen before in this direction at this capture point; SYN and FIN count one byte each.", "RFC 9293 3.4").or_null()
        => rows.tcp(|row| row.rare.retransmitted_packets.into());
    Column::new("retransmitted_bytes", Int64, "B", "The bytes repeated.", "RFC 9293 3.4").or_null()
        => rows.tcp(|row| row.rare.retransmitted_bytes as i64);
    Column::new("out_of_order_packets", Int64, "packets", "Segments whose payload fills a hole below the highest payload byte seen: sent again after a loss before the capture point, or overtaken.", "").or_null()
        => rows.tcp(|row| row.rare.out_of_order_packets.into());
    Column::new("keep_alives", Int64, "packets", "Segments of at most one byte just below what is sent and acknowledged.", "RFC 9293 3.8.4").or_null()
        => rows.tcp(|row| row.rare.keep_alives.into());
    Column::new("window_probes", Int64, "packets", "Segments of at most one byte sent into a window of 0 where all before was acknowledged, or one byte below that.", "RFC 9293 3.8.6.1").or_null()
        => rows.tcp(|row| row.rare.window_probes.into());
    Column::new("retransmitted_probes", Int64, "packets", "Of retransmitted_packets: keep-alives and window probes with a byte, and segments that repeat no more than the byte of a window probe. None of them repeats a byte that was lost.", "RFC 9293 3.8.4, 3.8.6.1").or_null()
        => rows.tcp(|row| row.rare.retransmitted_probes.into());
    Column::new("outside_window_packets", Int64, "packets", "Segments whose numbers the receiver would not accept: outside its window, or they acknowledge what was never sent. Counted in packets and bytes; of no effect on any other column of TCP.", "RFC 9293 3.10.7.4, RFC 5961 5").or_null()
        => rows.tcp(|row| row.rare.outside_window_packets.into());
    Column::new("stray_syn_packets", Int64, "packets", "SYNs with another number in a live connection that no SYN-ACK answered: of no effect, as those above.", "RFC 5961 4").or_null()
        => rows.tcp(|row| row.rare.stray_syn_packets.into());
    Column::new("stray_syn_ack_packets", Int64, "packets", "SYN-ACKs with another number in a live connection: of no effect.", "RFC 9293 3.10.7.4").or_null()
        => rows.tcp(|row| row.rare.stray_syn_ack_packets.into());
    Column::new("stray_rst_packets", Int64, "packets", "RSTs outside the window: of no effect.", "RFC 5961 3").or_null()
        => rows.tcp(|row| row.rare.stray_rst_packets.into());
    Column::new("unseen_acked_bytes", Int64, "B", "Bytes of this side that the other side acknowledged and no captured segment has: the capture lacks them, SYN and FIN counted as one byte each. Where no SYN was captured, from the first acknowledgement on. Null where no acknowledgement was captured, or a segment of this side is in fragments or cut inside its header.", "RFC 9293 3.4").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.side.own.tcp.unseen_acked_bytes()));
    Column::new("duplicate_acks", Int64, "packets", "Acknowledgements of this side that fulfil all five conditions.", "RFC 5681 2").or_null()
        => rows.tcp(|row| row.rare.duplicate_acks.into());
    Column::new("zero_window_packets", Int64, "packets", "Segments that advertise a window of 0, RST apart.", "RFC 9293 3.8.6").or_null()
        => rows.tcp(|row| row.rare.zero_window_packets.into());
    Column::new("sack_permitted", Bool, "", "Option of this side's SYN; null where that was not captured.", "RFC 2018 2").or_null()
        => arrays::boolean_or_null(rows.each().map(|row| row.side.own.tcp.syn().map(|syn| syn.sack_permitted)));
    Column::new("mss", Int64, "B", "Option of this side's SYN, of several before the answer the last that has it: the longest segment it accepts; null where not captured or not there.", "RFC 9293 3.7.1").or_null()
        => rows.syn(|syn| syn.mss.map(i64::from));
    Column::new("window_scale", Int64, "bit", "Option of this side's SYN: shift of its windows, above 14 as 14; null where not captured or not there.", "RFC 7323 2").or_null()
        => rows.syn(|syn| syn.window_scale.map(i64::from));
    Column::new("max_window_bytes", Int64, "B", "Greatest window this side advertised, scaled; null where a SYN was not captured, so that the scale is not known.", "RFC 7323 2").or_null()
        => arrays::int64_or_null(rows.each().map(|row| { let peer = row.side.peer.map(|peer| &peer.tcp); row.side.own.tcp.max_window_bytes(peer) }));
    Column::new("max_in_flight_bytes", Int64, "B", "Most payload bytes sent and not yet acknowledged at this capture point, counted before the first acknowledgement from the first byte seen, and beyond the receiver's window, where the capture lacks an acknowledgement, from the last hole; null where no acknowledgement was captured.", "RFC 5681 2").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.side.own.tcp.max_in_flight_bytes()));
    Column::new("handshake_rtt_ns", Int64, "ns", "From this side's SYN to its acknowledgement, by a RST too; null where the SYN or its answer was not captured, or it was repeated before it was answered, so that nobody knows which one was.", "RFC 6298 3").or_null()
        => arrays::int64_or_null(rows.each().map(|row| row.side.own.tcp.handshake_ns()));
    Column::new("rtt_samples", Int64, "samples", "Acknowledgements, SACK included, that measure: each the newest segment of this side it covers (SYN and FIN too), none where a byte newly covered was sent twice, and none of a RST. None either between packets that were seen first at different places, as where captures of both ends were put together (distant_duplicate_packets of captures), or where nothing tells the places apart.", "RFC 6298 3").or_null()
        => rows.tcp(|row| row.rtt.map_or(0, |rtt| rtt.samples.into()));
    Column::new("rtt_min_ns", Int64, "ns", "Least of the samples.", "RFC 6298 3").or_null()
        => rows.rtt(|rtt| rtt.min_ns);
    Column::new("rtt_mean_ns", Int64, "ns", "Mean of the samples, rounded down; delays of the acknowledging side are in it.", "RFC 6298 3").or_null()
        => rows.rtt(|rtt| rtt.sum_ns / i64::from(rtt.samples));
    Column::new("rtt_max_ns", Int64, "ns", "Greatest of the samples.", "RFC 6298 3").or_null()
        => rows.rtt(|rtt| rtt.max_ns);
    Column::new("app_limited_ns", Int64, "ns", "Time from the first data to the last data or its acknowledgement in which this side's application had nothing to send. The five times add up to that span. They hold for a capture at this side's host; if the RTTs show that the capture lies beside the other host, or if no packet of the other side was captured, all of the span is unknown.", "RFC 4898 SndLimTimeSnd, without the next").or_null()
        => rows.tcp(|row| row.limits.app_ns);
    Column::new("sender_limited_ns", Int64, "ns", "Part of that span in which the send buffer was full and all of it was sent: acknowledgements woke the writer, and no queue stood on the path. A writer that wakes late counts as application.", "").or_null()
        => rows.tcp(|row| row.limits.sender_ns);
    Column::new("receiver_limited_ns", Int64, "ns", "Part of that span in which the receiver's window had no room for another segment, or was closed while the sender probed it. Not where it sent beyond that, so that the capture lacks the acknowledgement that made room.", "RFC 4898 SndLimTimeRwin").or_null()
        => rows.tcp(|row| row.limits.receiver_ns);
    Column::new("network_limited_ns", Int64, "ns", "Part of that span in which the congestion window, pacing or recovery held data back.", "RFC 4898 SndLimTimeCwnd").or_null()
        => rows.tcp(|row| row.limits.network_ns);
    Column::new("unknown_limited_ns", Int64, "ns", "Part of that span that the headers do not explain, mostly between the send buffer and the network.", "").or_null()
        => rows.tcp(|row| row.limits.unknown_ns);
    Column::new("peer_wait_ns", Int64, "ns", "Part of app_limited_ns in which an answer was under way: from the last data sent to the last data of the other side before this side sent again, where these acknowledge all that was sent. Network and other host share it: the other host's part is its own app_limited_ns without its own peer_wait_ns, where it was captured too; the network's is at least peer_waits times rtt_min_ns.", "").or_null()
        => rows.tcp(|row| row.limits.peer_wait_ns);
    Column::new("peer_waits", Int64, "count", "Answers for which this side waited so.", "").or_null()
        => rows.tcp(|row| i64::from(row.limits.peer_waits));
}

fn batch(rows: &[FlowRow<'_>]) -> Result<RecordBatch, Error> {
    let rows = FlowRows {
        rows,
        with_tcp: arrays::known(rows.iter().map(|row| row.tcp)),
        with_rtt: arrays::known(rows.iter().map(|row| row.rtt.is_some())),
    };
    arrays::batch(Table::Flows, rows.rows.len(), columns(&rows))
}
