use millstream::prelude::*;

fn main() {
let p = pipeline::<u64>().shard(4, |p| p.scan(0, |sum, x| { *sum += x; *sum }));
}
