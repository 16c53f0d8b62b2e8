//! One item in a message.

use crate::cores::{on_core, start_on_core};
use crate::work;
use crossbeam_channel::{Receiver, bounded};
use std::thread;

pub(crate) fn hop(items: u64, capacity: usize) -> u64 {
    let (sender, receiver) = bounded(capacity);
    start_on_core(0, move || (0..items).try_for_each(|x| sender.send(x)));
    on_core(1, move || receiver.into_iter().fold(0, u64::wrapping_add))
}

/// Seven stages between a source and a sink: nine threads.
pub(crate) fn chain7(items: u64, capacity: usize) -> u64 {
    let (sender, mut receiver) = bounded(capacity);
    thread::spawn(move || (0..items).try_for_each(|x| sender.send(x)));
    for i in 0..7 {
        receiver = mapped(receiver, capacity, move |x| work::stage(i, x));
    }
    receiver.into_iter().fold(0, u64::wrapping_add)
}

fn mapped(input: Receiver<u64>, capacity: usize, f: impl Fn(u64) -> u64 + Send + 'static) -> Receiver<u64> {
    let (sender, receiver) = bounded(capacity);
    thread::spawn(move || input.into_iter().try_for_each(|x| sender.send(f(x))));
    receiver
}
