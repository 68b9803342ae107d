//! Work that is shared among as many threads as the machine has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the same with all of them. Some take many times as long as others: a thread that is done takes the next.
pub fn share<T: Sync>(all: &[T], each: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    each(one);
                }
            });
        }
    });
}
