//! Attributes that only a few packets of a chunk have: lists in the order of the packets' positions.

use crate::decode::rdma::Rdma;
use crate::decode::segment::Segment;
use crate::decode::{Outcome, Outer, Packet, TcpOptions};

/// TCP options of the packet at `position` of the chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedOptions {
    pub position: u32,
    pub options: TcpOptions,
}

/// The tunnel around the packet at `position` of the chunk, and whether its key's higher endpoint sent that packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tunnelled {
    pub position: u32,
    pub from_high: bool,
    pub outer: Outer,
}

#[derive(Default)]
pub(crate) struct Listed {
    /// TCP options of packets that have more than timestamps.
    pub options: Vec<ListedOptions>,
    /// Inner headers of the tunnelled packets whose connections are not found yet.
    pub tunnelled: Vec<Tunnelled>,
    /// RDMA headers of packets whose connections are not found yet.
    pub rdma: Vec<(u32, Rdma)>,
}

impl Listed {
    pub(super) fn clear(&mut self) {
        self.options.clear();
        self.tunnelled.clear();
        self.rdma.clear();
    }

    /// Lists the rare attributes of `packet`, which became `segment`, and its RDMA headers if they are wanted.
    #[inline]
    pub(super) fn note(
        &mut self,
        position: u32,
        packet: &Packet,
        segment: &Segment,
        with_rdma: bool,
    ) {
        if packet.outcome == Outcome::Flow && packet.is_inside() {
            self.tunnelled.push(Tunnelled {
                position,
                from_high: packet.from_high,
                outer: packet.outer,
            });
        }
        let rdma = packet.rdma.filter(|_| with_rdma);
        self.rdma.extend(rdma.map(|rdma| (position, rdma)));
        if segment.lists_options() {
            self.options.push(ListedOptions {
                position,
                options: packet.options,
            });
        }
    }
}

/// Returns the entry at `position` of `list`, which is sorted by position.
#[inline]
pub(super) fn entry_at<T: Copy>(
    list: &[T],
    position: usize,
    position_of: impl Fn(&T) -> u32,
) -> Option<T> {
    if list.is_empty() {
        return None;
    }
    let index = list.binary_search_by_key(&(position as u32), position_of);
    index.ok().map(|index| list[index])
}
