use millstream_core::{Arrow, pipeline};

fn main() {
    let lengths = || pipeline::<String>().map(|line| line.len());
    let _ = pipeline!(pipeline::<String>() >>> lengths() & lengths() >>> .map(|(x, y)| x + y));
}
