//! What is counted of the packets that one host sends to one queue pair of another.

use super::outstanding::Outstanding;
use super::sequence::{Arrival, Sequence, Skip, add};
use super::writing::Writing;
use crate::decode::ecn;
use crate::decode::rdma::{Answer, Operation, Place, Rdma, Service};
use crate::decode::segment::{Segment, since};
use crate::track::rtt::Rtt;

/// This many answers in a row that are far from the requests are answers to others.
const MOST_FAR_ANSWERS: u8 = 3;

/// Sender and receiver of packets, and the network they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hosts {
    pub v6: bool,
    pub source: u128,
    pub destination: u128,
    pub network: u32,
}

impl Hosts {
    pub(super) fn turned(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ..self
        }
    }
}

/// What is known of the queue pair on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Unknown,
    /// Its row.
    Row(u32),
    /// Answers contradicted an earlier match.
    Never,
}

/// Counts of packets.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub messages: u64,
    pub message_bytes: u64,
    pub read_requests: u64,
    pub atomic_requests: u64,
    pub lost_packets: u64,
    pub resent_packets: u64,
    pub repeated_packets: u64,
    pub out_of_order_packets: u64,
    pub restarts: u64,
    pub acknowledgements: u64,
    pub sequence_errors: u64,
    pub not_ready: u64,
    pub refused: u64,
    pub congestion_notifications: u64,
    pub marked: u64,
    pub fecn: u64,
    pub becn: u64,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct QueuePair {
    pub hosts: Hosts,
    pub destination: u32,
    /// Queue pair of the sender of datagrams.
    pub source: Option<u32>,
    /// The connection of the first packet.
    pub connection: u32,
    pub service: Option<Service>,
    pub first_time: i64,
    pub last_time: i64,
    pub counts: Counts,
    /// From the requests here to the answers of the peer.
    pub rtt: Rtt,
    pub(super) peer: Peer,
    pub(super) requests: Sequence,
    responses: Sequence,
    pub(super) outstanding: Outstanding,
    /// Bytes that the last request reads, if it was an RDMA READ.
    read_bytes: Option<u32>,
    /// Bytes of a packet that is not the last of its message.
    pub(super) packet_bytes: Option<u32>,
    pub(super) writing: Option<Writing>,
    /// The message that is being written goes on after a hole, which may contain its length.
    pub(super) is_behind_hole: bool,
    /// An answer to a read request is under way.
    is_answering: bool,
    /// A negative acknowledgement requested this number.
    wanted: Option<u32>,
    /// Answers in a row that are far away from the requests.
    far_answers: u8,
}

impl QueuePair {
    pub(super) fn new(hosts: Hosts, rdma: &Rdma, connection: u32, time: i64) -> Self {
        Self {
            hosts,
            destination: rdma.destination,
            source: rdma.source,
            connection,
            service: None,
            first_time: time,
            last_time: time,
            counts: Counts::default(),
            rtt: Rtt::default(),
            peer: Peer::Unknown,
            requests: Sequence::default(),
            responses: Sequence::default(),
            outstanding: Outstanding::default(),
            read_bytes: None,
            packet_bytes: None,
            writing: None,
            is_behind_hole: false,
            is_answering: false,
            wanted: None,
            far_answers: 0,
        }
    }

    /// Returns the number after the highest of its requests.
    pub(super) fn next_request(&self) -> Option<u32> {
        self.requests.next()
    }

    /// Counts a packet; returns whether it is a request that waits for an answer.
    pub(super) fn take(&mut self, rdma: &Rdma, segment: &Segment) -> bool {
        self.counts.packets += 1;
        self.counts.wire_bytes += u64::from(segment.wire);
        self.first_time = self.first_time.min(segment.time);
        self.last_time = self.last_time.max(segment.time);
        self.counts.marked += u64::from(segment.ecn() == ecn::CONGESTION_EXPERIENCED);
        self.counts.fecn += u64::from(rdma.fecn);
        self.counts.becn += u64::from(rdma.becn);
        if self.service.is_none() {
            self.service = rdma.service;
        }
        match rdma.operation {
            Operation::Congestion => self.counts.congestion_notifications += 1,
            Operation::Acknowledge(Answer::Acknowledged) => self.counts.acknowledgements += 1,
            Operation::Acknowledge(Answer::SequenceError) => self.counts.sequence_errors += 1,
            Operation::Acknowledge(Answer::NotReady) => self.counts.not_ready += 1,
            Operation::Acknowledge(Answer::Refused) => self.counts.refused += 1,
            Operation::ReadResponse(place) => self.take_response(rdma, place, segment.time),
            _ => return self.take_request(rdma, segment.time),
        }
        false
    }

    fn take_request(&mut self, rdma: &Rdma, time: i64) -> bool {
        let skip = self.read_bytes.map_or(Skip::None, |bytes| Skip::AnswerOf {
            bytes,
            packet: self.packet_bytes,
        });
        let late_bytes = self.late_write(rdma);
        let arrival = self.requests.take(rdma.number, skip, time);
        let is_reliable = rdma.service.is_some_and(Service::is_reliable);
        match arrival {
            Arrival::Next { lost } => {
                self.counts.lost_packets += u64::from(lost);
                if lost > 0
                    && let Some(part) = self.requests.last_part()
                {
                    part.is_stated = self.writing.is_some();
                    self.is_behind_hole = true;
                }
            }
            Arrival::Anew => {
                self.counts.restarts += 1;
                self.outstanding.clear();
                (self.writing, self.wanted) = (None, None);
                self.is_behind_hole = true;
            }
            _ => {}
        }
        let is_ahead = matches!(arrival, Arrival::Next { .. } | Arrival::Anew);
        if is_ahead {
            self.read_bytes = match rdma.operation {
                Operation::ReadRequest => Some(rdma.length.unwrap_or(u32::MAX)),
                _ => None,
            };
            if is_reliable {
                self.outstanding.push(rdma.number, time);
            }
        } else {
            self.outstanding.note_again(rdma.number);
        }
        if self.count_late(arrival, rdma.number, time, is_reliable) {
            let late_bytes = (!is_ahead).then_some(late_bytes);
            self.count_request(rdma, late_bytes);
        }
        is_reliable && is_ahead
    }

    /// Counts a packet that is late or repeated; returns whether its number is new.
    fn count_late(&mut self, arrival: Arrival, number: u32, time: i64, may_resend: bool) -> bool {
        match arrival {
            Arrival::Late {
                since: lost,
                was_lost,
            } => {
                // A sender repeats it after it learned of the loss, which takes longer than a round trip.
                let is_soon = self.rtt.samples > 0 && since(time, lost) < self.rtt.min_ns;
                if is_soon || !may_resend {
                    self.counts.out_of_order_packets += 1;
                    self.counts.lost_packets -= u64::from(was_lost);
                } else {
                    self.counts.resent_packets += 1;
                }
            }
            Arrival::Again if self.wanted == Some(number) => {
                self.counts.resent_packets += 1;
                self.wanted = None;
                return false;
            }
            Arrival::Again => {
                self.counts.repeated_packets += 1;
                return false;
            }
            Arrival::Next { .. } | Arrival::Anew => {}
        }
        if self.wanted == Some(number) {
            self.wanted = None;
        }
        true
    }

    /// Counts a part of the answer to a read request, which has the numbers of the other side's requests.
    fn take_response(&mut self, rdma: &Rdma, place: Place, time: i64) {
        // Requests that are answered with an acknowledgement lie between answers with data.
        let skip = if place.begins() || !self.is_answering {
            Skip::Any
        } else {
            Skip::None
        };
        let arrival = self.responses.take(rdma.number, skip, time);
        match arrival {
            Arrival::Next { lost } => {
                self.counts.lost_packets += u64::from(lost);
                self.is_answering = !place.ends();
            }
            Arrival::Anew => self.is_answering = !place.ends(),
            _ => {}
        }
        if self.count_late(arrival, rdma.number, time, true) {
            self.counts.payload_bytes += u64::from(rdma.payload);
            self.count_part(rdma, place);
        }
    }

    /// Takes in an answer of the peer to its requests; returns whether it may still be the peer.
    pub(super) fn take_answer(&mut self, rdma: &Rdma, time: i64) -> bool {
        // The other parts of an answer to a read may have numbers far after that of the request.
        if matches!(
            rdma.operation,
            Operation::ReadResponse(Place::Middle | Place::Last)
        ) {
            return true;
        }
        let number = rdma.number;
        let next = self.requests.next();
        if next.is_none_or(|next| !super::is_near(number, next)) {
            // A single one may belong to requests that the capture lost.
            self.far_answers = self.far_answers.saturating_add(1);
            return self.far_answers < MOST_FAR_ANSWERS;
        }
        self.far_answers = 0;
        match rdma.operation {
            Operation::Acknowledge(Answer::SequenceError) => {
                self.wanted = Some(number);
                // It acknowledges all before that.
                self.outstanding.answer(add(number, u32::MAX));
            }
            Operation::Acknowledge(Answer::NotReady) => self.wanted = Some(number),
            Operation::Acknowledge(Answer::Acknowledged) | Operation::ReadResponse(_) => {
                if let Some(sent) = self.outstanding.answer(number) {
                    self.rtt.add(since(time, sent));
                }
                if rdma.operation == Operation::ReadResponse(Place::First) && rdma.payload > 0 {
                    self.packet_bytes = Some(rdma.payload);
                }
            }
            _ => {}
        }
        true
    }

    /// Forgets the peer for good, and the RTT that its answers gave.
    pub(super) fn forget_peer(&mut self) {
        self.peer = Peer::Never;
        self.rtt = Rtt::default();
    }
}
