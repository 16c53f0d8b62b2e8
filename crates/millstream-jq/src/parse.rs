//! Parses JSON as jaq does, and leaves out values that the filter does not read.
//!
//! It accepts what `jaq_json::read` accepts, which is more than JSON: comments, `NaN`, `Infinity`, zeros before digits,
//! byte strings and keys of any type. A test compares the two. A strict parser accepts JSON alone. Nesting is limited,
//! since each level takes stack space.

mod compact;
mod fields;
mod invalid;
mod number;
mod objects;
mod string;

pub(crate) use fields::{FieldTree, Found, unescaped};
pub(crate) use invalid::{Invalid, Why};
pub use objects::{entries, unite};

use crate::demand::Demand;
use jaq_json::{Map, Num, Val};
use memchr::memchr;

/// The most brackets that may be open at once.
pub(crate) const DEEPEST: usize = 512;

type Parsed<T> = Result<T, Invalid>;

/// Reads values from bytes, one after the other.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    strict: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Parser { bytes, at: 0, depth: 0, strict: false }
    }

    /// One that passes over JSON alone.
    pub(crate) fn strict(bytes: &'a [u8]) -> Self {
        Parser { strict: true, ..Parser::new(bytes) }
    }

    /// The values that follow, up to the first mistake.
    pub(crate) fn values(&mut self) -> impl Iterator<Item = Parsed<Val>> {
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let value = self.begin().map(|_| self.value(&Demand::All));
            failed = matches!(value, Some(Err(_)));
            value
        })
    }

    /// Where the next value begins; `None` if there is none.
    pub(crate) fn begin(&mut self) -> Option<usize> {
        self.skip_white().map(|_| self.at)
    }

    /// Where the next byte to read is.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Goes back to an earlier place.
    pub(crate) fn go_back(&mut self, place: usize) {
        (self.at, self.depth) = (place, 0);
    }

    /// The value that begins here, with at least the parts that `demand` names.
    pub(crate) fn value(&mut self, demand: &Demand) -> Parsed<Val> {
        let Some(byte) = self.peek() else { return self.fail(Why::Ended) };
        match byte {
            b'{' => self.nested(|parser| parser.object(demand)),
            b'[' => self.nested(Self::array),
            b'"' => {
                self.at += 1;
                self.text().map(Val::utf8_str)
            }
            b'0'..=b'9' | b'-' | b'+' => self.number().map(Val::Num),
            _ => self.word(),
        }
    }

    /// Skips the next value, but still finds mistakes in it.
    pub(crate) fn pass(&mut self) -> Parsed<()> {
        let Some(byte) = self.peek() else { return self.fail(Why::Ended) };
        match byte {
            b'{' => self.nested(|parser| {
                parser.sequence(b'}', |parser| {
                    parser.pass_key()?;
                    parser.colon()?;
                    parser.pass()
                })
            }),
            b'[' => self.nested(|parser| parser.sequence(b']', Self::pass)),
            b'"' => {
                self.at += 1;
                self.pass_text()
            }
            b'0'..=b'9' | b'-' | b'+' => self.pass_number(),
            _ => self.word().map(drop),
        }
    }

    /// Passes over the name of a field.
    pub(crate) fn pass_key(&mut self) -> Parsed<()> {
        if self.strict && self.peek() != Some(b'"') {
            return self.fail(Why::Expected("a string, the name of a field"));
        }
        self.pass()
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return self.fail(Why::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        let found = inner(self);
        self.depth -= 1;
        found
    }

    fn array(&mut self) -> Parsed<Val> {
        let mut items = Vec::new();
        self.sequence(b']', |parser| {
            items.push(parser.value(&Demand::All)?);
            Ok(())
        })?;
        Ok(Val::Arr(items.into()))
    }

    fn object(&mut self, demand: &Demand) -> Parsed<Val> {
        let mut fields = Map::default();
        self.sequence(b'}', |parser| {
            let wanted = match demand {
                Demand::All => Some(&Demand::All),
                Demand::Fields(wanted) => match parser.plain_key() {
                    Some(key) => wanted.get(key),
                    // A key with an escape sequence, or one that is not a string.
                    None => Some(&Demand::All),
                },
            };
            let Some(wanted) = wanted else {
                parser.pass()?;
                parser.colon()?;
                return parser.pass();
            };
            let key = parser.value(&Demand::All)?;
            parser.colon()?;
            let value = parser.value(wanted)?;
            fields.insert(key, value);
            Ok(())
        })?;
        Ok(Val::obj(fields))
    }

    /// The bytes of a string that begins here and has no escape sequence.
    fn plain_key(&self) -> Option<&'a [u8]> {
        let rest = self.bytes[self.at..].strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        (rest[end] == b'"').then(|| &rest[..end])
    }

    /// Items that commas separate, up to `end`. `item` begins at the item's first byte.
    fn sequence(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.skip_white() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek().is_none() {
                return self.fail(Why::Ended);
            }
            item(self)?;
            match self.skip_white() {
                Some(b',') => {
                    self.at += 1;
                    self.skip_white();
                }
                Some(byte) if byte == end => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) if end == b']' => return self.fail(Why::Expected("a comma or `]`")),
                Some(_) => return self.fail(Why::Expected("a comma or `}`")),
                None => return self.fail(Why::Ended),
            }
        }
    }

    /// Skips a colon, and the white space around it.
    fn colon(&mut self) -> Parsed<()> {
        match self.skip_white() {
            Some(b':') => {
                self.at += 1;
                self.skip_white();
                Ok(())
            }
            Some(_) => self.fail(Why::Expected("a colon")),
            None => self.fail(Why::Ended),
        }
    }

    fn word(&mut self) -> Parsed<Val> {
        type Word = (&'static [u8], fn() -> Val);
        const WORDS: [Word; 5] = [
            (b"null", || Val::Null),
            (b"true", || Val::Bool(true)),
            (b"false", || Val::Bool(false)),
            (b"NaN", || Val::Num(Num::Float(f64::NAN))),
            (b"Infinity", || Val::Num(Num::Float(f64::INFINITY))),
        ];
        if self.strict && matches!(self.peek(), Some(b'N' | b'I')) {
            return self.fail(Why::NoNumber);
        }
        if !self.strict && self.take(b"b\"") {
            return self.byte_string().map(Val::byte_str);
        }
        for (word, value) in WORDS {
            if self.take(word) {
                return Ok(value());
            }
        }
        let rest = &self.bytes[self.at..];
        if WORDS.iter().any(|(word, _)| !rest.is_empty() && word.starts_with(rest)) {
            return self.fail(Why::Ended);
        }
        self.fail(Why::Expected("a value"))
    }

    /// Skips white space and comments, and returns the next byte without taking it.
    #[inline]
    fn skip_white(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' if !self.strict => {
                    self.at += memchr(b'\n', &self.bytes[self.at..]).unwrap_or(self.bytes.len() - self.at)
                }
                byte => return Some(byte),
            }
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let is_next = self.bytes[self.at..].starts_with(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    #[cold]
    fn fail<T>(&self, why: Why) -> Parsed<T> {
        Err(Invalid { at: self.at, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All values of some bytes, and whether the bytes end without a mistake.
    fn ours(bytes: &[u8], demand: &Demand) -> (Vec<Val>, bool) {
        let (mut parser, mut values) = (Parser::new(bytes), Vec::new());
        while parser.begin().is_some() {
            match parser.value(demand) {
                Ok(value) => values.push(value),
                Err(_) => return (values, false),
            }
        }
        (values, true)
    }

    fn jaqs(bytes: &[u8]) -> (Vec<Val>, bool) {
        let mut values = Vec::new();
        for value in jaq_json::read::parse_many(bytes) {
            match value {
                Ok(value) => values.push(value),
                Err(_) => return (values, false),
            }
        }
        (values, true)
    }

    fn text(values: &[Val]) -> Vec<String> {
        values.iter().map(Val::to_string).collect()
    }

    /// Pieces of JSON. Most sequences of them contain a mistake.
    const PIECES: [&str; 44] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\":",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\\",
        "\\n",
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "+Infinity",
        "nul",
        "0",
        "1",
        "-1",
        "+2",
        "01",
        "1.5",
        "1.",
        ".5",
        "1e3",
        "1E-2",
        "1e",
        "12345678901234567890",
        "-0",
        "b\"\\x00\"",
        "b\"",
        " ",
        "\n",
        "# x\n",
        "#",
        "\u{e9}",
        "\u{1}",
        "{\"a\":1,\"b\":[2,{\"c\":3}]}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn jaq_reads_the_same(pieces in prop::collection::vec(0..PIECES.len(), 0..12)) {
            let bytes: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let (values, ended) = ours(bytes.as_bytes(), &Demand::All);
            let (expected, expected_ended) = jaqs(bytes.as_bytes());
            prop_assert_eq!((text(&values), ended), (text(&expected), expected_ended), "{}", bytes);
        }

        #[test]
        fn skipped_fields_are_checked_too(pieces in prop::collection::vec(0..PIECES.len(), 0..12)) {
            let bytes: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let (all, ended) = ours(bytes.as_bytes(), &Demand::All);
            let (some, some_ended) = ours(bytes.as_bytes(), &Demand::default());
            prop_assert_eq!((all.len(), ended), (some.len(), some_ended), "{}", bytes);
        }
    }

    #[test]
    fn nesting_has_a_limit_and_no_depth_of_input_ends_the_process() {
        for deep in [DEEPEST, DEEPEST + 1, 1 << 20] {
            let bytes = "[".repeat(deep) + &"]".repeat(deep);
            let whole = ours(bytes.as_bytes(), &Demand::All);
            let passed = ours(format!("{{\"a\":{bytes}}}").as_bytes(), &Demand::default());
            assert_eq!(whole.1, deep == DEEPEST, "{deep}");
            assert!(!passed.1, "the object is one level more");
        }
    }

    #[test]
    fn a_mistake_has_its_place() {
        let at = |text: &str| {
            let mut parser = Parser::new(text.as_bytes());
            parser.begin();
            parser.value(&Demand::All).map(|value| value.to_string()).map_err(|invalid| (invalid.at, invalid.why))
        };
        assert_eq!(at("[1 2]"), Err((3, Why::Expected("a comma or `]`"))));
        assert_eq!(at("{\"a\" 1}"), Err((5, Why::Expected("a colon"))));
        assert_eq!(at("[1, "), Err((4, Why::Ended)));
        assert_eq!(at("tru"), Err((0, Why::Ended)));
        assert_eq!(at("[\"a\nb\"]"), Err((3, Why::Control(b'\n'))));
        assert_eq!(at("\"\\q\""), Err((2, Why::Escape)));
        assert_eq!(at("x"), Err((0, Why::Expected("a value"))));
    }
}
