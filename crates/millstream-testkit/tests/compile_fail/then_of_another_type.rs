use millstream_core::{Arrow, pipeline};

fn main() {
    let lengths = pipeline::<String>().map(|line| line.len());
    let _ = pipeline::<u64>().map(|x| x + 1).then(lengths);
}
