//! Decodes records into a chunk.

use foldhash::fast::RandomState;

use super::{Chunk, ListedOptions, Tunnelled, lengthen};
use crate::capture::counts::CaptureRow;
use crate::common::memory::prefetch;
use crate::decode::fast::plain;
use crate::decode::links::Link;
use crate::decode::notice::Notice;
use crate::decode::segment::{Owner, Segment};
use crate::decode::{Outcome, Packet, decode, flag};
use crate::records::{Interface, Record, RecordPlace};
use crate::sift::identity::Identity;

/// Packets between asking for a segment's memory and writing it.
const AHEAD: usize = 16;

impl Chunk {
    /// Decodes `records` behind the packets so far and counts what they hold in `rows`, one per interface. `numbers` of them
    /// are there where they were put into another order.
    pub(crate) fn append(
        &mut self,
        (records, numbers): (&[Record], &[u64]),
        interfaces: &[Interface],
        (bytes, start): (&[u8], u64),
        (file, rows): (usize, &mut [CaptureRow]),
        notice: &mut Notice,
    ) {
        let from = self.count;
        self.count += records.len();
        notice.count(records.len());
        lengthen(&mut self.segments, self.count);
        lengthen(&mut self.owners, self.count - self.found);
        if self.with_places {
            self.keep_places(records, from, start, file);
            self.numbers.extend(numbers);
        }
        let named = self.place_of(rows);
        let (recent, packet) = (&mut self.recent, &mut self.packet);
        let mut nobody = CaptureRow::default();
        let mut owners = self.owners[from - self.found..].iter_mut();
        let mut position = from;
        let mut rest = records;
        while let Some(first) = rest.first() {
            // Behind the rows of the interfaces there may be one of those that no block describes.
            let count = if interfaces.len().max(rows.len()) > 1 {
                let same = |record: &&Record| record.interface == first.interface;
                rest.iter().take_while(same).count()
            } else {
                rest.len()
            };
            let (records, others) = rest.split_at(count);
            rest = others;
            let interface = first.interface as usize;
            let link = interfaces.get(interface);
            let link = link.and_then(|it| Link::find(it.link_type));
            let fast = link.is_some_and(Link::is_ethernet)
                && !self.verify
                && !self.without_fast
                && !self.with_identities;
            let last = rows.len().saturating_sub(1);
            let row = rows.get_mut(interface.min(last)).unwrap_or(&mut nobody);
            for (record, owner) in records.iter().zip(&mut owners) {
                if let Some(later) = self.segments.get(position + AHEAD) {
                    prefetch(later);
                }
                let segment = &mut self.segments[position];
                position += 1;
                let slot = (&mut *owner, &mut *segment);
                if fast
                    && record.is_timed
                    && plain(record, bytes, &self.hashing, recent, notice, slot)
                {
                    row.count_plain(segment.ip_bytes(), segment.payload);
                    if self.with_owners {
                        recent.forget_latest();
                    }
                    continue;
                }
                any(
                    record,
                    link,
                    (bytes, self.verify, self.by_network),
                    &self.hashing,
                    packet,
                    (&mut *owner, &mut *segment),
                );
                row.count_decoded(packet);
                if packet.length_conflict {
                    row.count_conflict(record, packet);
                }
                if packet.outcome == Outcome::Flow && notice.copies {
                    notice.packet(owner, packet, record.bytes(bytes), record.time);
                }
                if self.with_identities {
                    let seen_at = (link.map_or(0, Link::number), record.interface ^ named);
                    let frame = record.bytes(bytes);
                    let identity = Identity::new(packet, frame, seen_at, &self.hashing);
                    self.identities.push(identity);
                }
                recent.interrupted();
                if packet.tcp && packet.tcp_flags & flag::SYN != 0 {
                    recent.forget(&packet.key);
                }
                if packet.outcome == Outcome::Flow && packet.is_inside() {
                    self.tunnelled.push(Tunnelled {
                        position: position as u32 - 1,
                        from_high: packet.from_high,
                        outer: packet.outer,
                    });
                }
                let rdma = packet.rdma.filter(|_| self.with_rdma);
                self.rdma
                    .extend(rdma.map(|rdma| (position as u32 - 1, rdma)));
                if segment.lists_options() {
                    self.options.push(ListedOptions {
                        position: position as u32 - 1,
                        options: packet.options,
                    });
                }
            }
        }
    }

    /// Notes where each of `records` lies, from position `from` on.
    fn keep_places(&mut self, records: &[Record], from: usize, start: u64, file: usize) {
        lengthen(&mut self.places, self.count);
        for (place, record) in self.places[from..].iter_mut().zip(records) {
            *place = RecordPlace {
                file_offset: start + u64::from(record.at),
                interface: record.interface,
                file: file as u32,
            };
        }
    }

    /// A number of the place where the file of `rows` was recorded. Files of other names are of other places: two hosts
    /// at the ends of a path number their interfaces alike.
    fn place_of(&self, rows: &[CaptureRow]) -> u32 {
        let first = rows.first().filter(|_| self.with_identities);
        first.map_or(0, CaptureRow::file_hash)
    }
}

/// Decodes any packet.
#[inline(never)] // most are plain ones
fn any(
    record: &Record,
    link: Option<&Link>,
    (bytes, verify, by_network): (&[u8], bool, bool),
    hashing: &RandomState,
    packet: &mut Packet,
    (owner, segment): (&mut Owner, &mut Segment),
) {
    decode(record, link, bytes, verify, packet);
    if by_network {
        packet.key.network = packet.network();
    }
    *owner = Owner::new(packet, hashing);
    *segment = Segment::new(record, packet);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::chunk::ChunkOptions;
    use crate::decode::links::ETHERNET;
    use crate::decode::segment::OwnerKind;

    #[test]
    fn only_ethernet_is_taken_for_ethernet() {
        let mut frame = [0; 54];
        frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 40]);
        (frame[23], frame[46]) = (6, 0x50);
        let record = Record {
            time: 0,
            is_timed: true,
            wire: 54,
            captured: 54,
            interface: 0,
            at: 0,
            data: 0,
        };
        for (link_type, kind) in [(ETHERNET, OwnerKind::Whole), (147, OwnerKind::None)] {
            let interface = Interface::with_link_type(link_type);
            let mut chunk = Chunk::new(RandomState::default(), ChunkOptions::default());
            let mut notice = Notice::new(false, false);
            chunk.append(
                (&[record], &[]),
                &[interface],
                (&frame, 0),
                (0, &mut []),
                &mut notice,
            );
            assert_eq!(chunk.take_unfound().0[0].kind, kind);
        }
    }
}
