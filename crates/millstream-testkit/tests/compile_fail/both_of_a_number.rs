use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<u64>().both(|p| p, |p| p);
}
