use millstream::prelude::*;

fn half(x: &u32) -> u32 {
    x / 2
}

fn main() {
    let _ = wires!(|line: Val<String>| {
        let size = |line| line.len() as u64;
        let less = |size| half(size);
        (size, less)
    });
}
