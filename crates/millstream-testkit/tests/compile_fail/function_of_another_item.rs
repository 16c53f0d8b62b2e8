use millstream_core::{Arrow, pipeline};
use millstream_exec::Pipeline;

fn lengths() -> impl Pipeline<String, u64> {
    pipeline::<String>().map(|line| line.len())
}

fn main() {
    let _ = lengths();
}
