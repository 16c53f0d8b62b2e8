//! The graph as a picture.

mod bands;

use super::{Graph, Layout, Node, Wire};
use crate::frame::{Frame, RingFrame, StageFrame};
use bands::{Bands, GAP};
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
text { fill: currentColor } .kind, .note, .count { fill: #57606a; font-size: 11px }\n\
.node rect { fill: #eef1f4; stroke: #57606a } .wire path { fill: none; stroke: #8c959f; stroke-width: 1.5 }\n\
.back path { stroke-dasharray: 5 4 } .ring { fill: #fff; stroke: #57606a } .level { fill: #2f6fdb }\n\
.working rect { fill: #bfe5c7 } .starved rect { fill: #e4e7eb } .blocked rect { fill: #f8c9c4 }\n\
@media (prefers-color-scheme: dark) {\n\
svg { background: #14181d; color: #e6edf3 } .kind, .note, .count { fill: #9aa4af } .ring { fill: #14181d }\n\
.node rect { fill: #242b33; stroke: #768390 } .working rect { fill: #1d4a2a } .starved rect { fill: #2c333b }\n\
.blocked rect { fill: #5f2722 } }\n";

impl Graph {
    /// The graph as one self-contained SVG. With a frame, it has numbers on every ring and stage. A pipeline that is
    /// too long for a screen is folded, as text is into lines.
    ///
    /// ```
    /// use millstream::{observe::Graph, prelude::*};
    /// let graph = Graph::of(&pipeline::<u64>().map(|x| x + 1).named("a < b").plan());
    /// let svg = graph.svg(&graph.layout(), None);
    /// assert!(svg.starts_with("<svg ") && svg.contains("a &lt; b"));
    /// ```
    #[must_use]
    pub fn svg(&self, layout: &Layout, frame: Option<&Frame>) -> String {
        let mut svg = String::new();
        let written = self.write_head(&mut svg, Bands::of(layout).size());
        let written = written.and_then(|()| self.write(&mut svg, layout, frame, ""));
        written.expect("writing to a string does not fail");
        svg.push_str("</svg>\n");
        svg
    }

    fn write(&self, svg: &mut String, layout: &Layout, frame: Option<&Frame>, ids: &str) -> fmt::Result {
        let bands = Bands::of(layout);
        for (ring, wire) in self.wires.iter().enumerate() {
            write_wire(svg, (layout, &bands), (ring, wire), frame.and_then(|frame| frame.rings.get(ring)), ids)?;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let seen = frame.and_then(|frame| frame.stages.get(index));
            write_node(svg, bands.corner(layout.spots[index]), (index, node), seen, ids)?;
        }
        Ok(())
    }

    fn write_head(&self, svg: &mut String, (width, height): Size) -> fmt::Result {
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"A pipeline of {} stages\">",
            self.nodes.len().saturating_sub(2)
        )?;
        writeln!(svg, "<style>{STYLE}</style>")
    }
}

/// Pictures of one size, of which the last one is seen: the elements of the others have ids that begin with `v0`, `v1`
/// and so on, and each has the group `p0`, `p1`. The picture has this minimum width, and `more` before its end. Below
/// the graphs there are 40 pixels.
pub(crate) fn pictures(
    versions: &[(&Graph, Frame)],
    least: f64,
    more: impl FnOnce(&mut String, Size) -> fmt::Result,
) -> String {
    let layouts: Vec<Layout> = versions.iter().map(|(graph, _)| graph.layout()).collect();
    let sizes = layouts.iter().map(|layout| Bands::of(layout).size());
    let size = sizes.fold((least, 0.0), |(w, h): Size, (width, height)| (w.max(width), h.max(height)));
    let mut svg = String::new();
    let last = versions.len().saturating_sub(1);
    let write = || {
        versions[last].0.write_head(&mut svg, size)?;
        for (version, ((graph, frame), layout)) in versions.iter().zip(&layouts).enumerate() {
            let (ids, hides) =
                if version == last { (String::new(), "") } else { (format!("v{version}"), " style=\"display:none\"") };
            writeln!(svg, "<g id=\"p{version}\"{hides}>")?;
            graph.write(&mut svg, layout, Some(frame), &ids)?;
            svg.push_str("</g>\n");
        }
        more(&mut svg, size)
    };
    write().expect("writing to a string does not fail");
    svg.push_str("</svg>\n");
    svg
}

fn write_node(
    svg: &mut String,
    (x, y): (f64, f64),
    (index, node): (usize, &Node),
    seen: Option<&StageFrame>,
    ids: &str,
) -> fmt::Result {
    let (name, all) = (Escaped(&node.name), node.described());
    writeln!(svg, "<g class=\"node {}\" id=\"{ids}n{index}\"><title>{name}: {}</title>", state(seen), Escaped(&all))?;
    writeln!(svg, "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" height=\"{}\" rx=\"8\"/>", NODE.0, NODE.1)?;
    let left = x + 10.0;
    // A third line moves the others up.
    let lines = if node.own_thread { (16.0, 32.0) } else { (20.0, 40.0) };
    let shown = node.shortened(NAME);
    writeln!(svg, "<text x=\"{left:.0}\" y=\"{:.0}\">{}</text>", y + lines.0, Escaped(&shown))?;
    let under = seen.map_or_else(|| fitted(node), |seen| format!("{} numbers", seen.moved));
    writeln!(svg, "<text class=\"kind\" x=\"{left:.0}\" y=\"{:.0}\">{}</text>", y + lines.1, Escaped(&under))?;
    if node.own_thread {
        let threads = if node.tasklets > 1 { "own threads" } else { "own thread" };
        writeln!(svg, "<text class=\"note\" x=\"{left:.0}\" y=\"{:.0}\">{threads}</text>", y + 47.0)?;
    }
    svg.push_str("</g>\n");
    Ok(())
}

/// The kind of a node and the number of its tasklets. The end of a long kind is left out; its title has all of it.
fn fitted(node: &Node) -> String {
    let many = if node.tasklets > 1 { format!(" x{}", node.tasklets) } else { String::new() };
    let room = KIND.saturating_sub(many.chars().count());
    if node.kind.chars().count() <= room {
        return format!("{}{many}", node.kind);
    }
    let kept: String = node.kind.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…{many}")
}

fn write_wire(
    svg: &mut String,
    (layout, bands): (&Layout, &Bands),
    (index, wire): (usize, &Wire),
    seen: Option<&RingFrame>,
    ids: &str,
) -> fmt::Result {
    let from = layout.spots[wire.from];
    let (x, y) = bands.corner(from);
    let (from_x, from_y) = (x + NODE.0, y + NODE.1 / 2.0);
    writeln!(svg, "<g class=\"wire\" id=\"{ids}r{index}\"><title>ring {index}: {}</title>", wire.described())?;
    for (reader, to) in wire.to.iter().enumerate() {
        let forward = *to > wire.from;
        let (path, (to_x, to_y)) = bands.path(from, layout.spots[*to], forward, index);
        let back = if forward { "" } else { " class=\"back\"" };
        writeln!(svg, "<g{back}><path d=\"{path}\"/></g>")?;
        if let Some(consumed) = seen.and_then(|seen| seen.consumed.get(reader)) {
            writeln!(
                svg,
                "<text class=\"count\" text-anchor=\"end\" x=\"{:.0}\" y=\"{:.0}\">{consumed}</text>",
                to_x - 4.0,
                to_y + 16.0
            )?;
        }
    }
    let (ring_x, ring_y) = (from_x + GAP, from_y - RING.1 / 2.0);
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

/// A stage's most frequent state.
fn state(seen: Option<&StageFrame>) -> &'static str {
    match seen.map(StageFrame::mostly) {
        None => "",
        Some(State::Working) => "working",
        Some(State::Blocked) => "blocked",
        Some(State::Starved) => "starved",
    }
}

/// The characters of a name, and of a kind, that fit into a node.
const NAME: usize = 19;
const KIND: usize = 21;

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
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_str("\u{fffd}"),
            c => f.write_char(c),
        })
    }
}
