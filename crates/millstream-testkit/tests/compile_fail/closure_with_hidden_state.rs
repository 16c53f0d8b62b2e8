use millstream_core::{Arrow, pipeline};

fn main() {
    let mut seen = 0;
    let _ = pipeline::<u64>().map(move |x| {
        seen += 1;
        x + seen
    });
}
