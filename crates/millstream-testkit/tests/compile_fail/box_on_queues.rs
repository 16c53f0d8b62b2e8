use millstream_core::{Arrow, pipeline};
use millstream_exec::{BoxExt, BoxPipeline, JobExt, Queues, Runner};

fn main() {
    let next: BoxPipeline<u64, u64> = pipeline::<u64>().map(|x| x + 1).boxed();
    let _ = Queues::new().collect(next.from(0..3));
}
