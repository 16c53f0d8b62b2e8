use millstream_core::{Arrow, AsyncExt, Model, pipeline};
use millstream_exec::{JobExt, Runner};

fn main() {
    let p = pipeline::<u64>().unordered(4, |x| std::future::ready(x + 1)).map(|x| x * 2);
    let _ = Model.collect(p.from(0..3));
}
