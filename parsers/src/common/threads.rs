//! The pool of threads that [`crate::run()`] makes where more than one is wanted.

use rayon::prelude::*;

/// This runs on a pool: work can be shared.
pub(crate) fn several_threads() -> bool {
    rayon::current_thread_index().is_some()
}

/// Values that are worth another thread: waking it up takes as long as some thousands.
const WORTH_SHARING: usize = 1 << 12;

/// Columns of `rows` rows, which threads take a few at a time: as many as are worth a turn.
pub(crate) fn in_batches<C: IndexedParallelIterator>(
    columns: C,
    rows: usize,
) -> impl IndexedParallelIterator<Item = C::Item> {
    let together = WORTH_SHARING.div_ceil(rows.max(1));
    columns.with_min_len(together).with_max_len(together)
}
