use millstream_core::{Arrow, pipeline};
use millstream_exec::{Rings, Run};

fn main() {
    let lengths = pipeline::<String>().map(|line| line.len());
    let _ = lengths.collect(&Rings::new(), [1, 2, 3]);
}
