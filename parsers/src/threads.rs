//! The pool of threads that [`crate::run()`] makes where more than one is wanted.

/// This runs on a pool: work can be shared.
pub(crate) fn several_threads() -> bool {
    rayon::current_thread_index().is_some()
}

/// Values that are worth another thread: waking it up takes as long as some thousands.
const WORTH_SHARING: usize = 1 << 12;

/// Columns of so many rows that one thread does together.
pub(crate) fn together(rows: usize) -> usize {
    WORTH_SHARING.div_ceil(rows.max(1))
}
