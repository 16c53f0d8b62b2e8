use millstream_core::{Arrow, StreamsExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| p.take(3));
}
