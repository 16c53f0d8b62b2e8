use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let y: u64 = |x| x + 1;
        (x, y)
    });
}
