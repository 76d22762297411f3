//! Decoded packets on their way from reading to counting, in columns: what finding the connection needs lies
//! apart from what counting needs, so that each stage reads only its own.

use foldhash::fast::RandomState;

use crate::decode::{Key, NO_VLAN, Outcome, Packet, Sack, decode, flag};
use crate::memory::use_large_pages;
use crate::records::{Interface, Record};
use crate::tables::CaptureRow;

/// Packets in a chunk at first: few enough that they stay in the cache.
pub(crate) const SMALLEST: usize = 1 << 13;
/// Packets in a chunk at most. With very many connections each packet of a small chunk would find its
/// connection's state out of the cache; in a large one several packets share that wait.
pub(crate) const LARGEST: usize = 1 << 19;

/// Whose packet it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner {
    pub key: Key,
    pub vlan: u16,
    /// It belongs to a flow; without, nothing else here holds.
    pub flow: bool,
    /// An IP fragment.
    pub fragment: bool,
    /// Not the first fragment: the ports are in another packet.
    pub later_fragment: bool,
    /// Hash of the key; of a fragment, which packet it is a part of.
    pub hash: u64,
}

impl Owner {
    fn new(packet: &Packet, hashing: &RandomState) -> Self {
        Self {
            key: packet.key,
            vlan: packet.vlan,
            flow: packet.outcome == Outcome::Flow,
            fragment: packet.fragment,
            later_fragment: packet.later_fragment,
            hash: if packet.fragment {
                packet.datagram
            } else {
                packet.key.hash(hashing)
            },
        }
    }

    #[inline]
    fn plain(key: Key, hash: u64) -> Self {
        Self {
            key,
            vlan: NO_VLAN,
            flow: true,
            fragment: false,
            later_fragment: false,
            hash,
        }
    }
}

/// What is counted of a packet. TCP fields hold where [`Segment::tcp`] does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub time: i64,
    pub wire: u32,
    pub ip_bytes: u32,
    pub payload: u32,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// The 12 bits of the header, and [`TCP`] and [`FROM_HIGH`].
    bits: u16,
    pub mss: u16,
    /// Window shift, or [`NONE`].
    shift: u8,
    /// Length of the TCP options.
    pub options: u8,
    /// Blocks in the chunk's list of SACKs.
    pub sacks: u8,
    pub sack_permitted: bool,
    pub has_mss: bool,
}

const TCP: u16 = 1 << 15;
const FROM_HIGH: u16 = 1 << 14;
const NONE: u8 = u8::MAX;

impl Segment {
    #[inline]
    fn new(record: &Record, packet: &Packet) -> Self {
        let mut segment = Self {
            time: record.time,
            wire: record.wire,
            ip_bytes: packet.ip_bytes,
            payload: packet.payload,
            bits: if packet.from_high { FROM_HIGH } else { 0 },
            ..Self::default()
        };
        if packet.tcp {
            segment.seq = packet.seq;
            segment.ack = packet.ack;
            segment.window = packet.window;
            segment.bits |= TCP | packet.tcp_flags;
            segment.options = packet.options_bytes;
            let options = &packet.options;
            segment.mss = options.mss.unwrap_or(0);
            segment.has_mss = options.mss.is_some();
            segment.shift = options.window_scale.unwrap_or(NONE);
            segment.sack_permitted = options.sack_permitted;
            segment.sacks = options.sack_count;
        }
        segment
    }

    #[inline]
    pub(crate) fn tcp(&self) -> bool {
        self.bits & TCP != 0
    }

    /// The source is the key's higher endpoint.
    #[inline]
    pub(crate) fn from_high(&self) -> bool {
        self.bits & FROM_HIGH != 0
    }

    pub(crate) fn set_from_high(&mut self, from_high: bool) {
        self.bits = self.bits & !FROM_HIGH | if from_high { FROM_HIGH } else { 0 };
    }

    /// The header's 12 flag bits.
    #[inline]
    pub(crate) fn flags(&self) -> u16 {
        self.bits & 0xfff
    }

    #[inline]
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.bits & flags != 0
    }

    /// Window shift of the options.
    pub(crate) fn shift(&self) -> Option<u8> {
        (self.shift != NONE).then_some(self.shift)
    }

    /// Maximum segment size of the options.
    pub(crate) fn mss(&self) -> Option<u16> {
        self.has_mss.then_some(self.mss)
    }

    /// The acknowledgement number, where the packet has one.
    pub(crate) fn acknowledgement(&self) -> Option<u32> {
        (self.tcp() && self.has(flag::ACK)).then_some(self.ack)
    }
}

/// The most frequent packet, without the walk over its layers: Ethernet, IPv4 without options, whole, TCP with
/// nothing but timestamps as options. Decodes as [`decode`] would, in a third of its time.
#[inline]
fn plain(record: &Record, link_type: u32, window: &[u8]) -> Option<(Key, Segment)> {
    let bytes = window.get(record.data as usize..)?;
    let bytes = bytes.get(..record.captured as usize)?;
    let head = bytes.first_chunk::<54>()?;
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let options = match head[46] >> 4 {
        5 => 0,
        8 if bytes.get(54..58)? == [1, 1, 8, 10] && bytes.len() >= 66 => 12,
        _ => return None,
    };
    let ip_bytes = u32::from(half(16));
    let same = link_type == 1
        && half(12) == 0x0800
        && head[14] == 0x45
        && half(20) & 0x3fff == 0
        && head[23] == 6
        && ip_bytes >= 40 + options;
    if !same {
        return None;
    }
    let (source, destination) = ((word(26), half(34)), (word(30), half(36)));
    let from_high = source > destination;
    let (low, high) = if from_high {
        (destination, source)
    } else {
        (source, destination)
    };
    let key = Key {
        low: u128::from(low.0),
        high: u128::from(high.0),
        low_port: low.1,
        high_port: high.1,
        protocol: 6,
        v6: false,
    };
    let segment = Segment {
        time: record.time,
        wire: record.wire,
        ip_bytes,
        payload: ip_bytes - 40 - options,
        seq: word(38),
        ack: word(42),
        window: half(48),
        bits: half(46) & 0xfff | TCP | if from_high { FROM_HIGH } else { 0 },
        shift: NONE,
        options: options as u8,
        ..Segment::default()
    };
    Some((key, segment))
}

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
            self.owners.resize(length, Owner::default());
            self.segments.reserve_exact(length - self.segments.len());
            // They are read all over, connection by connection.
            use_large_pages(&self.segments);
            self.segments.resize(length, Segment::default());
            self.sacks = vec![[(0, 0); 4]; length];
            if self.with_places {
                self.places.resize(length, Place::default());
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
        split: bool,
    ) {
        if !split || records.len() < WORTH_SPLITTING {
            return self.decode_in_order(records, interfaces, window, before, rows);
        }
        let half = records.len() / 2;
        let (left, right) = self.split(half);
        let mut other: Vec<CaptureRow> = rows.iter().map(CaptureRow::empty).collect();
        let between = records[half - 1].time;
        rayon::join(
            || left.decode(&records[..half], interfaces, window, before, rows, true),
            || {
                right.decode(
                    &records[half..],
                    interfaces,
                    window,
                    between,
                    &mut other,
                    true,
                );
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
        let mut packet = Packet::default();
        let mut nobody = CaptureRow::default();
        for (index, record) in records.iter().enumerate() {
            let interface = record.interface as usize;
            let link_type = interfaces
                .get(interface)
                .map_or(u32::MAX, |it| it.link_type);
            let row = rows.get_mut(interface).unwrap_or(&mut nobody);
            row.count(record, before);
            before = record.time;
            if let Some((key, segment)) = plain(record, link_type, bytes) {
                row.count_plain(segment.ip_bytes);
                self.owners[index] = Owner::plain(key, key.hash(self.hashing));
                self.segments[index] = segment;
            } else {
                decode(record, link_type, bytes, &mut packet);
                row.count_decoded(&packet);
                self.owners[index] = Owner::new(&packet, self.hashing);
                self.segments[index] = Segment::new(record, &packet);
                if packet.tcp && packet.options.sack_count > 0 {
                    self.sacks[index] = packet.options.sacks;
                }
            }
            if let Some(place) = self.places.get_mut(index) {
                *place = Place {
                    file_offset: start + u64::from(record.at),
                    interface: record.interface,
                };
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_short_way_decodes_as_the_long_one(
            mut frame in prop::collection::vec(any::<u8>(), 54..90),
            length in 30_u16..120,
            offset in prop::sample::select(vec![0x50_u8, 0x80, 0x40, 0x60]),
            stamps in any::<bool>(),
        ) {
            frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            frame[16..18].copy_from_slice(&length.to_be_bytes());
            (frame[20], frame[21], frame[23]) = (0, 0, 6);
            frame[46] = offset | frame[46] & 15;
            if stamps && frame.len() >= 58 {
                frame[54..58].copy_from_slice(&[1, 1, 8, 10]);
            }
            let captured = frame.len() as u32;
            let record = Record { time: 7, wire: 1500, captured, interface: 0, at: 0, data: 0 };
            if let Some((key, segment)) = plain(&record, 1, &frame) {
                let mut packet = Packet::default();
                decode(&record, 1, &frame, &mut packet);
                prop_assert_eq!(packet.key, key);
                prop_assert_eq!(Segment::new(&record, &packet), segment);
                prop_assert!(packet.outcome == Outcome::Flow && !packet.fragment);
                prop_assert!(packet.tunnels == 0 && packet.vlan == NO_VLAN && !packet.offloaded);
            }
        }
    }
}
