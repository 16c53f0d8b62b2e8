use millstream_core::{Arrow, AsyncExt, pipeline};

fn main() {
    let _ = pipeline::<u64>().fanout(|p| p, |p| p.unordered(4, |x| std::future::ready(x + 1)));
}
