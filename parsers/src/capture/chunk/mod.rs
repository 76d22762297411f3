//! Decoded packets between reading and counting, in columns: the data for finding connections are stored apart from
//! those for counting, so that each stage reads only its own.

mod append;
mod decoder;
mod listed;
mod sifted;

use foldhash::fast::RandomState;

use crate::capture::sizes::{LARGEST, SMALLEST_SHARED};
use crate::common::memory::use_large_pages;
use crate::decode::segment::{Owner, Segment};
use crate::records::RecordPlace;
use crate::sift::held::Refusal;
use crate::sift::identity::Identity;
use decoder::Decoder;
use listed::Listed;
pub(crate) use listed::ListedOptions;

/// Options of decoding a chunk: the data kept for each packet, and checks.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct ChunkOptions {
    /// Keep the place of each packet: rows of packets are wanted, or packets are sifted.
    pub with_places: bool,
    /// Verify checksums: a packet with a wrong one belongs to no flow.
    pub verify: bool,
    /// Decode every packet on the general path.
    pub without_fast_frames: bool,
    /// Give each packet its own owner: packets will be reordered.
    pub with_owners: bool,
    /// Keep what distinguishes a packet from its copies, for sifting.
    pub with_identities: bool,
    /// Networks are part of keys.
    pub by_network: bool,
    /// Keep the RDMA headers: the table of queue pairs is wanted.
    pub with_rdma: bool,
}

/// Packets in the order of the capture.
pub(crate) struct Chunk {
    /// Owners of the packets whose connections are not found yet.
    owners: Vec<Owner>,
    /// Number of packets whose connections are found.
    found: usize,
    pub segments: Vec<Segment>,
    pub listed: Listed,
    /// Place of each packet in its file; kept only if `with_places`.
    pub places: Vec<RecordPlace>,
    /// Numbers of the packets; kept only if `with_places` and if packets were reordered.
    pub numbers: Vec<u64>,
    /// Copies of other packets: position, and the number of the original.
    pub copies: Vec<(u32, u64)>,
    /// Segments that change no state, by position.
    pub refused: Vec<(u32, Refusal)>,
    identities: Vec<Identity>,
    decoder: Decoder,
    count: usize,
}

impl Chunk {
    /// `hashing` is keyed at random, because the senders of the packets chose the keys; no output depends on it.
    pub(crate) fn new(hashing: RandomState, settings: ChunkOptions) -> Self {
        Self {
            decoder: Decoder::new(hashing, settings),
            owners: Vec::new(),
            found: 0,
            segments: Vec::new(),
            listed: Listed::default(),
            places: Vec::new(),
            numbers: Vec::new(),
            copies: Vec::new(),
            refused: Vec::new(),
            identities: Vec::new(),
            count: 0,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Empties the chunk for at most `size` packets.
    pub(crate) fn begin(&mut self, size: usize) {
        self.count = 0;
        self.found = 0;
        self.listed.clear();
        self.numbers.clear();
        self.copies.clear();
        self.refused.clear();
        self.identities.clear();
        self.decoder.begin();
        // The chunk will nearly always be full: growing step by step would need as much room again.
        if size > SMALLEST_SHARED && self.segments.capacity() < size {
            self.segments = room(LARGEST);
            if self.decoder.settings.with_places {
                self.places = room(LARGEST);
            }
        }
    }

    /// Returns owners and segments of the packets whose connections are not found yet, and marks them as found.
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

    /// Makes room for `more` packets after those already present; returns the position of the first.
    fn make_room(&mut self, more: usize) -> usize {
        let from = self.count;
        self.count += more;
        lengthen(&mut self.segments, self.count);
        lengthen(&mut self.owners, self.count - self.found);
        if self.decoder.settings.with_places {
            lengthen(&mut self.places, self.count);
        }
        from
    }

    /// Returns why the receiver of the packet at `position` refuses it.
    #[inline]
    pub(crate) fn refusal(&self, position: u32) -> Option<Refusal> {
        if self.refused.is_empty() {
            return None;
        }
        let index = self.refused.binary_search_by_key(&position, |it| it.0);
        Some(self.refused[index.ok()?].1)
    }
}

/// Returns room for `length` items in large pages, because accesses are scattered.
fn room<T>(length: usize) -> Vec<T> {
    let list = Vec::with_capacity(length);
    use_large_pages(&list);
    list
}

/// Extends `list` to `length` if it is shorter.
fn lengthen<T: Copy + Default>(list: &mut Vec<T>, length: usize) {
    if list.len() >= length {
        return;
    }
    if list.capacity() < length {
        // Growing in place would use the new room before its pages are large.
        let mut longer = room(length.next_power_of_two());
        longer.extend_from_slice(list);
        *list = longer;
    }
    list.resize(length, T::default());
}
