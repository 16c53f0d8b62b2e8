//! The standard library's bounded channel, with `Vec`s of many items.

use crate::cores::{on_core, start_on_core};
use crate::crossbeam::chunks;
use crate::work;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

pub(crate) fn hop(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = sync_channel(capacity);
    start_on_core(0, move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    on_core(1, move || summed(receiver))
}

pub(crate) fn chain3(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = sync_channel(capacity);
    thread::spawn(move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    summed(mapped(mapped(receiver, capacity, work::first), capacity, work::second))
}

fn mapped(input: Receiver<Vec<u64>>, capacity: usize, f: fn(u64) -> u64) -> Receiver<Vec<u64>> {
    let (sender, receiver) = sync_channel(capacity);
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
