//! Two bare threads on a core each: the speed at which these cores hand data over, without any other work.

use crate::count::Count;
use crate::failure::Failure;
use millstream::exec::pin_to_physical_core;
use std::hint::spin_loop;
use std::sync::{Mutex, PoisonError};

/// The number of buffers between the two, equal to the others' batches in a ring.
const BUFFERS: usize = 16;

/// The sum of `n` numbers that one thread sends to the other through buffers of `size` numbers in all.
pub(super) fn handed_over(n: u64, size: usize) -> Result<u64, Failure> {
    let each = size / BUFFERS;
    let buffers: [Mutex<Vec<u64>>; BUFFERS] = std::array::from_fn(|_| Mutex::new(vec![0; each]));
    let (written, read) = (Count::default(), Count::default());
    let turns = n.div_ceil(each as u64);
    let buffer = |turn: u64| buffers[turn as usize % BUFFERS].lock().unwrap_or_else(PoisonError::into_inner);
    let write = || {
        for turn in 0..turns {
            while read.get() < (turn + 1).saturating_sub(BUFFERS as u64) {
                spin_loop();
            }
            buffer(turn).iter_mut().zip(turn * each as u64..).for_each(|(slot, number)| *slot = number);
            written.set(turn + 1);
        }
    };
    let sum = || {
        (0..turns).fold(0_u64, |sum, turn| {
            while written.get() <= turn {
                spin_loop();
            }
            let len = (n - turn * each as u64).min(each as u64) as usize;
            let sum = buffer(turn)[..len].iter().fold(sum, |sum, x| sum.wrapping_add(*x));
            read.set(turn + 1);
            sum
        })
    };
    on_two_cores(write, sum)
}

/// Sends a cache line to the other core and back, this many times. Returns the number of times.
pub(super) fn passed(trips: u64) -> Result<u64, Failure> {
    let line = Count::default();
    let pass_on = |first: u64| {
        for turn in (first..2 * trips).step_by(2) {
            while line.get() != turn {
                spin_loop();
            }
            line.set(turn + 1);
        }
    };
    on_two_cores(|| pass_on(1), || pass_on(0))?;
    Ok(line.get() / 2)
}

/// Runs both on cores of their own. Returns the second result.
fn on_two_cores<R: Send>(first: impl FnOnce() + Send, second: impl FnOnce() -> R + Send) -> Result<R, Failure> {
    std::thread::scope(|scope| {
        let first = move || {
            // With fewer than two cores they take turns on one.
            let _ = pin_to_physical_core(0);
            first();
        };
        let both = move || {
            std::thread::Builder::new().spawn_scoped(scope, first).map_err(Failure::io("a thread"))?;
            let _ = pin_to_physical_core(1);
            Ok(second())
        };
        let both = std::thread::Builder::new().spawn_scoped(scope, both).map_err(Failure::io("a thread"))?;
        both.join().map_err(|_| Failure::Answer("two bare threads", 0))?
    })
}
