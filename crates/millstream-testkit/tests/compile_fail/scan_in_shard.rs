use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| {
        p.map(|x| x + 1).scan(0, |sum, x| {
            *sum += x;
            *sum
        })
    });
}
