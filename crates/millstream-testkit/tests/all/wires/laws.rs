//! The laws of blocks, over random blocks.

use millstream_exec::Queues;
use millstream_testkit::random::{Graph, Pipe, Statement, Value, graphs, values};
use millstream_testkit::{Deployment, Feeding, QueueFeeding};
use proptest::prelude::*;
use std::cell::Cell;

/// The slots of the block on the model, and of the deployments against them.
fn slots_of(graph: &Graph, inputs: &[Value]) -> Result<Vec<Option<Value>>, TestCaseError> {
    let built = Pipe::Block(graph.clone()).build();
    let slots = built.model_slots(inputs.to_vec());
    for rings in [(1, 1), (4, 2)].map(|(ring, workers)| Deployment { ring, batch: 8, workers, feeding: Feeding::Ready })
    {
        prop_assert_eq!(built.collect_slots(inputs.to_vec(), rings).unwrap(), slots.clone());
    }
    let on_queues = built.collect_on_queues(inputs.to_vec(), Queues::new().capacity(2), QueueFeeding::Ready);
    prop_assert_eq!(on_queues.unwrap(), slots.clone());
    Ok(slots)
}

/// The wires that statement `n` reads.
fn read_by(statement: &Statement) -> Vec<usize> {
    match statement {
        Statement::Body(wire, _) => vec![*wire],
        Statement::Join(wires) => wires.clone(),
        Statement::Or(first, second) => vec![*first, *second],
        Statement::If { wire, yes, no, .. } => vec![*wire, yes.0, no.0],
    }
}

fn rewired(statement: Statement, to: impl Fn(usize) -> usize) -> Statement {
    match statement {
        Statement::Body(wire, body) => Statement::Body(to(wire), body),
        Statement::Join(wires) => Statement::Join(wires.into_iter().map(to).collect()),
        Statement::Or(first, second) => Statement::Or(to(first), to(second)),
        Statement::If { wire, modulus, yes, no } => {
            Statement::If { wire: to(wire), modulus, yes: (to(yes.0), yes.1), no: (to(no.0), no.1) }
        }
    }
}

/// The block with the statements in this order: `order[i]` is the i-th statement.
fn in_order(graph: &Graph, order: &[usize]) -> Graph {
    let mut place = vec![0; graph.statements.len() + 1];
    order.iter().zip(1..).for_each(|(statement, at)| place[statement + 1] = at);
    let statements = order.iter().map(|n| rewired(graph.statements[*n].clone(), |wire| place[wire])).collect();
    Graph { statements, result: place[graph.result] }
}

/// Without the statements that the result does not need.
fn needed(graph: &Graph) -> Graph {
    let mut needed = vec![false; graph.statements.len() + 1];
    needed[graph.result] = true;
    for n in (0..graph.statements.len()).rev() {
        if needed[n + 1] {
            read_by(&graph.statements[n]).into_iter().for_each(|wire| needed[wire] = true);
        }
    }
    let order: Vec<usize> = (0..graph.statements.len()).filter(|n| needed[n + 1]).collect();
    in_order(graph, &order)
}

/// The same statements in another order, in which each comes after those that it reads.
fn exchanged(graph: &Graph, seed: u64) -> Graph {
    let count = graph.statements.len();
    let (mut order, mut placed) = (Vec::new(), vec![false; count + 1]);
    placed[0] = true;
    let mut seed = seed;
    while order.len() < count {
        let ready = |n: &usize| !placed[n + 1] && read_by(&graph.statements[*n]).iter().all(|wire| placed[*wire]);
        let ready: Vec<usize> = (0..count).filter(ready).collect();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let next = ready[(seed >> 33) as usize % ready.len()];
        placed[next + 1] = true;
        order.push(next);
    }
    in_order(graph, &order)
}

/// `let x = e; b` as `b` with `e` for `x`: every reader has its own statements.
fn substituted(graph: &Graph) -> Graph {
    fn copy(graph: &Graph, wire: usize, statements: &mut Vec<Statement>) -> usize {
        let Some(n) = wire.checked_sub(1) else { return 0 };
        let of = &graph.statements[n];
        let copies: Vec<usize> = read_by(of).into_iter().map(|read| copy(graph, read, statements)).collect();
        let next = Cell::new(0);
        let statement = rewired(of.clone(), |_| copies[next.replace(next.get() + 1)]);
        statements.push(statement);
        statements.len()
    }
    let mut statements = Vec::new();
    let result = copy(graph, graph.result, &mut statements);
    Graph { statements, result }
}

/// How many statements [`substituted`] makes for a wire.
fn copies(graph: &Graph, wire: usize) -> usize {
    let Some(n) = wire.checked_sub(1) else { return 0 };
    read_by(&graph.statements[n]).into_iter().fold(1, |sum, read| sum.saturating_add(copies(graph, read)))
}

proptest! {
    /// A statement that nothing reads can be removed, and independent ones can be exchanged.
    #[test]
    fn a_block_is_local(tree in graphs(14), inputs in values(20), seed in any::<u64>()) {
        let Pipe::Block(graph) = tree else { return Ok(()) };
        let slots = slots_of(&graph, &inputs)?;
        prop_assert_eq!(&slots_of(&needed(&graph), &inputs)?, &slots, "without what nothing reads: {:?}", needed(&graph));
        let exchanged = exchanged(&graph, seed);
        prop_assert_eq!(&slots_of(&exchanged, &inputs)?, &slots, "in another order: {:?}", exchanged);
    }

    /// `let` is substitution.
    #[test]
    fn a_let_is_its_value(tree in graphs(10), inputs in values(20)) {
        let Pipe::Block(graph) = tree else { return Ok(()) };
        prop_assume!(copies(&graph, graph.result) <= 40);
        let slots = slots_of(&graph, &inputs)?;
        let substituted = substituted(&graph);
        prop_assert_eq!(&slots_of(&substituted, &inputs)?, &slots, "substituted: {:?}", substituted);
    }

    /// A join is filled where all its wires are; a lane is empty at the other lane's numbers, for every wire; and `or`
    /// is filled where one of its wires is.
    #[test]
    fn joins_lanes_and_or_are_by_number(tree in graphs(10), inputs in values(20), modulus in 1..4_i64) {
        let Pipe::Block(graph) = tree else { return Ok(()) };
        let wires = graph.statements.len();
        let (a, b) = (graph.result, wires / 2);
        let with = |more: Vec<Statement>| {
            let statements: Vec<Statement> = graph.statements.iter().cloned().chain(more).collect();
            Graph { result: statements.len(), statements }
        };
        let of = |wire: usize| Graph { result: wire, ..graph.clone() };
        let (x, y) = (slots_of(&of(a), &inputs)?, slots_of(&of(b), &inputs)?);
        let zipped = || x.iter().cloned().zip(y.iter().cloned());
        let joined: Vec<_> = zipped().map(|(x, y)| Some(Value::pair(x?, y?))).collect();
        prop_assert_eq!(slots_of(&with(vec![Statement::Join(vec![a, b])]), &inputs)?, joined);
        let either: Vec<_> = zipped().map(|(x, y)| x.or(y)).collect();
        prop_assert_eq!(slots_of(&with(vec![Statement::Or(a, b)]), &inputs)?, either);
        let lanes = Statement::If { wire: b, modulus, yes: (a, Pipe::Id), no: (b, Pipe::Id) };
        let divides = |value: &Value| value.digest().rem_euclid(modulus) == 0;
        let chosen: Vec<_> = zipped().map(|(x, y)| if divides(y.as_ref()?) { x } else { y }).collect();
        prop_assert_eq!(slots_of(&with(vec![lanes]), &inputs)?, chosen);
    }
}
