//! The edges of every program: its pipeline up to each of its stages.

use super::Edge;
use crate::command::copying::{five, summed};
use crate::command::hidden_clock::{squared, stamped};
use crate::command::wc::{Kinds, pipelines};
use crate::command::{idle::idle, panic, pipe, sleep, spaces, uppercase::uppercase};
use crate::deploy::Hashed;
use crate::flags::Program;
use millstream_core::model::ModelShape;
use millstream_core::{Arrow, Item, Shape, Text, ToOwnedItem, Val};
use millstream_exec::{BoxExact, BoxExt, FreePipe, OnQueues, QueueShape, RingShape};
use millstream_io::Block;
use std::time::Duration;

/// Boxed pipelines with the same ends have one type, so the code that runs them is compiled once.
type Boxed<T, O> = BoxExact<Val<T>, O, OnQueues<FreePipe>>;

fn edge<T, O, B>(pipeline: Boxed<T, O>, input: &[T]) -> Edge
where
    T: Item + Clone,
    O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>,
    B: Item + Hashed,
{
    Edge::new(pipeline, input.to_vec(), B::bytes)
}

fn text(pipeline: Boxed<Block, Text>, input: &[Block]) -> Edge {
    Edge::text(pipeline, input.to_vec())
}

/// The input of programs that read none.
fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

/// The edges of a program's pipeline with this many shards, in pipeline order.
pub(super) fn edges(program: Program, shards: usize, input: &[Block]) -> Vec<Edge> {
    match program {
        Program::Wc => wc(shards, input),
        Program::Uppercase => vec![text(uppercase(shards).boxed_exact(), input)],
        Program::Spaces => {
            vec![text(spaces::lines().boxed_exact(), input), text(spaces::spaces(shards).boxed_exact(), input)]
        }
        Program::Sleep => sleeping(shards, &numbers(20)),
        Program::Panic => vec![
            edge(panic::first(shards).boxed_exact(), &numbers(1000)),
            edge(panic::second(shards).boxed_exact(), &numbers(1000)),
            edge(panic::panicking(u64::MAX, shards).boxed_exact(), &numbers(1000)),
        ],
        Program::Idle => vec![edge(idle(shards).boxed_exact(), &numbers(1000))],
        Program::Copying => {
            vec![edge(five().boxed_exact(), &numbers(1000)), edge(summed(five()).boxed_exact(), &numbers(1000))]
        }
        Program::Pipe => {
            let numbered: Vec<pipe::Numbered> = (0..).zip(input.iter().cloned()).collect();
            vec![edge(pipe::blocks(shards, pipe::Filter::cat()).boxed_exact(), &numbered)]
        }
        Program::HiddenClock => {
            vec![edge(squared(shards).boxed_exact(), &numbers(100)), edge(stamped(shards).boxed_exact(), &numbers(100))]
        }
    }
}

fn sleeping(shards: usize, input: &[u64]) -> Vec<Edge> {
    let nap = Duration::from_micros(100);
    vec![
        edge(sleep::first(shards, nap).boxed_exact(), input),
        edge(sleep::first(shards, nap).then(sleep::left(shards, nap)).boxed_exact(), input),
        edge(sleep::first(shards, nap).then(sleep::right(shards, nap)).boxed_exact(), input),
        edge(sleep::sleep(shards, nap).boxed_exact(), input),
    ]
}

fn wc(shards: usize, input: &[Block]) -> Vec<Edge> {
    if shards == 1 {
        return vec![
            edge(pipelines::lines().boxed_exact(), input),
            edge(pipelines::words().boxed_exact(), input),
            edge(pipelines::bytes().boxed_exact(), input),
            edge(pipelines::whole().boxed_exact(), input),
        ];
    }
    let parts = || pipelines::parts(Kinds::USUAL, shards);
    vec![
        edge(parts().boxed_exact(), input),
        edge(parts().then(pipelines::lines_of_parts()).boxed_exact(), input),
        edge(parts().then(pipelines::words_of_parts()).boxed_exact(), input),
        edge(parts().then(pipelines::bytes_of_parts()).boxed_exact(), input),
        edge(pipelines::sharded(shards).boxed_exact(), input),
    ]
}
