//! Words with places for figures.

use super::counted;
use super::digits::{readable, three};
use super::kept::{Figure, Kept, Machine, Ratio, Run};
use super::lost;
use crate::benches;
use crate::figure::{TOLERANCE, median};
use std::collections::BTreeSet;
use std::fmt::Write;

/// If others used more of the machine than this, the figures are doubtful.
const LOADED: f64 = 0.05;

/// Since this day, the share that others used is over all cases. Before, it was the largest of any, however short.
const OVER_ALL_CASES: &str = "2026-12-02";

/// If a cache line takes longer to another core and back, in nanoseconds, the two share no cache.
const FAR: f64 = 150.0;

/// The words, with each `{{...}}` replaced.
///
/// # Errors
///
/// With the line of a place that names nothing.
pub(super) fn filled(words: &str, kept: &Kept) -> Result<String, String> {
    let mut text = String::new();
    let mut shown = BTreeSet::new();
    for (n, line) in words.lines().enumerate() {
        let wrong = |what: String| format!("report.md:{}: {what}", n + 1);
        match line.strip_prefix("{{").and_then(|line| line.strip_suffix("}}")) {
            Some(place) if !place.contains("}}") && is_table(place) => {
                text += &table(place, kept, &mut shown).map_err(wrong)?;
            }
            _ => text += &inline(line, kept).map_err(wrong)?,
        }
        text.push('\n');
    }
    let left: Vec<_> = kept.runs().map(|run| run.bench.as_str()).filter(|bench| !shown.contains(*bench)).collect();
    if !left.is_empty() {
        return Err(format!("report.md shows no results of {}", left.join(", ")));
    }
    Ok(text)
}

const TABLES: [&str; 7] = ["about", "results", "counters", "lost", "machines", "commands", "open"];

fn is_table(place: &str) -> bool {
    TABLES.contains(&place.split(' ').next().unwrap_or_default())
}

fn table(place: &str, kept: &Kept, shown: &mut BTreeSet<String>) -> Result<String, String> {
    let mut words = place.split(' ');
    let what = words.next().unwrap_or_default();
    let names: Vec<&str> = words.collect();
    let about = |name: &&str| benches::find(name).ok_or_else(|| format!("there is no bench `{name}`"));
    match what {
        "about" => {
            let mut text = "| bench | what it does |\n|---|---|\n".to_owned();
            for name in &names {
                text += &format!("| `{name}` | {} |\n", about(name)?.about);
            }
            Ok(text.trim_end().to_owned())
        }
        "results" => {
            for name in &names {
                about(name)?;
                shown.insert((*name).to_owned());
            }
            Ok(results(&names, kept))
        }
        "counters" => {
            names.iter().try_for_each(|name| about(name).map(drop))?;
            let runs = names.iter().filter_map(|name| kept.of(name)).filter(|run| !run.counters.is_empty());
            Ok(runs.map(counted::table).collect::<Vec<_>>().join("\n\n"))
        }
        "lost" => Ok(lost::lost(kept)),
        "machines" => Ok(machines(kept)),
        "open" => Ok(unmeasured(kept)),
        _ => {
            let commands: Vec<_> =
                benches::ALL.iter().map(|bench| format!("$ cargo xtask bench {}", bench.name)).collect();
            Ok(format!("```console\n{}\n```", commands.join("\n")))
        }
    }
}

/// The results of these benches. Those of one day, machine and effort are one table, under a line that names these.
fn results(names: &[&str], kept: &Kept) -> String {
    let mut tables: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in names.iter().filter_map(|name| kept.of(name)) {
        let circumstances = circumstances(run);
        match tables.iter_mut().find(|(of, _)| *of == circumstances) {
            Some((_, runs)) => runs.push(run),
            None => tables.push((circumstances, vec![run])),
        }
    }
    let tables = tables.into_iter().map(|(circumstances, runs)| {
        let rows: String = runs.into_iter().map(rows).collect();
        format!(
            "{circumstances}\n\n\
             | bench | case | ours | against | its figure | ratio | bound |\n|---|---|--:|---|--:|--:|--:|\n{rows}"
        )
    });
    let remarks = names.iter().filter_map(|name| kept.of(name)).flat_map(remarks);
    if names.iter().all(|name| kept.of(name).is_none()) {
        return "No run of these benches is kept.".to_owned();
    }
    tables.chain(remarks).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The ratios of a run, and its figures without a ratio: ours, or those of every contestant if ours has none.
fn rows(run: &Run) -> String {
    let ratios = run.ratios.iter().map(|ratio| row(run, ratio));
    let alone = run.figures.iter().filter(|figure| {
        let is_ours = figure.who == "ours" || run.figure(&figure.case, "ours").is_none();
        let is_shown = run.ratios.iter().any(|ratio| ratio.case == figure.case && is_in(figure, ratio));
        is_ours && !is_shown
    });
    let figures = alone.map(|Figure { case, who, value, unit }| {
        let value = readable(*value, unit);
        let cells = if who == "ours" { format!("{value} | | ") } else { format!("| {who} | {value} ") };
        format!("| {} | {case} | {cells}| | |\n", run.bench)
    });
    ratios.chain(figures).collect()
}

/// Whether a ratio of the figure's case has this figure in its row.
fn is_in(figure: &Figure, ratio: &Ratio) -> bool {
    match &ratio.pair {
        Some(pair) => pair.contains(&figure.who),
        None => figure.who == "ours" || figure.who == ratio.who,
    }
}

/// The notes of a run, and its chart.
fn remarks(run: &Run) -> Vec<String> {
    let Run { bench, directory, notes, .. } = run;
    let notes = notes.iter().map(|note| format!("`{bench}`: {note}\n"));
    let chart = run.has_chart.then(|| {
        let about = benches::find(bench).map_or("", |bench| bench.about);
        format!("![{bench}: {about}](crates/millstream-bench/runs/{directory}/{bench}.svg)\n")
    });
    notes.chain(chart).collect()
}

fn row(run: &Run, ratio: &Ratio) -> String {
    let Ratio { case, who, .. } = ratio;
    let figure =
        |who: &str| run.figure(case, who).map_or("-".to_owned(), |figure| readable(figure.value, &figure.unit));
    let (bound, spread) = (bound(ratio), spread(ratio));
    let (one, other, theirs) = match &ratio.pair {
        Some([one, other]) => (format!("{one}: {}", figure(one)), other, figure(other)),
        None => (figure("ours"), who, figure(who)),
    };
    format!("| {} | {case} | {one} | {other} | {theirs} | {spread} | {bound} |\n", run.bench)
}

/// The bound, and whether it holds.
pub(super) fn bound(ratio: &Ratio) -> String {
    let Some(bound) = ratio.bound else { return "-".to_owned() };
    let digits = format!("{bound:.3}");
    format!("{}, {}", digits.trim_end_matches('0').trim_end_matches('.'), verdict(ratio, bound))
}

pub(super) fn verdict(ratio: &Ratio, bound: f64) -> &'static str {
    match ratio.median {
        median if median >= bound => "holds",
        median if median >= bound * (1.0 - TOLERANCE) => "within 5%",
        _ => "**missed**",
    }
}

pub(super) fn spread(ratio: &Ratio) -> String {
    format!("{} ({} to {})", three(ratio.median), three(ratio.min), three(ratio.max))
}

/// The machines and days of the shown runs.
fn machines(kept: &Kept) -> String {
    let mut text = "| files | machine | benches |\n|---|---|--:|\n".to_owned();
    let mut directories: Vec<(&str, &Machine, usize)> = Vec::new();
    for run in kept.runs() {
        match directories.iter_mut().find(|(directory, ..)| *directory == run.directory) {
            Some((.., benches)) => *benches += 1,
            None => directories.push((&run.directory, &run.machine, 1)),
        }
    }
    directories.sort_unstable_by_key(|(directory, ..)| std::cmp::Reverse(*directory));
    for (directory, machine, benches) in directories {
        let link = format!("[`{directory}`](crates/millstream-bench/runs/{directory})");
        let _ = writeln!(text, "| {link} | {} | {benches} |", described(machine));
    }
    text.trim_end().to_owned()
}

/// The benches without a kept run.
fn unmeasured(kept: &Kept) -> String {
    let names: Vec<_> = benches::ALL.iter().filter(|bench| kept.of(bench.name).is_none()).collect();
    if names.is_empty() {
        return "A run of every bench is kept.".to_owned();
    }
    let names: Vec<_> = names.iter().map(|bench| format!("`{}`", bench.name)).collect();
    format!("No run is kept of {}.", names.join(", "))
}

fn described(machine: &Machine) -> String {
    let Machine { cpu, family, model, cores, memory, kernel } = machine;
    let family =
        family.zip(*model).map_or(String::new(), |(family, model)| format!(" (family {family}, model {model})"));
    let memory = memory.map_or(String::new(), |bytes| format!(", {:.0} GB", bytes as f64 / 1e9));
    let kernel = if kernel.is_empty() { String::new() } else { format!(", {kernel}") };
    format!("{cpu}{family}, {cores} cores{memory}{kernel}")
}

/// The day and the machine, and a note if the figures are doubtful.
fn circumstances(run: &Run) -> String {
    let Run { date, effort, items, directory, others, round_trips, .. } = run;
    let turns = match (effort.as_str(), items) {
        ("quick", None) => "three turns of fewer items (`--quick`)".to_owned(),
        ("quick", Some(items)) => format!("three turns (`--quick --items {items}`)"),
        ("full", None) => "nine turns (`--full`)".to_owned(),
        ("full", Some(items)) => format!("nine turns (`--full --items {items}`)"),
        (_, None) => "five turns".to_owned(),
        (_, Some(items)) => format!("five turns (`--items {items}`)"),
    };
    let load = match others {
        Some(others) if *others <= LOADED => String::new(),
        Some(others) if date.as_str() < OVER_ALL_CASES => {
            format!(" **In one case, however short, others used {:.0}% of the machine.**", others * 100.0)
        }
        Some(others) => format!(" **Others used {:.0}% of the machine, so the figures are doubtful.**", others * 100.0),
        None => " How busy the machine was is not known.".to_owned(),
    };
    let cores = if median(round_trips) > FAR { " **The cores shared no cache for most of the time.**" } else { "" };
    format!("{date}, {turns} ([files](crates/millstream-bench/runs/{directory})).{load}{cores}")
}

/// A line, with its places replaced by figures.
fn inline(line: &str, kept: &Kept) -> Result<String, String> {
    let mut parts = line.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once("}}").ok_or("a place has no end")?;
        text += &figure(place, kept)?;
        text += rest;
    }
    Ok(text)
}

/// `ratio BENCH.CASE.WHO` or `value BENCH.CASE.WHO`.
fn figure(place: &str, kept: &Kept) -> Result<String, String> {
    let nothing = || format!("`{place}` names no figure of a run that is kept");
    let (what, name) = place.split_once(' ').ok_or_else(nothing)?;
    let mut parts = name.split('.');
    let (Some(bench), Some(case), Some(who), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(nothing());
    };
    let run = kept.of(bench).ok_or_else(nothing)?;
    match what {
        "ratio" => run.ratio(case, who).map(|ratio| three(ratio.median)).ok_or_else(nothing),
        "value" => run.figure(case, who).map(|figure| readable(figure.value, &figure.unit)).ok_or_else(nothing),
        _ => Err(nothing()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kept::Counters;
    use super::*;

    fn run(others: f64, median: f64) -> Run {
        let run = format!(
            r#"{{"bench": "chain2", "date": "2026-01-02", "effort": "quick", "others": {others},
            "machine": {{"cpu": "AMD EPYC", "family": 25, "model": 17, "cores": 2, "memory": 25000000000}},
            "figures": [{{"case": "speed", "who": "ours", "value": 5.98e9, "unit": "items/s"}},
                        {{"case": "speed", "who": "fused", "value": 3400000, "unit": "items/s"}}],
            "ratios": [{{"case": "speed", "who": "fused", "median": {median}, "min": 0.5, "max": 2.0, "bound": 0.9}}]}}"#
        );
        let mut run: Run = serde_json::from_str(&run).unwrap();
        run.directory = "2026-01-02-epyc-2c".to_owned();
        run
    }

    fn kept_of(run: Run) -> Kept {
        let mut kept = Kept::default();
        kept.add(run);
        kept
    }

    fn kept(others: f64, median: f64) -> Kept {
        kept_of(run(others, median))
    }

    #[test]
    fn a_table_has_figures_ratios_and_verdicts() {
        let text = filled("{{results chain2}}", &kept(0.01, 1.72)).unwrap();
        assert_eq!(
            text,
            "2026-01-02, three turns of fewer items (`--quick`) \
             ([files](crates/millstream-bench/runs/2026-01-02-epyc-2c)).\n\n\
             | bench | case | ours | against | its figure | ratio | bound |\n|---|---|--:|---|--:|--:|--:|\n\
             | chain2 | speed | 5.98 Gitems/s | fused | 3.40 Mitems/s | 1.72 (0.50 to 2.00) | 0.9, holds |\n"
        );
        let of = |median| filled("{{results chain2}}", &kept(0.5, median)).unwrap();
        assert!(of(0.88).contains("within 5%") && of(0.8).contains("0.9, **missed**"));
        assert!(of(0.8).contains(" **In one case, however short, others used 50% of the machine.**"));
        let newer = Run { date: OVER_ALL_CASES.to_owned(), ..run(0.5, 0.8) };
        let text = filled("{{results chain2}}", &kept_of(newer)).unwrap();
        assert!(text.contains(" **Others used 50% of the machine, so the figures are doubtful.**"), "{text}");
        let unknown = Run { others: None, ..run(0.0, 1.0) };
        assert!(filled("{{results chain2}}", &kept_of(unknown)).unwrap().contains("busy the machine was is not known"));
    }

    #[test]
    fn a_run_of_another_number_of_items_says_so() {
        let run = Run { items: Some(7_000_000), ..run(0.01, 1.72) };
        let text = filled("{{results chain2}}", &kept_of(run)).unwrap();
        assert!(text.contains(", three turns (`--quick --items 7000000`) ("), "{text}");
    }

    #[test]
    fn a_run_on_cores_far_apart_says_so() {
        let of = |round_trips| filled("{{results chain2}}", &kept_of(Run { round_trips, ..run(0.01, 1.72) })).unwrap();
        assert!(of(vec![70.0, 350.0, 351.0]).contains("-2c)). **The cores shared no cache for most of the time.**"));
        assert!(!of(vec![70.0, 71.0, 351.0]).contains("shared no cache"));
    }

    #[test]
    fn words_name_figures() {
        let words =
            "Ours moves {{value chain2.speed.ours}}, {{ratio chain2.speed.fused}} of the loop.\n{{results chain2}}";
        let text = filled(words, &kept(0.0, 1.7)).unwrap();
        assert!(text.starts_with("Ours moves 5.98 Gitems/s, 1.70 of the loop.\n"), "{text}");
        let wrong = filled("a\n{{ratio chain2.speed.cat}}", &kept(0.0, 1.7)).unwrap_err();
        assert_eq!(wrong, "report.md:2: `ratio chain2.speed.cat` names no figure of a run that is kept");
    }

    #[test]
    fn no_run_is_left_out() {
        assert_eq!(filled("words", &kept(0.0, 1.7)).unwrap_err(), "report.md shows no results of chain2");
    }

    /// A run with a ratio of these two.
    fn of_pair(pair: [&str; 2]) -> Kept {
        let mut run = run(0.0, 0.7);
        run.ratios[0].bound = None;
        run.ratios[0].pair = Some(pair.map(str::to_owned));
        kept_of(run)
    }

    #[test]
    fn a_rival_that_is_slower_than_another_is_no_loss() {
        let lost = |pair| filled("{{results chain2}}\n{{lost}}", &of_pair(pair)).unwrap();
        assert!(
            lost(["ours-3", "ours"]).contains("\n| chain2 | speed | ours-3 over ours | 0.70 (0.50 to 2.00) | - |\n")
        );
        let text = lost(["fused", "cat"]);
        assert!(!text.contains("over cat"), "{text}");
        assert!(
            text.contains("\n| chain2 | speed | fused: 3.40 Mitems/s | cat | - | 0.70 (0.50 to 2.00) | - |\n"),
            "{text}"
        );
    }

    #[test]
    fn the_contestants_of_older_runs_are_known() {
        let mut transport = run(0.0, 0.7);
        transport.bench = "transport".to_owned();
        transport.ratios[0].who = "queue-all-3".to_owned();
        let text = filled("{{results transport}}", &kept_of(transport)).unwrap();
        assert!(text.contains("| queue-all-3: - | queue-all-1 | - | 0.70 "), "{text}");
    }

    #[test]
    fn figures_of_a_case_without_ours_are_shown() {
        let mut waits = run(0.0, 1.7);
        waits.figures[0].case = "waits".to_owned();
        waits.figures[0].who = "spinning".to_owned();
        let text = filled("{{results chain2}}", &kept_of(waits)).unwrap();
        assert!(text.contains("\n| chain2 | waits | | spinning | 5.98 Gitems/s | | |"), "{text}");
    }

    #[test]
    fn counts_are_a_table_of_programs() {
        let events = [("page-faults".to_owned(), 1234.0), ("task-clock".to_owned(), 8.9)].into();
        let counters = Counters { case: "speed".to_owned(), who: "ours".to_owned(), events };
        let counted = Run { counters: vec![counters], ..run(0.0, 1.7) };
        let text = filled("{{counters chain2}}\n{{results chain2}}", &kept_of(counted)).unwrap();
        let table = "| bench | case | program | page-faults | task-clock, ms |\n|---|---|---|--:|--:|\n\
                     | chain2 | speed | ours | 1,234 | 9 |\n";
        assert!(text.starts_with(table), "{text}");
    }

    #[test]
    fn slower_contestants_are_listed() {
        let lost = |median| filled("{{results chain2}}\n{{lost}}", &kept(0.0, median)).unwrap();
        assert!(lost(0.7).contains("\n| chain2 | speed | fused | 0.70 (0.50 to 2.00) | 0.9, **missed** |\n"));
        assert!(!lost(1.7).contains("\n| chain2 | speed | fused | 1.70 (0.50 to 2.00) |"));
    }
}
