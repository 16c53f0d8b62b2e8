//! The progress of reading the inputs, for a user at a terminal: one line on standard error, which is removed before
//! anything else is written there.
//!
//! A process has one terminal and one command, and therefore one line.

use crate::name;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use millstream_io::stdio;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::{IsTerminal, Seek, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

static BAR: OnceLock<Bar> = OnceLock::new();

struct Bar {
    line: ProgressBar,
    began: Instant,
    shown: AtomicBool,
    /// Held while the line is removed for other output.
    aside: Mutex<()>,
}

/// A run that is shorter than this shows no line.
const SHORT: Duration = Duration::from_secs(1);

/// The interval between changes of the line.
const TICK: Duration = Duration::from_millis(250);

/// How a command writes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// All the time. On a terminal the output itself shows the progress, and leaves no line free.
    AllTheTime,
    /// A line now and then.
    Lines,
}

/// Shows from now on how much of these files has been read, if standard error is a terminal and `quiet` is not set.
/// Input that is typed at a terminal needs no progress.
pub(crate) fn begin(program: &str, files: &[OsString], quiet: bool, writes: Writes) {
    begin_reading(program, files, total, quiet, writes);
}

/// The same for inputs whose files do not say how much there is to read: an input that goes on or comes from elsewhere,
/// the rows of a query, or a run that begins within a file.
pub(crate) fn begin_without_length(program: &str, files: &[OsString], quiet: bool, writes: Writes) {
    begin_reading(program, files, |_| None, quiet, writes);
}

fn begin_reading(
    program: &str,
    files: &[OsString],
    length: impl FnOnce(&[OsString]) -> Option<u64>,
    quiet: bool,
    writes: Writes,
) {
    let reads_terminal = files.iter().any(|name| name == "-") && stdin().is_terminal();
    let full = writes == Writes::AllTheTime && stdout().is_terminal();
    if quiet || reads_terminal || full || !stderr().is_terminal() {
        return;
    }
    match length(files) {
        Some(bytes) => show(
            program,
            ProgressBar::new(bytes),
            "{prefix} [{wide_bar}] {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
            "{percent}%, {eta}",
        ),
        None => show(
            program,
            ProgressBar::no_length(),
            "{prefix} {spinner} {decimal_bytes}, {decimal_bytes_per_sec}, {elapsed}",
            "{decimal_bytes}, {elapsed}",
        ),
    }
}

/// Shows from now on how many of `count` things are done, if standard error is a terminal and `quiet` is not set.
pub(crate) fn begin_count(program: &str, things: &str, count: u64, quiet: bool) {
    if quiet || !stderr().is_terminal() {
        return;
    }
    let template = format!("{{prefix}} [{{wide_bar}}] {{pos}} of {{len}} {things}, {{speed}}, {{eta}} left");
    show(program, ProgressBar::new(count), &template, "{percent}%, {eta}");
}

/// The same as [`begin_count`], for particles.
pub(crate) fn begin_particles(program: &str, particles: u64, quiet: bool) {
    begin_count(program, "particles", particles, quiet);
}

/// Fewer columns have no room for the line: its end would remain on the screen.
const NARROW: u16 = 76;

/// The terminal's number of columns, if it is known.
fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(stderr()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

fn show(program: &str, line: ProgressBar, wide: &str, narrow: &str) {
    let template = if columns().is_some_and(|columns| columns < NARROW) { narrow } else { wide };
    line.set_draw_target(ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template(template).expect("the template is valid").progress_chars("=> ");
    let speed = |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = write!(text, "{}/s", HumanCount(state.per_sec() as u64));
    };
    line.set_style(style.tick_chars("-\\|/ ").with_key("speed", speed));
    line.set_prefix(format!("{} {program}", name::said()));
    let bar = Bar { line, began: Instant::now(), shown: AtomicBool::new(false), aside: Mutex::default() };
    // A process has one command, so the line is not set yet.
    let _ = BAR.set(bar);
}

/// The bytes of input that this process has read.
static READ: AtomicU64 = AtomicU64::new(0);

/// Counts bytes that were read.
pub(crate) fn read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
    advance(bytes);
}

/// The bytes of input read so far.
pub(crate) fn bytes() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// Adds to the progress: bytes read, or particles.
pub(crate) fn advance(more: usize) {
    let Some(bar) = BAR.get() else { return };
    bar.line.inc(more as u64);
    if bar.began.elapsed() >= SHORT && !bar.shown.swap(true, Ordering::Relaxed) && !bar.line.is_finished() {
        bar.line.set_draw_target(ProgressDrawTarget::stderr());
        bar.line.enable_steady_tick(TICK);
    }
}

/// Runs `write`, which writes to the terminal, with the line removed.
pub(crate) fn aside<R>(write: impl FnOnce() -> R) -> R {
    match BAR.get() {
        Some(bar) if bar.shown.load(Ordering::Relaxed) => {
            let _held = bar.aside.lock().unwrap_or_else(PoisonError::into_inner);
            bar.line.suspend(write)
        }
        _ => write(),
    }
}

/// Removes the line for good. If another thread is blocked in a write to the terminal, the line is removed already.
pub(crate) fn end() {
    if let Some(bar) = BAR.get()
        && let Ok(_held) = bar.aside.try_lock()
    {
        bar.line.finish_and_clear();
    }
}

/// The number of bytes to read, if all of these are files with a known size. A file that cannot be opened counts as
/// empty.
fn total(files: &[OsString]) -> Option<u64> {
    files.iter().map(|name| size(name)).sum()
}

fn size(name: &OsStr) -> Option<u64> {
    let (metadata, read) = if name == "-" {
        let mut input = stdio::input().ok()?;
        (input.metadata().ok()?, input.stream_position().unwrap_or(0))
    } else {
        match fs::metadata(name) {
            Ok(metadata) => (metadata, 0),
            Err(_) => return Some(0),
        }
    };
    metadata.is_file().then(|| metadata.len().saturating_sub(read))
}
