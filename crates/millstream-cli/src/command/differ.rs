use super::look::unwrapped;
use crate::config::Seen;
use crate::flags::When;
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::resolve::looking;
use millstream_exec::Snapshot;
use millstream_state::StateDir;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// `diff`: the first number at which two runs differ in a state.
#[derive(Debug)]
pub(crate) struct Differ {
    /// Absolute.
    pub(crate) dirs: [PathBuf; 2],
}

/// Why there is no answer: a message, and the exit code.
pub(crate) type Wrong = (String, Outcome);

/// The states of a run just before a number, or why they cannot be read.
type LookAt<'l> = &'l dyn Fn(&Path, When) -> Result<Snapshot, Wrong>;

impl Differ {
    pub(crate) fn run(self) -> Outcome {
        self.run_with(&look)
    }

    /// As `run`, for runs whose states this function reads.
    pub(crate) fn run_with(self, look: LookAt<'_>) -> Outcome {
        let complaints = Complaints::of("diff");
        Output::opened(&complaints, |mut output| match difference(&self.dirs, look) {
            Ok(Difference::None { to, ends }) => {
                let longer = match ends {
                    [one, other] if one == other => String::new(),
                    [one, other] => format!("; one of them goes on to number {}", one.max(other)),
                };
                output.write(format!("no difference up to number {to}{longer}\n").as_bytes());
                Outcome::Done
            }
            Ok(Difference::At { number, found: Found { stage, path, values: [one, other] } }) => {
                let place = if path.is_empty() { path } else { format!(", {path}") };
                let values = format!("{one} in the first directory, {other} in the second");
                output.write(format!("stage {stage:?}, number {number}{place}: {values}\n").as_bytes());
                Outcome::CheckFailed
            }
            Err((why, outcome)) => {
                complaints.note(&why);
                outcome
            }
        })
    }
}

enum Difference {
    /// There is no difference up to the end of the shorter run.
    None { to: u64, ends: [u64; 2] },
    /// The first number whose value changes the two runs' states differently: the states differ before `number + 1`,
    /// but not before `number`.
    At { number: u64, found: Found },
}

/// Finds the first difference by bisection: if the states differ at a number but not at an earlier one, the first
/// difference is between the two.
fn difference(dirs: &[PathBuf; 2], look: LookAt<'_>) -> Result<Difference, Wrong> {
    if let [Ok(one), Ok(other)] = dirs.each_ref().map(StateDir::read)
        && one.program() != other.program()
    {
        let [first, second] = dirs.each_ref().map(|dir| quoted(dir.as_os_str()));
        let (one, other) = (one.program(), other.program());
        let why = format!(
            "{first} has the state of `{one}`, and {second} that of `{other}`: compare two runs of one program"
        );
        return Err((why, Outcome::WrongUse));
    }
    let calls = dirs.each_ref().map(|dir| StateDir::read(dir).ok()?.newest().ok()?);
    if let [Some(one), Some(other)] = calls
        && one.plan["job"]["calls"] != other.plan["job"]["calls"]
    {
        let [first, second] = dirs.each_ref().map(|dir| quoted(dir.as_os_str()));
        let why = format!("{first} and {second} have the states of different texts: compare two runs of one text");
        return Err((why, Outcome::WrongUse));
    }
    let [one, other] = [look(&dirs[0], When::End)?, look(&dirs[1], When::End)?];
    let ends = [one.at().0, other.at().0];
    let most = ends[0].min(ends[1]);
    // The states of the shorter run have been read already.
    let in_front = |seen: Snapshot, dir| if seen.at().0 == most { Ok(seen) } else { look(dir, When::At(most)) };
    let last = [states(&in_front(one, &dirs[0])?)?, states(&in_front(other, &dirs[1])?)?];
    let Some(found) = states_differ(&last) else { return Ok(Difference::None { to: most, ends }) };
    let mut differs = (most, found);
    // Before number 0 both runs have the pipeline's initial states.
    let mut same = 0;
    while differs.0 - same > 1 {
        let middle = same + (differs.0 - same) / 2;
        let look = |dir| states(&look(dir, When::At(middle))?);
        match states_differ(&[look(&dirs[0])?, look(&dirs[1])?]) {
            Some(found) => differs = (middle, found),
            None => same = middle,
        }
    }
    Ok(Difference::At { number: differs.0.saturating_sub(1), found: differs.1 })
}

/// A stage whose states differ, and the first difference within its state.
struct Found {
    stage: String,
    /// The JSON pointer of the difference.
    path: String,
    /// What both runs have there.
    values: [String; 2],
}

/// The states of a run by their stages' names.
type States = BTreeMap<String, Value>;

/// The first stage, in the order of names, whose states differ.
fn states_differ([one, other]: &[States; 2]) -> Option<Found> {
    let stages: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut pairs = stages.into_iter().map(|stage| (stage, one.get(stage), other.get(stage)));
    let (stage, one, other) = pairs.find(|(_, one, other)| one != other)?;
    let (mut path, mut values) = (String::new(), [one, other]);
    // Goes down to the first part that differs.
    while let [Some(one), Some(other)] = values
        && let Some((name, parts)) = part_differs(one, other)
    {
        path += &format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        values = parts;
    }
    let absent = if path.is_empty() { "no state" } else { "nothing" };
    let shown = |value: Option<&Value>| value.map_or(absent.to_owned(), |value| shortened(&value.to_string()));
    Some(Found { stage: stage.clone(), path, values: values.map(shown) })
}

/// The first part in which two objects or two lists differ; none for other values.
fn part_differs<'v>(one: &'v Value, other: &'v Value) -> Option<(String, [Option<&'v Value>; 2])> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let mut pairs = names.into_iter().map(|name| (name, [one.get(name), other.get(name)]));
            pairs.find(|(_, [one, other])| one != other).map(|(name, parts)| (name.clone(), parts))
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = (0..one.len().max(other.len())).map(|n| (n, [one.get(n), other.get(n)]));
            pairs.find(|(_, [one, other])| one != other).map(|(n, parts)| (n.to_string(), parts))
        }
        _ => None,
    }
}

fn states(snapshot: &Snapshot) -> Result<States, Wrong> {
    let wrong = |error: millstream_exec::SnapshotMismatch| (error.to_string(), Outcome::InputOrOutputFailed);
    let state = |stage: &str| {
        let mut lanes = snapshot.json(stage).map_err(wrong)?;
        lanes.as_array_mut().into_iter().flatten().for_each(forget_file);
        Ok((stage.to_owned(), unwrapped(lanes)))
    };
    snapshot.stages().map(state).collect()
}

/// Two runs over files with other names have equal states. A fold of a text keeps the name of the file that it has read
/// last, for messages.
fn forget_file(state: &mut Value) {
    let is_fold = ["keys", "windows", "running"].iter().all(|name| state.get(name).is_some());
    if let (true, Some(file @ Value::String(_))) = (is_fold, state.pointer_mut("/of/0")) {
        *file = Value::Null;
    }
}

fn look(dir: &Path, at: When) -> Result<Snapshot, Wrong> {
    let (command, seen) = looking(dir, at).map_err(|why| (why, Outcome::WrongUse))?;
    seen_by(dir, command.run(), &seen)
}

/// The states that a look at a directory has found.
pub(crate) fn seen_by(dir: &Path, outcome: Outcome, seen: &Seen) -> Result<Snapshot, Wrong> {
    let missing = || format!("{}: the run ended before it reached the requested states", quoted(dir.as_os_str()));
    seen.take().ok_or_else(|| (missing(), outcome))
}

/// A value may be large.
const MOST: usize = 200;

fn shortened(value: &str) -> String {
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}... ({} bytes)", &value[..end], value.len()),
        None => value.to_owned(),
    }
}
