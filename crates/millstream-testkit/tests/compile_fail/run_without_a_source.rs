use millstream_core::{Arrow, pipeline};
use millstream_exec::JobExt;

fn main() {
    let _ = pipeline::<u64>().map(|x| x + 1).run();
}
