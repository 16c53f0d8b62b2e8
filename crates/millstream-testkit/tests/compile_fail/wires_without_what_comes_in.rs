use millstream::prelude::*;

fn main() {
    let _ = wires!({
        let twice = |x| x * 2;
        twice
    });
}
