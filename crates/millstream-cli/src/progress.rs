//! How far the inputs have been read, for somebody who waits at a terminal: one line of standard error, which is taken
//! away before anything else is written there.
//!
//! There is one terminal and one command a process, so there is one line.

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
    /// Held while the line is taken away for something else.
    aside: Mutex<()>,
}

/// What has ended before that needs no line.
const SHORT: Duration = Duration::from_secs(1);

/// How often the line changes.
const TICK: Duration = Duration::from_millis(250);

/// What a command does with standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// All the time: on a terminal that shows how far it is, and leaves no line for anything else.
    AllTheTime,
    /// A line now and then.
    Lines,
}

/// From now on tells how much of these files has been read, if there is a terminal and nobody wants it quiet. Who types
/// the input at a terminal knows how far it is.
pub(crate) fn begin(program: &str, files: &[OsString], quiet: bool, writes: Writes) {
    let reads_terminal = files.iter().any(|name| name == "-") && stdin().is_terminal();
    let full = writes == Writes::AllTheTime && stdout().is_terminal();
    if quiet || reads_terminal || full || !stderr().is_terminal() {
        return;
    }
    match total(files) {
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

/// From now on tells how many of `count` things there have been, if there is a terminal and it is not to be quiet.
pub(crate) fn begin_count(program: &str, things: &str, count: u64, quiet: bool) {
    if quiet || !stderr().is_terminal() {
        return;
    }
    let template = format!("{{prefix}} [{{wide_bar}}] {{pos}} of {{len}} {things}, {{speed}}, {{eta}} left");
    show(program, ProgressBar::new(count), &template, "{percent}%, {eta}");
}

/// As [`begin_count`], of particles.
pub(crate) fn begin_particles(program: &str, particles: u64, quiet: bool) {
    begin_count(program, "particles", particles, quiet);
}

/// Fewer columns have no room for the line, and would leave its end behind.
const NARROW: u16 = 76;

/// How many columns the terminal has, if that is known.
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
    line.set_prefix(format!("millstream {program}"));
    let bar = Bar { line, began: Instant::now(), shown: AtomicBool::new(false), aside: Mutex::default() };
    // A second command would be one too many.
    let _ = BAR.set(bar);
}

/// How many bytes of input this process has read.
static READ: AtomicU64 = AtomicU64::new(0);

/// This many bytes have been read.
pub(crate) fn read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
    advance(bytes);
}

/// How many bytes of input have been read.
pub(crate) fn bytes() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// So much more has been done: bytes read, or particles.
pub(crate) fn advance(more: usize) {
    let Some(bar) = BAR.get() else { return };
    bar.line.inc(more as u64);
    if bar.began.elapsed() >= SHORT && !bar.shown.swap(true, Ordering::Relaxed) && !bar.line.is_finished() {
        bar.line.set_draw_target(ProgressDrawTarget::stderr());
        bar.line.enable_steady_tick(TICK);
    }
}

/// Does something that writes to the terminal, without the line in its way.
pub(crate) fn aside<R>(write: impl FnOnce() -> R) -> R {
    match BAR.get() {
        Some(bar) if bar.shown.load(Ordering::Relaxed) => {
            let _held = bar.aside.lock().unwrap_or_else(PoisonError::into_inner);
            bar.line.suspend(write)
        }
        _ => write(),
    }
}

/// Takes the line away for good. Where somebody sits in a write to a terminal that nobody reads, it is away already.
pub(crate) fn end() {
    if let Some(bar) = BAR.get()
        && let Ok(_held) = bar.aside.try_lock()
    {
        bar.line.finish_and_clear();
    }
}

/// How many bytes there are to read, if all of these are files that say so. What cannot be opened has none.
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
