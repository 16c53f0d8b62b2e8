use millstream_core::{Arrow, pipeline};
use millstream_exec::{BoxExt, BoxPipeline};

fn main() {
    let next: BoxPipeline<u64, u64> = pipeline::<u64>().map(|x| x + 1).boxed();
    let _ = pipeline::<u64>().shard(2, |p| p.then(next));
}
