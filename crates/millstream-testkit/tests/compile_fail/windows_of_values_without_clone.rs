use millstream_core::{Arrow, ModelExt, StreamsExt, pipeline};

struct Order(u64);

fn main() {
    let last = pipeline::<u64>().map(|x| Order(*x)).windows(2);
    assert_eq!(last.map(|orders| orders[1].0).model([1, 2]), [2]);
}
