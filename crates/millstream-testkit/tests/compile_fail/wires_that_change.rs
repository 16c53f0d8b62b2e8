use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        x = x.map(|x| x + 1);
        x
    });
}
