use millstream::prelude::*;

fn next() -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| x + 1)
}

fn main() {
    let _ = Durable::new(Rings::new()).collect(next().from(0..3));
}
