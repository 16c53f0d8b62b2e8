use millstream_core::{AsyncExt, Retry, pipeline};
use millstream_exec::{JobExt, Rings, Runner, source};

fn main() {
    let p = pipeline::<u64>().unordered(4, |x| std::future::ready(x + 1));
    let job = p.from(source::again(|| 0..9)).to_fold(Vec::new(), |all: &mut Vec<u64>, _, x| all.push(*x));
    let _ = Rings::new().run_again(job, Retry::times(3));
}
