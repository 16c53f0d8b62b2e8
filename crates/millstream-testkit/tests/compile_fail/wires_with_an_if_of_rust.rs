use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        if *x > 3 { |x| x + 1 } else { |x| x + 2 }
    });
}
