//! Graphs of plans, and their pictures.

use millstream_core::{Arrow, FeedbackExt, KeysExt, PartsExt, TryMapExt, pipeline};
use millstream_exec::{BoxExt, JobRefExt, Rings, Runner, source};
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
    let graph = watch.graph();
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

/// The values of these attributes of an element, in pixels.
fn pixels<const N: usize>(element: &str, names: [&str; N]) -> [f64; N] {
    names.map(|name| {
        let from = element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {element}")).1;
        from.split_once('"').unwrap().0.parse().unwrap()
    })
}

/// The left, top, right and lower side of each node.
fn boxes(svg: &str) -> Vec<[f64; 4]> {
    let nodes = svg.split("<g class=\"node ").skip(1).map(|node| node.split_once("<rect").unwrap().1);
    nodes.map(|rect| pixels(rect, ["x", "y", "width", "height"])).map(|[x, y, w, h]| [x, y, x + w, y + h]).collect()
}

/// However long names and kinds are, no text is wider than its node, in a font whose characters are 0.6 of its size.
#[test]
fn the_texts_of_a_node_are_inside_it() {
    let p = pipeline::<u64>()
        .map_blocking(|x| *x)
        .try_map_or_dead_letter("a name of a stage that is long", |_| Err::<u64, _>("no"), |_| ())
        .shard(12, |p| p.try_map_or_dead_letter("in shards", |_| Err::<u64, _>("no"), |_| ()));
    let graph = Graph::of(&p.plan());
    assert!(graph.nodes.iter().any(|node| node.own_thread) && graph.nodes.iter().any(|node| node.tasklets == 12));
    let svg = graph.svg(&graph.layout(), None);
    let mut notes = 0;
    for (node, [left, top, right, low]) in svg.split("<g class=\"node ").skip(1).zip(boxes(&svg)) {
        let node = node.split_once("</g>").unwrap().0;
        for text in node.split("<text").skip(1) {
            let ([x, y], written) = (pixels(text, ["x", "y"]), text.split_once('>').unwrap().1);
            let written = written.split_once('<').unwrap().0;
            let size = if text.contains("class=") { 11.0 } else { 12.0 };
            let end = x + 0.6 * size * written.chars().count() as f64;
            assert!(x >= left && end <= right && y - size >= top && y + 3.0 <= low, "{written} in {node}");
            notes += usize::from(written.starts_with("own thread"));
        }
    }
    assert!(notes > 0 && svg.contains(" x12</text>"), "{svg}");
}

/// A long pipeline is folded: it is as wide as a screen, each node is in it, and each wire ends at its reader.
#[test]
fn a_long_graph_is_folded() {
    for stages in [1, 5, 6, 10, 300] {
        let p = (0..stages).fold(pipeline::<u64>().boxed(), |p, _| p.map(|x| x + 1).boxed());
        let graph = Graph::of(&p.plan());
        let svg = graph.svg(&graph.layout(), None);
        let [width, height] = pixels(&svg, ["width", "height"]);
        assert!(width <= 1700.0, "{stages} stages are {width} wide");
        assert_eq!(height > 300.0, stages > 10, "{stages} stages are {height} high");
        let boxes = boxes(&svg);
        assert_eq!(boxes.len(), stages + 2);
        for (index, a) in boxes.iter().enumerate() {
            assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= width && a[3] <= height, "{a:?} of {stages}");
            let apart = |b: &[f64; 4]| a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(boxes[..index].iter().all(apart), "{a:?} of {stages}");
        }
        let paths: Vec<_> = svg.split("<path d=\"M").skip(1).map(|path| path.split_once('"').unwrap().0).collect();
        assert_eq!(paths.len(), stages + 1);
        for (path, two) in paths.iter().zip(boxes.windows(2)) {
            let side = |node: &[f64; 4], x: usize| format!("{:.0} {:.0}", node[x], (node[1] + node[3]) / 2.0);
            assert!(path.starts_with(&side(&two[0], 2)), "{path} from {:?}", two[0]);
            // A wire to the next band ends with a line down and a line to the right.
            let end = side(&two[1], 0);
            let (x, y) = end.split_once(' ').unwrap();
            assert!(path.ends_with(&end) || path.ends_with(&format!("V{y} H{x}")), "{path} to {:?}", two[1]);
        }
        let rings = svg.split("<rect class=\"ring\"").skip(1).map(|ring| pixels(ring, ["x", "width"]));
        assert!(rings.into_iter().all(|[x, w]| x + w <= width), "a ring is outside");
    }
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
