use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let (a, b, c, d) = (|x| x + 1, |x| x + 2, |x| x + 3, |x| x + 4);
        (x, a, b, c, d, a, b, c, d)
    });
}
