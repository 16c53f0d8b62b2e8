use super::kinds::{Counts, Kinds};
use crate::message::quoted;
use millstream_io::stdio;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// The width of the columns of GNU `wc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    width: usize,
}

impl Columns {
    /// Each number takes the width that it needs.
    pub(crate) const NARROW: Columns = Columns { width: 1 };

    /// Wide enough for the total size of all regular files, which `wc` knows before it reads; at least 7 if the size of
    /// an input is not known. Without files, standard input is read. A single number has no column.
    pub(super) fn for_files(files: &[OsString], kinds: Kinds) -> Self {
        if files.len() <= 1 && kinds.number() == 1 {
            return Columns::NARROW;
        }
        let (mut total, mut least) = (0_u64, 1);
        let names = files.iter().map(OsString::as_os_str);
        let unnamed = files.is_empty().then_some(OsStr::new("-"));
        for metadata in names.chain(unnamed).filter_map(|name| metadata(name).ok()) {
            if metadata.is_file() {
                total = total.wrapping_add(metadata.len());
            } else {
                least = 7;
            }
        }
        Columns { width: total.to_string().len().max(least) }
    }

    /// The line for one input. A name with a line feed in it is quoted, so that it stays one line.
    pub(crate) fn line(self, counts: Counts, name: Option<&OsStr>) -> Vec<u8> {
        let (mut line, width) = (Vec::new(), self.width);
        for count in counts.kinds.of(&counts) {
            let gap = if line.is_empty() { "" } else { " " };
            write!(line, "{gap}{count:width$}").expect("writing to a vector cannot fail");
        }
        if let Some(name) = name {
            line.push(b' ');
            if name.as_bytes().contains(&b'\n') {
                line.extend(quoted(name).as_bytes());
            } else {
                line.extend(name.as_bytes());
            }
        }
        line.push(b'\n');
        line
    }
}

fn metadata(name: &OsStr) -> io::Result<Metadata> {
    if name == "-" { stdio::input()?.metadata() } else { std::fs::metadata(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(width: usize, counts: [u64; 3], name: Option<&str>, expected: &str) {
        let [lines, words, bytes] = counts;
        let line = Columns { width }.line(Counts { lines, words, bytes, ..Counts::default() }, name.map(OsStr::new));
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn a_line_has_three_columns_and_a_name() {
        check(1, [1, 2, 3], None, "1 2 3\n");
        check(7, [1, 2, 3], Some("-"), "      1       2       3 -\n");
        check(2, [1, 200, 3], Some("a b"), " 1 200  3 a b\n");
        check(1, [0, 0, 0], Some("a\nb"), "0 0 0 'a'$'\\n''b'\n");
    }

    #[test]
    fn columns_are_always_in_the_same_order() {
        let kinds = Kinds { lines: true, words: true, chars: true, bytes: true, width: true };
        let counts = Counts { lines: 1, words: 2, chars: 3, bytes: 4, width: 5, ..Counts::of(kinds) };
        assert_eq!(Columns::NARROW.line(counts, None), b"1 2 3 4 5\n");
        let counts = Counts { kinds: Kinds { chars: true, width: true, ..Kinds::NONE }, ..counts };
        assert_eq!(Columns { width: 3 }.line(counts, Some("a".as_ref())), b"  3   5 a\n");
    }
}
