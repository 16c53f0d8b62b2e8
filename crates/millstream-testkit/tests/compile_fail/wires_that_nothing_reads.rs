#![deny(unused_variables)]
use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        let twice = |x| x * 2;
        (x, twice)
    });
}
