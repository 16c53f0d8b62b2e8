use millstream::prelude::*;

fn main() {
    let _ = wires!(|line: Val<String>| {
        let word = line.flat_map(|line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        (line, word)
    });
}
