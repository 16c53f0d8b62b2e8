use millstream_core::{Arrow, id, pipeline};

fn main() {
    let lengths = pipeline::<String>().map(|line| line.len());
    let _ = pipeline!(pipeline::<u64>() >>> id() &&& lengths);
}
