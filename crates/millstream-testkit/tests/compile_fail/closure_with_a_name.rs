use millstream_core::{Arrow, ModelExt, pipeline};

fn main() {
    let add = |x| x + 1;
    assert_eq!(pipeline::<u64>().map(add).filter(|x| x % 2 == 0).model(1..3), [2]);
}
