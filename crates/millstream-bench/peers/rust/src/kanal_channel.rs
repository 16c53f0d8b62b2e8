//! Channels of kanal, with `Vec`s of many items: a thread for each stage.

use crate::cores::{on_core, start_on_core};
use crate::crossbeam::chunks;
use crate::work;
use kanal::{Receiver, bounded};
use std::thread;

pub(crate) fn hop(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = bounded(capacity);
    start_on_core(0, move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    on_core(1, move || summed(receiver))
}

pub(crate) fn chain3(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = bounded(capacity);
    thread::spawn(move || chunks(items).try_for_each(|chunk| sender.send(chunk)));
    summed(mapped(mapped(receiver, capacity, work::first), capacity, work::second))
}

fn mapped(input: Receiver<Vec<u64>>, capacity: usize, f: fn(u64) -> u64) -> Receiver<Vec<u64>> {
    let (sender, receiver) = bounded(capacity);
    thread::spawn(move || {
        while let Ok(mut chunk) = input.recv() {
            chunk.iter_mut().for_each(|x| *x = f(*x));
            if sender.send(chunk).is_err() {
                break;
            }
        }
    });
    receiver
}

fn summed(input: Receiver<Vec<u64>>) -> u64 {
    let mut sum = 0;
    while let Ok(chunk) = input.recv() {
        sum = chunk.into_iter().fold(sum, u64::wrapping_add);
    }
    sum
}
