use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::{Arrow, KeepsClock, Val, pipeline};
use millstream_exec::Everywhere;
use millstream_exec::source::ready;
use std::thread;
use std::time::Duration;

/// `sleep`: five items, each of which goes through four sleeps. Sleeps of different stages overlap.
#[derive(Debug)]
pub(crate) struct Sleep {
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

const ITEMS: u64 = 5;
pub(crate) const NAP: Duration = Duration::from_millis(250);

fn slept<B>(nap: Duration, value: B) -> B {
    thread::sleep(nap);
    value
}

/// A sleep, two in parallel, and one more.
pub(crate) fn sleep(shards: usize, nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    first(shards, nap)
        .fanout(move |p| p.then(left(shards, nap)), move |p| p.then(right(shards, nap)))
        .shard(shards, move |p| p.map_blocking(move |(x, square): (&u64, &u64)| slept(nap, x + square)).named("last"))
}

pub(crate) fn first(shards: usize, nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().shard(shards, move |p| p.map_blocking(move |x: &u64| slept(nap, *x)).named("first"))
}

pub(crate) fn left(shards: usize, nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> + KeepsClock {
    pipeline::<u64>().shard(shards, move |p| p.map_blocking(move |x: &u64| slept(nap, *x)).named("left"))
}

pub(crate) fn right(shards: usize, nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> + KeepsClock {
    pipeline::<u64>().shard(shards, move |p| p.map_blocking(move |x: &u64| slept(nap, x * x)).named("right"))
}

impl Sleep {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("sleep");
        Output::opened(&complaints, |output| {
            let mut runs = Runs::new(self.run, complaints.clone());
            let print = |output: &mut Output, number: &u64| output.write(format!("{number}\n").as_bytes());
            match runs.run(&sleep(self.shards, NAP), ready(1..=ITEMS), output, print) {
                Ok(_) => runs.finish(),
                Err(error) => runs.fail(&error),
            }
        })
    }
}
