//! Graphs of plans, and their pictures.

use millstream_core::{Arrow, FeedbackExt, KeysExt, PartsExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Graph, Layout, Watch};

/// A plan with all features of a graph: fans, loops, shards and side outputs.
fn graph() -> Graph {
    let p = pipeline::<u64>()
        .fanout(|p| p.map(|x| x + 1), |p| p.shard(3, |p| p.map(|x| x * 2)))
        .map(|(x, y)| x ^ y)
        .tee(|p| p.map(|_| ()))
        .feedback(0_u64, |p| p.map(|(x, s)| (*x, s + 1)))
        .shard_by(|x| *x % 3, 2, |p| p.map(|x| x + 1));
    Graph::of(&p.plan())
}

#[test]
fn readers_are_placed_after_their_writers() {
    let graph = graph();
    let Layout { spots, layers, .. } = graph.layout();
    assert_eq!(spots.len(), graph.nodes.len());
    for wire in &graph.wires {
        for to in wire.to.iter().filter(|to| **to > wire.from) {
            assert!(
                spots[wire.from].layer < spots[*to].layer,
                "{} and {}",
                graph.nodes[wire.from].name,
                graph.nodes[*to].name
            );
        }
    }
    assert_eq!(layers, spots.iter().map(|spot| spot.layer + 1).max().unwrap());
    // No two nodes overlap.
    for (i, a) in spots.iter().enumerate() {
        assert!(spots[..i].iter().all(|b| a.layer != b.layer || (a.row - b.row).abs() >= 0.9), "{spots:?}");
    }
    assert_eq!(graph.layout(), graph.layout(), "always the same");
}

#[test]
fn numbers_on_a_picture_are_those_of_the_run() {
    let p = pipeline::<u64>().map(|x| x + 1).named("more").filter(|x| x % 2 == 0).named("even");
    let run = Rings::new().ring(64).start((&p).from(source::ready(0..1234)).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let graph = watch.graph().clone();
    let svg = graph.svg(&graph.layout(), Some(&watch.finish()));
    // The source's ring, the maps' rings and the filter's ring. Each is read; the middle one by the filter and by the
    // sink.
    assert_eq!(svg.matches(">1235</text>").count(), 3 + 4, "{svg}");
    assert_eq!(svg.matches(">1235 numbers</text>").count(), 4);
    for part in ["<svg ", "id=\"n3\"", "id=\"r2\"", "more", "even"] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    assert!(!svg.contains("http") || svg.matches("http").count() == 1, "it refers to nothing but its own name space");
}

#[test]
fn graphs_are_written_as_dot() {
    let dot = graph().dot();
    assert_eq!(dot.matches(" -> ").count(), graph().wires.iter().map(|wire| wire.to.len()).sum::<usize>());
    assert!(dot.contains("style=dashed"), "a loop goes back");
    assert!(dot.contains("x3"), "{dot}");
}

#[test]
fn thousands_of_nodes_are_laid_out() {
    let mut graph = graph();
    let (node, wire) = (graph.nodes[1].clone(), graph.wires[0].clone());
    let count = 3000;
    graph.nodes.resize(count, node);
    graph.wires = (0..count - 1)
        .map(|from| {
            let mut wire = wire.clone();
            (wire.from, wire.to) = (from, vec![from + 1]);
            wire
        })
        .collect();
    let layout = graph.layout();
    assert_eq!((layout.layers, layout.spots[count - 1].layer), (count, count - 1));
}
