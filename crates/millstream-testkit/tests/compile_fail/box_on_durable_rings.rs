use millstream::prelude::*;

fn main() {
    let next: BoxPipeline<u64, u64> = pipeline::<u64>().map(|x| x + 1).boxed();
    let _ = Durable::new(Rings::new()).collect(next.from(0..3));
}
