use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<String>().map_owned(|text: &String| text.len());
}
