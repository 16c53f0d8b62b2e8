use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::Everywhere;

/// `idle`: a run in which nothing happens until a signal comes.
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

pub(crate) fn idle(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().shard(shards, |p| p.map(|x: &u64| *x).named("idle"))
}

impl Idle {
    pub(crate) fn run(self) -> Outcome {
        let mut runs = Runs::new(self.run, Complaints::of("idle"));
        let interrupts = runs.interrupts();
        let never = std::iter::from_fn(move || {
            interrupts.wait();
            None
        });
        match runs.run(&idle(self.shards), never, (), |(), _: &u64| {}) {
            Ok(()) => runs.finish(),
            Err(error) => runs.fail(&error),
        }
    }
}
