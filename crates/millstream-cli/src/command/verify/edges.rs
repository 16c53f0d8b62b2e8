//! The edges of every program: its pipeline up to each of its stages.

use super::Edge;
use crate::command::copying::{five, summed};
use crate::command::hidden_clock::{squared, stamped};
use crate::command::wc::{Kinds, pipelines};
use crate::command::{idle::idle, panic, pipe, sleep, spaces, uppercase::uppercase};
use crate::deploy::Hashed;
use crate::flags::Program;
use millstream_core::model::ModelShape;
use millstream_core::{Arrow, Item, Shape, ToOwnedItem, Val};
use millstream_exec::{Everywhere, QueueShape, RingShape};
use millstream_io::Block;
use std::time::Duration;

fn edge<T, P, O, B>(pipeline: P, input: &[T]) -> Edge
where
    T: Item + Clone,
    P: Everywhere + Arrow<In = Val<T>, Out = O>,
    O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>,
    B: Item + Hashed,
{
    Edge::new(pipeline, input.to_vec(), B::bytes)
}

/// The input of programs that read none.
fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

/// The edges of a program's pipeline with this many shards, in pipeline order.
pub(super) fn edges(program: Program, shards: usize, input: &[Block]) -> Vec<Edge> {
    match program {
        Program::Wc => wc(shards, input),
        Program::Uppercase => vec![Edge::text(uppercase(shards), input.to_vec())],
        Program::Spaces => {
            vec![Edge::text(spaces::lines(), input.to_vec()), Edge::text(spaces::spaces(shards), input.to_vec())]
        }
        Program::Sleep => sleeping(shards, &numbers(20)),
        Program::Panic => vec![
            edge(panic::first(shards), &numbers(1000)),
            edge(panic::second(shards), &numbers(1000)),
            edge(panic::panicking(u64::MAX, shards), &numbers(1000)),
        ],
        Program::Idle => vec![edge(idle(shards), &numbers(1000))],
        Program::Copying => vec![edge(five(), &numbers(1000)), edge(summed(five()), &numbers(1000))],
        Program::Pipe => {
            let numbered: Vec<pipe::Numbered> = (0..).zip(input.iter().cloned()).collect();
            vec![edge(pipe::blocks(shards, pipe::Filter::cat()), &numbered)]
        }
        Program::HiddenClock => vec![edge(squared(shards), &numbers(100)), edge(stamped(shards), &numbers(100))],
    }
}

fn sleeping(shards: usize, input: &[u64]) -> Vec<Edge> {
    let nap = Duration::from_micros(100);
    vec![
        edge(sleep::first(shards, nap), input),
        edge(sleep::first(shards, nap).then(sleep::left(shards, nap)), input),
        edge(sleep::first(shards, nap).then(sleep::right(shards, nap)), input),
        edge(sleep::sleep(shards, nap), input),
    ]
}

fn wc(shards: usize, input: &[Block]) -> Vec<Edge> {
    if shards == 1 {
        return vec![
            edge(pipelines::lines(), input),
            edge(pipelines::words(), input),
            edge(pipelines::bytes(), input),
            edge(pipelines::whole(), input),
        ];
    }
    let parts = || pipelines::parts(Kinds::USUAL, shards);
    vec![
        edge(parts(), input),
        edge(parts().then(pipelines::lines_of_parts()), input),
        edge(parts().then(pipelines::words_of_parts()), input),
        edge(parts().then(pipelines::bytes_of_parts()), input),
        edge(pipelines::sharded(shards), input),
    ]
}
