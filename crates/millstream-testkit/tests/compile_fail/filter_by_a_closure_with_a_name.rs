use millstream_core::{Arrow, ModelExt, pipeline};

fn main() {
    let even = |x| x % 2 == 0;
    pipeline::<u64>().filter(even).map(|x| x + 1).model(1..3);
}
