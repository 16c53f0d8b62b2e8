//! The parameters that a text can give to the stages.

use crate::columns::Columns;
use millstream_core::failure::fail;
use millstream_jq::Expression;
use millstream_registry::{Literal, Parameter, WrongCode};

/// An expression in the language of jq.
#[derive(Clone, Debug)]
pub(crate) struct Filter(pub(crate) Expression);

impl Parameter for Filter {
    const WANTED: &'static str = "an expression of jq, such as `.qty > 3`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Code(code) => Expression::new(code).ok().map(Filter),
            _ => None,
        }
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        let wrong = Expression::new(code).err();
        let mistakes = wrong.iter().flat_map(|wrong| wrong.mistakes());
        mistakes.map(|(at, what)| WrongCode { at: at.clone(), what: what.clone() }).collect()
    }
}

/// A condition for rows: an expression that is no assignment.
#[derive(Clone, Debug)]
pub(crate) struct Condition(pub(crate) Expression);

impl Parameter for Condition {
    const WANTED: &'static str = Filter::WANTED;
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Code(code) if assigned(code).is_some() => None,
            literal => Filter::read(literal).map(|filter| Condition(filter.0)),
        }
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        let what = "`=` sets a field, which lets every row through: use `==` to compare".to_owned();
        let assigned = assigned(code).map(|at| WrongCode { at: at..at + 1, what });
        assigned.map_or_else(|| Filter::wrong(code), |wrong| vec![wrong])
    }
}

/// Where an expression ends with an assignment, as `.level = "error"`.
fn assigned(code: &str) -> Option<usize> {
    let (bytes, mut open, mut quoted, mut found) = (code.as_bytes(), 0_usize, false, None);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'|' if open == 0 => found = None,
            // Not the begin or the end of `==`, and no other operator.
            b'=' if open == 0 && bytes.get(at + 1) == Some(&b'=') => at += 1,
            b'=' if open == 0 && !matches!(bytes[at.saturating_sub(1)], b'!' | b'<' | b'>' | b'|' | b'/') => {
                found = Some(at);
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The types of columns or fields.
#[derive(Clone, Debug)]
pub(crate) struct Schema(pub(crate) Columns);

impl Parameter for Schema {
    const WANTED: &'static str =
        "a schema, such as `{id: int, user: text, price: float?}` (several files are one pattern, such as `*.csv`)";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Code(code) => Columns::declared(code).ok().map(Schema),
            _ => None,
        }
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        Columns::declared(code).err().map(|(at, what)| WrongCode { at, what }).into_iter().collect()
    }
}

/// The file for the rows that fail. Standard output has rows.
#[derive(Clone, Debug)]
pub(crate) struct Letters(pub(crate) String);

impl Parameter for Letters {
    const WANTED: &'static str = "the name of a file, such as `\"bad.jsonl\"`; without `dead` there are messages";
    fn read(literal: &Literal) -> Option<Self> {
        String::read(literal).filter(|name| !name.is_empty() && name != "-").map(Letters)
    }
}

/// A number from 1 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtLeastOne(pub(crate) usize);

impl Parameter for AtLeastOne {
    const WANTED: &'static str = "a whole number, at least 1";
    fn read(literal: &Literal) -> Option<Self> {
        usize::read(literal).filter(|n| *n > 0).map(AtLeastOne)
    }
}

/// The most keys of a fold, unless text sets another number.
pub(crate) const KEYS: usize = 1_000_000;

/// Fails the stage that has as many keys, windows or rows as it may have, at a row of a file: 0 for an answer at the
/// end. `besides` is more advice.
pub(crate) fn too_many(what: &str, most: usize, (file, number): (&str, u64), besides: &str) -> ! {
    let advice = if most < KEYS {
        format!("without `most` there may be {KEYS}")
    } else {
        format!("`most: {}` allows more, and takes more memory", most.saturating_mul(10))
    };
    let place = if number > 0 { format!("{file}: row {number}: ") } else { String::new() };
    fail(format!("{place}there are more {what} than `most: {most}` allows: {advice}{besides}"))
}

/// A part of all: from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part(pub(crate) f64);

impl Parameter for Part {
    const WANTED: &'static str = "a number from 0 to 1";
    fn read(literal: &Literal) -> Option<Self> {
        f64::read(literal).filter(|part| (0.0..=1.0).contains(part)).map(Part)
    }
}

/// One byte of ASCII, between the cells of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Separator(pub(crate) u8);

impl Parameter for Separator {
    const WANTED: &'static str = "one character of ASCII in quotes, such as `\";\"`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Text(text) => match text.as_bytes() {
                [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Some(Separator(*byte)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// How long rows may be late; 0 for not at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lateness(pub(crate) u64);

impl Parameter for Lateness {
    const WANTED: &'static str = "a time, such as `5m`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Time(time) => u64::try_from(time.as_millis()).ok().map(Lateness),
            _ => None,
        }
    }
}

/// When a fold without windows answers before the end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Each {
    /// After each n rows.
    Rows(u64),
    /// At each multiple of n milliseconds of event time.
    Time(u64),
}

impl Each {
    /// The field of an answer that says of which rows it is.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Each::Rows(_) => "rows",
            Each::Time(_) => "end",
        }
    }
}

impl Parameter for Each {
    const WANTED: &'static str = "a number of rows, at least 1, or a time of at least 1ms, such as `1000` or `10s`";
    fn read(literal: &Literal) -> Option<Self> {
        let rows = AtLeastOne::read(literal).map(|rows| Each::Rows(rows.0 as u64));
        rows.or_else(|| Length::read(literal).map(|time| Each::Time(time.0)))
    }
}

/// A length of time that is not 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length(pub(crate) u64);

impl Parameter for Length {
    const WANTED: &'static str = "a time of at least 1ms, such as `5m`";
    fn read(literal: &Literal) -> Option<Self> {
        Lateness::read(literal).filter(|time| time.0 > 0).map(|time| Length(time.0))
    }
}
