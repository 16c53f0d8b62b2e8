use std::panic::{UnwindSafe, catch_unwind};

/// The paces to try, each twice as slow as the one before.
const PACES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Runs a test that measures sleeps: at pace 1; if it fails, with all times doubled; and so on up to 32.
///
/// A busy machine adds about as much to a short sleep as to a long one, so the relative error of a long one is small. A
/// true claim about times therefore holds at some pace, and a false one at none. On a quiet machine the first try
/// passes; only a false claim takes all of them.
///
/// ```
/// use std::{thread::sleep, time::{Duration, Instant}};
///
/// millstream::testkit::at_some_pace(|pace| {
///     let time = Duration::from_millis(2) * pace;
///     let begun = Instant::now();
///     sleep(time);
///     assert!(begun.elapsed() < time * 2, "a sleep is twice as long as it should be");
/// });
/// ```
///
/// # Panics
///
/// As `test` does at the last pace. The panics at the others are printed, and the next pace is tried.
pub fn at_some_pace(test: impl Fn(u32) + UnwindSafe + std::panic::RefUnwindSafe) {
    let (last, others) = PACES.split_last().expect("the list is not empty");
    if !others.iter().any(|pace| catch_unwind(|| test(*pace)).is_ok()) {
        test(*last);
    }
}
