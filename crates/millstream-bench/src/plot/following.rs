//! A load over time and the output that follows it, a panel for each case; below each, the shards and the workers.

use super::Drawn;
use crate::benches::Bench;
use crate::figure::Following;
use plotters::coord::Shift;
use plotters::prelude::*;

const OUTPUT: RGBColor = RGBColor(0, 114, 178);
const SHARDS: RGBColor = RGBColor(213, 94, 0);
const AWAKE: RGBColor = RGBColor(0, 158, 115);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(super) fn draw(svg: &mut String, bench: &Bench, all: &[Following]) -> Drawn {
    let area = SVGBackend::with_string(svg, (540 * all.len() as u32, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("{}: what is due and what comes out; shards and workers", bench.name);
    let area = area.titled(&title, ("sans-serif", 16))?;
    for (panel, following) in area.split_evenly((1, all.len())).iter().zip(all) {
        let (above, below) = panel.split_vertically(270);
        rates(&above, following)?;
        counts(&below, following)?;
    }
    area.present()
}

/// A line, by its name, its style and its values.
type Line<'a> = (&'a str, ShapeStyle, Vec<f64>);

fn rates(area: &Area<'_>, following: &Following) -> Drawn {
    let area = area.titled(following.case, ("sans-serif", 14))?;
    let lines = [
        ("comes out", OUTPUT.stroke_width(3), following.output.clone()),
        ("due", BLACK.stroke_width(1), following.offered.clone()),
    ];
    panel(&area, following, &lines, ("items/s", &|value| format!("{value}")), 0)
}

fn counts(area: &Area<'_>, following: &Following) -> Drawn {
    let shards = following.shards.iter().map(|shards| *shards as f64).collect();
    let lines = [
        ("shards", SHARDS.stroke_width(3), shards),
        ("workers that are not parked", AWAKE.stroke_width(1), following.awake.clone()),
    ];
    panel(area, following, &lines, ("number", &|value| format!("{value}")), 24)
}

/// Lines over one time. A value covers the time since the previous moment.
fn panel(
    area: &Area<'_>,
    Following { at, .. }: &Following,
    lines: &[Line<'_>],
    (unit, number): (&str, &dyn Fn(&f64) -> String),
    room_for_seconds: u32,
) -> Drawn {
    let last = at.last().copied().unwrap_or(1.0);
    let most = lines.iter().flat_map(|(.., values)| values).copied().fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(16 + room_for_seconds)
        .y_label_area_size(64)
        // Leaves room above the lines for the legend.
        .build_cartesian_2d(0.0..last, 0.0..most * 1.45)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.1));
    mesh.x_labels(9).y_labels(6).y_desc(unit).y_label_formatter(number);
    if room_for_seconds > 0 {
        mesh.x_desc("seconds");
    }
    mesh.draw()?;
    for (name, style, values) in lines {
        let since = [0.0].iter().chain(at);
        let steps = since.zip(at).zip(values).flat_map(|((since, at), value)| [(*since, *value), (*at, *value)]);
        let drawn = chart.draw_series(LineSeries::new(steps, *style))?;
        let style = *style;
        drawn.label(*name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).legend_area_size(22).label_font(("sans-serif", 11));
    labels.background_style(WHITE).border_style(BLACK.mix(0.2)).margin(3).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_load_its_output_and_its_shards() {
        let of = |case| {
            let mut following = Following { case, ..Following::default() };
            for (at, offered, shards) in [(0.5, 10.0, 1), (1.0, 60.0, 1), (1.5, 60.0, 2)] {
                following.push(at, [offered, offered * 0.9, 1.25], shards);
            }
            following
        };
        let mut svg = String::new();
        draw(&mut svg, &crate::plot::CHAIN2, &[of("square wave"), of("a step")]).unwrap();
        for words in ["square wave", "a step", "due", "comes out", "shards", "not parked", "items/s", "seconds"] {
            assert!(svg.contains(words), "{words} in {svg}");
        }
        assert!(svg.matches("<polyline").count() >= 8, "{svg}");
    }
}
