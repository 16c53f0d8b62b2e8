use memchr::{memchr, memchr2};
use millstream_io::Framing;
use std::cell::Cell;

/// JSON values, one after the other, as `WholeBlocks` cuts a stream between them. A value may span lines, and several
/// may be on one line.
///
/// The cuts are found by brackets, quotes and comments alone: a value in brackets or quotes ends where they close, any
/// other at white space. A parser of blocks finds the same values as a parser of the whole stream, and the first
/// mistake in the same place. White space after a value belongs to it, up to the end of its line. Adjacent scalars,
/// such as `1true`, count as one.
///
/// **Cost**: the thread that reads looks at every byte once; on average twice if a value is larger than a read.
#[derive(Clone, Debug, Default)]
pub struct JsonValues {
    /// The last answer: where the last whole value ends, and the number of values up to there.
    counted: Cell<(usize, u64)>,
}

impl Framing for JsonValues {
    const RECORD: &'static str = "value";
    const REST_IS_ONE: bool = true;

    fn end(&self, bytes: &[u8], _: usize) -> Option<usize> {
        let found = last_end(bytes);
        self.counted.set(found);
        (found.1 > 0).then_some(found.0)
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        let (length, count) = self.counted.get();
        if length == bytes.len() { count } else { last_end(bytes).1 }
    }
}

/// The meaning of a byte between strings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    White,
    Open,
    Close,
    Quote,
    Comment,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b' ' as usize] = Class::White;
    classes[b'\t' as usize] = Class::White;
    classes[b'\r' as usize] = Class::White;
    classes[b'\n' as usize] = Class::White;
    classes[b'[' as usize] = Class::Open;
    classes[b'{' as usize] = Class::Open;
    classes[b']' as usize] = Class::Close;
    classes[b'}' as usize] = Class::Close;
    classes[b'"' as usize] = Class::Quote;
    classes[b'#' as usize] = Class::Comment;
    classes
};

/// The end of the last whole value, and the number of values that end up to there.
fn last_end(bytes: &[u8]) -> (usize, u64) {
    let (mut end, mut count) = (0, 0);
    let (mut depth, mut is_scalar, mut at) = (0_usize, false, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let ends = match CLASSES[usize::from(*byte)] {
            Class::Other => {
                is_scalar |= depth == 0;
                false
            }
            Class::White => is_scalar,
            Class::Open => {
                depth += 1;
                is_scalar = false;
                false
            }
            Class::Close => {
                depth = depth.saturating_sub(1);
                depth == 0
            }
            Class::Quote => match end_of_string(bytes, at) {
                Some(after) => {
                    at = after;
                    depth == 0
                }
                None => break,
            },
            Class::Comment => match memchr(b'\n', &bytes[at..]) {
                Some(length) => {
                    at += length;
                    false
                }
                None => break,
            },
        };
        if ends {
            at = with_rest_of_line(bytes, at);
            (end, count, is_scalar) = (at, count + 1, false);
        }
    }
    (end, count)
}

/// After the quote that ends a string, which begins at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        // Most strings are short.
        let near = bytes[at..].iter().take(16).position(|byte| matches!(byte, b'"' | b'\\'));
        at += near.or_else(|| memchr2(b'"', b'\\', &bytes[at..]))?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}

/// The end of the line at `at`, if only white space comes before it.
fn with_rest_of_line(bytes: &[u8], at: usize) -> usize {
    let line_end = bytes[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    match line_end {
        Some(white) if bytes[at + white] == b'\n' => at + white + 1,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, whole: &str, count: u64) {
        let (end, found) = last_end(text.as_bytes());
        assert_eq!((&text[..end], found), (whole, count), "{text:?}");
    }

    #[test]
    fn a_stream_is_cut_after_whole_values() {
        check("", "", 0);
        check("  ", "", 0);
        check("{\"a\": 1}\n{\"b\"", "{\"a\": 1}\n", 1);
        check("{\n\"a\": [\n1]\n}\n{", "{\n\"a\": [\n1]\n}\n", 1);
        check("[1][2]{", "[1][2]", 2);
        check("1 2\n3", "1 2\n", 2);
        check("1\r\n2", "1\r\n", 1);
        check("null tru", "null ", 1);
        check("\"a\"\"b\"\"c", "\"a\"\"b\"", 2);
        check("\"\\\"]\" [", "\"\\\"]\"", 1);
        check("\"\\\\\" 1", "\"\\\\\"", 1);
        check("\"\\", "", 0);
        check("[\"]\", \"a long string with ] and } in it\"] ", "[\"]\", \"a long string with ] and } in it\"]", 1);
        check("b\"x\" 1", "b\"x\"", 1);
        check("# ] \" }\n[1]", "# ] \" }\n[1]", 1);
        check("1 # one\n", "1 ", 1);
        check("1# one\n2 ", "1# one\n2 ", 2);
        check("[1, # ]\n2]\n", "[1, # ]\n2]\n", 1);
        check("]]1", "]]", 2);
    }

    #[test]
    fn the_number_of_values_is_that_of_the_last_search() {
        let values = JsonValues::default();
        assert_eq!(values.end(b"1 2 3", 0), Some(4));
        assert_eq!(values.count(b"1 2 "), 2);
        assert_eq!(values.count(b"1 2 3 "), 3);
    }
}
