//! Fan-outs: the source clones each `Vec` for every branch, and the sink takes one `Vec` of each branch.

use super::{chunks, vecs::mapped};
use crate::work;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::thread;

/// A branch that passes its numbers on, and one that computes which are even.
pub(crate) fn zip2(items: u64, capacity: usize) -> u64 {
    let (sender, numbers) = bounded(capacity);
    let (to_second, second) = bounded::<Vec<u64>>(capacity);
    source(items, vec![sender, to_second]);
    let (sender, parities) = bounded(capacity);
    thread::spawn(move || {
        second.into_iter().try_for_each(|chunk| sender.send(chunk.into_iter().map(work::is_even).collect::<Vec<_>>()))
    });
    let both = numbers.into_iter().zip(parities);
    let items = both.flat_map(|(numbers, parities)| numbers.into_iter().zip(parities));
    items.fold(0, |sum, (x, even)| sum.wrapping_add(work::if_even(x, even)))
}

/// Ten branches that pass their numbers on.
pub(crate) fn zip10(items: u64, capacity: usize) -> u64 {
    let branches = branches(items, capacity);
    let (mut next, mut seen) = (0, work::Seen::default());
    rows(&branches, |halves| {
        seen.look(next, halves);
        next += 1;
    });
    seen.checksum()
}

/// Ten maps, and the sum of their mixed halves.
pub(crate) fn zip10_write(items: u64, capacity: usize) -> u64 {
    let branches = branches(items, capacity).into_iter().enumerate();
    let branches: Vec<_> = branches.map(|(i, branch)| mapped(branch, capacity, move |x| work::branch(i, x))).collect();
    let mut sum = 0_u64;
    rows(&branches, |halves| sum = sum.wrapping_add(work::mix(halves)));
    sum
}

fn branches(items: u64, capacity: usize) -> Vec<Receiver<Vec<u64>>> {
    let (senders, branches) = (0..10).map(|_| bounded(capacity)).unzip();
    source(items, senders);
    branches
}

fn source(items: u64, mut branches: Vec<Sender<Vec<u64>>>) {
    thread::spawn(move || {
        let last = branches.pop()?;
        for chunk in chunks(items) {
            branches.iter().try_for_each(|branch| branch.send(chunk.clone())).ok()?;
            last.send(chunk).ok()?;
        }
        Some(())
    });
}

/// Calls `f` with the ten halves of every number.
fn rows(branches: &[Receiver<Vec<u64>>], mut f: impl FnMut([u64; 10])) {
    loop {
        let chunks: Vec<_> = branches.iter().map_while(|branch| branch.recv().ok()).collect();
        let Ok(chunks) = <[Vec<u64>; 10]>::try_from(chunks) else { return };
        let len = chunks[0].len();
        // Slices of one length, so that the loop needs no bounds check for each half.
        let halves: [&[u64]; 10] = std::array::from_fn(|i| &chunks[i][..len]);
        (0..len).for_each(|at| f(halves.map(|half| half[at])));
    }
}
