use millstream_core::{ClockExt, pipeline};
use millstream_exec::{BoxExt, BoxPipeline};

fn main() {
    let _: BoxPipeline<u64, u64> = pipeline::<u64>().flat_map(|x| 0..*x).boxed();
}
