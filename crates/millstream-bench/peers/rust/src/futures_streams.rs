//! Streams of the futures crate: one chain of stages without a hand-over, and `buffered` for work in order on tokio's
//! threads.

use crate::crossbeam::chunks;
use crate::work;
use futures::StreamExt;
use futures::executor::block_on;
use futures::stream;
use tokio::runtime::Builder;

pub(crate) fn chain3(items: u64) -> u64 {
    let mapped = stream::iter(0..items).map(work::first).map(work::second);
    block_on(mapped.fold(0_u64, |sum, x| std::future::ready(sum.wrapping_add(x))))
}

/// Chunks of numbers, `ahead` of them at a time.
pub(crate) fn ordered(items: u64, ahead: usize) -> u64 {
    let Ok(runtime) = Builder::new_multi_thread().worker_threads(2).build() else { return 0 };
    let worked = |chunk: Vec<u64>| chunk.into_iter().map(|x| work::rounds(x, work::ROUNDS)).collect::<Vec<_>>();
    runtime.block_on(async {
        let done = stream::iter(chunks(items)).map(|chunk| tokio::spawn(async move { worked(chunk) })).buffered(ahead);
        done.fold(0, |sum, chunk| async move { chunk.into_iter().flatten().fold(sum, work::joined) }).await
    })
}
