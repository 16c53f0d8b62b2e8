use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::Everywhere;
use millstream_exec::source::ready;

/// `panic`: a stage that fails at a number.
#[derive(Debug)]
pub(crate) struct Panic {
    pub(crate) at: u64,
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

/// Three maps, the third of which fails at a number.
pub(crate) fn panicking(at: u64, shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    let third = move |x: &u64| {
        assert!(*x != at, "boom");
        *x
    };
    second(shards).shard(shards, move |p| p.map(third).named("third"))
}

pub(crate) fn second(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    first(shards).shard(shards, |p| p.map(|x: &u64| *x).named("second"))
}

pub(crate) fn first(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().shard(shards, |p| p.map(|x: &u64| *x).named("first"))
}

impl Panic {
    pub(crate) fn run(self) -> Outcome {
        let mut runs = Runs::new(self.run, Complaints::of("panic"));
        // Numbers after the failure are never needed, and the model could not hold them all.
        match runs.run(&panicking(self.at, self.shards), ready(0..=self.at), (), |(), _: &u64| {}) {
            Ok(()) => runs.finish(),
            Err(error) => runs.fail(&error),
        }
    }
}
