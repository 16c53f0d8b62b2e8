use millstream_core::{ArrowChoice, pipeline};

fn main() {
    let _ = pipeline::<u64>().choose(|even| even, |odd| odd);
}
