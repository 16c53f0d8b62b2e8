use millstream_core::{Arrow, pipeline};

fn main() {
    let factor = 3;
    let _ = pipeline::<u64>().map(|x| x * factor);
}
