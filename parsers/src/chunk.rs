//! Decoded packets on their way from reading to counting, in columns: what finding the connection needs lies
//! apart from what counting needs, so that each stage reads only its own.

use foldhash::fast::RandomState;

use crate::decode::{Packet, Sack, decode, flag};
use crate::memory::use_large_pages;
use crate::plain::{Recent, plain};
use crate::records::{Interface, Record};
use crate::segment::{Owner, Segment};
use crate::tables::CaptureRow;
use crate::threads::several_threads;

/// Packets in a chunk at first: few enough that they stay in the cache.
pub(crate) const SMALLEST: usize = 1 << 12;
/// The same where several threads work on it.
pub(crate) const SMALLEST_SHARED: usize = 1 << 15;
/// Packets in a chunk at most. With very many connections each packet of a small chunk would find its
/// connection's state out of the cache; in a large one several packets share that wait.
pub(crate) const LARGEST: usize = 1 << 19;

/// Where a packet lies; only kept where its row is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub file_offset: u64,
    pub interface: u32,
}

/// Up to [`LARGEST`] packets in the order of the capture.
pub(crate) struct Chunk {
    pub owners: Vec<Owner>,
    pub segments: Vec<Segment>,
    pub sacks: Vec<[Sack; 4]>,
    pub places: Vec<Place>,
    hashing: RandomState,
    with_places: bool,
    count: usize,
}

/// Room for the next packets of a chunk.
pub(crate) struct Room<'a> {
    hashing: &'a RandomState,
    owners: &'a mut [Owner],
    segments: &'a mut [Segment],
    sacks: &'a mut [[Sack; 4]],
    places: &'a mut [Place],
}

impl Chunk {
    /// `hashing` is keyed at random, because whoever sent the packets chose the keys; no output depends on it.
    pub(crate) fn new(hashing: RandomState, with_places: bool) -> Self {
        Self {
            hashing,
            owners: Vec::new(),
            segments: Vec::new(),
            sacks: Vec::new(),
            places: Vec::new(),
            with_places,
            count: 0,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Owners and segments of all packets.
    pub(crate) fn columns(&mut self) -> (&[Owner], &mut [Segment]) {
        (&self.owners[..self.count], &mut self.segments[..self.count])
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments[..self.count]
    }

    /// Room behind the packets so far, for `more`; they count as there.
    pub(crate) fn room(&mut self, more: usize) -> Room<'_> {
        let from = self.count;
        self.count += more;
        if self.segments.len() < self.count {
            // To the next power of two: growing moves everything.
            let length = self.count.next_power_of_two();
            lengthen(&mut self.owners, length);
            lengthen(&mut self.segments, length);
            // Hardly any is written: memory that is 0 from the start is only taken where one is.
            let mut sacks = vec![[(0, 0); 4]; length];
            sacks[..from].copy_from_slice(&self.sacks[..from]);
            self.sacks = sacks;
            if self.with_places {
                lengthen(&mut self.places, length);
            }
        }
        let places = if self.with_places {
            &mut self.places[from..self.count]
        } else {
            &mut []
        };
        Room {
            hashing: &self.hashing,
            owners: &mut self.owners[from..self.count],
            segments: &mut self.segments[from..self.count],
            sacks: &mut self.sacks[from..self.count],
            places,
        }
    }
}

/// Makes `list` so long; in large pages, because it is read all over.
fn lengthen<T: Clone + Default>(list: &mut Vec<T>, length: usize) {
    list.reserve_exact(length - list.len());
    use_large_pages(list);
    list.resize(length, T::default());
}

/// Fewer records than this are not worth another thread.
const WORTH_SPLITTING: usize = 1024;

impl Room<'_> {
    /// Decodes `records`, as many as there is room for, and counts them in `rows`, one per interface. `before`
    /// is the time of the packet before them in their file.
    pub(crate) fn decode(
        self,
        records: &[Record],
        interfaces: &[Interface],
        window: (&[u8], u64),
        before: i64,
        rows: &mut [CaptureRow],
    ) {
        if !several_threads() || records.len() < WORTH_SPLITTING {
            return self.decode_in_order(records, interfaces, window, before, rows);
        }
        let half = records.len() / 2;
        let (left, right) = self.split(half);
        let mut other: Vec<CaptureRow> = rows.iter().map(CaptureRow::empty).collect();
        let between = records[half - 1].time;
        rayon::join(
            || left.decode(&records[..half], interfaces, window, before, rows),
            || {
                right.decode(&records[half..], interfaces, window, between, &mut other);
            },
        );
        for (row, more) in rows.iter_mut().zip(&other) {
            row.add(more);
        }
    }

    fn decode_in_order(
        self,
        records: &[Record],
        interfaces: &[Interface],
        (bytes, start): (&[u8], u64),
        mut before: i64,
        rows: &mut [CaptureRow],
    ) {
        for (place, record) in self.places.iter_mut().zip(records) {
            *place = Place {
                file_offset: start + u64::from(record.at),
                interface: record.interface,
            };
        }
        let mut packet = Packet::default();
        let mut recent = Recent::new();
        let mut nobody = CaptureRow::default();
        let mut slots = self.owners.iter_mut().zip(self.segments).zip(self.sacks);
        for records in records.chunk_by(|one, next| one.interface == next.interface) {
            let interface = records[0].interface as usize;
            let link_type = interfaces
                .get(interface)
                .map_or(u32::MAX, |it| it.link_type);
            let row = rows.get_mut(interface).unwrap_or(&mut nobody);
            row.count(records, before);
            before = records[records.len() - 1].time;
            for (record, ((owner, segment), sacks)) in records.iter().zip(&mut slots) {
                let slot = (&mut *owner, &mut *segment);
                if plain(record, link_type, bytes, self.hashing, &mut recent, slot) {
                    row.count_plain(segment.ip_bytes, segment.payload);
                    continue;
                }
                decode(record, link_type, bytes, &mut packet);
                row.count_decoded(&packet);
                *owner = Owner::new(&packet, self.hashing);
                *segment = Segment::new(record, &packet);
                if packet.tcp && packet.tcp_flags & flag::SYN != 0 {
                    recent.forget(&packet.key);
                }
                if packet.tcp && packet.options.sack_count > 0 {
                    *sacks = packet.options.sacks;
                }
            }
        }
    }

    fn split(self, at: usize) -> (Self, Self) {
        let (owners, other_owners) = self.owners.split_at_mut(at);
        let (segments, other_segments) = self.segments.split_at_mut(at);
        let (sacks, other_sacks) = self.sacks.split_at_mut(at);
        let middle = at.min(self.places.len());
        let (places, other_places) = self.places.split_at_mut(middle);
        (
            Self {
                hashing: self.hashing,
                owners,
                segments,
                sacks,
                places,
            },
            Self {
                hashing: self.hashing,
                owners: other_owners,
                segments: other_segments,
                sacks: other_sacks,
                places: other_places,
            },
        )
    }
}
