//! Messages of a queue pair: how many end, and how many bytes they have.

use super::queue_pair::QueuePair;
use super::writing::Writing;
use crate::decode::rdma::{Operation, Place, Rdma};

impl QueuePair {
    /// Returns the bytes that a packet of RDMA WRITE adds to messages if it was missing.
    pub(super) fn late_write(&mut self, rdma: &Rdma) -> u64 {
        let Some(part) = self.requests.part(rdma.number) else {
            return 0;
        };
        match (rdma.operation, rdma.length) {
            (Operation::Write(Place::First | Place::Only), Some(length)) => {
                let packets = length.div_ceil(rdma.payload.max(1)).max(1);
                let counted = self.requests.state(rdma.number, packets);
                u64::from(length).saturating_sub(counted)
            }
            (Operation::Write(_), _) if !part.is_stated => {
                part.bytes += u64::from(rdma.payload);
                rdma.payload.into()
            }
            _ => 0,
        }
    }

    /// Counts the message of a request that was not captured before. `late_bytes`: the request is not ahead of all, and
    /// adds this many bytes if it is an RDMA WRITE.
    pub(super) fn count_request(&mut self, rdma: &Rdma, late_bytes: Option<u64>) {
        self.counts.payload_bytes += u64::from(rdma.payload);
        match rdma.operation {
            Operation::ReadRequest => self.counts.read_requests += 1,
            Operation::Atomic => self.counts.atomic_requests += 1,
            Operation::Send(place) => self.count_part(rdma, place),
            Operation::Write(place) => {
                self.counts.messages += u64::from(place.ends());
                self.counts.message_bytes += match late_bytes {
                    Some(bytes) => bytes,
                    None => self.write(rdma, place),
                };
            }
            _ => {}
        }
    }

    /// Takes in a packet of RDMA WRITE that is ahead of all; returns the bytes that are counted with it.
    fn write(&mut self, rdma: &Rdma, place: Place) -> u64 {
        let mut bytes = rdma.payload;
        if place.begins() {
            self.is_behind_hole = false;
            self.writing = rdma.length.map(|length| Writing {
                first: rdma.number,
                length,
                packet: rdma.payload,
            });
            if place == Place::First {
                self.packet_bytes = Some(rdma.payload).filter(|&bytes| bytes > 0);
            }
            bytes = rdma.length.unwrap_or(rdma.payload);
        } else if self
            .writing
            .is_some_and(|it| it.has(rdma.number, rdma.payload))
        {
            bytes = 0;
        } else if self.is_behind_hole
            && let Some(part) = self.requests.last_part()
        {
            part.bytes += u64::from(bytes);
        }
        if place.ends() {
            (self.writing, self.is_behind_hole) = (None, false);
        }
        bytes.into()
    }

    /// Counts a packet of a message whose length no header states.
    pub(super) fn count_part(&mut self, rdma: &Rdma, place: Place) {
        self.counts.message_bytes += u64::from(rdma.payload);
        self.counts.messages += u64::from(place.ends());
        if matches!(place, Place::First | Place::Middle) && rdma.payload > 0 {
            self.packet_bytes = Some(rdma.payload);
        }
    }
}
