use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| p.fold(0, |n, _| *n += 1, |n| n));
}
