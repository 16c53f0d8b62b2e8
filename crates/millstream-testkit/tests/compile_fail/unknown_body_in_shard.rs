use millstream_core::{Arrow, pipeline};
use millstream_exec::Pipeline;

fn running_sum() -> impl Pipeline<u64, u64> {
    pipeline::<u64>().scan(0, |sum, x| {
        *sum += x;
        *sum
    })
}

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| p.then(running_sum()));
}
