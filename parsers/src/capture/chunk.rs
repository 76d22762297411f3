//! Decoded packets on their way from reading to counting, in columns: what finding the connection needs lies
//! apart from what counting needs, so that each stage reads only its own.

use foldhash::fast::RandomState;

use super::counts::CaptureRow;
use crate::capture::sizes::{LARGEST, SMALLEST_SHARED};
use crate::common::memory::{prefetch, use_large_pages};
use crate::decode::fast::{Recent, plain};
use crate::decode::links::Link;
use crate::decode::notice::Notice;
use crate::decode::rdma::Rdma;
use crate::decode::segment::{Owner, OwnerKind, Segment};
use crate::decode::{Outcome, Outer, Packet, TcpOptions, decode, flag};
use crate::records::{Interface, Record, RecordPlace};
use crate::sift::Sifted;
use crate::sift::held::{Held, Refusal};
use crate::sift::identity::Identity;

/// Packets between asking for a segment's memory and writing it.
const AHEAD: usize = 16;

/// TCP options of the packet at `position` of the chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedOptions {
    pub position: u32,
    pub options: TcpOptions,
}

/// The tunnel around the packet at `position` of the chunk, and whether that was sent by its key's higher endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tunnelled {
    pub position: u32,
    pub from_high: bool,
    pub outer: Outer,
}

/// Options: what a chunk keeps of packets, and whether it verifies checksums.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct ChunkOptions {
    /// Keep where each packet lies: its row is wanted.
    pub with_places: bool,
    /// Verify checksums: a packet with a wrong one belongs to no flow.
    pub verify: bool,
    /// Decode every packet the long way.
    pub without_fast_frames: bool,
    /// Give each packet an owner of its own: packets are put into another order.
    pub with_owners: bool,
    /// Keep what distinguishes a packet from its copies, for sifting.
    pub with_identities: bool,
    /// Networks are parts of keys.
    pub by_network: bool,
    /// Keep the headers of RDMA: its table is wanted.
    pub with_rdma: bool,
}

/// Packets in the order of the capture.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Chunk {
    /// Owners of the packets whose connections are not found yet.
    owners: Vec<Owner>,
    /// Number of packets whose connections are found.
    found: usize,
    pub segments: Vec<Segment>,
    /// TCP options of the packets that have others than timestamps, in the order of the packets.
    pub options: Vec<ListedOptions>,
    /// Inner headers of the tunnelled packets whose connections are not found yet, in their order.
    pub tunnelled: Vec<Tunnelled>,
    /// Headers of RDMA of packets whose connections are not found yet, by position.
    pub rdma: Vec<(u32, Rdma)>,
    /// Place of each packet in its file; kept only for rows of packets.
    pub places: Vec<RecordPlace>,
    /// Numbers of packets that were put into another order, and where rows of packets are wanted.
    pub numbers: Vec<u64>,
    /// Copies of other packets: position, and the number of the other.
    pub copies: Vec<(u32, u64)>,
    /// Segments that change no state, by position.
    pub refused: Vec<(u32, Refusal)>,
    identities: Vec<Identity>,
    hashing: RandomState,
    with_places: bool,
    with_owners: bool,
    with_identities: bool,
    by_network: bool,
    with_rdma: bool,
    verify: bool,
    without_fast: bool,
    count: usize,
    /// Connections of the packets so far.
    recent: Recent,
    /// Room for a packet that is not a plain one.
    packet: Packet,
}

impl Chunk {
    /// `hashing` is keyed at random, because whoever sent the packets chose the keys; no output depends on it.
    pub(crate) fn new(hashing: RandomState, options: ChunkOptions) -> Self {
        Self {
            hashing,
            owners: Vec::new(),
            found: 0,
            segments: Vec::new(),
            options: Vec::new(),
            tunnelled: Vec::new(),
            rdma: Vec::new(),
            places: Vec::new(),
            numbers: Vec::new(),
            copies: Vec::new(),
            refused: Vec::new(),
            identities: Vec::new(),
            with_places: options.with_places,
            with_owners: options.with_owners,
            with_identities: options.with_identities,
            by_network: options.by_network,
            with_rdma: options.with_rdma,
            verify: options.verify,
            without_fast: options.without_fast_frames,
            count: 0,
            recent: Recent::new(),
            packet: Packet::default(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Begins again, with at most `size` packets.
    pub(crate) fn begin(&mut self, size: usize) {
        self.count = 0;
        self.found = 0;
        self.options.clear();
        self.tunnelled.clear();
        self.rdma.clear();
        self.numbers.clear();
        self.copies.clear();
        self.refused.clear();
        self.identities.clear();
        self.recent = Recent::new();
        // It will be full, nearly always: growing step by step would use as much room again.
        if size > SMALLEST_SHARED && self.segments.capacity() < size {
            self.segments = room(LARGEST);
            if self.with_places {
                self.places = room(LARGEST);
            }
        }
    }

    /// Owners and segments of the packets whose connections are to be found: once, then they count as found.
    pub(crate) fn take_unfound(&mut self) -> (&[Owner], &mut [Segment]) {
        let from = std::mem::replace(&mut self.found, self.count);
        (
            &self.owners[..self.count - from],
            &mut self.segments[from..self.count],
        )
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments[..self.count]
    }

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

    /// Takes out the first packet that is left, for sifting.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<Held> {
        let position = self.found;
        if position == self.count {
            return None;
        }
        self.found += 1;
        Some(Held {
            owner: self.owners[position],
            segment: self.segments[position],
            place: self.places[position],
            identity: self.identities.get(position).copied().unwrap_or_default(),
            options: listed(&self.options, position, |it| it.position).map(|it| it.options.into()),
            tunnel: listed(&self.tunnelled, position, |it| it.position)
                .map(|it| Box::new((it.from_high, it.outer))),
            rdma: listed(&self.rdma, position, |it| it.0).map(|it| Box::new(it.1)),
            number: 0,
        })
    }

    /// Whether no packet is left to take out.
    pub(crate) fn is_taken(&self) -> bool {
        self.found == self.count
    }

    /// Puts a packet that was sifted behind those there are.
    pub(crate) fn push(&mut self, sifted: Sifted) {
        let Sifted {
            packet,
            copy_of,
            refused,
        } = sifted;
        let position = self.count;
        self.count += 1;
        lengthen(&mut self.segments, self.count);
        lengthen(&mut self.owners, self.count - self.found);
        self.segments[position] = packet.segment;
        self.owners[position - self.found] = packet.owner;
        if self.with_places {
            lengthen(&mut self.places, self.count);
            self.places[position] = packet.place;
            self.numbers.push(packet.number);
        }
        let at = position as u32;
        self.copies.extend(copy_of.map(|number| (at, number)));
        self.refused.extend(refused.map(|refusal| (at, refusal)));
        self.options
            .extend(packet.options.map(|options| ListedOptions {
                position: at,
                options: *options,
            }));
        let rdma = packet.rdma.filter(|_| self.with_rdma);
        self.rdma.extend(rdma.map(|rdma| (at, *rdma)));
        if let Some(tunnel) = packet.tunnel
            && packet.owner.kind != OwnerKind::None
        {
            let (from_high, outer) = *tunnel;
            self.tunnelled.push(Tunnelled {
                position: at,
                from_high,
                outer,
            });
        }
    }

    /// A number of the place where the file of `rows` was recorded. Files of other names are of other places: two hosts
    /// at the ends of a path number their interfaces alike.
    fn place_of(&self, rows: &[CaptureRow]) -> u32 {
        let first = rows.first().filter(|_| self.with_identities);
        first.map_or(0, CaptureRow::file_hash)
    }

    /// Why the receiver of the packet at `position` refuses it.
    #[inline]
    pub(crate) fn refusal(&self, position: u32) -> Option<Refusal> {
        if self.refused.is_empty() {
            return None;
        }
        let index = self.refused.binary_search_by_key(&position, |it| it.0);
        Some(self.refused[index.ok()?].1)
    }
}

/// The one at `position` of `list`, which is in the order of positions.
#[inline]
fn listed<T: Copy>(list: &[T], position: usize, position_of: impl Fn(&T) -> u32) -> Option<T> {
    if list.is_empty() {
        return None;
    }
    let found = list.binary_search_by_key(&(position as u32), position_of);
    found.ok().map(|index| list[index])
}

/// Room for this many, in large pages, because accesses are scattered.
fn room<T>(length: usize) -> Vec<T> {
    let list = Vec::with_capacity(length);
    use_large_pages(&list);
    list
}

/// Makes `list` so long, if it is shorter.
fn lengthen<T: Copy + Default>(list: &mut Vec<T>, length: usize) {
    if list.len() >= length {
        return;
    }
    if list.capacity() < length {
        // Not by growing in place, which would use the new room before its pages are large.
        let mut longer = room(length.next_power_of_two());
        longer.extend_from_slice(list);
        *list = longer;
    }
    list.resize(length, T::default());
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
    use crate::decode::links::ETHERNET;

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
