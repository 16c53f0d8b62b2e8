//! The peak memory of each program while gigabytes go through it.

use crate::byte_loop::headed;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::hash::Hash;
use crate::memory::peak_of;
use crate::peers;
use crate::setting::{Effort, Setting};
use crate::text::Text;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// The most memory that a program may take.
pub(super) const MOST: f64 = 64.0 * 1024.0 * 1024.0;

/// A program, its arguments, and its output for whole lines.
struct Case {
    case: &'static str,
    args: &'static [&'static str],
    output: fn(&Text) -> u64,
}

const CASES: [Case; 4] = [
    Case { case: "spaces", args: &["spaces"], output: |text| text.hash(headed) },
    Case { case: "uppercase", args: &["uppercase"], output: |text| text.hash(|block| block.to_ascii_uppercase()) },
    Case { case: "wc", args: &["wc"], output: counts },
    Case { case: "pipe", args: &["pipe", "-j", "2", "--", "cat"], output: |text| text.hash(<[u8]>::to_vec) },
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    let usual = if setting.effort == Effort::Full { 10_000_000_000 } else { 1_000_000_000 };
    let text = Text::prose(setting.items(usual, 200_000_000));
    let mut results = Results::default();
    for Case { case, args, output } in CASES {
        setting.progress.say(case);
        let (hash, peak) = ran(&millstream, args, |out| text.write_to(out))?;
        let expected = output(&text);
        if hash != expected {
            return Err(Failure::Checksum { who: case, expected: expected.to_string(), got: hash.to_string() });
        }
        let Some(peak) = peak else { continue };
        results.figures.push(Figure::new(case, "ours", vec![peak as f64], Unit::Bytes));
        results.figures.push(Figure::new(case, "limit", vec![MOST], Unit::Bytes));
        results.ratios.push(Ratio::new(case, "limit", vec![MOST / peak as f64], Some(1.0)));
    }
    setting.progress.done();
    Ok(results)
}

/// The hash of the output of wc for a text.
fn counts(text: &Text) -> u64 {
    let (lines, words, bytes) = text.counts();
    let mut hash = Hash::default();
    writeln!(hash, "{lines:7} {words:7} {bytes:7}").expect("a hash takes everything");
    hash.finish()
}

/// Runs a program, whose input `text` writes. Returns the hash of its output, and its peak memory before its input
/// ended, if the system reports it.
pub(super) fn ran(
    program: &Path,
    args: &[&str],
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(u64, Option<u64>), Failure> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let shown = format!("{command:?}");
    let cannot = || Failure::io(shown.clone());
    let mut child = command.spawn().map_err(cannot())?;
    let (stdin, stdout) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
    let hashing = thread::spawn(move || {
        let mut hash = Hash::default();
        io::copy(&mut BufReader::with_capacity(1 << 16, stdout), &mut hash).map(|_| hash.finish())
    });
    let mut stdin = BufWriter::with_capacity(1 << 16, stdin);
    let written = text(&mut stdin).and_then(|()| stdin.flush());
    // The program has read all but what a pipe holds, and still runs.
    let peak = peak_of(&child.id().to_string());
    drop(stdin);
    let hash = hashing.join().expect("reading does not panic").map_err(cannot())?;
    let status = child.wait().map_err(cannot())?;
    if !status.success() {
        return Err(Failure::Program(shown, status.to_string()));
    }
    written.map_err(cannot())?;
    Ok((hash, peak))
}
