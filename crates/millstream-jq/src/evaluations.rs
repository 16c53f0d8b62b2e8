//! How many values jaq has evaluated a filter for, so that another thread can tell whether an evaluation ends.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counters of some threads, in a cache line of their own.
#[repr(align(128))]
struct Counters {
    begun: AtomicU64,
    made: AtomicU64,
}

/// More threads than this share counters.
const MANY: usize = 64;

static COUNTERS: [Counters; MANY] = [const { Counters { begun: AtomicU64::new(0), made: AtomicU64::new(0) } }; MANY];

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: &'static Counters = &COUNTERS[THREADS.fetch_add(1, Ordering::Relaxed) % MANY];
}

/// Counts an evaluation.
pub(crate) fn counted<R>(evaluate: impl FnOnce() -> R) -> R {
    OWN.with(|own| {
        own.begun.fetch_add(1, Ordering::Relaxed);
        let made = evaluate();
        own.made.fetch_add(1, Ordering::Relaxed);
        made
    })
}

/// How many evaluations by jaq this process has begun, and how many of them have ended. Each is of an
/// [`Expression`](crate::Expression) or of a [`Filter`](crate::Filter) for one value. If fewer have ended than were
/// begun, and none ends until a later call, one of them was under way all the time: it may have no end, as
/// `last(repeat(1))` has none. Costs some 128 loads.
///
/// ```
/// use millstream::jq::{Expression, Fields, Filter, Outputs, evaluations};
///
/// let total = Expression::new("[.[] * 2] | add")?;
/// let (mut row, mut out) = (Fields::default(), Outputs::default());
/// row.read(&total, b"[1, 2]").unwrap();
/// total.write(&row, &mut out).unwrap();
/// assert_eq!(evaluations(), [1, 1]);
///
/// Filter::new("[.[] * 2] | add")?.answer(b"[1] [2] [3]");
/// assert_eq!(evaluations(), [4, 4]);
/// # Ok::<(), millstream::jq::Wrong>(())
/// ```
#[must_use]
pub fn evaluations() -> [u64; 2] {
    let all = |count: fn(&Counters) -> &AtomicU64| COUNTERS.iter().map(|own| count(own).load(Ordering::Relaxed)).sum();
    [all(|own| &own.begun), all(|own| &own.made)]
}
