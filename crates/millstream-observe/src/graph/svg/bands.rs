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
    count: usize,
    /// The height of a band, in rows.
    rows: f64,
}

impl Bands {
    pub(super) fn of(layout: &Layout) -> Self {
        let one = Bands { layers: layout.layers.max(1), count: 1, rows: layout.rows.max(1.0) };
        let (width, height) = one.size();
        let most = height.max(WIDE);
        if width <= most {
            return one;
        }
        // Each band ends with the rings of its last layer.
        let fitting = ((most - 2.0 * MARGIN) / STEP.0).floor().max(1.0) as usize;
        let layers = one.layers.div_ceil(one.layers.div_ceil(fitting));
        Bands { layers, count: one.layers.div_ceil(layers), ..one }
    }

    /// The width and height of the picture, with 40 pixels below the graph.
    pub(super) fn size(&self) -> Size {
        let rings = if self.count > 1 { STEP.0 - NODE.0 } else { 0.0 };
        let width = 2.0 * MARGIN + (self.layers - 1) as f64 * STEP.0 + NODE.0 + rings;
        let height = 2.0 * MARGIN + (self.rows - 1.0) * STEP.1 + NODE.1 + 40.0;
        (width, height + (self.count - 1) as f64 * self.pitch())
    }

    /// From the top of a band to that of the next one.
    fn pitch(&self) -> f64 {
        self.rows * STEP.1 + GUTTER
    }

    fn top(&self, band: usize) -> f64 {
        MARGIN + 16.0 + band as f64 * self.pitch()
    }

    /// The upper left corner of a node.
    pub(super) fn corner(&self, spot: Spot) -> (f64, f64) {
        let (band, layer) = (spot.layer / self.layers, spot.layer % self.layers);
        (MARGIN + layer as f64 * STEP.0, self.top(band) + spot.row * STEP.1)
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
            let (down, across) = (x + GAP + RING.0 + 8.0 + aside, self.top(band) - GUTTER + aside);
            format!("M{x:.0} {y:.0} H{down:.0} V{across:.0} H{:.0} V{to_y:.0} H{to_x:.0}", to_x - 14.0)
        };
        (path, (to_x, to_y))
    }
}
