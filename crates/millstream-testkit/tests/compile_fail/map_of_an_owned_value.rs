use millstream_core::{Arrow, ModelExt, pipeline};

fn double(x: u64) -> u64 {
    x * 2
}

fn main() {
    pipeline::<u64>().map(double).model(1..3);
}
