use millstream_core::{PartsExt, ClockExt, KeysExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().shard_by(|x| x % 2, 2, |p| p.tee(|p| p.flat_map(|x| vec![*x; 3])));
}
