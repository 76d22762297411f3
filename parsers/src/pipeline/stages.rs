//! A pass over captures in three stages: a chunk is read, the connections of its packets are found, they are counted.
//!
//! Each stage takes the chunks in their order, one at a time, so that what comes out does not depend on the threads.
//! Several threads work on several chunks; a thread that has ended one stage goes on with the next one of the same
//! chunk, which is in its cache, if no other thread is at that stage. What none waits for is divided inside the stages.
//! Two threads, and any number of them where chunks are large, take the first two stages as one.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use crate::capture::chunk::{Chunk, ChunkOptions};
use crate::capture::merge::Reading;
use crate::capture::sizes::{LARGEST, SMALLEST, Sizes};
use crate::common::budget::{Budget, grouped};
use crate::common::error::Error;
use crate::common::progress::Progress;
use crate::common::threads::several_threads;
use crate::pipeline::counting::{Counting, RecordBatches};
use crate::tables::Sink;
use crate::track::{Connections, Grouping, States};

/// Chunks under way at most where several threads work on them; more gained nothing.
const CHUNKS: usize = 3;

/// A chunk on its way, and what became known of it.
struct Portion {
    chunk: Chunk,
    grouping: Grouping,
    /// Bins of throughput that are written before its rows.
    settled: Option<RecordBatches>,
    /// Packets that it should hold.
    size: usize,
    /// Bytes that reading as many packets more may take at once.
    growth: u64,
}

impl Portion {
    /// Decides, by what it is, on the size of a later one.
    fn decide(&self, sizes: &mut Sizes) {
        sizes.decide(self.size, self.chunk.count(), self.grouping.groups.len());
    }
}

/// The first stage.
struct Read<'a, 'b> {
    reading: &'b mut Reading<'a>,
    number: usize,
    /// The portion ends before this packet.
    until: usize,
    more: bool,
}

impl Read<'_, '_> {
    fn begin(&mut self, portion: &mut Portion, size: usize) {
        self.until = self.number + size.min(LARGEST - self.number % LARGEST);
        portion.chunk.begin(self.until - self.number);
        portion.size = size;
    }

    /// The portion is not full, and there may be packets.
    fn goes_on(&self) -> bool {
        self.more && self.number < self.until
    }

    /// Reads up to `most` packets.
    fn take(&mut self, portion: &mut Portion, most: usize) -> Result<(), Error> {
        let before = portion.chunk.count();
        let size = before + most.min(self.until - self.number);
        self.more = self.reading.fill(&mut portion.chunk, size)?;
        self.number += portion.chunk.count() - before;
        portion.growth = self.reading.growth(portion.size);
        Ok(())
    }

    /// Both stages in turn, so that what only the second one needs stays in the cache.
    fn take_and_find(&mut self, find: &mut Find<'_>, portion: &mut Portion) -> Result<(), Error> {
        find.begin(portion);
        while self.goes_on() {
            self.take(portion, SMALLEST)?;
            find.take(portion)?;
        }
        find.end(portion)
    }
}

/// The second stage.
struct Find<'b> {
    connections: &'b mut Connections,
    settles: bool,
    number: usize,
    budget: &'b Budget,
    progress: &'b Progress,
    /// Packets that were found before the memory taken is looked at again.
    until_checked: usize,
}

/// Packets between two looks at the memory taken: it takes as long as some ten packets.
const UNCHECKED: usize = 1 << 14;
/// Bytes that counting may take for a new connection beside its state: gaps, a sender, a message.
const BESIDE: u64 = 128;

impl Find<'_> {
    fn begin(&self, portion: &mut Portion) {
        portion.grouping.begin(self.connections);
    }

    /// Finds the connections of what was read since.
    fn take(&mut self, portion: &mut Portion) -> Result<(), Error> {
        let before = portion.grouping.numbers.len();
        let packets = portion.chunk.count() - before;
        if self.until_checked < packets {
            self.check(portion, packets.max(UNCHECKED))?;
            self.until_checked = packets.max(UNCHECKED);
        }
        self.until_checked -= packets;
        portion.grouping.find(&mut portion.chunk, self.connections);
        Ok(())
    }

    /// Fails where this many more packets, with counting those found, might exceed the memory.
    fn check(&self, portion: &Portion, packets: usize) -> Result<(), Error> {
        let found = portion.grouping.numbers.len();
        let new = portion
            .grouping
            .connections
            .saturating_sub(portion.grouping.before);
        // Where several threads work, the new ones of another portion may not be counted yet.
        let portions = if several_threads() { 2 } else { 1 };
        let counted = portions * (States::bytes_of(new) + new as u64 * BESIDE);
        let more = counted + self.connections.growth(packets) + portion.growth;
        self.budget.check(more).map_err(|lack| {
            let place = format!(
                "packet {}, byte {} of the input",
                grouped((self.number + found + 1) as u64),
                grouped(self.progress.read.load(Ordering::Relaxed)),
            );
            let states = States::bytes_of(self.connections.len());
            lack.error(place, &self.connections.describe(states))
        })
    }

    fn end(&mut self, portion: &mut Portion) -> Result<(), Error> {
        self.check(portion, 0)?;
        portion.grouping.end(self.connections);
        self.number += portion.chunk.count();
        portion.settled = if self.settles && self.number.is_multiple_of(LARGEST) {
            Counting::settle(&mut self.connections.throughput)
        } else {
            None
        };
        Ok(())
    }
}

/// The third stage.
struct Count<'b> {
    counting: &'b mut Counting,
    sink: &'b dyn Sink,
    progress: &'b Progress,
}

impl Count<'_> {
    fn take(&mut self, portion: &mut Portion) -> Result<(), Error> {
        let Portion {
            chunk,
            grouping,
            settled,
            ..
        } = portion;
        self.counting
            .count(chunk, grouping, settled.take(), self.sink)?;
        self.progress
            .packets
            .store(self.counting.number, Ordering::Relaxed);
        Ok(())
    }
}

/// Takes all packets of `reading` through the stages, in chunks of that kind.
pub(crate) fn pass(
    reading: &mut Reading<'_>,
    chunks: ChunkOptions,
    connections: &mut Connections,
    counting: &mut Counting,
    sink: &dyn Sink,
    progress: &Progress,
    budget: &Budget,
) -> Result<(), Error> {
    let mut sizes = Sizes::new(!counting.settles, CHUNKS);
    let mut free = Vec::new();
    for _ in 0..if several_threads() { CHUNKS } else { 1 } {
        free.push(Portion {
            chunk: connections.chunk(chunks),
            grouping: Grouping::default(),
            settled: None,
            size: 0,
            growth: 0,
        });
    }
    let mut read = Read {
        reading,
        number: 0,
        until: 0,
        more: true,
    };
    let mut find = Find {
        connections,
        settles: counting.settles_throughput(),
        number: 0,
        budget,
        progress,
        until_checked: 0,
    };
    let mut count = Count {
        counting,
        sink,
        progress,
    };
    if !several_threads() {
        let mut portion = free.remove(0);
        while read.more {
            read.begin(&mut portion, sizes.next());
            read.take_and_find(&mut find, &mut portion)?;
            portion.decide(&mut sizes);
            count.take(&mut portion)?;
        }
        return Ok(());
    }
    let stages = Stages(Mutex::new(Queues {
        read: Some(read),
        find: Some(find),
        count: Some(count),
        free,
        filled: VecDeque::new(),
        found: VecDeque::new(),
        sizes,
        failed: None,
    }));
    rayon::scope(|scope| stages.start(scope, &mut stages.lock()));
    let failed = stages.lock().failed.take();
    failed.map_or(Ok(()), Err)
}

/// Stages that no thread is at, and the chunks that wait for each.
struct Queues<'a, 'b> {
    read: Option<Read<'a, 'b>>,
    find: Option<Find<'b>>,
    count: Option<Count<'b>>,
    free: Vec<Portion>,
    filled: VecDeque<Portion>,
    found: VecDeque<Portion>,
    sizes: Sizes,
    failed: Option<Error>,
}

impl<'b> Queues<'_, 'b> {
    fn find_ended(&mut self, find: Find<'b>, portion: Portion) {
        self.find = Some(find);
        portion.decide(&mut self.sizes);
        self.found.push_back(portion);
    }
}

struct Stages<'a, 'b>(Mutex<Queues<'a, 'b>>);

impl<'a, 'b> Stages<'a, 'b> {
    fn lock(&self) -> MutexGuard<'_, Queues<'a, 'b>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins what can begin. Of what it began last a thread itself takes the latest, others the first.
    fn start<'s>(&'s self, scope: &Scope<'s>, state: &mut Queues<'a, 'b>) {
        if state.failed.is_some() {
            return;
        }
        if state.read.as_ref().is_some_and(|read| read.more) {
            if state.sizes.large_comes() || rayon::current_num_threads() == 2 {
                self.read_and_find(scope, state);
            } else {
                self.read(scope, state);
            }
        }
        if !state.filled.is_empty()
            && let Some(mut find) = state.find.take()
            && let Some(mut portion) = state.filled.pop_front()
        {
            scope.spawn(move |scope| {
                find.begin(&mut portion);
                let outcome = find
                    .take(&mut portion)
                    .and_then(|()| find.end(&mut portion));
                self.end(scope, outcome, |state| state.find_ended(find, portion));
            });
        }
        if !state.found.is_empty()
            && let Some(mut count) = state.count.take()
            && let Some(mut portion) = state.found.pop_front()
        {
            scope.spawn(move |scope| {
                let outcome = count.take(&mut portion);
                self.end(scope, outcome, |state| {
                    state.count = Some(count);
                    state.free.push(portion);
                });
            });
        }
    }

    fn read<'s>(&'s self, scope: &Scope<'s>, state: &mut Queues<'a, 'b>) {
        if let Some(mut portion) = state.free.pop()
            && let Some(mut read) = state.read.take()
        {
            let size = state.sizes.next();
            scope.spawn(move |scope| {
                read.begin(&mut portion, size);
                let outcome = read.take(&mut portion, usize::MAX);
                self.end(scope, outcome, |state| {
                    state.read = Some(read);
                    state.filled.push_back(portion);
                });
            });
        }
    }

    /// Large chunks are counted right away: two of them suffice.
    fn read_and_find<'s>(&'s self, scope: &Scope<'s>, state: &mut Queues<'a, 'b>) {
        if state.filled.is_empty()
            && state.found.len() <= usize::from(state.count.is_some())
            && state.find.is_some()
            && let Some(mut portion) = state.free.pop()
            && let Some(mut read) = state.read.take()
            && let Some(mut find) = state.find.take()
        {
            let size = state.sizes.next();
            scope.spawn(move |scope| {
                read.begin(&mut portion, size);
                let outcome = read.take_and_find(&mut find, &mut portion);
                self.end(scope, outcome, |state| {
                    state.read = Some(read);
                    state.find_ended(find, portion);
                });
            });
        }
    }

    fn end<'s>(
        &'s self,
        scope: &Scope<'s>,
        outcome: Result<(), Error>,
        hand_on: impl FnOnce(&mut Queues<'a, 'b>),
    ) {
        let mut state = self.lock();
        hand_on(&mut state);
        if let Err(error) = outcome {
            state.failed.get_or_insert(error);
        }
        self.start(scope, &mut state);
    }
}
