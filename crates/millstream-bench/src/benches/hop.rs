//! Numbers from a source on one pinned worker to a sink on another; and two pinned threads with a rival's ring or
//! channel between them.
//!
//! The speed of a hand-over between cores depends most of all on the number of slots between the two. Therefore each
//! ring takes part in four sizes. In case `speed` the best of ours is compared with the best of the rivals'; each other
//! case is one of our sizes.
//!
//! The rivals' batches are a sixteenth of a ring, if that is more than their default. Ours have that size by default.
//!
//! The limit is two bare threads with a few buffers between them. One thread writes a buffer, the other reads it and
//! returns it, and nothing else is done: the speed at which these two cores can hand data over. The limit and rtrb's
//! chunks have bounds, since both are about as fast as the cores allow, and ours must be too.
//!
//! The two cores of a virtual machine may move. Case `line` is the number of times a second that one cache line goes
//! from one core to the other, in many short goes. Its extremes show how much the machine itself changed meanwhile.
//! Therefore every contestant takes ten goes a turn, in turn with the others.

mod bare;

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Against, Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{ThreadId, current};

const OURS: [&str; 4] = ["ours-4096", "ours-65536", "ours-262144", "ours-524288"];
const CASES: [&str; 4] = ["ring4096", "ring65536", "ring262144", "ring524288"];
const SLOTS: [usize; 4] = [4096, 65_536, 262_144, 524_288];

const LIMITS: [&str; 3] = ["limit-65536", "limit-262144", "limit-524288"];
const LIMITS_SLOTS: [usize; 3] = [65_536, 262_144, 524_288];

const RTRB: [&str; 4] = ["rtrb-chunk-8192", "rtrb-chunk-65536", "rtrb-chunk-262144", "rtrb-chunk-524288"];
const DISRUPTOR: [&str; 4] = ["disruptor-8192", "disruptor-65536", "disruptor-262144", "disruptor-524288"];
const RIVALS_SLOTS: [usize; 4] = [8192, 65_536, 262_144, 524_288];

/// The round trips of a line in one go.
const TRIPS: u64 = 20_000;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(50_000_000, 10_000_000);
    let expected = (0..n).fold(0, u64::wrapping_add);
    let rival = |shown_as: &'static str, who, size| {
        setting.rivals.contestant(shown_as, expected, Task { workload: "hop", who, items: n, size })
    };
    let rings = setting.rings(2).pin_workers(true);
    let of_ring = |(name, slots): (&&'static str, usize)| {
        let rings = rings.clone().ring(setting.ring.unwrap_or(slots));
        Contestant::new(name, expected, move || ours(&rings, n))
    };
    let mut contestants: Vec<_> = OURS.iter().zip(SLOTS).map(of_ring).collect();
    contestants.extend(
        LIMITS
            .iter()
            .zip(LIMITS_SLOTS)
            .map(|(who, size)| Contestant::new(who, expected, move || bare::handed_over(black_box(n), size))),
    );
    contestants.extend(rival("crossbeam-vec1024", "crossbeam-vec", 64));
    contestants.extend(rival("crossbeam", "crossbeam", 1024));
    contestants.extend(RTRB.iter().zip(RIVALS_SLOTS).filter_map(|(name, size)| rival(name, "rtrb-chunk", size)));
    contestants.extend(DISRUPTOR.iter().zip(RIVALS_SLOTS).filter_map(|(name, size)| rival(name, "disruptor", size)));
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let against = |bounds: [Option<f64>; 4]| {
        [
            Against { who: "limit", of: &LIMITS, bound: bounds[0] },
            Against { who: "crossbeam-vec1024", of: &["crossbeam-vec1024"], bound: bounds[1] },
            Against { who: "rtrb-chunk", of: &RTRB, bound: bounds[2] },
            Against { who: "disruptor", of: &DISRUPTOR, bound: bounds[3] },
            Against { who: "crossbeam", of: &["crossbeam"], bound: None },
        ]
    };
    let mut cases = vec![speeds.best("speed", &OURS, &against([Some(0.8), Some(0.7), Some(0.8), Some(1.8)]))];
    for (case, ours) in CASES.into_iter().zip(OURS) {
        cases.push(speeds.best(case, &[ours], &against([None, Some(0.7), None, None])));
    }
    cases.push(speeds.without(&OURS));
    let trips = setting.items(TRIPS, TRIPS).min(TRIPS);
    let line = Contestant::new("passed", trips, move || bare::passed(trips));
    let work = Work { case: "line", unit: Unit::ItemsPerSecond, size: 2 * trips, goes: 1 };
    cases.push(take_turns(setting, work, vec![line])?.results([]));
    Ok(Results::joined(cases))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let (source_at, sink_at) = (At::default(), At::default());
    let (numbers, sink) = (Numbers { left: 0..n, _end: source_at.noted() }, sink_at.noted());
    let add = move |sum: &mut u64, _, x: &u64| {
        let _ = &sink;
        *sum = sum.wrapping_add(*x);
    };
    let (sum, report) = rings.run(pipeline::<u64>().from(source::ready(numbers)).to_fold(0, add))?;
    let pinned = matches!(report.pinned[..], [Some(first), Some(second)] if first != second) || report.cores.usable < 2;
    match (source_at.thread(), sink_at.thread()) {
        (Some(source), Some(sink)) if source != sink && pinned => Ok(sum),
        _ => Err(Failure::Threads("the source and the sink did not run on two threads on a core each")),
    }
}

/// A range that records the thread on which it ended.
struct Numbers {
    left: Range<u64>,
    _end: Noted,
}

impl Iterator for Numbers {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left.next()
    }
}

/// A thread, once it is known.
#[derive(Clone, Default)]
struct At(Arc<Mutex<Option<ThreadId>>>);

/// Records the thread that drops it: the one on which a source or a sink took its last step. This costs nothing for an
/// item.
struct Noted(At);

impl At {
    fn noted(&self) -> Noted {
        Noted(self.clone())
    }

    fn thread(&self) -> Option<ThreadId> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(current().id());
    }
}
