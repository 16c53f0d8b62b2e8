use std::panic::{UnwindSafe, catch_unwind};

/// The paces that are tried, each twice as slow as the one before.
const PACES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Runs a test that measures what sleeps: at pace 1, and if it fails there with all times doubled, and so on up to 32.
///
/// A machine that is busy with other things adds about as much to a short sleep as to a long one, so measured against a
/// long one that is next to nothing. What a test claims of times holds at some pace if it is true, and at none if it is
/// not: on a quiet machine the first try passes, and only what is wrong takes all of them.
///
/// ```
/// use std::{thread::sleep, time::{Duration, Instant}};
///
/// millstream_testkit::at_some_pace(|pace| {
///     let time = Duration::from_millis(2) * pace;
///     let begun = Instant::now();
///     sleep(time);
///     assert!(begun.elapsed() < time * 2, "a sleep is twice as long as it should be");
/// });
/// ```
///
/// # Panics
///
/// As `test` does at the last pace; the panics of the others are printed, and the next pace is tried.
pub fn at_some_pace(test: impl Fn(u32) + UnwindSafe + std::panic::RefUnwindSafe) {
    let (last, others) = PACES.split_last().expect("there are some");
    if !others.iter().any(|pace| catch_unwind(|| test(*pace)).is_ok()) {
        test(*last);
    }
}
