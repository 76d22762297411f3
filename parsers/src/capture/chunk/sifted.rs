//! Packets of a chunk on their way through the sifter: taken out one by one, put back in another order.

use super::{Chunk, ListedOptions, Tunnelled, lengthen};
use crate::decode::segment::OwnerKind;
use crate::sift::Sifted;
use crate::sift::held::Held;

impl Chunk {
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
