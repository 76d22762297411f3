//! Moves packets of a chunk through the sifter: out one by one, and back in another order.

use super::Chunk;
use super::listed::{ListedOptions, Tunnelled, entry_at};
use crate::decode::segment::OwnerKind;
use crate::sift::Sifted;
use crate::sift::held::Held;

impl Chunk {
    /// Takes out the first remaining packet for sifting.
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
            options: entry_at(&self.listed.options, position, |it| it.position)
                .map(|it| it.options.into()),
            tunnel: entry_at(&self.listed.tunnelled, position, |it| it.position)
                .map(|it| Box::new((it.from_high, it.outer))),
            rdma: entry_at(&self.listed.rdma, position, |it| it.0).map(|it| Box::new(it.1)),
            number: 0,
        })
    }

    /// Returns whether all packets are taken out.
    pub(crate) fn is_taken(&self) -> bool {
        self.found == self.count
    }

    /// Appends a sifted packet.
    pub(crate) fn push(&mut self, sifted: Sifted) {
        let Sifted {
            packet,
            copy_of,
            refused,
        } = sifted;
        let position = self.make_room(1);
        self.segments[position] = packet.segment;
        self.owners[position - self.found] = packet.owner;
        let settings = self.decoder.settings;
        if settings.with_places {
            self.places[position] = packet.place;
            self.numbers.push(packet.number);
        }
        let at = position as u32;
        self.copies
            .extend(copy_of.map(|original| (at, original.number)));
        self.refused.extend(refused.map(|refusal| (at, refusal)));
        let listed = &mut self.listed;
        listed
            .options
            .extend(packet.options.map(|options| ListedOptions {
                position: at,
                options: *options,
            }));
        let rdma = packet.rdma.filter(|_| settings.with_rdma);
        listed.rdma.extend(rdma.map(|rdma| (at, *rdma)));
        if let Some(tunnel) = packet.tunnel
            && packet.owner.kind != OwnerKind::None
        {
            let (from_high, outer) = *tunnel;
            listed.tunnelled.push(Tunnelled {
                position: at,
                from_high,
                outer,
            });
        }
    }
}
