use millstream::prelude::*;

#[derive(Clone)]
struct Tally {
    count: u64,
}

fn main() {
    let counts = pipeline::<u64>().map(|x| x + 1).scan(Tally { count: 0 }, |tally, x| {
        tally.count += x;
        tally.count
    });
    let _ = Durable::new(Rings::new()).collect(counts.named("counts").from([1, 2]));
}
