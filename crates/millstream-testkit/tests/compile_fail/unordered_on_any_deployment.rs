use millstream_core::{Arrow, AsyncExt, pipeline};
use millstream_exec::{Inline, Runner};

fn main() {
    let p = pipeline::<u64>().unordered(4, |x| std::future::ready(x + 1)).map(|x| x * 2);
    let _ = Inline::default().collect(&p, 0..3);
}
