//! How far the inputs have been read, for somebody who waits at a terminal: one line of standard error, which is taken away
//! before anything else is written there.
//!
//! There is one terminal and one command a process, so there is one line.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use millstream_io::stdio;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{IsTerminal, Seek, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// From now on tells how much of these files has been read, if there is a terminal and nobody wants it quiet. Who types the
/// input at a terminal knows how far it is.
pub(crate) fn begin(program: &str, files: &[OsString], quiet: bool, writes: Writes) {
    let reads_terminal = files.iter().any(|name| name == "-") && stdin().is_terminal();
    let full = writes == Writes::AllTheTime && stdout().is_terminal();
    if quiet || reads_terminal || full || !stderr().is_terminal() {
        return;
    }
    let (line, template) = match total(files) {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{prefix} [{wide_bar}] {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::no_length(), "{prefix} {spinner} {decimal_bytes}, {decimal_bytes_per_sec}, {elapsed}"),
    };
    show(program, line, template);
}

/// From now on tells how many of so many particles there have been, if there is a terminal and nobody wants it quiet.
pub(crate) fn begin_particles(program: &str, particles: u64, quiet: bool) {
    if quiet || !stderr().is_terminal() {
        return;
    }
    show(program, ProgressBar::new(particles), "{prefix} [{wide_bar}] {pos} of {len} particles, {per_sec}, {eta} left");
}

fn show(program: &str, line: ProgressBar, template: &str) {
    line.set_draw_target(ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template(template).expect("the template is valid").progress_chars("=> ");
    line.set_style(style.tick_chars("-\\|/ "));
    line.set_prefix(format!("millstream {program}"));
    let bar = Bar { line, began: Instant::now(), shown: AtomicBool::new(false), aside: Mutex::default() };
    // A second command would be one too many.
    let _ = BAR.set(bar);
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
