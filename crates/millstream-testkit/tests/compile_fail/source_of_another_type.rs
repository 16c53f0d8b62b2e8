use millstream_core::{Arrow, pipeline};
use millstream_exec::JobExt;

fn main() {
    let lengths = pipeline::<String>().map(|line| line.len());
    let _ = lengths.collect([1, 2, 3]);
}
