use millstream_core::{Arrow, pipeline};
use millstream_exec::Pipeline;

struct Order(u64);

fn orders() -> impl Pipeline<u64, Order> {
    pipeline::<u64>().map(|x| Order(*x))
}

fn main() {
    let _ = orders().plan();
}
