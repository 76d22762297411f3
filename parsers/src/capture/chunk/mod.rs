//! Decoded packets on their way from reading to counting, in columns: what finding the connection needs lies
//! apart from what counting needs, so that each stage reads only its own.

mod append;
mod sifted;

use foldhash::fast::RandomState;

use crate::capture::sizes::{LARGEST, SMALLEST_SHARED};
use crate::common::memory::use_large_pages;
use crate::decode::fast::Recent;
use crate::decode::rdma::Rdma;
use crate::decode::segment::{Owner, Segment};
use crate::decode::{Outer, Packet, TcpOptions};
use crate::records::RecordPlace;
use crate::sift::held::Refusal;
use crate::sift::identity::Identity;

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
