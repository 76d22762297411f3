//! The crate's only unsafe code: prefetching, large pages, wide registers, a reserve of memory.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Bytes in reserve: more than is allocated at once between two checks of the memory taken. Nothing is written there,
/// so that the reserve takes addresses and no memory.
const RESERVE: Layout = match Layout::from_size_align(64 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a size and an alignment that fit"),
};
static HELD: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static SHORT: AtomicBool = AtomicBool::new(false);

/// The system's allocator with a reserve, which is freed when an allocation fails: the work then ends with an error at
/// the next check of the memory taken, where the process would have been aborted.
#[derive(Debug)]
pub struct WithReserve;

// SAFETY: all memory is the system allocator's; the reserve is freed once, by the thread that took its address from
// `HELD`.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        again(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        again(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        again(|| unsafe { System.realloc(pointer, layout, size) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn again(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let found = allocate();
    if !found.is_null() {
        return found;
    }
    // Another thread whose allocation failed too may have freed the reserve just now.
    release();
    allocate()
}

/// Frees the reserve if there is one.
#[cold]
fn release() {
    note_short();
    let held = HELD.swap(null_mut(), Ordering::AcqRel);
    if !held.is_null() {
        // SAFETY: it was allocated with this layout, and no other thread has its address any more.
        unsafe { System.dealloc(held, RESERVE) };
    }
}

/// Allocates the reserve if there is none.
pub(crate) fn hold_reserve() {
    if !HELD.load(Ordering::Acquire).is_null() {
        return;
    }
    // SAFETY: the size is not 0.
    let new = unsafe { System.alloc(RESERVE) };
    if new.is_null() {
        return;
    }
    SHORT.store(false, Ordering::Release);
    let held = HELD.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
    if held.is_err() {
        // SAFETY: as above; the reserve of another thread is in place.
        unsafe { System.dealloc(new, RESERVE) };
    }
}

/// Notes that an allocation failed.
pub(crate) fn note_short() {
    SHORT.store(true, Ordering::Release);
}

/// Returns whether an allocation has failed since the reserve was allocated.
pub(crate) fn is_short() -> bool {
    SHORT.load(Ordering::Acquire)
}

/// Length of a cache line on the processors this is tuned for; another length only costs time.
const LINE: usize = 64;

/// Prefetches the cache lines of `item`.
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
        // An object that is not aligned to lines may end one line later.
        prefetch_line(start.wrapping_add(size_of::<T>() - 1));
    }
}

/// Prefetches the first two cache lines of `list`, or of the room for its first items.
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

/// Asks for large pages for the room of `list`: accesses to a flow table are scattered, and with small pages most of
/// them would miss the TLB.
pub(crate) fn use_large_pages<T>(list: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const LARGE: usize = 2 << 20;
        let start = list.as_ptr() as usize;
        let end = start + list.capacity() * size_of::<T>();
        let (start, end) = (start.next_multiple_of(PAGE), end - end % PAGE);
        if start + LARGE <= end {
            // SAFETY: the range is inside one allocation of ours, and the advice changes no content.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = list;
}

/// Runs `work` with 256-bit registers if the processor has them; the program itself runs on processors without.
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
            // SAFETY: this processor has the features that the function is compiled for.
            return unsafe { wide(work) };
        }
    }
    work()
}
