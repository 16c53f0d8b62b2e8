//! The time of a cache line between two cores. A hand-over cannot take less. The cores of a virtual machine may move
//! apart on their host from one second to the next: between cores that share no cache it takes five times as long.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The median of this many times counts, each over some round trips: a thread may lose its core meanwhile.
const TIMES: u32 = 7;
const TRIPS: u32 = 1000;
/// A thread that has looked this often in vain yields its core: the other one may need it. No line takes as long as so
/// many looks. On a machine without an idle core, each pass takes at least as long.
const LOOKS: u32 = 100;

/// The nanoseconds in which a cache line goes to another core and back; none with one core.
pub(crate) fn measure() -> Option<f64> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let line = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let echo = || (0..TIMES * TRIPS).for_each(|trip| pass(&line, 2 * trip + 1));
        std::thread::Builder::new().spawn_scoped(scope, echo).ok()?;
        let mut times: Vec<f64> = (0..TIMES)
            .map(|time| {
                let begun = Instant::now();
                (time * TRIPS..(time + 1) * TRIPS).for_each(|trip| pass(&line, 2 * trip));
                begun.elapsed().as_secs_f64() * 1e9 / f64::from(TRIPS)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        Some(times[times.len() / 2])
    })
}

/// Waits for `number`, and replaces it by the next one.
fn pass(line: &AtomicU32, number: u32) {
    let mut looks = 0_u32;
    while line.load(Ordering::Acquire) != number {
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
    line.store(number + 1, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_time_between_two_cores() {
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(measure().is_some(), cores > 1);
        assert!(measure().is_none_or(|nanoseconds| nanoseconds > 0.0));
    }
}
