//! Where nodes and wires of a picture are. The layers of a long pipeline are folded into bands, one below the other, as
//! text is into lines.

use super::{MARGIN, NODE, RING, STEP, Size};
use crate::graph::{Layout, Spot};

/// A picture that is wider than this is folded, unless it is higher than wide.
const WIDE: f64 = 1700.0;
/// Room between two bands, for the wires from one to another.
const GUTTER: f64 = 24.0;
/// From a node to its ring.
pub(super) const GAP: f64 = 12.0;

pub(super) struct Bands {
    /// The layers of a band.
    layers: usize,
    /// For each band the top of its first row, and which row that is.
    tops: Vec<(f64, f64)>,
    height: f64,
}

impl Bands {
    pub(super) fn of(layout: &Layout) -> Self {
        let layers = layout.layers.max(1);
        let one = Bands::with(layout, layers);
        let most = one.height.max(WIDE);
        if one.width() <= most {
            return one;
        }
        // Each band ends with the rings of its last layer.
        let fitting = ((most - 2.0 * MARGIN) / STEP.0).floor().max(1.0) as usize;
        Bands::with(layout, layers.div_ceil(layers.div_ceil(fitting)))
    }

    /// Bands of this many layers, each as high as its nodes need.
    fn with(layout: &Layout, layers: usize) -> Self {
        let mut rows = vec![(f64::INFINITY, 0.0_f64); layout.layers.max(1).div_ceil(layers)];
        for Spot { layer, row } in &layout.spots {
            let (first, last) = rows[layer / layers];
            rows[layer / layers] = (row.min(first), row.max(last));
        }
        let (mut tops, mut next) = (Vec::with_capacity(rows.len()), MARGIN + 16.0);
        for (first, last) in rows {
            tops.push((next, first));
            next += (last - first.min(last) + 1.0) * STEP.1 + GUTTER;
        }
        // Below the last row there are 40 pixels beside the margin.
        let height = next - GUTTER - STEP.1 + NODE.1 + MARGIN + 24.0;
        Bands { layers, tops, height }
    }

    fn width(&self) -> f64 {
        let rings = if self.tops.len() > 1 { STEP.0 - NODE.0 } else { 0.0 };
        2.0 * MARGIN + (self.layers - 1) as f64 * STEP.0 + NODE.0 + rings
    }

    /// The width and height of the picture, with 40 pixels below the graph.
    pub(super) fn size(&self) -> Size {
        (self.width(), self.height)
    }

    /// The upper left corner of a node.
    pub(super) fn corner(&self, spot: Spot) -> (f64, f64) {
        let (top, first) = self.tops[spot.layer / self.layers];
        (MARGIN + (spot.layer % self.layers) as f64 * STEP.0, top + (spot.row - first) * STEP.1)
    }

    /// The path of a wire, from the right side of a node to the left side of another one, and the point where it ends.
    ///
    /// In a band it is a curve. From a band to another one it is in the gaps between layers and between bands, where no
    /// node is; `ring` moves it a little, so that two such wires are seen beside each other.
    pub(super) fn path(&self, from: Spot, to: Spot, forward: bool, ring: usize) -> (String, (f64, f64)) {
        let (x, y) = self.corner(from);
        let (x, y) = (x + NODE.0, y + NODE.1 / 2.0);
        let (to_x, to_y) = self.corner(to);
        let to_y = to_y + NODE.1 / 2.0;
        let band = to.layer / self.layers;
        let path = if from.layer / self.layers == band {
            let bend = if forward { (to_x - x) / 2.0 } else { STEP.0 / 2.0 };
            let (a, b) = (x + bend, to_x - bend);
            format!("M{x:.0} {y:.0} C{a:.0} {y:.0} {b:.0} {to_y:.0} {to_x:.0} {to_y:.0}")
        } else {
            let aside = (ring % 4) as f64 * 4.0;
            let (down, across) = (x + GAP + RING.0 + 8.0 + aside, self.tops[band].0 - GUTTER + aside);
            format!("M{x:.0} {y:.0} H{down:.0} V{across:.0} H{:.0} V{to_y:.0} H{to_x:.0}", to_x - 14.0)
        };
        (path, (to_x, to_y))
    }
}
