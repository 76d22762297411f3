//! Decodes records into a chunk.

use super::Chunk;
use super::decoder::Origin;
use crate::capture::counts::CaptureRow;
use crate::common::memory::prefetch;
use crate::decode::links::Link;
use crate::decode::notice::Notice;
use crate::records::{Interface, Record, RecordPlace};

/// Packets between prefetching a segment's memory and writing to it.
const AHEAD: usize = 16;

impl Chunk {
    /// Decodes `records`, appends the packets and counts them in `rows`, one row per interface. `numbers` is not empty
    /// if the records were reordered.
    pub(crate) fn append(
        &mut self,
        (records, numbers): (&[Record], &[u64]),
        interfaces: &[Interface],
        (bytes, start): (&[u8], u64),
        (file, rows): (usize, &mut [CaptureRow]),
        notice: &mut Notice,
    ) {
        let mut position = self.make_room(records.len());
        notice.count(records.len());
        if self.decoder.settings.with_places {
            self.keep_places(records, position, start, file);
            self.numbers.extend(numbers);
        }
        let place = self.place_of(rows);
        // The last row may be that of packets whose interface no block describes.
        let has_several = interfaces.len().max(rows.len()) > 1;
        let mut nobody = CaptureRow::default();
        let mut rest = records;
        while !rest.is_empty() {
            let (run, others) = split_interface(rest, has_several);
            let interface = run[0].interface as usize;
            let link = interfaces.get(interface);
            let link = link.and_then(|it| Link::find(it.link_type));
            let origin = Origin { bytes, link, place };
            let last = rows.len().saturating_sub(1);
            let row = rows.get_mut(interface.min(last)).unwrap_or(&mut nobody);
            self.decode_run(run, position, origin, row, notice);
            position += run.len();
            rest = others;
        }
    }

    /// Decodes records of one interface into the packets from `position` on.
    #[inline]
    fn decode_run(
        &mut self,
        records: &[Record],
        mut position: usize,
        origin: Origin<'_>,
        row: &mut CaptureRow,
        notice: &mut Notice,
    ) {
        let decoder = &mut self.decoder;
        let takes_plain = decoder.takes_plain(origin.link);
        let owners = &mut self.owners[position - self.found..];
        for (record, owner) in records.iter().zip(owners) {
            if let Some(later) = self.segments.get(position + AHEAD) {
                prefetch(later);
            }
            let segment = &mut self.segments[position];
            position += 1;
            let slot = (&mut *owner, &mut *segment);
            if takes_plain && decoder.decode_plain(record, origin.bytes, row, notice, slot) {
                continue;
            }
            decoder.decode_any(record, origin, row, notice, (owner, &mut *segment));
            if decoder.settings.with_identities {
                self.identities.push(decoder.identify(record, origin));
            }
            let with_rdma = decoder.settings.with_rdma;
            self.listed
                .note(position as u32 - 1, &decoder.packet, segment, with_rdma);
        }
    }

    /// Notes the place of each of `records`, from position `from` on.
    fn keep_places(&mut self, records: &[Record], from: usize, start: u64, file: usize) {
        for (place, record) in self.places[from..].iter_mut().zip(records) {
            *place = RecordPlace {
                file_offset: start + u64::from(record.at),
                interface: record.interface,
                file: file as u32,
            };
        }
    }

    /// Returns a number for the place where the file of `rows` was recorded. Files with different names count as
    /// different places: the hosts at the two ends of a path number their interfaces alike.
    fn place_of(&self, rows: &[CaptureRow]) -> u32 {
        let first = rows
            .first()
            .filter(|_| self.decoder.settings.with_identities);
        first.map_or(0, CaptureRow::file_hash)
    }
}

/// Splits off the first of `records`, all of one interface.
#[inline]
fn split_interface(records: &[Record], has_several: bool) -> (&[Record], &[Record]) {
    let is_same = |record: &&Record| record.interface == records[0].interface;
    let count = if has_several {
        records.iter().take_while(is_same).count()
    } else {
        records.len()
    };
    records.split_at(count)
}

#[cfg(test)]
mod tests {
    use foldhash::fast::RandomState;

    use super::*;
    use crate::capture::chunk::ChunkOptions;
    use crate::decode::links::ETHERNET;
    use crate::decode::segment::OwnerKind;

    #[test]
    fn only_ethernet_is_taken_for_ethernet() {
        let mut frame = [0; 54];
        frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 40]);
        (frame[23], frame[46]) = (6, 0x50);
        let record = Record::whole(54, 0);
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
