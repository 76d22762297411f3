//! A pass over captures in three stages: reading a chunk, finding the connections of its packets, counting them.
//!
//! Each stage takes the chunks in order, one at a time, so that the output does not depend on the threads. Several
//! threads work on several chunks; a thread that has finished one stage continues with the next stage of the same
//! chunk, which is in its cache, if no other thread is at that stage. Work for which no other stage waits is divided
//! among threads inside a stage. With two threads, and with any number if chunks are large, the first two stages run as
//! one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use crate::capture::chunk::ChunkOptions;
use crate::capture::merge::Reading;
use crate::capture::sizes::Sizes;
use crate::common::budget::Budget;
use crate::common::error::Error;
use crate::common::progress::Progress;
use crate::common::threads::several_threads;
use crate::pipeline::counting::Counting;
use crate::pipeline::stages::{Count, Find, Portion, Read};
use crate::tables::Sink;
use crate::track::Connections;

/// Most chunks in progress when several threads work; more gained nothing.
const CHUNKS: usize = 3;

/// Takes all packets of `reading` through the stages, in chunks with these options.
pub(crate) fn pass(
    reading: &mut Reading<'_>,
    chunks: ChunkOptions,
    connections: &mut Connections,
    counting: &mut Counting,
    sink: &dyn Sink,
    progress: &Progress,
    budget: &Budget,
) -> Result<(), Error> {
    let sizes = Sizes::new(!counting.settles, CHUNKS);
    let mut free = Vec::new();
    for _ in 0..if several_threads() { CHUNKS } else { 1 } {
        free.push(Portion::new(connections.chunk(chunks)));
    }
    let settles = counting.settles_throughput();
    let read = Read::new(reading);
    let find = Find::new(connections, settles, budget, progress);
    let count = Count {
        counting,
        sink,
        progress,
    };
    if several_threads() {
        pass_together(free, sizes, read, find, count)
    } else {
        pass_alone(free.remove(0), sizes, read, find, count)
    }
}

/// Takes one chunk after the other through all stages in one thread.
fn pass_alone(
    mut portion: Portion,
    mut sizes: Sizes,
    mut read: Read<'_, '_>,
    mut find: Find<'_>,
    mut count: Count<'_>,
) -> Result<(), Error> {
    while read.more {
        read.begin(&mut portion, sizes.next());
        read.take_and_find(&mut find, &mut portion)?;
        portion.decide(&mut sizes);
        count.take(&mut portion)?;
    }
    Ok(())
}

/// Takes several chunks through the stages in several threads.
fn pass_together(
    free: Vec<Portion>,
    sizes: Sizes,
    read: Read<'_, '_>,
    find: Find<'_>,
    count: Count<'_>,
) -> Result<(), Error> {
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

/// Idle stages, and the chunks that wait for each.
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

    /// Starts every stage that can run. This thread itself takes the job spawned last, other threads the first.
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
        self.find(scope, state);
        self.count(scope, state);
    }

    fn find<'s>(&'s self, scope: &Scope<'s>, state: &mut Queues<'a, 'b>) {
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
    }

    fn count<'s>(&'s self, scope: &Scope<'s>, state: &mut Queues<'a, 'b>) {
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

    /// Starts both stages as one. Large chunks are counted immediately: two of them suffice.
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
