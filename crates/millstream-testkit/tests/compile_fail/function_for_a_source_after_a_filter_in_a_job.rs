use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Pipeline};

fn show() -> impl Pipeline<u64, String> {
    pipeline::<u64>().map(|x| x.to_string())
}

fn main() {
    let _ = pipeline::<u64>().filter(|x| x % 2 == 0).then(show()).collect(0..3);
}
