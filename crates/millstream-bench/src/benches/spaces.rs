//! The experiment "standard input, transform, standard output": `millstream spaces`, and the rivals' programs for it,
//! each on the same text.

use crate::byte_loop::headed;
use crate::counters::{Counters, over_first};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::peers;
use crate::programs::{Chain, yes_pv};
use crate::setting::{Effort, Setting};
use crate::text::Text;
use crate::turns::{Contestant, Work, take_turns};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The other programs of the experiment.
const RIVALS: [&str; 6] =
    ["std-baseline", "std-64k", "tokio-baseline", "tokio-pipeline", "tokio-threads", "futures-streams"];

/// The factor by which one worker must be faster than this rival, with files. `tokio-threads` has three threads.
fn bound(rival: &str) -> Option<f64> {
    match rival {
        "std-baseline" => Some(2.5),
        "tokio-baseline" => Some(1.5),
        "tokio-pipeline" => Some(1.2),
        _ => None,
    }
}

struct Programs {
    millstream: PathBuf,
    rivals: Option<PathBuf>,
}

impl Programs {
    fn new(setting: &Setting) -> Result<Self, Failure> {
        let millstream = peers::millstream(&setting.progress)?;
        setting.progress.say("building the rivals");
        let rivals = setting.rivals.wanted().then(|| peers::built("text", "millstream-text-peers")).transpose()?;
        setting.progress.say("text");
        Ok(Programs { millstream, rivals })
    }

    fn ours(&self, chain: Chain, workers: &str) -> Chain {
        chain.then(&self.millstream, ["spaces", "--workers", workers])
    }

    /// The costs of each program beside its time; nothing unless rivals were requested.
    fn counters(&self, text: &Text) -> Result<Vec<Counters>, Failure> {
        let Some(program) = &self.rivals else { return Ok(Vec::new()) };
        let file = text.file()?;
        let reading = || Chain::reading(&file);
        let mut chains = vec![("ours", self.ours(reading(), "1")), ("ours-two-workers", self.ours(reading(), "2"))];
        chains.extend(RIVALS.map(|who| (who, reading().then(program, [who]))));
        Counters::of("speed", &chains)
    }

    /// These rivals, each in a chain of programs.
    fn rivals<'a>(
        &self,
        names: &[&'static str],
        expected: u64,
        chain: impl Fn(&Path, &'static str) -> Chain,
    ) -> Result<Vec<Contestant<'a, u64>>, Failure> {
        let Some(program) = &self.rivals else { return Ok(Vec::new()) };
        names.iter().map(|who| chain(program, who).contestant(who, expected)).collect()
    }
}

fn sentences(setting: &Setting) -> Text {
    let lines = if setting.effort == Effort::Full { 4_000_000 } else { 1_000_000 };
    Text::sentences(setting.items(lines, 400_000))
}

/// A file of long lines to nowhere.
pub(crate) fn long(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    let text = sentences(setting);
    let speed = from_file(setting, &programs, &text, "speed", &RIVALS)?;
    let counters = programs.counters(&text)?;
    let counters = if counters.is_empty() { Results::left_out("processor.std-baseline") } else { costs(counters) };
    let queue = source_queue(setting, &programs, &text, None)?;
    Ok(Results::joined([speed, by_workers(setting, &programs, &text)?, queue, counters]))
}

/// The counters, and the ratio of processor time to ours.
fn costs(counters: Vec<Counters>) -> Results {
    let ratio = |who: &'static str| {
        let times = over_first(&counters, "task-clock", who)?;
        let bound = (who == RIVALS[0]).then_some(1.5);
        Some(Ratio::new("processor", who, vec![times], bound))
    };
    Results { ratios: RIVALS.into_iter().filter_map(ratio).collect(), counters, ..Results::default() }
}

/// A file of short lines to nowhere.
pub(crate) fn short(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    // The slower rivals would take minutes for this amount.
    let letters = Text::letters(setting.items(400_000_000, 100_000_000));
    let queue = source_queue(setting, &programs, &letters, Some(0.85))?;
    let letters = from_file(setting, &programs, &letters, "letters", &RIVALS[..1])?;
    let numbered = Text::numbered(setting.items(3_000_000, 3_000_000));
    Ok(Results::joined([letters, from_file(setting, &programs, &numbered, "numbered", &RIVALS)?, queue]))
}

/// The same between two pipes, and after `yes`.
pub(crate) fn pipe(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    let text = sentences(setting);
    let (file, bytes, expected) = (text.file()?, text.bytes(), text.hash(headed));
    let cat = |chain: Chain| chain.then("cat", [""; 0]);
    let front = || cat(Chain::reading(&file));
    let mut contestants = vec![cat(programs.ours(front(), "1")).contestant("ours", expected)?];
    contestants.extend(programs.rivals(&RIVALS, expected, |program, who| cat(front().then(program, [who])))?);
    if setting.rivals.wanted() {
        contestants.push(cat(cat(front())).contestant("cat", text.hash(<[u8]>::to_vec))?);
        contestants.extend(yes_pv(bytes)?);
    }
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let against = RIVALS.map(|rival| speeds.ratio(rival, None));
    let ratios = [speeds.ratio("cat", Some(0.8)), speeds.ratio("yes-pv", None)].into_iter().chain(against);
    let ratios: Vec<_> = ratios.collect();
    Ok(speeds.results(ratios))
}

const SOURCE_QUEUE: &str = "source-queue";

/// The mean occupancy of the source's ring while standard input is read. It is near 1 if the later stages take longer
/// than the reading, and less if they wait for it.
fn source_queue(setting: &Setting, programs: &Programs, text: &Text, bound: Option<f64>) -> Result<Results, Failure> {
    setting.progress.say("the source's ring");
    let file = text.file()?;
    let stats = std::env::temp_dir().join(format!("millstream-occupancy-{}.json", std::process::id()));
    let occupancy = |workers: &str| {
        let arguments = ["spaces", "--workers", workers, "--observe", "--stats"].map(OsString::from);
        let arguments = arguments.into_iter().chain([stats.clone().into()]);
        Chain::reading(&file).then(&programs.millstream, arguments).timed()?;
        let text = std::fs::read_to_string(&stats).map_err(Failure::io(stats.display().to_string()))?;
        first_occupancy(&text).ok_or_else(|| Failure::Program("millstream --stats".to_owned(), "no ring".to_owned()))
    };
    let of = |workers| (0..setting.turns()).map(|_| occupancy(workers)).collect::<Result<Vec<_>, Failure>>();
    let (one, two) = (of("1")?, of("2")?);
    let _ = std::fs::remove_file(&stats);
    let ratio = Ratio::new(SOURCE_QUEUE, "full-of-two-workers", two.clone(), bound);
    let figures =
        [("ours", one), ("ours-two-workers", two)].map(|(who, all)| Figure::new(SOURCE_QUEUE, who, all, Unit::Times));
    Ok(Results { figures: figures.into(), ratios: vec![ratio], ..Results::default() })
}

/// The occupancy of the source's ring, in the output of `--observe --stats`.
fn first_occupancy(stats: &str) -> Option<f64> {
    let stats: serde_json::Value = serde_json::from_str(stats).ok()?;
    stats["runs"][0]["seen"]["rings"][0]["occupancy"].as_f64()
}

/// One worker, and the rivals.
fn from_file(
    setting: &Setting,
    programs: &Programs,
    text: &Text,
    case: &'static str,
    rivals: &[&'static str],
) -> Result<Results, Failure> {
    let (file, bytes, expected) = (text.file()?, text.bytes(), text.hash(headed));
    let reading = || Chain::reading(&file);
    let mut contestants = vec![programs.ours(reading(), "1").contestant("ours", expected)?];
    contestants.extend(programs.rivals(rivals, expected, |program, who| reading().then(program, [who]))?);
    if setting.rivals.wanted() {
        contestants.push(reading().then("cat", [""; 0]).contestant("cat", text.hash(<[u8]>::to_vec))?);
        contestants.extend(yes_pv(bytes)?);
    }
    let work = Work { case, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let against = rivals.iter().map(|rival| speeds.ratio(rival, bound(rival)));
    let ratios: Vec<_> = against.chain([speeds.ratio("cat", None), speeds.ratio("yes-pv", None)]).collect();
    Ok(speeds.results(ratios))
}

/// Two workers, and one.
fn by_workers(setting: &Setting, programs: &Programs, text: &Text) -> Result<Results, Failure> {
    let (file, expected) = (text.file()?, text.hash(headed));
    let with = |workers| programs.ours(Chain::reading(&file), workers);
    let work = Work { case: "two-workers", unit: Unit::BytesPerSecond, size: text.bytes(), goes: 1 };
    let as_it_is = Chain::reading(&file).then(&programs.millstream, ["spaces"]);
    let contestants = vec![
        with("2").contestant("ours", expected)?,
        with("1").contestant("one-worker", expected)?,
        as_it_is.contestant("as-many-as-pay", expected)?,
    ];
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("one-worker", Some(1.1)), speeds.ratio("as-many-as-pay", None)];
    Ok(speeds.results(ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ring_is_the_sources() {
        let stats = r#"{"runs": [{"seen": {"rings": [{"occupancy": 0.75}, {"occupancy": 0.5}]}}]}"#;
        assert_eq!(first_occupancy(stats), Some(0.75));
        assert_eq!(first_occupancy(r#"{"runs": [{"seen": null}]}"#), None);
    }
}
