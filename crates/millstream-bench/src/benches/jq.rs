//! `millstream jq` on two workers and on one, jaq and jq, from a file in memory to nowhere; and its peak memory.

use super::rss::{MOST, ran};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::peers;
use crate::programs::{Chain, is_here};
use crate::setting::{Effort, Setting};
use crate::text::Text;
use crate::turns::{Against, Contestant, Work, take_turns};
use std::path::Path;

const JAQ: &str = "3.1.2";

/// The names of a case on two workers and on one, and its filter.
struct Case {
    two: &'static str,
    one: &'static str,
    filter: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        two: "select",
        one: "select-one",
        filter: "select(.qty * .price > 500) | {id, user, item: .item.name, qty}",
    },
    Case { two: "whole", one: "whole-one", filter: "." },
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream_with(&setting.progress, "jq")?;
    setting.progress.say("text");
    let usual = if setting.effort == Effort::Full { 1_000_000_000 } else { 200_000_000 };
    let text = Text::orders(setting.items(usual, 20_000_000));
    let file = text.file()?;
    let speeds = CASES.iter().map(|case| speed(setting, case, &millstream, &file, text.bytes()));
    let mut results = Results::joined(speeds.collect::<Result<Vec<_>, _>>()?);
    memory(setting, &millstream, &file, &text, &mut results)?;
    Ok(results)
}

/// A program that filters the file, line by line.
fn filtering(program: &Path, args: &[&str], filter: &str, file: &Path) -> Chain {
    let args = args.iter().map(Into::into).chain(["-c".into(), filter.into(), file.into()]);
    Chain::of_nothing().then(program, args.collect::<Vec<std::ffi::OsString>>())
}

fn speed(setting: &Setting, case: &Case, ours: &Path, file: &Path, bytes: u64) -> Result<Results, Failure> {
    let Case { two, one, filter } = *case;
    let work = Work { case: two, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let by = |workers| filtering(ours, &["jq", "--workers", workers], filter, file);
    let by_jaq = if setting.rivals.wanted() {
        let jaq = peers::installed(&setting.progress, "jaq", JAQ)?;
        jaq.map(|jaq| filtering(&jaq, &[], filter, file))
    } else {
        None
    };
    let expected = by_jaq.as_ref().unwrap_or(&by("1")).hash()?;
    let mut contestants = vec![by("2").contestant("ours", expected)?, by("1").contestant("one", expected)?];
    if let Some(jaq) = by_jaq {
        contestants.push(jaq.contestant("jaq", expected)?);
    }
    if setting.rivals.wanted() {
        contestants.extend(jq(filter, file)?);
    }
    let speeds = take_turns(setting, work, contestants)?;
    let by_one = speeds.best(one, &["one"], &[Against { who: "jaq", of: &["jaq"], bound: Some(1.0) }]);
    let ratios = [speeds.ratio("jaq", Some(1.7)), speeds.ratio("jq", None)];
    Ok(Results::joined([speeds.results(ratios), by_one]))
}

/// jq. It writes some numbers differently from jaq, so the bench compares it with its own output.
fn jq<'a>(filter: &str, file: &Path) -> Result<Option<Contestant<'a, u64>>, Failure> {
    if !is_here("jq", "jq")? {
        return Ok(None);
    }
    let chain = filtering(Path::new("jq"), &[], filter, file);
    let expected = chain.hash()?;
    chain.contestant("jq", expected).map(Some)
}

/// The peak memory, on two workers.
fn memory(setting: &Setting, ours: &Path, file: &Path, text: &Text, results: &mut Results) -> Result<(), Failure> {
    const WHO: &str = "memory";
    setting.progress.say(WHO);
    let args = ["jq", "--workers", "2", "-c", CASES[0].filter];
    let expected = filtering(ours, &["jq", "--workers", "1"], CASES[0].filter, file).hash()?;
    let (hash, peak) = ran(ours, &args, |out| text.write_to(out))?;
    if hash != expected {
        return Err(Failure::Checksum { who: WHO, expected: expected.to_string(), got: hash.to_string() });
    }
    if let Some(peak) = peak {
        results.figures.push(Figure::new(WHO, "ours", vec![peak as f64], Unit::Bytes));
        results.figures.push(Figure::new(WHO, "limit", vec![MOST], Unit::Bytes));
        results.ratios.push(Ratio::new(WHO, "limit", vec![MOST / peak as f64], Some(1.0)));
    }
    setting.progress.done();
    Ok(())
}
