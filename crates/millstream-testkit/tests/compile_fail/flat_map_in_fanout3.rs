use millstream_core::{ClockExt, PartsExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout3(|p| p, |p| p.flat_map(|x| 0..*x), |p| p);
}
