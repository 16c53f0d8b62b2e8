use millstream_core::{Arrow, ClockExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| p.filter(|x| *x > 3).compact());
}
