//! The pool of threads that [`crate::run()`] makes if more than one is wanted.

use rayon::prelude::*;

/// Returns whether this runs on a pool, so that work can be shared.
pub(crate) fn several_threads() -> bool {
    rayon::current_thread_index().is_some()
}

/// Fewer values than this are not worth another thread: waking it up takes as long as some thousands.
const WORTH_SHARING: usize = 1 << 12;

/// Splits columns of `rows` rows into batches that are large enough to be worth a thread's turn.
pub(crate) fn in_batches<C: IndexedParallelIterator>(
    columns: C,
    rows: usize,
) -> impl IndexedParallelIterator<Item = C::Item> {
    let together = WORTH_SHARING.div_ceil(rows.max(1));
    columns.with_min_len(together).with_max_len(together)
}
