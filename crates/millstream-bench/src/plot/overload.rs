//! Answers and their waits against the offered load.

use super::Drawn;
use crate::benches::Bench;
use crate::figure::Offered;
use plotters::prelude::*;

/// Answers on the left axis, waits on the right one; in black, the answers of a server without a limit.
pub(super) fn draw(svg: &mut String, bench: &Bench, points: &[Offered]) -> Drawn {
    // The offered load is a share of a rate that was measured just before, so it may go down from one point to the
    // next.
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let most = |of: fn(&Offered) -> f64| 1.1 * points.iter().map(of).fold(0.0, f64::max);
    let offered = |point: &Offered| point.offered / 1e3;
    let (good, p99) = (|point: &Offered| point.good / 1e3, |point: &Offered| point.p99 / 1e6);
    let area = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}: what is answered of what is offered", bench.name), ("sans-serif", 14))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .right_y_label_area_size(70)
        .build_cartesian_2d(0.0..most(offered), 0.0..most(good))?
        .set_secondary_coord(0.0..most(offered), 0.0..most(p99));
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("thousand requests a second, offered").y_desc("thousand a second, answered").draw()?;
    chart.configure_secondary_axes().y_desc("p99 in milliseconds").draw()?;
    let line = |of: fn(&Offered) -> f64| points.iter().map(move |point| (offered(point), of(point)));
    chart.draw_series(LineSeries::new([(0.0, 0.0), (most(good), most(good))], BLACK.mix(0.4)))?;
    chart.draw_series(LineSeries::new(line(good), BLUE.stroke_width(2)).point_size(3))?;
    chart.draw_secondary_series(LineSeries::new(line(p99), RED.stroke_width(2)).point_size(2))?;
    area.present()
}
