use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let next = |x| x + 1;
        let sum = |x| x + next;
        (next, sum)
    });
}
