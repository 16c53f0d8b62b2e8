//! The strategies of random pipelines: what they grow, and what a failure shrinks to.

use millstream_testkit::random::{Pipe, Pipes, Statement, every_stage, pipes, streams};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

fn has_scan(tree: &Pipe) -> bool {
    tree.to_string().contains("scan")
}

#[test]
fn a_failure_shrinks_to_its_cause() {
    let mut runner = TestRunner::deterministic();
    let mut shrunk = 0;
    for _ in 0..500 {
        let mut tree = pipes(20).new_tree(&mut runner).unwrap();
        if !has_scan(&tree.current()) {
            continue;
        }
        let mut more = tree.simplify();
        while more {
            more = if has_scan(&tree.current()) { tree.simplify() } else { tree.complicate() };
        }
        assert!(matches!(tree.current(), Pipe::Scan { .. }), "{:?}", tree.current());
        shrunk += 1;
    }
    assert!(shrunk > 50);
}

/// Adds the kind of each node of the tree: the word with which it is printed, and what else makes it another stage.
fn add_kinds(tree: &Pipe, kinds: &mut BTreeSet<String>) {
    let printed = tree.to_string();
    let word = printed.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let mut add = |kind: &str| {
        kinds.insert(kind.to_owned());
    };
    match tree {
        Pipe::Then(..) => {}
        Pipe::Row(row) => add(&format!("row_of_{:?}", row.last)),
        Pipe::Block(block) => block.statements.iter().for_each(|statement| match statement {
            Statement::Body(..) => add("wire_through_body"),
            Statement::Join(_) => add("wires_joined"),
            Statement::Or(..) => add("wire_or"),
            Statement::If { .. } => add("wire_if"),
        }),
        // A stage whose keys are the values themselves.
        _ if printed.starts_with(&format!("{word}(0")) => add(&format!("{word}_0")),
        _ => add(word),
    }
    match tree {
        Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
            [p, q].into_iter().for_each(|p| add_kinds(p, kinds));
        }
        Pipe::FanoutAll(bodies) => bodies.iter().for_each(|p| add_kinds(p, kinds)),
        Pipe::Block(block) => block.bodies().for_each(|p| add_kinds(p, kinds)),
        Pipe::Shard(_, p) | Pipe::ShardBy { body: p, .. } | Pipe::Tee(p) | Pipe::Feedback(_, p) => {
            add_kinds(p, kinds);
        }
        Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => add_kinds(p, kinds),
        _ => {}
    }
}

#[test]
fn trees_have_every_combinator_and_bodies_that_fit() {
    fn bodies_fit(tree: &Pipe) -> bool {
        match tree {
            Pipe::Fanout(p, q) | Pipe::Both(p, q) if p.renumbers() || q.renumbers() => false,
            Pipe::Then(p, q) if p.gives_order_up() && !q.needs_no_order() => false,
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) => bodies_fit(p) && bodies_fit(q),
            Pipe::FanoutAll(bodies) => {
                (3..=8).contains(&bodies.len()) && bodies.iter().all(|p| !p.renumbers() && bodies_fit(p))
            }
            Pipe::Choose(p, q) | Pipe::Merge(p, q) => [p, q].iter().all(|p| p.is_quiet() && bodies_fit(p)),
            Pipe::Shard(k, p) => *k >= 1 && p.is_pure() && bodies_fit(p),
            Pipe::Tee(p) | Pipe::Feedback(_, p) => !p.renumbers() && bodies_fit(p),
            Pipe::ShardBy { body, .. } => body.is_quiet() && bodies_fit(body),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => bodies_fit(p),
            Pipe::Block(block) => {
                block.bodies().all(|p| !p.renumbers() && bodies_fit(p))
                    && block.statements.iter().all(|statement| match statement {
                        Statement::If { yes, no, .. } => yes.1.is_quiet() && no.1.is_quiet(),
                        _ => true,
                    })
            }
            _ => true,
        }
    }
    let mut runner = TestRunner::deterministic();
    let mut grown = |pipes: Pipes| pipes.new_tree(&mut runner).unwrap().current();
    assert!((0..500).all(|_| !grown(pipes(20)).renumbers()));
    let trees: Vec<Pipe> = (0..3000).map(|_| grown(streams(20))).collect();
    assert!(trees.iter().all(|tree| bodies_fit(tree) && tree.size() <= 20));
    let (mut kinds, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    trees.iter().for_each(|tree| add_kinds(tree, &mut kinds));
    every_stage().iter().for_each(|stage| add_kinds(stage, &mut wanted));
    let others = "id tuple firsts seconds swap fork distribute dead_end map filter_map try_map try_scan_or_error \
                  cloned words take_while skip skip_while enumerate inspect map_m count sum max min_by_key max_by \
                  find any all fanout4 fanout5 fanout6 fanout7 fanout8 tee_to named boxed shard_by shard_by_0 \
                  fold_by fold_by_0 count_by count_by_0 group_by group_by_0 fold_windows \
                  row_of_Map row_of_FilterMap row_of_ScanFinish row_of_Fold";
    wanted.extend(others.split_whitespace().map(str::to_owned));
    let missing: Vec<_> = wanted.difference(&kinds).collect();
    assert_eq!(missing, [""; 0]);
    assert!(trees.iter().flat_map(Pipe::simpler).all(|simple| bodies_fit(&simple)));
}
