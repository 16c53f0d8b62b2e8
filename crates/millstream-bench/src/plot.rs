//! A bar chart of a bench's speeds, or its curves, as SVG.

mod following;
mod growth;
mod overload;
mod scaling;
mod timeline;

use crate::benches::Bench;
use crate::failure::Failure;
use crate::figure::{Figure, Point, Results, Unit};
use plotters::prelude::*;
use std::path::Path;

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Writes `DIR/NAME.svg`: one bar for each speed, with a whisker from the slowest turn to the fastest; or the bench's
/// curves.
pub(crate) fn plot(dir: &Path, bench: &Bench, results: &Results) -> Result<(), Failure> {
    let file = dir.join(format!("{}.svg", bench.name));
    let cannot = || Failure::io(format!("cannot write {}", file.display()));
    std::fs::create_dir_all(dir).map_err(cannot())?;
    let is_speed = |unit| matches!(unit, Unit::ItemsPerSecond | Unit::BytesPerSecond);
    let speeds: Vec<_> = results.figures.iter().filter(|figure| is_speed(figure.unit)).collect();
    let mut svg = String::new();
    let drawn = if !results.growth.is_empty() {
        let unit = speeds.first().map_or(String::new(), |figure| figure.unit.to_string());
        growth::draw(&mut svg, bench, &unit, &results.growth)
    } else if !results.following.is_empty() {
        following::draw(&mut svg, bench, &results.following)
    } else if !results.scaling.is_empty() {
        scaling::draw(&mut svg, &results.scaling)
    } else if !results.timelines.is_empty() {
        timeline::draw(&mut svg, bench, &results.timelines)
    } else if !results.overload.is_empty() {
        overload::draw(&mut svg, bench, &results.overload)
    } else if results.curve.is_empty() {
        draw(&mut svg, bench, &speeds)
    } else {
        curve(&mut svg, bench, &results.curve)
    };
    drawn.map_err(|error| cannot()(std::io::Error::other(error.to_string())))?;
    std::fs::write(&file, svg).map_err(cannot())
}

fn draw(svg: &mut String, bench: &Bench, speeds: &[&Figure]) -> Drawn {
    let unit = speeds.first().map_or(String::new(), |figure| figure.unit.to_string());
    let most = speeds.iter().flat_map(|figure| figure.samples.iter().copied()).fold(0.0, f64::max) / 1e6;
    let area = SVGBackend::with_string(svg, (720, 110 + 60 * speeds.len() as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: {}", bench.name, bench.about), ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(130)
        .build_cartesian_2d(0.0..most * 1.05, (0..speeds.len()).into_segmented())?;
    let name = |row: &SegmentValue<usize>| match row {
        SegmentValue::CenterOf(row) => speeds.get(*row).map_or(String::new(), |figure| label(figure)),
        _ => String::new(),
    };
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().x_desc(format!("million {unit}")).y_labels(speeds.len()).y_label_formatter(&name).draw()?;
    for (row, figure) in speeds.iter().enumerate() {
        let style = if figure.who == "ours" { BLUE.mix(0.7).filled() } else { BLACK.mix(0.3).filled() };
        let (bottom, top) = (SegmentValue::Exact(row), SegmentValue::Exact(row + 1));
        let mut bar = Rectangle::new([(0.0, bottom), (figure.value / 1e6, top)], style);
        bar.set_margin(8, 8, 0, 0);
        chart.draw_series([bar])?;
        let whisker = figure.samples.iter().map(|speed| (speed / 1e6, SegmentValue::CenterOf(row)));
        chart.draw_series(LineSeries::new(whisker, &BLACK))?;
    }
    area.present()
}

/// Speeds on the left axis, waits on the right one.
fn curve(svg: &mut String, bench: &Bench, points: &[Point]) -> Drawn {
    let most = |of: fn(&Point) -> f64| 1.1 * points.iter().map(of).fold(0.0, f64::max);
    let (speed, wait) = (|point: &Point| point.speed / f64::from(1 << 20), |point: &Point| point.wait / 1e3);
    let last = points.len().saturating_sub(1) as f64;
    let area = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: {}", bench.name, bench.about), ("sans-serif", 14))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .right_y_label_area_size(70)
        .build_cartesian_2d(0.0..last, 0.0..most(speed))?
        .set_secondary_coord(0.0..last, 0.0..most(wait));
    let size = |at: &f64| points.get(at.round() as usize).map_or(String::new(), |point| bytes(point.size));
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(points.len()).x_label_formatter(&size).x_desc("bytes read at once").y_desc("MiB/s").draw()?;
    chart.configure_secondary_axes().y_desc("p99 in microseconds").draw()?;
    let line = |of: fn(&Point) -> f64| points.iter().enumerate().map(move |(at, point)| (at as f64, of(point)));
    chart.draw_series(LineSeries::new(line(speed), BLUE.stroke_width(2)))?;
    chart.draw_secondary_series(LineSeries::new(line(wait), RED.stroke_width(2)))?;
    area.present()
}

/// A size with the largest prefix that leaves a whole number.
fn bytes(size: u64) -> String {
    match size {
        size if size.is_multiple_of(1 << 20) => format!("{} MiB", size >> 20),
        size if size.is_multiple_of(1 << 10) => format!("{} KiB", size >> 10),
        size => format!("{size} B"),
    }
}

/// The contestant, and the case unless it is the usual one.
fn label(figure: &Figure) -> String {
    if figure.case == "speed" { figure.who.to_owned() } else { format!("{}, {}", figure.who, figure.case) }
}

/// For charts in tests. A bench from the list of all benches would make the tests compile every pipeline.
#[cfg(test)]
const CHAIN2: Bench = Bench { name: "chain2", about: "two maps of u64 on one worker, and the same work in one loop" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_the_bench_and_the_contestants() {
        let of = |who, speed| Figure::new("speed", who, vec![speed], Unit::ItemsPerSecond);
        let figures = vec![of("ours", 1e9), of("fused", 3e9), Figure::new("alloc", "ours", vec![1.0], Unit::Bytes)];
        let results = Results { figures, ..Results::default() };
        let dir = tempfile::tempdir().unwrap();
        plot(dir.path(), &CHAIN2, &results).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("chain2.svg")).unwrap();
        for word in ["chain2: two maps", "ours", "fused", "million items/s"] {
            assert!(svg.contains(word), "{word} in {svg}");
        }
        assert!(!svg.contains("alloc"));
    }

    #[test]
    fn a_curve_has_two_axes() {
        let point = |size, speed, wait| Point { size, speed, wait };
        let curve = vec![point(1 << 12, 1e9, 5e4), point(1 << 16, 2e9, 1e5), point(1 << 20, 3e9, 9e5)];
        let dir = tempfile::tempdir().unwrap();
        plot(dir.path(), &CHAIN2, &Results { curve, ..Results::default() }).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("chain2.svg")).unwrap();
        for word in ["MiB/s", "p99 in microseconds", "4 KiB", "64 KiB", "1 MiB", "polyline"] {
            assert!(svg.contains(word), "{word} in {svg}");
        }
    }

    #[test]
    fn overload_has_two_axes() {
        use crate::figure::Offered;
        let point = |offered, good, p99| Offered { offered, good, p99 };
        let overload = vec![point(1e4, 1e4, 1e6), point(2e4, 2e4, 5e6), point(4e4, 2e4, 1e7)];
        let dir = tempfile::tempdir().unwrap();
        plot(dir.path(), &CHAIN2, &Results { overload, ..Results::default() }).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("chain2.svg")).unwrap();
        for word in ["offered", "answered", "p99 in milliseconds", "polyline"] {
            assert!(svg.contains(word), "{word} in {svg}");
        }
    }
}
