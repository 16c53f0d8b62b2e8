//! A bar chart of a bench's speeds, as SVG.

use crate::benches::Bench;
use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use plotters::prelude::*;
use std::path::Path;

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// `DIR/NAME.svg`: one bar for each speed, a whisker from the slowest turn to the fastest.
pub(crate) fn plot(dir: &Path, bench: &Bench, results: &Results) -> Result<(), Failure> {
    let file = dir.join(format!("{}.svg", bench.name));
    let cannot = || Failure::io(format!("cannot write {}", file.display()));
    std::fs::create_dir_all(dir).map_err(cannot())?;
    let is_speed = |unit| matches!(unit, Unit::ItemsPerSecond | Unit::BytesPerSecond);
    let speeds: Vec<_> = results.figures.iter().filter(|figure| is_speed(figure.unit)).collect();
    let mut svg = String::new();
    draw(&mut svg, bench, &speeds).map_err(|error| cannot()(std::io::Error::other(error.to_string())))?;
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

/// The case only where it is not the usual one.
fn label(figure: &Figure) -> String {
    if figure.case == "speed" { figure.who.to_owned() } else { format!("{}, {}", figure.who, figure.case) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_the_bench_and_who_took_part() {
        let of = |who, speed| Figure::new("speed", who, vec![speed], Unit::ItemsPerSecond);
        let figures = vec![of("ours", 1e9), of("fused", 3e9), Figure::new("alloc", "ours", vec![1.0], Unit::Bytes)];
        let results = Results { figures, ..Results::default() };
        let dir = tempfile::tempdir().unwrap();
        plot(dir.path(), &crate::benches::ALL[0], &results).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("chain2.svg")).unwrap();
        for word in ["chain2: two maps", "ours", "fused", "million items/s"] {
            assert!(svg.contains(word), "{word} in {svg}");
        }
        assert!(!svg.contains("alloc"));
    }
}
