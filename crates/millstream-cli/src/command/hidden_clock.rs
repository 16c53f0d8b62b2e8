//! A pipeline that is not determinate, for `verify` to find: its second stage reads a clock, which no type forbids.

use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::Everywhere;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn squared(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().shard(shards, |p| p.map(|x: &u64| x * x).named("square"))
}

pub(crate) fn stamped(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    squared(shards).map(move |x: &u64| x.wrapping_add(now())).named("stamp")
}
