use millstream_core::{Arrow, ModelExt, pipeline};

fn main() {
    pipeline::<u64>().map(|text: &String| text.len()).model(1..3);
}
