use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<u64>| {
        if |x| x % 2 == 0 {
            let all = x.fold(0, |sum, x| *sum += x, |sum| sum);
            all
        } else {
            |x| x + 1
        }
    });
}
