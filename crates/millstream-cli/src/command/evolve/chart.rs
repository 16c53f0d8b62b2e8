//! Lines over the rounds, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 40.0;
const COLOURS: [&str; 3] = ["#222222", "#d62728", "#1f77b4"];

pub(super) fn svg<'a>(title: &str, lines: impl Iterator<Item = (&'a str, &'a [f64])>) -> String {
    let lines: Vec<_> = lines.collect();
    let all = || lines.iter().flat_map(|(_, line)| line.iter().copied());
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let rounds = lines.iter().map(|(_, line)| line.len()).max().unwrap_or(0);
    let across = |round: usize| MARGIN + (WIDTH - 2.0 * MARGIN) * round as f64 / rounds.saturating_sub(1).max(1) as f64;
    let range = if most > least { most - least } else { 1.0 };
    let up = |value: f64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (value - least) / range;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"14\">{title}, {rounds} rounds</text>\n"
    );
    for (value, at) in [(least, up(least)), (most, up(most))] {
        if value.is_finite() {
            let _ = writeln!(svg, "<text x=\"2\" y=\"{at:.1}\">{value:.4}</text>");
        }
    }
    for (i, ((name, line), colour)) in lines.iter().zip(COLOURS).enumerate() {
        let points = line.iter().enumerate().map(|(round, value)| format!("{:.1},{:.1}", across(round), up(*value)));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(svg, "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{points}\"/>");
        let right = WIDTH - MARGIN - 90.0 * (lines.len() - i) as f64;
        let _ = writeln!(svg, "<text x=\"{right}\" y=\"20\" fill=\"{colour}\">{name}</text>");
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::svg;

    #[test]
    fn every_line_is_named_and_drawn() {
        let svg = svg("linear", [("truth", &[1.0, 2.0, 3.0][..]), ("estimate", &[1.5, 2.0, 2.5])].into_iter());
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">truth<") && svg.contains(">estimate<") && svg.contains("linear, 3 rounds"), "{svg}");
        assert!(!svg.contains("NaN") && !super::svg("none", std::iter::empty()).contains("inf"));
    }
}
