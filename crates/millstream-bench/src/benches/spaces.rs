//! The experiment "standard input, transform, standard output": `millstream spaces`, and the programs that others would
//! write for it, each on the same text.

use crate::byte_loop::headed;
use crate::counters::Counters;
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::peers;
use crate::programs::{Chain, yes_pv};
use crate::setting::{Effort, Setting};
use crate::text::Text;
use crate::turns::{Contestant, Work, take_turns};
use std::path::{Path, PathBuf};

/// The other programs of the experiment; the first one is the yardstick.
const RIVALS: [&str; 4] = ["std-baseline", "tokio-baseline", "tokio-pipeline", "futures-streams"];

/// How many times as fast as `std-baseline` one worker must be.
const BOUND: f64 = 2.5;

/// The programs.
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

    /// What everybody costs beside time; nothing unless somebody asked for rivals.
    fn counters(&self, text: &Text) -> Result<Vec<Counters>, Failure> {
        let Some(program) = &self.rivals else { return Ok(Vec::new()) };
        let file = text.file()?;
        let reading = || Chain::reading(&file);
        let mut chains = vec![("ours", self.ours(reading(), "1")), ("ours-two-workers", self.ours(reading(), "2"))];
        chains.extend(RIVALS.map(|who| (who, reading().then(program, [who]))));
        Counters::of("speed", &chains)
    }

    /// These rivals behind a chain and in front of another.
    fn rivals<'a>(
        &self,
        whom: &[&'static str],
        expected: u64,
        chain: impl Fn(&Path, &'static str) -> Chain,
    ) -> Result<Vec<Contestant<'a, u64>>, Failure> {
        let Some(program) = &self.rivals else { return Ok(Vec::new()) };
        whom.iter().map(|who| chain(program, who).contestant(who, expected)).collect()
    }
}

/// A file of long lines to nowhere.
pub(crate) fn long(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    let lines = if setting.effort == Effort::Full { 4_000_000 } else { 1_000_000 };
    let text = Text::sentences(setting.items(lines, lines));
    let speed = from_file(setting, &programs, &text, "speed", &RIVALS)?;
    let counters = Results { counters: programs.counters(&text)?, ..Results::default() };
    Ok(Results::joined([speed, by_workers(setting, &programs, &text)?, counters]))
}

/// Files of short lines to nowhere.
pub(crate) fn short(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    // The slower rivals would take minutes for so much.
    let letters = Text::letters(setting.items(400_000_000, 100_000_000));
    let letters = from_file(setting, &programs, &letters, "letters", &RIVALS[..1])?;
    let numbered = Text::numbered(setting.items(3_000_000, 3_000_000));
    Ok(Results::joined([letters, from_file(setting, &programs, &numbered, "numbered", &RIVALS)?]))
}

/// The same between two pipes, and behind `yes`.
pub(crate) fn pipe(setting: &Setting) -> Result<Results, Failure> {
    let programs = Programs::new(setting)?;
    let lines = if setting.effort == Effort::Full { 4_000_000 } else { 1_000_000 };
    let text = Text::sentences(setting.items(lines, lines));
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

/// One worker, and others.
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
    let against = rivals.iter().map(|rival| speeds.ratio(rival, (*rival == RIVALS[0]).then_some(BOUND)));
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
