use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        let even = if |x| x % 2 == 0 { |x| x / 2 };
        (x, even)
    });
}
