use millstream_core::{Arrow, PartsExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout3(|p| p, |p| p.map(|x| x + 1));
}
