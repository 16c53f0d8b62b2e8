use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Queues, Runner};

struct Order(u64);

fn main() {
    let orders = pipeline::<u64>().map(|x| Order(*x));
    let _ = Queues::new().run(orders.from(0..3).to_each(|_, order: &Order| println!("{}", order.0)));
}
