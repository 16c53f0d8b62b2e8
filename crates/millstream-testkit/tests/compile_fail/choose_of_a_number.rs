use millstream_core::{ChoiceExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().choose(|even| even, |odd| odd);
}
