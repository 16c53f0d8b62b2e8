use millstream::prelude::*;

struct Order {
    item: String,
}

fn main() {
    let _ = wires!(|order: Val<Order>| {
        let item = order.part(|order| &order.itm);
        |order, item| order.item.len() + item.len()
    });
}
