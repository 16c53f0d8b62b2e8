use millstream::prelude::*;
use millstream::registry::{In, Registry};

pub(crate) struct Order {
    user: String,
    qty: u64,
}

pub(crate) fn registry() -> Registry {
    let mut stages = Registry::default();
    stages.ty::<u64>("Number").ty::<Order>("Order").ty::<String>("Text");
    let order = |n: &u64| Order { user: format!("user-{}", n % 3), qty: n % 7 };
    stages.stage("order", move |n: In<u64>| n.map(order)).about("an order, of its number");
    stages.stage("quote", |both: (In<Order>, In<u64>)| both.map(|(order, price)| order.qty * price));
    stages.stage_with("above", ["limit"], |n: In<u64>, limit: u64| n.filter(move |n| *n > limit)).about("larger ones");
    stages.stage_with("plus", ["n", "twice"], |x: In<u64>, (n, twice): (u64, bool)| {
        x.map(move |x| x + if twice { 2 * n } else { n })
    });
    stages.stage("total", |n: In<u64>| {
        n.scan(0, |sum, n| {
            *sum += n;
            *sum
        })
    });
    stages.stage("total@2", |n: In<u64>| {
        n.scan(100, |sum, n| {
            *sum += n;
            *sum
        })
    });
    stages.stage("three", |all: (In<u64>, In<u64>, In<u64>)| all.map(|(a, b, c)| a + b + c));
    stages.field("qty", |order: &Order| &order.qty).field("user", |order: &Order| &order.user);
    stages
}

const TEXT: &str = "|n| {
    // Comments are Rust's.
    let order = order(n);
    let price = quote(order, plus(order.qty, n: 3, twice: true));
    let big = above(price, limit: 20);
    let sum = total(big);
    three(big, sum, total@2(big))
}";

#[test]
fn text_means_its_statements() {
    let p = registry().load::<u64, u64>(TEXT).unwrap();
    let by_hand = wires!(|n: Val<u64>| {
        let order = n.map(|n| Order { user: String::new(), qty: n % 7 });
        let price = |order| order.qty * (order.qty + 6);
        let big = price.filter(|price| *price > 20);
        let sum = big.scan(0, |sum, n| {
            *sum += n;
            *sum
        });
        |big, sum| big + 2 * sum + 100
    });
    let expected = by_hand.model(0..200);
    assert!(expected.len() > 50);
    assert_eq!(p.model(0..200), expected);
    assert_eq!(Inline::default().collect((&p).from(0..200)).unwrap(), expected);
    for workers in 1..=3 {
        assert_eq!(Rings::new().workers(workers).ring(8).collect((&p).from(0..200)).unwrap(), expected);
    }
}

#[test]
fn wires_are_the_names_of_stages() {
    let plan = registry().load::<u64, u64>(TEXT).unwrap().plan();
    let names: Vec<_> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    for name in ["order", "price", "big", "sum"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn what_comes_in_can_come_out() {
    let p = registry().load::<u64, u64>("|n| { n }").unwrap();
    assert_eq!((p.model([3, 4]), p.collect([3, 4]).unwrap()), (vec![3, 4], vec![3, 4]));
    let users = registry().load::<u64, String>("|n| { order(n).user }").unwrap();
    assert_eq!(users.collect(0..2).unwrap(), ["user-0", "user-1"]);
    registry().load::<u64, u64>("|n| { let _seen = order(n); n }").unwrap();
}

#[test]
fn editors_get_the_stages() {
    let stages = registry().stages();
    let above = serde_json::to_value(&stages).unwrap()[0].clone();
    let limit = serde_json::json!({"name": "limit", "wanted": "a whole number from 0 on"});
    let expected = serde_json::json!({
        "name": "above", "version": 1, "reads": ["Number"], "parameters": [limit], "output": "Number",
        "about": "larger ones",
    });
    assert_eq!(above, expected);
    let versions: Vec<_> = stages.iter().filter(|stage| stage.name == "total").map(|stage| stage.version).collect();
    assert_eq!(versions, [1, 2]);
}

#[test]
#[should_panic(expected = "the stage `total@2` is registered already")]
fn a_name_is_registered_once() {
    registry().stage("total@2", |n: In<u64>| n.map(|n| *n));
}
