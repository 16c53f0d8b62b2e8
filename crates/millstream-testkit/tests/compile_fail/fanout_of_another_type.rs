use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout(|p| p, |_| pipeline::<String>());
}
