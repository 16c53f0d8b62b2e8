//! Tasks of tokio on two threads: bounded channels of `Vec`s of many items, which was faster than `recv_many` and
//! `reserve_many` of single ones.

use crate::crossbeam::chunks;
use crate::work;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, channel};

pub(crate) fn hop(items: u64, capacity: usize) -> u64 {
    on_two_threads(|runtime| {
        let receiver = source(items, capacity, runtime);
        runtime.block_on(runtime.spawn(summed(receiver))).unwrap_or(0)
    })
}

pub(crate) fn chain3(items: u64, capacity: usize) -> u64 {
    on_two_threads(|runtime| {
        let receiver = source(items, capacity, runtime);
        let receiver = mapped(receiver, capacity, work::first, runtime);
        let receiver = mapped(receiver, capacity, work::second, runtime);
        runtime.block_on(runtime.spawn(summed(receiver))).unwrap_or(0)
    })
}

/// The work on a runtime of its own; 0, a wrong checksum, if there is none.
fn on_two_threads(work: impl FnOnce(&Runtime) -> u64) -> u64 {
    Builder::new_multi_thread().worker_threads(2).build().map_or(0, |runtime| work(&runtime))
}

fn source(items: u64, capacity: usize, runtime: &Runtime) -> Receiver<Vec<u64>> {
    let (sender, receiver) = channel(capacity);
    runtime.spawn(async move {
        for chunk in chunks(items) {
            if sender.send(chunk).await.is_err() {
                break;
            }
        }
    });
    receiver
}

fn mapped(mut input: Receiver<Vec<u64>>, capacity: usize, f: fn(u64) -> u64, runtime: &Runtime) -> Receiver<Vec<u64>> {
    let (sender, receiver) = channel(capacity);
    runtime.spawn(async move {
        while let Some(mut chunk) = input.recv().await {
            chunk.iter_mut().for_each(|x| *x = f(*x));
            if sender.send(chunk).await.is_err() {
                break;
            }
        }
    });
    receiver
}

async fn summed(mut input: Receiver<Vec<u64>>) -> u64 {
    let mut sum = 0;
    while let Some(chunk) = input.recv().await {
        sum = chunk.into_iter().fold(sum, u64::wrapping_add);
    }
    sum
}
