use millstream_core::{Arrow, ClockExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout(|p| p, |p| p.flat_map(|x| 0..*x));
}
