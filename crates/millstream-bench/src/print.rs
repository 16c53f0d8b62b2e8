//! The result lines, on standard output, and the table, on standard error.

use crate::benches::Bench;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit, median, shown};
use crate::load::Use;
use crate::machine::Machine;
use std::io::{ErrorKind, Write, stdout};

/// Prints one line for each figure and for each ratio.
pub(crate) fn lines(bench: &str, results: &Results) -> Result<(), Failure> {
    let figures = results.figures.iter().map(|figure| figure_line(bench, figure));
    let ratios = results.ratios.iter().map(|ratio| ratio_line(bench, ratio));
    put(figures.chain(ratios))
}

/// Prints the name of each bench, and its description.
pub(crate) fn list(benches: &[Bench]) -> Result<(), Failure> {
    put(benches.iter().map(|bench| format!("{:14} {}", bench.name, bench.about)))
}

fn figure_line(bench: &str, Figure { case, who, value, unit, .. }: &Figure) -> String {
    format!("{bench}.{case}.{who} {} {unit}", shown(*value))
}

fn ratio_line(bench: &str, ratio: &Ratio) -> String {
    let Ratio { case, who, .. } = ratio;
    let [median, min, max] = [ratio.median, ratio.min, ratio.max].map(shown);
    let bound = ratio.bound.map_or("-".to_owned(), shown);
    format!("{bench}.{case}.ratio.{who} {median} x {min} {max} {bound}")
}

/// Prints lines, and stops without an error if the reader has gone.
fn put(mut lines: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match lines.try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::io("standard output")(error)),
        _ => Ok(()),
    }
}

/// Prints the same for people.
pub(crate) fn table(bench: &Bench, results: &Results) {
    eprintln!("{}: {}", bench.name, bench.about);
    for Figure { case, who, value, unit, samples } in &results.figures {
        let spread = if samples.len() > 1 { range(samples, *unit) } else { String::new() };
        eprintln!("  {case:6} {who:14} {:>18}  {spread}", readable(*value, *unit));
    }
    for ratio in &results.ratios {
        let Ratio { case, who, bound, .. } = ratio;
        let [median, min, max] = [ratio.median, ratio.min, ratio.max].map(shown);
        let verdict = match bound {
            None => String::new(),
            Some(bound) if ratio.misses() => format!("  MISSES {bound}"),
            Some(bound) if ratio.median < *bound => format!("  below {bound}, within 5%"),
            Some(bound) => format!("  holds {bound}"),
        };
        eprintln!("  {case:6} ours / {who:12} {median:>13} x  {min} to {max}{verdict}");
    }
    for note in &results.notes {
        eprintln!("  {note}");
    }
    for bound in &results.unjudged {
        eprintln!("  {bound} is not judged: it was left out");
    }
    for counters in &results.counters {
        let events: Vec<_> =
            counters.events.iter().map(|(event, count)| format!("{event} {}", shown(*count))).collect();
        let per_cycle = counters.instructions_per_cycle().map(|n| format!(", {} instructions per cycle", shown(n)));
        eprintln!("  {:6} {:14} {}{}", counters.case, counters.who, events.join(", "), per_cycle.unwrap_or_default());
    }
    eprintln!("  on {}", Machine::here());
    if let Some(others) = results.others.and_then(Use::share) {
        eprintln!("  others used {:.0}% of the machine meanwhile", others * 100.0);
    }
    if !results.round_trips.is_empty() {
        let trips = &results.round_trips;
        let (middle, spread) = (shown(median(trips)), range(trips, Unit::Nanoseconds));
        eprintln!("  a cache line went to another core and back in {middle} ns, {spread}");
    }
    eprintln!();
}

fn range(samples: &[f64], unit: Unit) -> String {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    format!("{} to {}", readable(sorted[0], unit), readable(sorted[sorted.len() - 1], unit))
}

/// A value with a prefix, and three digits after the point.
fn readable(value: f64, unit: Unit) -> String {
    let (scaled, prefix) = match value {
        // A thousand nanoseconds are shown as microseconds.
        v if unit == Unit::Nanoseconds && v >= 1e3 => return format!("{:.3} us", v / 1e3),
        v if unit == Unit::Cores => return format!("{} {unit}", shown(v)),
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e4 => (v / 1e3, "k"),
        v => (v, ""),
    };
    format!("{scaled:.3} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_fixed_form() {
        let figure = Figure::new("speed", "ours", vec![1.5e9, 1.0e9, 2.0e9], Unit::ItemsPerSecond);
        assert_eq!(figure_line("chain2", &figure), "chain2.speed.ours 1500000000 items/s");
        let ratio = Ratio::new("speed", "fused", vec![0.5, 0.25, 0.75], Some(0.3));
        assert_eq!(ratio_line("chain2", &ratio), "chain2.speed.ratio.fused 0.500 x 0.250 0.750 0.300");
        let ratio = Ratio { bound: None, ..ratio };
        assert_eq!(ratio_line("chain2", &ratio), "chain2.speed.ratio.fused 0.500 x 0.250 0.750 -");
    }
}
