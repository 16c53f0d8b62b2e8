use millstream::prelude::*;

fn main() {
    let _ = wires!(|x: Val<Option<u64>>| {
        match x {
            Some(n) if *n > 5 => |n| n + 1,
            None => |x| u64::from(x.is_none()),
        }
    });
}
