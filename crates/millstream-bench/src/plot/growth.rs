//! Speeds along an axis, on logarithmic axes, a line for each contestant.

use super::Drawn;
use crate::benches::Bench;
use crate::figure::Growth;
use plotters::prelude::*;

const COLOURS: [RGBColor; 4] = [BLUE, BLACK, RED, GREEN];

pub(super) fn draw(svg: &mut String, bench: &Bench, unit: &str, all: &[Growth]) -> Drawn {
    let mut who: Vec<_> = all.iter().map(|point| point.who).collect();
    who.sort_unstable_by_key(|who| (*who != "ours", *who));
    who.dedup();
    let least = |of: fn(&Growth) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Growth) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let (at, speed) = (|point: &Growth| point.at as f64, |point: &Growth| point.speed);
    let area = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: {}", bench.name, bench.about), ("sans-serif", 14))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(
            (least(at)..most(at) * 1.1).log_scale(),
            (least(speed) * 0.9..most(speed) * 1.1).log_scale(),
        )?;
    let short = |value: &f64| format!("{value:.0e}");
    chart.configure_mesh().x_desc(bench.name).y_desc(unit).y_label_formatter(&short).draw()?;
    for (name, colour) in who.into_iter().zip(COLOURS.into_iter().cycle()) {
        let line = all.iter().filter(|point| point.who == name).map(|point| (at(point), point.speed));
        let drawn = chart.draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))?;
        drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_every_contestant() {
        let point = |who, at, speed| Growth { who, at, speed };
        let all = [("ours", 1, 1e6), ("fused", 1, 2e6), ("ours", 1024, 5e5), ("fused", 1024, 2e6)];
        let mut svg = String::new();
        let all = all.map(|(who, at, speed)| point(who, at, speed));
        draw(&mut svg, &crate::plot::CHAIN2, "items/s", &all).unwrap();
        assert!(svg.contains("ours") && svg.contains("fused") && svg.contains("items/s"), "{svg}");
    }
}
