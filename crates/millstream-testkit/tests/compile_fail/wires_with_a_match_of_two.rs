use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let y = |x| x + 1;
        match (x, y) {
            (0, b) => |b| *b,
            _ => |x| *x,
        }
    });
}
