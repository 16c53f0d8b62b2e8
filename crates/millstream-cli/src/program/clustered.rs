//! A user's program on a cluster.

use super::flags::Flags;
use super::lines::{left_out, parsed, without_end};
use super::{Line, Printed, Program, Whole};
use crate::command::cluster::{Numbers, Reads, Sorted, TextSegment, Works as Worker, apply, sorted};
use crate::flags::{self, Apply, ClusterCommand, refuse};
use crate::message::Complaints;
use crate::name::program;
use crate::outcome::Outcome;
use millstream_cluster::{OnRings, SegmentRunner, Text};
use millstream_core::{Arrow, Item, Val};
use millstream_exec::{Everywhere, Lasting, QueueShape, RunsOn};
use std::fmt::Display;

/// Works with a pipeline whose states are serializable.
pub(super) type Works<P> = fn(P, Worker) -> Outcome;

/// Parses the lines of a text, which begins at this byte of the input. Reports a line that cannot be parsed, and leaves
/// it out, as every replica does.
fn read<T: Line>((mut begins, text): (u64, &Text), values: &mut Vec<T>, complaints: &Complaints) {
    for line in text.0.split_inclusive(|byte| *byte == b'\n') {
        match parsed(without_end(line).to_vec()) {
            Ok(value) => values.push(value),
            // A note: the output is complete without it, and the worker has not failed.
            Err(why) => {
                complaints.note(&format!("the input: {}", left_out(&format!("the line at byte {begins}"), &why)))
            }
        }
        begins += line.len() as u64;
    }
}

fn print<B: Display>(value: &B) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

fn work<P, R, T, O, B>(on: OnRings<P, R>, pipeline: &millstream_core::Plan, worker: Worker) -> Outcome
where
    R: SegmentRunner,
    P: RunsOn<R, Item = T> + Arrow<In = Val<T>, Out = O>,
    T: Line,
    O: Printed<B>,
    B: Item + Display,
{
    let reads = Reads { read: read::<T>, print: print::<B> };
    let segment = TextSegment { on, reads, complaints: worker.complaints.clone() };
    worker.run(&program(), pipeline, R::WRITES_STATES, &segment)
}

/// With snapshots.
pub(super) fn work_lasting<P, T, O, B>(pipeline: P, worker: Worker) -> Outcome
where
    P: Lasting + Arrow<In = Val<T>, Out = O>,
    T: Line,
    O: Printed<B>,
    B: Item + Display,
{
    let (plan, rings) = (pipeline.plan(), worker.rings.clone());
    work(OnRings::new(pipeline, rings), &plan, worker)
}

impl<T, P, O> Program<T, P>
where
    P: Everywhere<In = Val<T>, Out = O>,
    O: QueueShape,
    T: Line,
{
    pub(super) fn work<B>(self, flags: flags::Worker) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let worker = Worker::try_from(flags).unwrap_or_else(|wrong| refuse::<Flags>(&wrong));
        if let Whole::Built(pipeline) = &self.pipeline {
            worker.says_no_shards(&pipeline.plan());
        }
        let pipeline = self.pipeline.with_shards(worker.shards.unwrap_or(1));
        if let Some(work) = self.works {
            return work(pipeline, worker);
        }
        let (plan, rings) = (pipeline.plan(), worker.rings.clone());
        work(OnRings::without_snapshots(pipeline, rings), &plan, worker)
    }

    pub(super) fn cluster(self, command: ClusterCommand<Apply>) -> Outcome {
        match sorted(command).unwrap_or_else(|wrong| refuse::<Flags>(&wrong)) {
            Sorted::ForAny(any) => any.run(),
            Sorted::Apply(flags) => {
                let numbers = Numbers::try_from(flags).unwrap_or_else(|wrong| refuse::<Flags>(&wrong));
                apply(&numbers, &program(), &self.pipeline.with_shards(1).plan(), self.works.is_some())
            }
        }
    }
}
