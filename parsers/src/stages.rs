//! A pass over captures in three stages: a chunk is read, the connections of its packets are found, they are counted.
//!
//! Each stage takes the chunks in their order, one at a time, so that what comes out does not depend on the threads.
//! Several threads work on several chunks; a thread that has ended one stage goes on with the next one of the same
//! chunk, which is in its cache, if no other thread is at that stage. What none waits for is divided inside the stages.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use crate::chunk::{Chunk, LARGEST, LARGEST_SHARED, SMALLEST, SMALLEST_SHARED};
use crate::counting::{Counting, RecordBatches};
use crate::error::Error;
use crate::reading::Reading;
use crate::run::{Progress, Sink};
use crate::threads::several_threads;
use crate::track::{Connections, Order};

/// Chunks under way at most where several threads work on them; more gained nothing.
const CHUNKS: usize = 3;

/// A chunk on its way, and what became known of it.
struct Portion {
    chunk: Chunk,
    order: Order,
    /// Bins of throughput that are written before its rows.
    settled: Option<RecordBatches>,
    /// Packets that it should hold.
    size: usize,
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
        portion.chunk.clear();
        portion.size = size;
        self.until = self.number + size.min(LARGEST - self.number % LARGEST);
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
        Ok(())
    }
}

/// The second stage.
struct Find<'b> {
    connections: &'b mut Connections,
    settles: bool,
    number: usize,
}

impl Find<'_> {
    fn begin(&self, portion: &mut Portion) {
        portion.order.begin(self.connections);
    }

    /// Finds the connections of what was read since.
    fn take(&mut self, portion: &mut Portion) {
        portion.order.find(&mut portion.chunk, self.connections);
    }

    fn end(&mut self, portion: &mut Portion) {
        portion.order.end(self.connections);
        self.number += portion.chunk.count();
        portion.settled = if self.settles && self.number.is_multiple_of(LARGEST) {
            Counting::settle(&mut self.connections.throughput)
        } else {
            None
        };
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
            order,
            settled,
            ..
        } = portion;
        self.counting
            .count(chunk, order, settled.take(), self.sink)?;
        self.progress
            .packets
            .store(self.counting.number, Ordering::Relaxed);
        Ok(())
    }
}

/// Sizes of the next chunks. From a pipe, whose packets come once, the direction of a row depends on the chunk: there a
/// size is decided so many chunks before as can be under way, whether they are or not.
struct Sizes {
    smallest: usize,
    largest: usize,
    decided: VecDeque<usize>,
}

impl Sizes {
    fn new(from_pipe: bool) -> Self {
        let smallest = if several_threads() && !from_pipe {
            SMALLEST_SHARED
        } else {
            SMALLEST
        };
        let (ahead, largest) = if several_threads() || from_pipe {
            (CHUNKS, LARGEST_SHARED)
        } else {
            (1, LARGEST)
        };
        Self {
            smallest,
            largest,
            decided: VecDeque::from(vec![smallest; ahead]),
        }
    }

    fn next(&mut self) -> usize {
        self.decided.pop_front().unwrap_or(self.smallest)
    }

    /// Larger than `portion` where most of its packets belong to different connections.
    fn decide(&mut self, portion: &Portion) {
        let (packets, connections) = (portion.chunk.count(), portion.order.groups.len());
        let size = if connections * 2 > packets {
            portion.size * 8
        } else if connections * 8 > packets {
            portion.size * 2
        } else if connections * 32 < packets {
            portion.size / 2
        } else {
            portion.size
        };
        self.decided
            .push_back(size.clamp(self.smallest, self.largest));
    }
}

/// Takes all packets of `reading` through the stages.
pub(crate) fn pass(
    reading: &mut Reading<'_>,
    connections: &mut Connections,
    counting: &mut Counting,
    sink: &dyn Sink,
    progress: &Progress,
) -> Result<(), Error> {
    let mut sizes = Sizes::new(!counting.settles);
    let mut free = Vec::new();
    for _ in 0..if several_threads() { CHUNKS } else { 1 } {
        free.push(Portion {
            chunk: connections.chunk(counting.packets.is_some()),
            order: Order::default(),
            settled: None,
            size: 0,
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
            find.begin(&mut portion);
            while read.goes_on() {
                read.take(&mut portion, SMALLEST)?;
                find.take(&mut portion);
            }
            find.end(&mut portion);
            sizes.decide(&portion);
            count.take(&mut portion)?;
        }
        return Ok(());
    }
    let stages = Stages(Mutex::new(State {
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
struct State<'a, 'b> {
    read: Option<Read<'a, 'b>>,
    find: Option<Find<'b>>,
    count: Option<Count<'b>>,
    free: Vec<Portion>,
    filled: VecDeque<Portion>,
    found: VecDeque<Portion>,
    sizes: Sizes,
    failed: Option<Error>,
}

struct Stages<'a, 'b>(Mutex<State<'a, 'b>>);

impl<'a, 'b> Stages<'a, 'b> {
    fn lock(&self) -> MutexGuard<'_, State<'a, 'b>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins what can begin. Of what it began last a thread itself takes the latest, others the first.
    fn start<'s>(&'s self, scope: &Scope<'s>, state: &mut State<'a, 'b>) {
        if state.failed.is_some() {
            return;
        }
        if state.read.as_ref().is_some_and(|read| read.more)
            && let Some(mut portion) = state.free.pop()
            && let Some(mut read) = state.read.take()
        {
            read.begin(&mut portion, state.sizes.next());
            scope.spawn(move |scope| {
                let outcome = read.take(&mut portion, usize::MAX);
                self.end(scope, outcome, |state| {
                    state.read = Some(read);
                    state.filled.push_back(portion);
                });
            });
        }
        if !state.filled.is_empty()
            && let Some(mut find) = state.find.take()
            && let Some(mut portion) = state.filled.pop_front()
        {
            scope.spawn(move |scope| {
                find.begin(&mut portion);
                find.take(&mut portion);
                find.end(&mut portion);
                self.end(scope, Ok(()), |state| {
                    state.find = Some(find);
                    state.sizes.decide(&portion);
                    state.found.push_back(portion);
                });
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

    fn end<'s>(
        &'s self,
        scope: &Scope<'s>,
        outcome: Result<(), Error>,
        hand_on: impl FnOnce(&mut State<'a, 'b>),
    ) {
        let mut state = self.lock();
        hand_on(&mut state);
        if let Err(error) = outcome {
            state.failed.get_or_insert(error);
        }
        self.start(scope, &mut state);
    }
}
