use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let twice = |x| x * 2;
        x.shard(2, wires!(|x| (x, twice)))
    });
}
