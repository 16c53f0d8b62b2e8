use millstream_core::{Arrow, AsyncExt, pipeline};
use millstream_exec::Pipeline;

fn parse() -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| x + 1).unordered(4, |x| std::future::ready(x + 1))
}

fn main() {
    millstream_testkit::assert_deterministic(parse(), proptest::collection::vec(0..9_u64, 0..9));
}
