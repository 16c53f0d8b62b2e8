use millstream::prelude::*;

fn main() {
    let _ = wires!(|line: Val<String>| {
        let size = |line| line.len();
        let half = |size| size / 2;
    });
}
