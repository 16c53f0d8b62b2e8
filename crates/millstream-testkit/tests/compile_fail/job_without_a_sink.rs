use millstream_core::pipeline;
use millstream_exec::JobExt;

fn main() {
    let _ = pipeline::<u64>().from(0..3).run();
}
