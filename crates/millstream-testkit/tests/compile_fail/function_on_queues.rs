use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Pipeline, Queues, Runner};

fn next() -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| x + 1)
}

fn main() {
    let _ = Queues::new().collect(next().from(0..3));
}
