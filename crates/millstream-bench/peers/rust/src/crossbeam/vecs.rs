//! `Vec`s of many items, so that one hand-over serves all of them. A map changes its `Vec` in place.

use super::chunks;
use crate::cores::{on_core, start_on_core};
use crate::work;
use crossbeam_channel::{Receiver, bounded};
use std::thread;

pub(crate) fn hop(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = bounded(capacity);
    start_on_core(0, move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    on_core(1, move || summed(receiver))
}

pub(crate) fn chain3(items: u64, capacity: usize) -> u64 {
    let first = mapped(source(items, capacity), capacity, work::first);
    summed(mapped(first, capacity, work::second))
}

/// Seven stages between a source and a sink: nine threads.
pub(crate) fn chain7(items: u64, capacity: usize) -> u64 {
    let staged = |input, i| mapped(input, capacity, move |x| work::stage(i, x));
    summed((0..7).fold(source(items, capacity), staged))
}

fn source(items: u64, capacity: usize) -> Receiver<Vec<u64>> {
    let (sender, receiver) = bounded(capacity);
    thread::spawn(move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    receiver
}

/// A stage on a thread of its own.
pub(super) fn mapped(
    input: Receiver<Vec<u64>>,
    capacity: usize,
    f: impl Fn(u64) -> u64 + Send + 'static,
) -> Receiver<Vec<u64>> {
    let (sender, receiver) = bounded(capacity);
    thread::spawn(move || {
        input.into_iter().try_for_each(|mut chunk| {
            chunk.iter_mut().for_each(|x| *x = f(*x));
            sender.send(chunk)
        })
    });
    receiver
}

fn summed(input: Receiver<Vec<u64>>) -> u64 {
    input.into_iter().flatten().fold(0, u64::wrapping_add)
}
