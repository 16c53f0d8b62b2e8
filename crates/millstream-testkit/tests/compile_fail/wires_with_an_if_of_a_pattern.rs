use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        if let 3 = x { |x| x + 1 } else { |x| x + 2 }
    });
}
