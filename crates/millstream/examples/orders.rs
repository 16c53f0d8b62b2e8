//! An order service as a block of named wires: parse, look up, price, decide and answer.
//!
//! ```console
//! $ cargo run --release -p millstream --example orders
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use millstream::prelude::*;
use std::fmt;

/// An order, as on a line: `ID USER ITEM COUNT`.
#[derive(Debug)]
struct Order {
    id: u64,
    user: String,
    item: String,
    count: u64,
}

#[derive(Clone, Debug)]
struct User {
    name: String,
    limit: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Accepted { id: u64, price: u64 },
    Refused { id: u64, why: &'static str },
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Accepted { id, price } => write!(f, "{id} accepted at {price}"),
            Answer::Refused { id, why } => write!(f, "{id} refused: {why}"),
        }
    }
}

fn parse(line: &str) -> Result<Order, String> {
    let [id, user, item, count] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("four words, and not {line:?}"));
    };
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number"));
    Ok(Order { id: number(id)?, user: user.to_owned(), item: item.to_owned(), count: number(count)? })
}

/// A server's data of a user.
fn find(name: &String) -> User {
    User { name: name.clone(), limit: if name == "ann" { 100 } else { 10 } }
}

/// How many of an item there are, as another server says.
fn level(item: &String) -> u64 {
    if item == "tea" { 5 } else { 1 }
}

fn quote(order: &Order, user: &User) -> u64 {
    let discount = u64::from(user.name == "ann");
    order.count * (order.item.len() as u64 - discount)
}

/// Lines to answers, with what was spent up to each. A line that does not parse is left out.
fn orders() -> impl Deployable<In = Val<String>, Out: Edge<(Answer, u64)>> {
    wires!(|line: Val<String>| {
        let order = line.try_map_or_empty(|line| parse(line));
        let user = order.part(|order| &order.user).map_blocking(find);
        let stock = order.part(|order| &order.item).map_blocking(level); // beside `user`, and not behind it
        let price = |order, user| quote(order, user);
        let fits = |order, stock, price, user| order.count <= *stock && *price <= user.limit;
        let answer = if fits {
            |order, price| Answer::Accepted { id: order.id, price: *price }
        } else {
            let why = |order, stock| if order.count > *stock { "not in stock" } else { "over the limit" };
            |order, why| Answer::Refused { id: order.id, why }
        };
        let spent = (answer, price).scan(0, |spent, (answer, price)| {
            *spent += if matches!(answer, Answer::Accepted { .. }) { *price } else { 0 };
            *spent
        });
        |answer, spent| (answer.clone(), *spent)
    })
}

fn lines() -> Vec<String> {
    ["1 ann tea 3", "2 bo tea 3", "3 bo coffee 2", "what?", "4 ann coffee 1", "5 bo pot 1"].map(String::from).to_vec()
}

fn main() -> Result<(), RunError> {
    let pipeline = orders();
    eprintln!("{}", pipeline.plan());
    for (answer, spent) in Rings::new().collect(pipeline.from(lines()))? {
        println!("{answer}, {spent} spent");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_a_loop() {
        let mut spent = 0;
        let mut expected = Vec::new();
        for order in lines().iter().filter_map(|line| parse(line).ok()) {
            let (user, stock) = (find(&order.user), level(&order.item));
            let price = quote(&order, &user);
            let answer = if order.count > stock {
                Answer::Refused { id: order.id, why: "not in stock" }
            } else if price > user.limit {
                Answer::Refused { id: order.id, why: "over the limit" }
            } else {
                spent += price;
                Answer::Accepted { id: order.id, price }
            };
            expected.push((answer, spent));
        }
        let pipeline = orders();
        assert_eq!(pipeline.model(lines()), expected);
        for workers in 1..=3 {
            assert_eq!(Rings::new().ring(1).workers(workers).collect((&pipeline).from(lines())).unwrap(), expected);
        }
        assert_eq!(Inline::default().collect(pipeline.from(lines())).unwrap(), expected);
    }

    #[test]
    fn a_stage_reads_what_it_names() {
        let plan = orders().plan();
        let reads = |name: &str| plan.stages.iter().find(|stage| stage.name == name).map(|stage| stage.reads.len());
        assert_eq!(reads("user"), Some(1));
        assert_eq!(reads("stock"), Some(1));
        assert_eq!(reads("price"), Some(2));
        assert_eq!(reads("fits"), Some(4));
        assert!(plan.warnings.is_empty());
    }
}
