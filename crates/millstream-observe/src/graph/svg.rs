//! The graph as a picture.

use super::{Graph, Layout, Spot, Wire};
use crate::frame::{Frame, StageFrame};
use millstream_exec::State;
use std::fmt::{self, Write};

/// The width of a layer and the height of a row, and the size of a node; in pixels.
const STEP: (f64, f64) = (250.0, 96.0);
const NODE: (f64, f64) = (150.0, 56.0);
const MARGIN: f64 = 24.0;
/// The size of a ring, which fills like a vessel.
const RING: (f64, f64) = (56.0, 14.0);

/// The width and height of a picture.
pub(crate) type Size = (f64, f64);

const STYLE: &str = "\
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1b1f24 }\n\
text { fill: currentColor } .kind, .count { fill: #57606a; font-size: 11px }\n\
.node rect { fill: #eef1f4; stroke: #57606a } .wire path { fill: none; stroke: #8c959f; stroke-width: 1.5 }\n\
.back path { stroke-dasharray: 5 4 } .ring { fill: #fff; stroke: #57606a } .level { fill: #2f6fdb }\n\
.working rect { fill: #bfe5c7 } .starved rect { fill: #e4e7eb } .blocked rect { fill: #f8c9c4 }\n\
@media (prefers-color-scheme: dark) {\n\
svg { background: #14181d; color: #e6edf3 } .kind, .count { fill: #9aa4af } .ring { fill: #14181d }\n\
.node rect { fill: #242b33; stroke: #768390 } .working rect { fill: #1d4a2a } .starved rect { fill: #2c333b }\n\
.blocked rect { fill: #5f2722 } }\n";

impl Graph {
    /// The graph as one self-contained SVG. With a frame, it has numbers on every ring and stage.
    ///
    /// ```
    /// use millstream::{observe::Graph, prelude::*};
    /// let graph = Graph::of(&pipeline::<u64>().map(|x| x + 1).named("a < b").plan());
    /// let svg = graph.svg(&graph.layout(), None);
    /// assert!(svg.starts_with("<svg ") && svg.contains("a &lt; b"));
    /// ```
    #[must_use]
    pub fn svg(&self, layout: &Layout, frame: Option<&Frame>) -> String {
        self.picture(layout, frame, 0.0, |_, _| Ok(()))
    }

    /// As [`svg`](Graph::svg), with this minimum width, and with `more` before its end. Below the graph there are 40
    /// pixels.
    pub(crate) fn picture(
        &self,
        layout: &Layout,
        frame: Option<&Frame>,
        least: f64,
        more: impl FnOnce(&mut String, Size) -> fmt::Result,
    ) -> String {
        let width = 2.0 * MARGIN + (layout.layers.max(1) - 1) as f64 * STEP.0 + NODE.0;
        let height = 2.0 * MARGIN + (layout.rows.max(1.0) - 1.0) * STEP.1 + NODE.1 + 40.0;
        let size = (width.max(least), height);
        let mut svg = String::new();
        let written = self.write_svg(&mut svg, layout, frame, size).and_then(|()| more(&mut svg, size));
        written.expect("writing to a string does not fail");
        svg.push_str("</svg>\n");
        svg
    }

    fn write_svg(&self, svg: &mut String, layout: &Layout, frame: Option<&Frame>, size: Size) -> fmt::Result {
        let (width, height) = size;
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 \
             {width:.0} \
             {height:.0}\" role=\"img\" aria-label=\"A pipeline of {} stages\">",
            self.nodes.len() - 2
        )?;
        writeln!(svg, "<style>{STYLE}</style>")?;
        for (ring, wire) in self.wires.iter().enumerate() {
            self.write_wire(svg, layout, (ring, wire), frame)?;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let (x, y) = corner(layout.spots[index]);
            let seen = frame.and_then(|frame| frame.stages.get(index));
            let (name, kind) = (Escaped(&node.name), node.described());
            writeln!(
                svg,
                "<g class=\"node {}\" id=\"n{index}\"><title>{name}: {}</title>",
                state(seen),
                Escaped(&kind)
            )?;
            writeln!(svg, "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" height=\"{}\" rx=\"8\"/>", NODE.0, NODE.1)?;
            let (left, shown) = (x + 10.0, node.shortened(MOST));
            writeln!(svg, "<text x=\"{left:.0}\" y=\"{:.0}\">{}</text>", y + 20.0, Escaped(&shown))?;
            let under = seen.map_or(kind, |seen| format!("{} numbers", seen.moved));
            writeln!(svg, "<text class=\"kind\" x=\"{left:.0}\" y=\"{:.0}\">{}</text></g>", y + 40.0, Escaped(&under))?;
        }
        Ok(())
    }

    fn write_wire(
        &self,
        svg: &mut String,
        layout: &Layout,
        (index, wire): (usize, &Wire),
        frame: Option<&Frame>,
    ) -> fmt::Result {
        let (x, y) = corner(layout.spots[wire.from]);
        let (from_x, from_y) = (x + NODE.0, y + NODE.1 / 2.0);
        let seen = frame.and_then(|frame| frame.rings.get(index));
        writeln!(svg, "<g class=\"wire\" id=\"r{index}\"><title>ring {index}: {}</title>", wire.described())?;
        for (reader, to) in wire.to.iter().enumerate() {
            let (to_x, to_y) = corner(layout.spots[*to]);
            let to_y = to_y + NODE.1 / 2.0;
            let bend = if *to > wire.from { (to_x - from_x) / 2.0 } else { STEP.0 / 2.0 };
            let back = if *to > wire.from { "" } else { " class=\"back\"" };
            let (a, b) = (from_x + bend, to_x - bend);
            writeln!(
                svg,
                "<g{back}><path d=\"M{from_x:.0} {from_y:.0} C{a:.0} {from_y:.0} {b:.0} {to_y:.0} {to_x:.0} \
                 {to_y:.0}\"/></g>"
            )?;
            if let Some(consumed) = seen.and_then(|seen| seen.consumed.get(reader)) {
                writeln!(
                    svg,
                    "<text class=\"count\" text-anchor=\"end\" x=\"{:.0}\" y=\"{:.0}\">{consumed}</text>",
                    to_x - 4.0,
                    to_y + 16.0
                )?;
            }
        }
        let (ring_x, ring_y) = (from_x + 12.0, from_y - RING.1 / 2.0);
        writeln!(
            svg,
            "<rect class=\"ring\" x=\"{ring_x:.0}\" y=\"{ring_y:.0}\" width=\"{}\" height=\"{}\" rx=\"3\"/>",
            RING.0, RING.1
        )?;
        let above = ring_y - 4.0;
        match seen {
            None => writeln!(svg, "<text class=\"count\" x=\"{ring_x:.0}\" y=\"{above:.0}\">r{index}</text></g>"),
            Some(seen) => {
                let level = RING.0 * seen.occupied as f64 / seen.capacity.max(1) as f64;
                writeln!(
                    svg,
                    "<rect class=\"level\" x=\"{ring_x:.0}\" y=\"{ring_y:.0}\" width=\"{level:.1}\" height=\"{}\" \
                     rx=\"3\"/>",
                    RING.1
                )?;
                writeln!(svg, "<text class=\"count\" x=\"{ring_x:.0}\" y=\"{above:.0}\">{}</text></g>", seen.produced)
            }
        }
    }
}

/// A stage's most frequent state.
fn state(seen: Option<&StageFrame>) -> &'static str {
    match seen.map(StageFrame::mostly) {
        None => "",
        Some(State::Working) => "working",
        Some(State::Blocked) => "blocked",
        Some(State::Starved) => "starved",
    }
}

/// The upper left corner of a node.
fn corner(spot: Spot) -> (f64, f64) {
    (MARGIN + spot.layer as f64 * STEP.0, MARGIN + 16.0 + spot.row * STEP.1)
}

/// The characters of a name that fit into a node.
const MOST: usize = 20;

/// Text between tags.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // XML allows none of these characters.
            c if c.is_control() => f.write_str("\u{fffd}"),
            c => f.write_char(c),
        })
    }
}
