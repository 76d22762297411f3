//! The crate's only unsafe code: fetching memory ahead of use, large pages, wide registers.
#![allow(unsafe_code)]

/// Length of a cache line on the processors this is tuned for; another length only costs time.
const LINE: usize = 64;

/// Asks for the cache lines of `item` before they are needed.
#[inline]
pub(crate) fn prefetch<T>(item: &T) {
    let start = std::ptr::from_ref(item).cast::<i8>();
    let mut offset = 0;
    while offset < size_of::<T>() {
        // The offset stays inside `item`.
        prefetch_line(start.wrapping_add(offset));
        offset += LINE;
    }
    if align_of::<T>() < LINE.min(size_of::<T>()) {
        // It may end in the line behind those.
        prefetch_line(start.wrapping_add(size_of::<T>() - 1));
    }
}

/// Asks for the first two cache lines of `list`, or of the room where its first items will be.
#[inline]
pub(crate) fn prefetch_start<T>(list: &[T]) {
    let start = list.as_ptr().cast::<i8>();
    prefetch_line(start);
    prefetch_line(start.wrapping_add(LINE));
}

#[inline]
fn prefetch_line(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program sees and cannot fault, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for large pages under the room of `list`: a flow table is read all over, and with small pages every
/// access would first look for the page.
pub(crate) fn use_large_pages<T>(list: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const LARGE: usize = 2 << 20;
        let start = list.as_ptr() as usize;
        let end = start + list.capacity() * size_of::<T>();
        let (start, end) = (start.next_multiple_of(PAGE), end - end % PAGE);
        if start + LARGE <= end {
            // SAFETY: the range lies inside one allocation of ours, and the advice changes no content.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = list;
}

/// Does `work` with the registers of 256 bits that most processors have, though the program runs on all of them.
/// `work` and what it calls must be inlined.
#[inline]
pub(crate) fn in_wide_registers<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: this processor has what the function is compiled for.
            return unsafe { wide(work) };
        }
    }
    work()
}
