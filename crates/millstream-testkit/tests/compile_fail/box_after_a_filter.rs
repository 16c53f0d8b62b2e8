use millstream_core::{AnyEdge, Arrow, id, pipeline};
use millstream_exec::{BoxExt, BoxStage};

fn main() {
    let next: BoxStage<u64, u64> = id::<AnyEdge<u64>>().map(|x| x + 1).boxed();
    let _ = pipeline::<u64>().filter(|x| x % 2 == 0).then(next);
}
