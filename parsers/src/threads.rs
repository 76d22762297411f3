//! The pool of threads that [`crate::run()`] makes where more than one is wanted.

/// This runs on a pool: work can be shared.
pub(crate) fn several_threads() -> bool {
    rayon::current_thread_index().is_some()
}
