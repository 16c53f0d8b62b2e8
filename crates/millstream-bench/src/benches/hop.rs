//! Numbers from a source on one worker to a sink on another; and two threads with somebody else's ring or channel
//! between them, each at the ring size that suits it best.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{ThreadId, current};

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(50_000_000, 10_000_000);
    let cases: Result<Vec<_>, _> =
        setting.ring_cases().into_iter().map(|(case, rings)| at(setting, case, &rings.workers(2), n)).collect();
    cases.map(Results::joined)
}

const RTRB: [(&str, usize); 3] = [("rtrb-chunk-1024", 1024), ("rtrb-chunk-8192", 8192), ("rtrb-chunk-65536", 65_536)];
const DISRUPTOR: [(&str, usize); 3] = [("disruptor-1024", 1024), ("disruptor-8192", 8192), ("disruptor-65536", 65_536)];

fn at(setting: &Setting, case: &'static str, rings: &Rings, n: u64) -> Result<Results, Failure> {
    let expected = (0..n).fold(0, u64::wrapping_add);
    let rival = |as_whom: &'static str, who, size| {
        setting.rivals.contestant(as_whom, expected, Task { workload: "hop", who, items: n, size })
    };
    let mut contestants = vec![Contestant::new("ours", expected, || ours(rings, n))];
    contestants.extend(rival("crossbeam-vec1024", "crossbeam-vec", 64));
    contestants.extend(rival("crossbeam", "crossbeam", 1024));
    contestants.extend(RTRB.iter().filter_map(|(name, size)| rival(name, "rtrb-chunk", *size)));
    contestants.extend(DISRUPTOR.iter().filter_map(|(name, size)| rival(name, "disruptor", *size)));
    let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio("crossbeam-vec1024", Some(0.7)),
        speeds.ratio_as("rtrb-chunk", &RTRB.map(|(name, _)| name), Some(1.8)),
        speeds.ratio_as("disruptor", &DISRUPTOR.map(|(name, _)| name), Some(1.8)),
        speeds.ratio("crossbeam", None),
    ];
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let (source_at, sink_at) = (At::default(), At::default());
    let (numbers, sink) = (Numbers { left: 0..n, _end: source_at.noted() }, sink_at.noted());
    let add = move |sum: &mut u64, _, x: &u64| {
        let _ = &sink;
        *sum = sum.wrapping_add(*x);
    };
    let (sum, _) = pipeline::<u64>().run_with(rings, source::ready(numbers), 0, add)?;
    match (source_at.thread(), sink_at.thread()) {
        (Some(source), Some(sink)) if source != sink => Ok(sum),
        _ => Err(Failure::Threads("the source and the sink did not run on two threads")),
    }
}

/// A range that says where it ended.
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

/// On which thread something was.
#[derive(Clone, Default)]
struct At(Arc<Mutex<Option<ThreadId>>>);

/// Notes the thread that drops it: the one on which a source or a sink took its last step. So it costs nothing an item.
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
