//! A crawler's async part without the requests: at most fifty futures at a time, whose results come in order, as a
//! stream. What is left is the overhead of a value.
//!
//! `buffered` is that of the futures crate, in a task of the same tokio runtime. In case `ready` the futures are ready
//! when they are first polled, in case `yielding` at the second poll. In both cases all ids are there at the start. In
//! case `channel` they come one by one from another task.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use millstream::prelude::*;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::task::Poll;
use tokio::runtime::Runtime;

/// The most futures at a time.
const AT_ONCE: usize = 50;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().map_err(Failure::io("a runtime"))?;
    let n = setting.items(1_000_000, 200_000);
    let rings = setting.rings(1);
    let cases = [("ready", false), ("yielding", true)].map(|(case, yields)| {
        let ours = || on(&runtime, pages(rings.clone(), source::ready(0..n), yields));
        let buffered = || on(&runtime, async move { Ok(fetched(stream::iter(black_box(0..n)), yields).await) });
        compared(setting, case, Some(1.0), n, &ours, &buffered)
    });
    let n = n / 4;
    let ours = || {
        let (sender, ids) = source::channel(4096);
        let send = async move {
            for id in 0..n {
                let _ = sender.send_async(id).await;
            }
        };
        runtime.spawn(send);
        on(&runtime, pages(rings.clone(), ids, false))
    };
    let buffered = || {
        let (sender, ids) = tokio::sync::mpsc::channel(4096);
        let send = async move {
            for id in 0..n {
                let _ = sender.send(id).await;
            }
        };
        runtime.spawn(send);
        let ids = stream::unfold(ids, |mut ids| async move { Some((ids.recv().await?, ids)) });
        on(&runtime, async move { Ok(fetched(ids, false).await) })
    };
    let channel = compared(setting, "channel", None, n, &ours, &buffered);
    cases.into_iter().chain([channel]).collect::<Result<Vec<_>, _>>().map(Results::joined)
}

fn compared(
    setting: &Setting,
    case: &'static str,
    bound: Option<f64>,
    n: u64,
    ours: &dyn Fn() -> Result<u64, Failure>,
    buffered: &dyn Fn() -> Result<u64, Failure>,
) -> Result<Results, Failure> {
    let expected = (0..n).fold(0, |all, id| work::joined(all, page(id)));
    let contestants = vec![Contestant::new("ours", expected, ours), Contestant::new("buffered", expected, buffered)];
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 5 }, contestants)?;
    let ratio = speeds.ratio("buffered", bound);
    Ok(speeds.results([ratio]))
}

fn page(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

async fn fetch(id: u64, yields: bool) -> u64 {
    let mut pending = yields;
    poll_fn(|cx| {
        if std::mem::take(&mut pending) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(page(id))
    })
    .await
}

async fn fetched(ids: impl Stream<Item = u64>, yields: bool) -> u64 {
    let pages = ids.map(|id| fetch(id, yields)).buffered(AT_ONCE);
    pages.fold(0, |all, page| async move { work::joined(all, page) }).await
}

async fn pages(rings: Rings, ids: impl Source<u64>, yields: bool) -> Result<u64, Failure> {
    let p = pipeline::<u64>().map_async(AT_ONCE, move |id| fetch(*id, yields));
    let pages = rings.iter(p.from(ids))?.stream();
    Ok(pages.try_fold(0, |all, page| async move { Ok(work::joined(all, page)) }).await?)
}

/// The result of a task on this runtime.
fn on(runtime: &Runtime, task: impl Future<Output = Result<u64, Failure>> + Send + 'static) -> Result<u64, Failure> {
    let failed = |error: tokio::task::JoinError| Failure::Program("a task".to_owned(), error.to_string());
    runtime.block_on(runtime.spawn(task)).map_err(failed)?
}
