//! An allocator that counts what is asked of it while someone wants to know.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tikv_jemallocator::Jemalloc;

static COUNTS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The allocator of the binary, with counters. A block that grows counts as another one.
pub(crate) struct Counting;

fn count(bytes: usize) {
    if COUNTS.load(Ordering::Relaxed) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

// SAFETY: each call is passed on as it is to an allocator that keeps the contract.
#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { Jemalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises; the block is one of ours.
        unsafe { Jemalloc.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { Jemalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises; the block is one of ours.
        unsafe { Jemalloc.realloc(block, layout, size) }
    }
}

/// Does some work, and returns how many blocks and bytes all threads asked for meanwhile.
pub(crate) fn counted(work: impl FnOnce()) -> (u64, u64) {
    let counters = || (CALLS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    let before = counters();
    COUNTS.store(true, Ordering::Relaxed);
    work();
    COUNTS.store(false, Ordering::Relaxed);
    let after = counters();
    (after.0 - before.0, after.1 - before.1)
}
