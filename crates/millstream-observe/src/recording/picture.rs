//! A recording as a picture with a script of its own.

use super::version::last_frame;
use super::{Level, Moment, Recording};
use crate::frame::Change;
use crate::graph::{Graph, Size, pictures};
use millstream_exec::State;
use std::fmt::{self, Write};

/// The script of the picture. Its data is `D`: for each ring its slots and its readers' nodes, and for each moment the
/// differences from the one before. Versions of the pipeline before the last one are in its `before`.
const SCRIPT: &str = include_str!("player.js");

/// The least width with room for the controls.
const LEAST: f64 = 560.0;

const STYLE: &str = "\
.player text { font-size: 13px } .player .button { cursor: pointer } .player .button rect { fill: #eef1f4; stroke: \
#57606a }\n\
.player .track { fill: #d0d7de; cursor: pointer } .player .done { fill: #2f6fdb; pointer-events: none }\n\
.player .change rect { fill: #b35900; pointer-events: none } .player .change text { font-size: 10px }\n\
.player .knob { fill: #2f6fdb; cursor: grab } .player :focus { outline: 2px solid #2f6fdb }\n\
@media (prefers-color-scheme: dark) { .player .button rect { fill: #242b33; stroke: #768390 } .player .track { fill: \
#3a424b } }\n";

pub(super) fn of(recording: &Recording) -> String {
    let versions = recording.versions();
    let controls = |svg: &mut String, size: Size| {
        writeln!(svg, "<style>{STYLE}</style>")?;
        write_controls(svg, size, &versions)?;
        svg.push_str("<script><![CDATA[\nconst D=");
        write_all(svg, recording, &versions)?;
        writeln!(svg, ";\n{SCRIPT}]]></script>")
    };
    let last = |(graph, moments, _): &Recorded<'_>| last_frame(graph, moments);
    let frames: Vec<_> = versions.iter().map(|version| (version.0, last(version))).collect();
    pictures(&frames, LEAST, controls)
}

/// A version's graph and moments, and how it began.
type Recorded<'a> = (&'a Graph, &'a [Moment], Option<&'a Change>);

impl Recording {
    fn versions(&self) -> Vec<Recorded<'_>> {
        let before = self.before.iter().map(|version| (&version.graph, &*version.moments, version.change.as_ref()));
        before.chain([(&self.graph, &*self.moments, self.change.as_ref())]).collect()
    }
}

/// `version 2 from number 37 on`.
struct Begins<'a>(&'a Change);

impl fmt::Display for Begins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {} from number {} on", self.0.version, self.0.at)
    }
}

/// The marks on the slider at which the pipeline was replaced.
fn write_changes(svg: &mut String, track: f64, versions: &[Recorded<'_>]) -> fmt::Result {
    let all = versions.iter().map(|(_, moments, _)| moments.len()).sum::<usize>();
    let mut before = 0;
    for (_, moments, change) in versions {
        if let Some(change) = change {
            let x = track * before as f64 / (all.saturating_sub(1).max(1)) as f64;
            writeln!(
                svg,
                "<g class=\"change\"><title>{begins}</title><rect x=\"{:.1}\" y=\"2\" width=\"2\" height=\"20\"/>\
                 <text x=\"{x:.1}\" y=\"-2\" text-anchor=\"middle\">v{} at {}</text></g>",
                x - 1.0,
                change.version,
                change.at,
                begins = Begins(change),
            )?;
        }
        before += moments.len();
    }
    Ok(())
}

fn write_controls(svg: &mut String, (width, height): Size, versions: &[Recorded<'_>]) -> fmt::Result {
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
         transform=\"translate(130 0)\" data-width=\"{track:.0}\">\
         <rect class=\"track\" y=\"8\" width=\"{track:.0}\" height=\"8\" rx=\"4\"/>\
         <rect class=\"done\" y=\"8\" height=\"8\" rx=\"4\" width=\"{track:.0}\"/>"
    )?;
    write_changes(svg, track, versions)?;
    writeln!(svg, "<circle class=\"knob\" cx=\"{track:.0}\" cy=\"12\" r=\"8\"/></g>")?;
    writeln!(svg, "<text id=\"time\" aria-live=\"off\" x=\"{:.0}\" y=\"17\"></text></g>", track + 146.0)
}

/// The data of the last version, with those of the others in `before`.
fn write_all(svg: &mut String, recording: &Recording, versions: &[Recorded<'_>]) -> fmt::Result {
    let Some((last, before)) = versions.split_last() else { return Ok(()) };
    write_data(svg, recording, *last)?;
    if !before.is_empty() {
        svg.push_str(",\"before\":[");
        for version in before {
            write_data(svg, recording, *version)?;
            svg.push_str("},");
        }
        svg.push(']');
    }
    svg.push('}');
    Ok(())
}

/// `{rings:[[slots,[reader nodes],writer]],nodes:N,moments:[[microseconds
/// on,[place,more,...],[node,state,...]],...],elements: {node:[number,text,...]},"begins":text`, without its end. A
/// place is a ring's published numbers, or one reader's, in order.
fn write_data(svg: &mut String, recording: &Recording, (graph, moments, change): Recorded<'_>) -> fmt::Result {
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
    for moment in moments {
        write!(svg, "\n[{},[", moment.at.saturating_sub(before.at).as_micros())?;
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
    svg.push('}');
    change.map_or(Ok(()), |change| write!(svg, ",\"begins\":\"{}\"", Begins(change)))
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
