//! The strategies of random pipelines: what they grow, and what a failure shrinks to.

use millstream_testkit::random::{Pipe, Pipes, Statement, pipes, streams};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

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
    let printed: String = trees.iter().map(Pipe::to_string).collect();
    let all = "id tuple firsts seconds swap fork distribute dead_end filter( map( filter_map( map_async( \
               dead_letter( dead_letter_async( fold( delay( scan( fanout( both( choose( merge( feedback( \
               tee( shard( shard_by( \
               fold_by( park( named( flat_map( flatten compact unordered( windows_by( take( take_while( \
               skip( skip_while( dedup( windows( map_windows( pairwise enumerate inspect map_m( chunks( \
               map_owned( cloned partition( try_scan( try_scan_undo( \
               try_scan_or_dead_letter( try_scan_or_dead_letter_undo( scan_retry( scan_retry_undo( \
               try_scan_or_park count sum last min max min_by_key( max_by_key( find( \
               any( all( count_by( group_by( fanout3( fanout4( fanout5( fanout6( fanout7( fanout8( \
               part maybe block( .or( if scan_finish( flat_scan( \
               fold_windows( fold_windows_by( fold_sessions( fold_sessions_by( top_n( top_n_by_key( \
               min_by( max_by( top_n_by( shard_by(0, fold_by(0, count_by(0) group_by(0)";
    let missing: Vec<&str> = all.split_whitespace().filter(|name| !printed.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
    assert!(trees.iter().flat_map(Pipe::simpler).all(|simple| bodies_fit(&simple)));
}
