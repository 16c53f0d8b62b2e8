use millstream_core::{Arrow, ModelExt, pipeline};

struct Sum(u64);

fn main() {
    let sums = pipeline::<u64>().scan(Sum(0), |sum, x| {
        sum.0 += x;
        sum.0
    });
    assert_eq!(sums.map(|sum| sum + 1).model([1]), [2]);
}
