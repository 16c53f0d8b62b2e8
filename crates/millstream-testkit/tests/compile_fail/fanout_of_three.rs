use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x + 1), |_| pipeline::<u64>());
}
