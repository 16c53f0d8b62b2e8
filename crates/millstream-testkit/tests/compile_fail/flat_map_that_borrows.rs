use millstream_core::{ClockExt, pipeline};

fn main() {
    let _ = pipeline::<String>().flat_map(|line| line.split(' '));
}
