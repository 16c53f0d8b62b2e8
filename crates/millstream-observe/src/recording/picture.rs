//! A recording as a picture with a script of its own.

use super::{Level, Moment, Recording};
use crate::graph::Size;
use millstream_exec::State;
use std::fmt::{self, Write};

/// The script of the picture. Its data is `D`: for each ring its slots and its readers' nodes, and for each moment the
/// differences from the one before.
const SCRIPT: &str = include_str!("player.js");

/// The least width with room for the controls.
const LEAST: f64 = 560.0;

const STYLE: &str = "\
.player text { font-size: 13px } .player .button { cursor: pointer } .player .button rect { fill: #eef1f4; stroke: \
#57606a }\n\
.player .track { fill: #d0d7de; cursor: pointer } .player .done { fill: #2f6fdb; pointer-events: none }\n\
.player .knob { fill: #2f6fdb; cursor: grab } .player :focus { outline: 2px solid #2f6fdb }\n\
@media (prefers-color-scheme: dark) { .player .button rect { fill: #242b33; stroke: #768390 } .player .track { fill: \
#3a424b } }\n";

pub(super) fn of(recording: &Recording) -> String {
    let graph = &recording.graph;
    let controls = |svg: &mut String, size: Size| {
        writeln!(svg, "<style>{STYLE}</style>")?;
        write_controls(svg, size)?;
        svg.push_str("<script><![CDATA[\nconst D=");
        write_data(svg, recording)?;
        writeln!(svg, ";\n{SCRIPT}]]></script>")
    };
    graph.picture(&graph.layout(), Some(&recording.last_frame()), LEAST, controls)
}

fn write_controls(svg: &mut String, (width, height): Size) -> fmt::Result {
    let top = height - 40.0;
    writeln!(svg, "<g class=\"player\" transform=\"translate(24 {top:.0})\">")?;
    for (x, id, label, sign) in [
        (0, "back", "One moment back", "\u{25c0}\u{2758}"),
        (40, "play", "Play or pause", "\u{25b6}"),
        (80, "on", "One moment on", "\u{2758}\u{25b6}"),
    ] {
        writeln!(
            svg,
            "<g class=\"button\" id=\"{id}\" role=\"button\" tabindex=\"0\" aria-label=\"{label}\" \
             transform=\"translate({x} 0)\">\
             <title>{label}</title><rect width=\"34\" height=\"24\" rx=\"4\"/><text x=\"17\" y=\"17\" \
             text-anchor=\"middle\">{sign}</text></g>"
        )?;
    }
    let track = width - 48.0 - 340.0;
    writeln!(
        svg,
        "<g id=\"slider\" role=\"slider\" tabindex=\"0\" aria-label=\"Moment\" aria-valuemin=\"1\" \
         transform=\"translate(130 0)\" \
         data-width=\"{track:.0}\"><rect class=\"track\" y=\"8\" width=\"{track:.0}\" height=\"8\" rx=\"4\"/><rect \
         class=\"done\" \
         y=\"8\" height=\"8\" rx=\"4\" width=\"{track:.0}\"/><circle class=\"knob\" cx=\"{track:.0}\" cy=\"12\" \
         r=\"8\"/></g>"
    )?;
    writeln!(svg, "<text id=\"time\" aria-live=\"off\" x=\"{:.0}\" y=\"17\"></text></g>", track + 146.0)
}

/// `{rings:[[slots,[reader nodes],writer]],nodes:N,moments:[[microseconds
/// on,[place,more,...],[node,state,...]],...],elements: {node:[number,text,...]}}`. A place is a ring's published
/// numbers, or one reader's, in order.
fn write_data(svg: &mut String, recording: &Recording) -> fmt::Result {
    let graph = &recording.graph;
    svg.push_str("{rings:[");
    for wire in &graph.wires {
        write!(svg, "[{},{:?},{}],", wire.capacity.unwrap_or(0), wire.to, wire.from)?;
    }
    write!(svg, "],nodes:{},moments:[", graph.nodes.len())?;
    let none = Moment {
        rings: graph.wires.iter().map(|wire| Level { produced: 0, consumed: vec![0; wire.to.len()] }).collect(),
        states: vec![State::Starved; graph.nodes.len()],
        ..Moment::default()
    };
    let mut before = &none;
    for moment in &recording.moments {
        write!(svg, "\n[{},[", (moment.at - before.at).as_micros())?;
        let places = |moment: &Moment| -> Vec<u64> {
            moment
                .rings
                .iter()
                .flat_map(|level| [level.produced].into_iter().chain(level.consumed.iter().copied()))
                .collect()
        };
        let (old, new) = (places(before), places(moment));
        for (place, (old, new)) in old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new) {
            write!(svg, "{place},{},", new.wrapping_sub(*old) as i64)?;
        }
        svg.push_str("],[");
        let states = before.states.iter().zip(&moment.states).enumerate();
        for (node, (_, state)) in states.filter(|(_, (old, new))| old != new) {
            write!(svg, "{node},{},", *state as u8)?;
        }
        svg.push_str("]],");
        before = moment;
    }
    svg.push_str("],elements:{");
    for (node, described) in graph.nodes.iter().enumerate() {
        let Some(elements) = recording.elements.get(&described.name) else { continue };
        write!(svg, "\n{node}:[")?;
        elements.iter().try_for_each(|(number, text)| write!(svg, "{number},{},", Quoted(text)))?;
        svg.push_str("],");
    }
    svg.push_str("}}");
    Ok(())
}

/// A string of a script within a picture.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                // Characters that would end the string or the script.
                '"' | '\\' | '<' | '>' | '&' => write!(f, "\\u{:04x}", c as u32)?,
                c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') => {
                    write!(f, "\\u{:04x}", c as u32)?
                }
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
