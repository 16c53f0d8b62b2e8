use millstream_core::{Arrow, pipeline};
use millstream_exec::JobExt;

fn main() {
    let add = |x| x + 1;
    assert_eq!(pipeline::<u64>().map(add).collect(1..3).unwrap(), [2, 3]);
}
