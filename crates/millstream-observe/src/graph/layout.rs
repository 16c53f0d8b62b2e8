//! The places of a graph's nodes: from left to right, in layers, with few crossings.
//!
//! After Sugiyama, Tagawa and Toda (1981). One layout serves the page, the picture and the terminal.

use super::Graph;
use rust_sugiyama::configure::{CrossingMinimization, RankingType};
use rust_sugiyama::from_edges;
use serde::{Deserialize, Serialize};

/// The positions of the nodes of a graph.
///
/// ```
/// use millstream::{observe::Graph, prelude::*};
/// let p = pipeline::<u64>()
///     .fanout(|p| p.map(|x| x + 1), |p| p.map(|x| x * 2))
///     .map(|(x, y)| x ^ y);
/// let layout = Graph::of(&p.plan()).layout();
/// let [source, one, other, join, sink] = layout.spots[..] else { panic!("five nodes") };
/// assert_eq!((source.layer, one.layer, other.layer, join.layer, sink.layer), (0, 1, 1, 2, 3));
/// assert!(one.row != other.row);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Layout {
    /// The position of each node.
    pub spots: Vec<Spot>,
    /// The number of layers.
    pub layers: usize,
    /// The height of the highest layer, in rows.
    pub rows: f64,
}

/// The position of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spot {
    /// Its layer, from the left: after every node that it reads from.
    pub layer: usize,
    /// Its distance from the top, in rows. Nodes of one layer are at least one row apart.
    pub row: f64,
}

/// Larger graphs are laid out without a search for fewer crossings.
const MANY: usize = 500;

impl Graph {
    /// The positions of the nodes. A graph of thousands of nodes takes some hundred milliseconds.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let edges = self.edges();
        if edges.is_empty() {
            let spots = (0..self.nodes.len()).map(|row| Spot { layer: 0, row: row as f64 }).collect();
            return Layout { spots, layers: 1, rows: self.nodes.len() as f64 };
        }
        let config = config(self.nodes.len());
        let mut spots = vec![Spot::default(); self.nodes.len()];
        let (mut layers, mut rows) = (1, 0.0);
        for (component, _, _) in from_edges(&edges, &config) {
            let least = |of: fn(&(usize, (f64, f64))) -> f64| component.iter().map(of).fold(f64::INFINITY, f64::min);
            let (top, left) = (least(|(_, (x, _))| *x), least(|(_, (_, y))| *y));
            let mut highest: f64 = 0.0;
            for (node, (x, y)) in component.into_iter().filter(|(node, _)| *node < self.nodes.len()) {
                let spot = Spot {
                    layer: ((y - left) / config.vertex_spacing).round() as usize,
                    row: (x - top) / config.vertex_spacing,
                };
                layers = layers.max(spot.layer + 1);
                highest = highest.max(spot.row + 1.0);
                spots[node] = Spot { row: rows + spot.row, ..spot };
            }
            rows += highest;
        }
        Layout { spots, layers, rows }
    }

    /// The edges from writers to readers, once each. Edges that lead back in a loop are left out.
    fn edges(&self) -> Vec<(u32, u32)> {
        let wires = self.wires.iter().flat_map(|wire| wire.to.iter().map(|to| (wire.from as u32, *to as u32)));
        let mut edges: Vec<_> = wires.filter(|(from, to)| from < to).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

fn config(nodes: usize) -> rust_sugiyama::configure::Config {
    let fast = nodes > MANY;
    rust_sugiyama::configure::Config {
        ranking_type: if fast { RankingType::Up } else { RankingType::MinimizeEdgeLength },
        c_minimization: CrossingMinimization::Barycenter,
        transpose: !fast,
        ..Default::default()
    }
}
