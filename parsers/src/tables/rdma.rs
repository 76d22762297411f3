//! Writes the queue pairs of RDMA over UDP to the table `rdma`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;

use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Int32, Int64, Text, Time},
    columns,
};
use super::dictionary::{ValueList, numbered, texts};
use super::{BATCH_ROWS, Table};
use crate::common::error::Error;
use crate::decode::rdma::Service;
use crate::track::{Counts, QueuePair, QueuePairs};

/// Services in the order of `number()`.
static SERVICES: ValueList = LazyLock::new(|| texts(["rc", "uc", "ud", "xrc"]));

fn number(service: Service) -> u16 {
    match service {
        Service::Reliable => 0,
        Service::Unreliable => 1,
        Service::Datagram => 2,
        Service::Extended => 3,
    }
}

/// Rows of a batch.
struct PairRows<'a> {
    pairs: &'a [&'a QueuePair],
    all: &'a QueuePairs,
    /// Rows whose service is known.
    with_service: Option<NullBuffer>,
    /// Rows that have an RTT.
    with_rtt: Option<NullBuffer>,
}

impl<'a> PairRows<'a> {
    fn each(&self) -> impl ExactSizeIterator<Item = &'a QueuePair> + Send + 'a {
        self.pairs.iter().copied()
    }

    fn int(&self, value: fn(&Counts) -> u64) -> Making<'a> {
        arrays::int64(self.each().map(move |pair| value(&pair.counts) as i64))
    }

    fn rtt(&self, value: fn(&QueuePair) -> i64) -> Making<'a> {
        arrays::int64_where(self.with_rtt.as_ref(), self.each().map(value))
    }
}

const SPECIFICATION: &str = "InfiniBand Architecture Specification vol. 1, chapter 9";

columns! {
    <'a> rows: &PairRows<'a>;
    Column::new("connection", Int64, "", "Number of the UDP flow of the first packet, as in flows. The two directions of a queue pair are different UDP flows.", "")
        => arrays::int64(rows.each().map(|pair| i64::from(pair.connection)));
    Column::new("src_ip", Text, "", "Sender: the innermost IP header's source address.", "")
        => arrays::addresses(rows.each().map(|pair| (pair.hosts.source, pair.hosts.v6)));
    Column::new("dst_ip", Text, "", "Receiver: the innermost IP header's destination address.", "")
        => arrays::addresses(rows.each().map(|pair| (pair.hosts.destination, pair.hosts.v6)));
    Column::new("destination_qp", Int32, "", "Queue pair that the packets are sent to.", SPECIFICATION)
        => arrays::int32(rows.each().map(|pair| pair.destination as i32));
    Column::new("peer_qp", Int32, "", "Queue pair of the sender, to which answers and congestion notifications go. Datagrams name it; of others it is that to which the answers to these packets were sent, where no other queue pair between the two hosts had a request with that number outstanding; null where that was never so, or later answers contradict it.", SPECIFICATION).or_null()
        => { let all = rows.all; arrays::int32_or_null(rows.each().map(move |pair| all.source(pair).map(|number| number as i32))) };
    Column::new("service", Text, "", "Service of the first packet that names one: rc (reliable connection), uc (unreliable connection), ud (unreliable datagram), xrc (extended reliable connection).", SPECIFICATION).or_null().in_dictionary()
        => numbered(&SERVICES, rows.with_service.as_ref(), rows.each().map(|pair| pair.service.map_or(0, number)));
    Column::new("first_time", Time, "", "Time of the earliest packet.", "")
        => arrays::time(rows.each().map(|pair| pair.first_time));
    Column::new("last_time", Time, "", "Time of the latest packet.", "")
        => arrays::time(rows.each().map(|pair| pair.last_time));
    Column::new("packets", Int64, "packets", "Packets to this queue pair, answers and congestion notifications included.", "")
        => rows.int(|counts| counts.packets);
    Column::new("wire_bytes", Int64, "B", "Their lengths on the wire, with link header, without FCS.", "")
        => rows.int(|counts| counts.wire_bytes);
    Column::new("payload_bytes", Int64, "B", "Data in requests and answers to reads, without headers, padding and CRC; each packet number once.", SPECIFICATION)
        => rows.int(|counts| counts.payload_bytes);
    Column::new("messages", Int64, "messages", "SEND and RDMA WRITE messages and answers to RDMA READ whose last packet was captured, each once.", SPECIFICATION)
        => rows.int(|counts| counts.messages);
    Column::new("message_bytes", Int64, "B", "Bytes of messages: of RDMA WRITE the length that its first packet states, captured whole or not; of all others, and where that packet was not captured, the payload of their packets. Messages that do not end in the capture count too.", SPECIFICATION)
        => rows.int(|counts| counts.message_bytes);
    Column::new("read_requests", Int64, "packets", "RDMA READ requests, each once. Their answers are messages of the other direction.", SPECIFICATION)
        => rows.int(|counts| counts.read_requests);
    Column::new("atomic_requests", Int64, "packets", "Requests of atomic operations, each once.", SPECIFICATION)
        => rows.int(|counts| counts.atomic_requests);
    Column::new("lost_packets", Int64, "packets", "Packet sequence numbers that were passed over: lost before the capture point, or by the capture. Numbers that the packets of an answer to a read take are none, and those between two answers are not known to be.", SPECIFICATION)
        => rows.int(|counts| counts.lost_packets);
    Column::new("resent_packets", Int64, "packets", "Packets sent again with need: their number was passed over before, or a negative acknowledgement asked for it.", SPECIFICATION)
        => rows.int(|counts| counts.resent_packets);
    Column::new("repeated_packets", Int64, "packets", "Packets whose number was captured before and was not asked for: a sender goes back to the first one that is missing and sends all behind it again.", SPECIFICATION)
        => rows.int(|counts| counts.repeated_packets);
    Column::new("out_of_order_packets", Int64, "packets", "Packets whose number was passed over and that came sooner behind it than the least RTT, or whose service sends nothing again: the network changed their order. They are not lost. Before the first RTT is known they count as lost and resent.", "")
        => rows.int(|counts| counts.out_of_order_packets);
    Column::new("restarts", Int64, "count", "Packet numbers more than 65,536 away from those before: another connection uses the queue pair's number, or so many packets were lost.", "")
        => rows.int(|counts| counts.restarts);
    Column::new("ack_packets", Int64, "packets", "Acknowledgements sent to this queue pair, of atomic operations too; they are of what the other direction sent.", SPECIFICATION)
        => rows.int(|counts| counts.acknowledgements);
    Column::new("sequence_nak_packets", Int64, "packets", "Negative acknowledgements: PSN sequence error, a packet is missing.", SPECIFICATION)
        => rows.int(|counts| counts.sequence_errors);
    Column::new("rnr_nak_packets", Int64, "packets", "Negative acknowledgements: receiver not ready, it has no buffer and names a time to wait.", SPECIFICATION)
        => rows.int(|counts| counts.not_ready);
    Column::new("other_nak_packets", Int64, "packets", "Negative acknowledgements that end the connection: invalid request, remote access error, remote operational error.", SPECIFICATION)
        => rows.int(|counts| counts.refused);
    Column::new("cnp_packets", Int64, "packets", "Congestion Notification Packets sent to this queue pair: its host is to send more slowly.", "InfiniBand Architecture Specification vol. 1, A17; DCQCN (Zhu et al., SIGCOMM 2015)")
        => rows.int(|counts| counts.congestion_notifications);
    Column::new("ce_packets", Int64, "packets", "Packets that a queue marked with Congestion Experienced.", "RFC 3168 5")
        => rows.int(|counts| counts.marked);
    Column::new("fecn_packets", Int64, "packets", "Packets with the forward congestion bit of InfiniBand's own header.", SPECIFICATION)
        => rows.int(|counts| counts.fecn);
    Column::new("becn_packets", Int64, "packets", "Packets with the backward congestion bit of InfiniBand's own header.", SPECIFICATION)
        => rows.int(|counts| counts.becn);
    Column::new("rtt_samples", Int64, "samples", "Acknowledgements, and first packets of answers to reads, whose request was captured and sent once. None where the peer's queue pair is not known.", SPECIFICATION)
        => arrays::int64(rows.each().map(|pair| pair.rtt.samples.into()));
    Column::new("rtt_min_ns", Int64, "ns", "Least of the samples: from a request to the answer that has its number.", "").or_null()
        => rows.rtt(|pair| pair.rtt.min_ns);
    Column::new("rtt_mean_ns", Int64, "ns", "Mean of the samples, rounded down; delays of the answering host are in it.", "").or_null()
        => rows.rtt(|pair| pair.rtt.sum_ns / i64::from(pair.rtt.samples.max(1)));
    Column::new("rtt_max_ns", Int64, "ns", "Greatest of the samples.", "").or_null()
        => rows.rtt(|pair| pair.rtt.max_ns);
}

/// Passes all queue pairs to `emit` in batches, in the order of their first packets.
pub(crate) fn rdma(
    all: &QueuePairs,
    emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let pairs: Vec<_> = all.iter().collect();
    let batches = pairs.chunks(BATCH_ROWS).map(|pairs| {
        let rows = PairRows {
            pairs,
            all,
            with_service: arrays::known(pairs.iter().map(|pair| pair.service.is_some())),
            with_rtt: arrays::known(pairs.iter().map(|pair| pair.rtt.samples > 0)),
        };
        arrays::batch(Table::Rdma, pairs.len(), columns(&rows))
    });
    arrays::hand_over(batches, emit)
}
