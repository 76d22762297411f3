//! Assigns packets to their connections: guesses ahead, and takes runs of one connection at once.

use super::{Connections, NONE};
use crate::capture::chunk::Chunk;
use crate::common::memory::prefetch;
use crate::decode::segment::{Owner, OwnerKind, Segment};

/// Packets whose connections are guessed together.
const AHEAD: usize = 16;
/// Connections that stay in the cache while a chunk is read.
const CACHED: usize = 1024;

impl Connections {
    /// Appends to `numbers` the connection of each packet of `chunk` that was not looked up yet, or [`NONE`]; returns
    /// how many packets came in runs. There were `before` connections before the chunk.
    pub(crate) fn assign(
        &mut self,
        chunk: &mut Chunk,
        before: u32,
        numbers: &mut Vec<u32>,
    ) -> usize {
        let guessing = self.guesses && self.list.len() > CACHED;
        let (owners, segments) = chunk.take_unfound();
        let start = numbers.len();
        numbers.resize(start + owners.len(), NONE);
        let numbers = &mut numbers[start..];
        let (mut position, mut guessed, mut in_runs) = (0, 0, 0);
        while let (Some(owner), Some(segment)) = (owners.get(position), segments.get_mut(position))
        {
            while guessing && guessed < owners.len() && guessed < position + AHEAD {
                self.guess(owners, guessed, numbers);
                guessed += AHEAD;
            }
            let (number, turned) = self.assign_packet(owner, segment, numbers[position]);
            if turned && number < before {
                self.turned.push(number);
            }
            numbers[position] = number;
            position += 1;
            if std::mem::take(&mut self.replaced) && position < guessed {
                let end = guessed.min(numbers.len());
                numbers[position..end].fill(NONE);
            }
            let run = position..position + self.count_run(&owners[position..]);
            // For a single packet this does not pay off.
            if run.len() > 1
                && let Some(connection) = self.list.get_mut(number)
            {
                position = run.end;
                in_runs += run.len();
                numbers[run.clone()].fill(number);
                connection.take_run(&segments[run], &mut self.throughput);
            }
        }
        in_runs
    }

    /// Finds the connection of a packet, trying `guess` first, and counts the packet in it; returns also whether that
    /// turned the connection.
    #[inline]
    fn assign_packet(&mut self, owner: &Owner, segment: &mut Segment, guess: u32) -> (u32, bool) {
        let guessed = self.list.get_mut(guess).filter(|connection| {
            connection.is(&owner.key) && !connection.ended_before(segment, self.idle_ns)
        });
        if let Some(connection) = guessed {
            (self.last, self.slots[usize::from(owner.slot)]) = (guess, guess);
            let turned = connection.take(segment, &mut self.throughput, &self.suspicion);
            return (guess, turned);
        }
        if owner.kind == OwnerKind::None {
            return (NONE, false);
        }
        let number = self.number(owner, segment);
        let turned = self.list.get_mut(number).is_some_and(|connection| {
            if owner.kind == OwnerKind::Refused {
                connection.take_refused(segment, &mut self.throughput);
                return false;
            }
            connection.take(segment, &mut self.throughput, &self.suspicion)
        });
        (number, turned)
    }

    /// Counts the packets at the start of `owners` that are a run of the connection before them.
    #[inline]
    fn count_run(&self, owners: &[Owner]) -> usize {
        let is_run = |owner: &&Owner| self.runs && owner.kind == OwnerKind::Run;
        owners.iter().take_while(is_run).count()
    }

    /// Guesses the connections of the packets from `from` on, by their hashes alone, and prefetches them and what the
    /// next guesses need.
    fn guess(&self, owners: &[Owner], from: usize, numbers: &mut [u32]) {
        let packets = owners[from..].iter().zip(&mut numbers[from..]);
        for (owner, number) in packets.take(AHEAD) {
            if owner.kind == OwnerKind::Whole
                && let Some(guess) = self.index.guess(owner.hash)
                && let Some(connection) = self.list.get(guess)
            {
                *number = guess;
                prefetch(connection);
            }
        }
        for owner in owners.iter().skip(from + AHEAD).take(AHEAD) {
            if owner.kind == OwnerKind::Whole {
                self.index.prefetch(owner.hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::capture::chunk::ChunkOptions;
    use crate::common::fast_paths::FastPaths;
    use crate::common::suspicion::Suspicion;
    use crate::decode::notice::Notice;
    use crate::records::{Interface, Record};
    use crate::track::EarlyParts;

    /// Returns the connections of frames, found `at_once` at a time.
    fn numbers(frames: &[[u8; 54]], at_once: usize, without: FastPaths) -> Vec<u32> {
        let mut connections = Connections::new(
            1_000_000,
            60_000_000_000,
            HashSet::new(),
            EarlyParts::default(),
            without,
            Suspicion::default(),
        );
        let mut chunk = connections.chunk(ChunkOptions::default());
        let interface = Interface::with_link_type(1);
        let mut numbers = Vec::new();
        for frames in frames.chunks(at_once) {
            let records: Vec<Record> = (0..frames.len() as u32)
                .map(|number| Record::whole(54, number * 54))
                .collect();
            let interfaces = std::slice::from_ref(&interface);
            let mut notice = Notice::new(false, false);
            let frames = (frames.as_flattened(), 0);
            chunk.append(
                (&records, &[]),
                interfaces,
                frames,
                (0, &mut []),
                &mut notice,
            );
            connections.assign(&mut chunk, 0, &mut numbers);
        }
        numbers
    }

    /// Returns a TCP segment from a port of one host to another one.
    fn frame(port: u16, seq: u8, syn: bool) -> [u8; 54] {
        let mut frame = [0; 54];
        frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 40]);
        (frame[23], frame[29], frame[33]) = (6, 1, 2);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        (frame[37], frame[41], frame[46]) = (80, seq, 0x50);
        frame[47] = if syn { 2 } else { 16 };
        frame
    }

    proptest! {
        #[test]
        fn what_was_guessed_gives_way_to_a_new_connection(
            steps in prop::collection::vec((0_u16..5, 0_u8..3, prop::bool::weighted(0.3)), 1..200),
        ) {
            // Enough connections for guessing to begin.
            let before = (0..2 * CACHED as u16).map(|port| frame(port, 0, true));
            let steps = steps.into_iter().map(|(port, seq, syn)| frame(port, seq, syn));
            let frames: Vec<_> = before.chain(steps).collect();
            let without = FastPaths::GUESSES.union(FastPaths::RUNS);
            let all = numbers(&frames, 2 * CACHED, without);
            for at_once in [1, 7, 2 * CACHED] {
                prop_assert_eq!(&all, &numbers(&frames, at_once, FastPaths::default()));
            }
        }
    }
}
