//! Times against workers on logarithmic axes, a panel for each scenario; below each, the share of the time that workers
//! wait.

use super::Drawn;
use crate::figure::Scaling;
use plotters::coord::Shift;
use plotters::prelude::*;

const WHO: [(&str, RGBColor); 2] = [("ours", BLUE), ("locked", RED)];

pub(super) fn draw(svg: &mut String, all: &[Scaling]) -> Drawn {
    let mut scenarios: Vec<_> = all.iter().map(|point| point.scenario).collect();
    scenarios.dedup();
    let rows = scenarios.len().div_ceil(3).max(1);
    let area = SVGBackend::with_string(svg, (1080, 420 * rows as u32 + 30)).into_drawing_area();
    area.fill(&WHITE)?;
    let area = area
        .titled("seconds and idle share against workers: ideal, ours, a thread for each worker", ("sans-serif", 15))?;
    for (panel, scenario) in area.split_evenly((rows, 3)).iter().zip(&scenarios) {
        let points: Vec<_> = all.iter().filter(|point| point.scenario == *scenario).copied().collect();
        let (above, below) = panel.split_vertically(290);
        times(&above, scenario, &points)?;
        idle(&below, &points)?;
    }
    area.present()
}

fn workers(points: &[Scaling]) -> std::ops::Range<f64> {
    let all = || points.iter().map(|point| point.workers as f64);
    all().fold(f64::INFINITY, f64::min)..all().fold(0.0, f64::max) * 1.1
}

fn times(area: &DrawingArea<SVGBackend<'_>, Shift>, scenario: &str, points: &[Scaling]) -> Drawn {
    let all = || points.iter().flat_map(|point| [point.seconds, point.ideal]);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let mut chart = ChartBuilder::on(area)
        .caption(scenario, ("sans-serif", 14))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(48)
        .build_cartesian_2d(workers(points).log_scale(), (least * 0.9..most * 1.1).log_scale())?;
    chart.configure_mesh().y_desc("s").draw()?;
    let ideal = points.iter().filter(|point| point.who == WHO[0].0).map(|point| (point.workers as f64, point.ideal));
    chart.draw_series(LineSeries::new(ideal, &BLACK))?;
    for (who, colour) in WHO {
        let line = points.iter().filter(|point| point.who == who).map(|point| (point.workers as f64, point.seconds));
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(2))?;
    }
    Ok(())
}

fn idle(area: &DrawingArea<SVGBackend<'_>, Shift>, points: &[Scaling]) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(48)
        .build_cartesian_2d(workers(points).log_scale(), 0.0..1.0)?;
    chart.configure_mesh().y_desc("idle").y_labels(3).draw()?;
    for (who, colour) in WHO {
        let line = points.iter().filter(|point| point.who == who).map(|point| (point.workers as f64, point.idle));
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_a_panel() {
        let point = |scenario, who, workers, seconds| Scaling {
            scenario,
            who,
            workers,
            seconds,
            ideal: 60.0 / workers as f64,
            idle: 0.2,
        };
        let of = |scenario| {
            let who = WHO.map(|(who, _)| who);
            who.into_iter()
                .flat_map(move |who| [(10, 6.5), (100, 0.7), (450, 0.2)].map(|(w, s)| point(scenario, who, w, s)))
        };
        let all: Vec<_> = of("A: cheap").chain(of("B: dear")).collect();
        let mut svg = String::new();
        draw(&mut svg, &all).unwrap();
        assert!(svg.contains("A: cheap") && svg.contains("B: dear") && svg.contains("idle"), "{svg}");
        assert!(svg.matches("<polyline").count() >= 10);
    }
}
