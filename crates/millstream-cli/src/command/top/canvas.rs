//! A graph in characters.

use super::draw::speed;
use millstream_exec::State;
use millstream_observe::{Frame, Graph, Layout, Node, Spot, StageFrame};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

/// The styles of working, starved and blocked.
pub(super) const COLOUR: (Style, Style, Style) =
    (Style::new().fg(Color::Green), Style::new().fg(Color::DarkGray), Style::new().fg(Color::Red));

/// The columns of a layer and the lines of a row; those of a node.
const STEP: (i64, i64) = (30, 5);
const NODE: (i64, i64) = (17, 4);
/// A ring's columns, with its ends.
const RING: i64 = 8;

/// The lines of one row.
pub(super) const ROW: u16 = STEP.1 as u16;

/// The columns and lines of the whole graph.
pub(super) fn size(layout: &Layout) -> (u16, u16) {
    let columns = layout.layers.saturating_sub(1) as i64 * STEP.0 + NODE.0;
    let lines = ((layout.rows.max(1.0) - 1.0) * STEP.1 as f64).ceil() as i64 + NODE.1;
    (columns.min(u16::MAX.into()) as u16, lines.min(u16::MAX.into()) as u16)
}

/// Draws the part of the graph that begins at `offset` and fits into `area`.
pub(super) fn draw(graph: &Graph, layout: &Layout, frame: &Frame, offset: (u16, u16), area: Rect, buffer: &mut Buffer) {
    let mut canvas = Canvas { offset, area, buffer };
    for (wire, ring) in graph.wires.iter().zip(&frame.rings) {
        let (x, y) = corner(layout.spots[wire.from]);
        let (x, y) = (x + NODE.0, y + NODE.1 / 2 - 1);
        for to in &wire.to {
            let (to_x, to_y) = corner(layout.spots[*to]);
            if *to > wire.from {
                canvas.line((x + RING, y), (to_x - 1, to_y + NODE.1 / 2 - 1));
            }
        }
        let inside = RING - 2;
        let full = (ring.occupied as f64 / ring.capacity.max(1) as f64 * inside as f64).round() as i64;
        canvas.text(x, y, "▕", Style::new());
        for at in 0..inside {
            canvas.text(x + 1 + at, y, if at < full { "█" } else { "·" }, Style::new().fg(Color::Blue));
        }
        canvas.text(x + RING - 1, y, "▏", Style::new());
    }
    for (index, (node, stage)) in graph.nodes.iter().zip(&frame.stages).enumerate() {
        canvas.node(corner(layout.spots[index]), node, stage);
    }
}

fn corner(spot: Spot) -> (i64, i64) {
    (spot.layer as i64 * STEP.0, (spot.row * STEP.1 as f64).round() as i64)
}

/// A part of a terminal that shows a part of a larger picture.
struct Canvas<'b> {
    offset: (u16, u16),
    area: Rect,
    buffer: &'b mut Buffer,
}

impl Canvas<'_> {
    fn node(&mut self, (x, y): (i64, i64), node: &Node, stage: &StageFrame) {
        let inside = NODE.0 as usize - 2;
        let style = match stage.mostly() {
            State::Working => COLOUR.0,
            State::Starved => COLOUR.1,
            State::Blocked => COLOUR.2,
        };
        let shown = node.shortened(inside);
        self.text(x, y, &format!("╭{}╮", "─".repeat(inside)), style);
        self.text(x, y + 1, &format!("│{shown:inside$}│"), style);
        self.text(x, y + 2, &format!("│{:>inside$}│", speed(stage)), style);
        self.text(x, y + 3, &format!("╰{}╯", "─".repeat(inside)), style);
    }

    /// Draws a wire: across, up or down, and across.
    fn line(&mut self, (x, y): (i64, i64), (to_x, to_y): (i64, i64)) {
        let turn = x + 1;
        for at in if y == to_y { x } else { turn + 1 }..to_x {
            self.text(at, to_y, "─", COLOUR.1);
        }
        if y != to_y {
            self.text(x, y, "─", COLOUR.1);
            let (out, back) = if to_y > y { ("╮", "╰") } else { ("╯", "╭") };
            self.text(turn, y, out, COLOUR.1);
            self.text(turn, to_y, back, COLOUR.1);
            for at in y.min(to_y) + 1..y.max(to_y) {
                self.text(turn, at, "│", COLOUR.1);
            }
        }
        self.text(to_x, to_y, "▶", COLOUR.1);
    }

    /// Writes the visible part of a text.
    fn text(&mut self, x: i64, y: i64, text: &str, style: Style) {
        let (x, y) = (x - i64::from(self.offset.0), y - i64::from(self.offset.1));
        if !(0..i64::from(self.area.height)).contains(&y) {
            return;
        }
        for (x, character) in (x..).zip(text.chars()) {
            if (0..i64::from(self.area.width)).contains(&x) {
                let (column, line) = (self.area.x + x as u16, self.area.y + y as u16);
                self.buffer[(column, line)].set_char(character).set_style(style);
            }
        }
    }
}
