use millstream_core::pipeline;
use millstream_exec::{JobExt, Rings, Runner};

fn main() {
    let _ = Rings::new().run(pipeline::<u64>().from(0..3));
}
