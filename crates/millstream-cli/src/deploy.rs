//! Running a pipeline where the user wants it, and telling what the user wants to know about it.

use crate::command::Outcome;
use crate::config::{Place, RunConfig, StatsTo};
use crate::hash::Hash;
use crate::message::{Complaints, cause, quoted, say};
use millstream_core::model::Listed;
use millstream_core::{Arrow, Event, Flow, Modelled, Own, SequenceNumber, Val};
use millstream_exec::{Report, Run, RunError};
use serde_json::{Value, json};
use std::borrow::Cow;

/// How statistics begin, by which a file of them is known.
pub(crate) const STATS_BEGIN: &str = "{\n  \"runs\": [";

/// What a hash sees of an output.
pub(crate) trait Hashed {
    fn bytes(&self) -> Cow<'_, [u8]>;
}

impl Hashed for Vec<u8> {
    fn bytes(&self) -> Cow<'_, [u8]> {
        self.into()
    }
}

/// The runs of one command: most have one, `wc` has one for each file.
#[derive(Debug)]
pub(crate) struct Runs {
    config: RunConfig,
    complaints: Complaints,
    hash: Option<Hash>,
    reports: Vec<Value>,
}

impl Runs {
    pub(crate) fn new(config: RunConfig, complaints: Complaints) -> Self {
        let hash = config.hash.then(Hash::default);
        Runs { config, complaints, hash, reports: Vec::new() }
    }

    /// Runs `pipeline` over `input`; `sink` sees every output, in order, and what it makes of `state` comes back.
    pub(crate) fn run<P, T, O, B, S>(
        &mut self,
        pipeline: &P,
        input: impl Iterator<Item = T> + Send + 'static,
        state: S,
        sink: impl Fn(&mut S, &B) + Send + 'static,
    ) -> Result<S, RunError>
    where
        P: Modelled<T> + Run<T> + Arrow<In = Val<T>, Out = O>,
        T: Event,
        O: Listed + Own<Owned = B> + for<'a> Flow<Ref<'a> = &'a B>,
        B: Event + Hashed,
        S: Send + 'static,
    {
        let sink = move |(state, hash): &mut (S, Option<Hash>), number: SequenceNumber, output: &B| {
            if let Some(hash) = hash {
                hash.slot(number, &output.bytes());
            }
            sink(state, output);
        };
        let rings = &self.config.rings;
        let mut state = (state, self.hash.take());
        let report = match self.config.place {
            Place::Model => {
                let slots = pipeline.model_slots(input);
                let numbers = slots.len() - 1;
                for (number, output) in (0..).zip(slots).filter_map(|(number, slot)| Some((number, slot?))) {
                    sink(&mut state, SequenceNumber(number), &output);
                }
                json!({ "deploy": "model", "numbers": numbers })
            }
            Place::Inline => {
                let report;
                (state, report) = pipeline.run_inline(rings, input, state, sink)?;
                as_json("inline", &report)
            }
            Place::Rings => {
                let report;
                (state, report) = pipeline.run_with(rings, input, state, sink)?;
                as_json("rings", &report)
            }
        };
        self.reports.push(report);
        let (state, hash) = state;
        self.hash = hash;
        Ok(state)
    }

    /// Tells what was asked for, the hash last.
    pub(crate) fn finish(self) -> Outcome {
        if let Some(to) = &self.config.stats {
            self.tell_stats(to);
        }
        if let Some(hash) = &self.hash {
            say(&hash.to_string());
        }
        if self.complaints.any() { Outcome::InputOrOutputFailed } else { Outcome::Done }
    }

    fn tell_stats(&self, to: &StatsTo) {
        let stats = format!("{:#}", json!({ "runs": self.reports }));
        match to {
            StatsTo::StandardError => say(&stats),
            StatsTo::File(path) => {
                if let Err(error) = std::fs::write(path, stats + "\n") {
                    self.complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(&error)));
                }
            }
        }
    }
}

fn as_json(deploy: &str, report: &Report) -> Value {
    json!({
        "deploy": deploy,
        "numbers": report.numbers.0,
        "values": report.values,
        "workers": report.workers,
        "tasklets": report.tasklets,
        "ring_bytes": report.ring_bytes,
        "seconds": report.elapsed.as_secs_f64(),
    })
}
