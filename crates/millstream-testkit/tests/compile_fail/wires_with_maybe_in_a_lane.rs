use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        if |x| x % 2 == 0 {
            let half = x.maybe().map(|x| x.map_or(0, |x| x / 2));
            half
        } else {
            |x| x + 1
        }
    });
}
