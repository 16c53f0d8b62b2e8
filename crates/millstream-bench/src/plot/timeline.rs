//! Events a second over time, a panel for each set of consumers: events that were sent, that each has consumed, and
//! their sum.

use super::Drawn;
use crate::benches::Bench;
use crate::timeline::Timeline;
use plotters::coord::Shift;
use plotters::prelude::*;

/// The number of panels side by side.
const ACROSS: usize = 3;
/// The colours of single consumers, which colour-blind readers can distinguish too (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(160, 140, 20),
];
const ALL: RGBColor = RGBColor(0, 80, 160);

pub(super) fn draw(svg: &mut String, bench: &Bench, timelines: &[Timeline]) -> Drawn {
    let across = timelines.len().min(ACROSS);
    let rows = timelines.len().div_ceil(ACROSS);
    let area = SVGBackend::with_string(svg, (440 * across as u32, 312 * rows as u32 + 30)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("{}: million events/s over time, in total and by each", bench.name);
    let area = area.titled(&title, ("sans-serif", 16))?;
    for (panel, timeline) in area.split_evenly((rows, across)).iter().zip(timelines) {
        draw_panel(panel, timeline)?;
    }
    area.present()
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, Shift>, Timeline { title, traffic, lines }: &Timeline) -> Drawn {
    let area = area.titled(title, ("sans-serif", 14))?.titled(traffic, ("sans-serif", 11))?;
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().map(|(at, _)| *at).fold(0.0, f64::max).max(1e-3);
    let most = points().map(|(_, rate)| rate / 1e6).fold(0.0, f64::max).max(1e-6);
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(52)
        // Leaves room above the lines for the legend. Lines on top of each other are all visible: earlier ones are
        // thicker.
        .build_cartesian_2d(0.0..last, 0.0..most * (1.25 + 0.07 * lines.len() as f64))?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.1));
    mesh.x_labels(6).y_labels(6).x_desc("s").y_desc("million events/s").draw()?;
    for (at, line) in lines.iter().enumerate() {
        let style = match &*line.name {
            "sent" => BLACK.stroke_width(1),
            "all" => ALL.stroke_width(5),
            _ => COLOURS[at % COLOURS.len()].stroke_width(2),
        };
        let points = line.points.iter().map(|(at, rate)| (*at, rate / 1e6));
        let series = chart.draw_series(LineSeries::new(points, style))?;
        series.label(&line.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], style));
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).legend_area_size(20).label_font(("sans-serif", 10));
    labels.background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.2)).margin(2).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::CHAIN2;
    use crate::timeline::Line;

    #[test]
    fn a_panel_has_units_and_names_all_lines() {
        let line = |name: &str, rate| Line { name: name.to_owned(), points: vec![(0.1, rate), (0.2, rate * 1.1)] };
        let of = |title: &str| Timeline {
            title: title.to_owned(),
            traffic: "7 bytes at a time".to_owned(),
            lines: vec![line("sent", 3e6), line("all", 2.9e6), line("consumer 1", 1e6), line("consumer 2", 1.9e6)],
        };
        let mut svg = String::new();
        draw(&mut svg, &CHAIN2, &[of("queue"), of("rings")]).unwrap();
        for words in
            ["queue", "rings", "7 bytes at a time", "million events/s", "sent", "all", "consumer 1", "consumer 2"]
        {
            assert!(svg.contains(words), "{words} in {svg}");
        }
    }
}
