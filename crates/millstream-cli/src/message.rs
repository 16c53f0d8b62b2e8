//! Messages on standard error, and how they quote names.

use crate::{name, progress};
use millstream_core::Plan;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Prints errors of inputs and outputs in the name of a program, and remembers whether there were any.
#[derive(Clone, Debug)]
pub(crate) struct Complaints {
    program: &'static str,
    any: Arc<AtomicBool>,
    /// Whether a part of the output is lost.
    lost: Arc<AtomicBool>,
}

impl Complaints {
    pub(crate) fn of(program: &'static str) -> Self {
        Complaints { program, any: Arc::default(), lost: Arc::default() }
    }

    pub(crate) fn complain(&self, what: &str) {
        self.any.store(true, Ordering::Relaxed);
        self.note(what);
    }

    /// The same for an output that cannot be written. The exit code says it also if a signal has ended the run.
    #[cfg(feature = "run")]
    pub(crate) fn lose(&self, what: &str) {
        self.lost.store(true, Ordering::Relaxed);
        self.complain(what);
    }

    /// Prints a message that is not an error, in the name of the program.
    pub(crate) fn note(&self, what: &str) {
        say(&format!("{} {}: {what}", name::said(), self.program));
    }

    /// The program that messages name.
    #[cfg(feature = "page")]
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Whether a part of the output is lost.
    pub(crate) fn lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Writes a line to standard error, by one write: lines of several processes that share a pipe stay whole. An error of
/// that write is ignored.
pub(crate) fn say(line: &str) {
    let line = format!("{line}\n");
    let _ = progress::aside(|| io::stderr().write_all(line.as_bytes()));
}

/// The same, for a message in the name of this process's program.
pub(crate) fn say_own(what: &str) {
    say(&format!("{}: {what}", name::said()));
}

/// How long writing a line may delay a thread that has more to do.
const SOON: Duration = Duration::from_millis(100);

/// Writes lines to standard error on a thread of their own, and waits briefly for that. A stopped terminal or a full
/// pipe must not delay what a signal ends.
pub(crate) fn say_soon(lines: String) {
    let (said, seen) = channel();
    let work = move || {
        say(&lines);
        let _ = said.send(());
    };
    if thread::Builder::new().name("saying".to_owned()).spawn(work).is_ok() {
        let _ = seen.recv_timeout(SOON);
    }
}

/// Notes in the name of a program that `--shards` has no effect, and why.
pub(crate) fn say_no_shards(program: &'static str, plan: &Plan) {
    let built_in = plan.stages.iter().any(|stage| stage.tasklets > 1);
    let why = if built_in { "the program fixes the shards of its pipeline" } else { "the pipeline has none" };
    Complaints::of(program).note(&format!("--shards has no effect: {why}"));
}

/// Joins a message of several lines, such as that of `assert_eq!`, into one line.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Indents the lines of a message below its first one.
pub(crate) fn indented(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n  ")
}

/// The system's text for an error, as other programs print it.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// A file name in a form that a shell accepts: as it is if that is unambiguous, else in quotes. GNU programs do the
/// same in their messages; here characters of UTF-8 count as printable, too.
pub(crate) fn quoted(name: &OsStr) -> String {
    let pieces: Vec<Piece> = pieces(name.as_bytes()).collect();
    let text = |c: &Piece| if let Piece::Char(c) = c { Some(*c) } else { None };
    let plain = |c: &Piece| text(c).is_some_and(is_plain);
    let first_is_special = matches!(pieces.first().and_then(text), Some('#' | '~'));
    let is_brace = matches!(pieces[..], [Piece::Char('{' | '}')]);
    if !pieces.is_empty() && !first_is_special && !is_brace && pieces.iter().all(plain) {
        return name.to_string_lossy().into_owned();
    }
    let harmless = |c: &Piece| text(c).is_some_and(|c| is_plain(c) || matches!(c, ' ' | '\'' | ':'));
    if name.as_bytes().contains(&b'\'') && pieces.iter().all(harmless) {
        return format!("\"{}\"", name.to_string_lossy());
    }
    in_single_quotes(&pieces)
}

/// The same as [`quoted`], but always in quotes.
pub(crate) fn quoted_always(name: &OsStr) -> String {
    let quoted = quoted(name);
    if quoted.starts_with(['\'', '"']) { quoted } else { format!("'{quoted}'") }
}

/// A character to show, or a byte that can only be escaped.
enum Piece {
    Char(char),
    Escaped(u8),
}

fn pieces(name: &[u8]) -> impl Iterator<Item = Piece> {
    name.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii_control() => Piece::Escaped(byte),
            _ => Piece::Char(c),
        });
        valid.chain(chunk.invalid().iter().map(|byte| Piece::Escaped(*byte)))
    })
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() || "#%+,-./@]_{}~".contains(c)
}

fn in_single_quotes(pieces: &[Piece]) -> String {
    let (mut out, mut escaping) = (String::from("'"), false);
    for piece in pieces {
        match piece {
            Piece::Escaped(byte) => {
                out.push_str(if escaping { "" } else { "'$'" });
                escaping = true;
                push_escape(&mut out, *byte);
            }
            Piece::Char('\'') => {
                out.push_str("'\\''");
                escaping = false;
            }
            Piece::Char(c) => {
                out.push_str(if escaping { "''" } else { "" });
                escaping = false;
                out.push(*c);
            }
        }
    }
    out.push('\'');
    out
}

fn push_escape(out: &mut String, byte: u8) {
    const LETTERS: &[u8] = b"abtnvfr";
    match byte.checked_sub(7).and_then(|index| LETTERS.get(usize::from(index))) {
        Some(letter) => out.extend(['\\', char::from(*letter)]),
        None => write!(out, "\\{byte:03o}").expect("writing to a String cannot fail"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &[u8], expected: &str) {
        assert_eq!(quoted(OsStr::from_bytes(name)), expected);
    }

    #[test]
    fn names_are_quoted_if_a_shell_needs_it() {
        check(b"nosuch", "nosuch");
        check(b"a-b_c.txt", "a-b_c.txt");
        check("été".as_bytes(), "été");
        check(b"a b", "'a b'");
        check(b"a:b", "'a:b'");
        check(b"#a", "'#a'");
        check(b"a#", "a#");
        check(b"{", "'{'");
        check(b"{}", "{}");
        check(b"", "''");
    }

    #[test]
    fn messages_have_one_line() {
        assert_eq!(one_line("boom"), "boom");
        assert_eq!(one_line("left == right\n  left: 1\n\n right: 2\n"), "left == right; left: 1; right: 2");
    }

    #[test]
    fn lines_of_a_list_are_indented() {
        assert_eq!(indented("these do not fit:\n  a\nb\n"), "these do not fit:\n  a\n  b");
    }

    #[test]
    fn quotes_are_quoted() {
        check(b"it's", "\"it's\"");
        check(b"it's a", "\"it's a\"");
        check(b"it's $x", "'it'\\''s $x'");
    }

    #[test]
    fn unprintable_bytes_are_escaped() {
        check(b"a\nb", "'a'$'\\n''b'");
        check(b"\n", "''$'\\n'");
        check(b"a\n\nb c", "'a'$'\\n\\n''b c'");
        check(b"\n'", "''$'\\n'\\'''");
        check(b"\x01\x7f\xc3", "''$'\\001\\177\\303'");
    }
}
