//! timely dataflow: its operators on one worker, where they hand over containers of 1,024 items; and two workers with
//! an exchange between them.

use crate::work;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Exchange, ToStream};
use timely::{Config, execute};

/// Adds a stream up.
macro_rules! summed {
    ($stream:expr, $total:expr) => {
        $stream.sink(Pipeline, "sum", move |(input, _)| {
            let mut sum = 0_u64;
            input.for_each_time(|_, containers| {
                sum = containers.flat_map(|container| container.iter()).fold(sum, |sum, x| sum.wrapping_add(*x));
            });
            $total.fetch_add(sum, Ordering::Relaxed);
        })
    };
}

/// Items from one worker to the other.
pub(crate) fn hop(items: u64) -> u64 {
    on(Config::process(2), move |worker, total| {
        let items = if worker.index() == 0 { items } else { 0 };
        worker.dataflow::<u64, _, _>(|scope| {
            summed!((0..items).to_stream(scope).container::<Vec<u64>>().exchange(|_| 1), total);
        });
    })
}

/// On one worker.
pub(crate) fn chain3(items: u64) -> u64 {
    on(Config::thread(), move |worker, total| {
        worker.dataflow::<u64, _, _>(|scope| {
            let numbers = (0..items).to_stream(scope).container::<Vec<u64>>();
            let mapped = numbers.map_in_place(|x| *x = work::first(*x)).map_in_place(|x| *x = work::second(*x));
            summed!(mapped, total);
        });
    })
}

fn on(config: Config, dataflow: impl Fn(&mut timely::worker::Worker, Arc<AtomicU64>) + Send + Sync + 'static) -> u64 {
    let total = Arc::new(AtomicU64::new(0));
    let of_all = total.clone();
    let run = execute(config, move |worker| dataflow(worker, of_all.clone()));
    run.map_or(0, |workers| {
        drop(workers); // waits for them
        total.load(Ordering::Relaxed)
    })
}
