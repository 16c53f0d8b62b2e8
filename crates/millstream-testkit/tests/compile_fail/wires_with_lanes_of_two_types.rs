use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        if |x| x % 2 == 0 { |x| x / 2 } else { |x| x.to_string() }
    });
}
