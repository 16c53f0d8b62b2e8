use crate::Span;
use crate::code::{begins_expression, plain};
use std::fmt;
use std::time::Duration;

/// A literal in text. Two expressions are equal if they differ in nothing but comments, and spaces outside of strings.
#[derive(Clone, Debug)]
pub enum Literal {
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    /// `true` or `false`.
    Truth(bool),
    /// A text in quotes.
    Text(String),
    /// A length of time, such as `5m`.
    Time(Duration),
    /// An expression in a language of the stage: in backquotes, or without them if it begins with `.`, `{`, `[`, `(` or
    /// `$`, or with `-` before `.`, `(` or `$`. Without them it has spaces in place of its comments, which begin with
    /// `#`.
    Code(String),
}

impl Literal {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Literal::Whole(_) => "a whole number",
            Literal::Real(_) => "a number with a fraction",
            Literal::Truth(_) => "a truth value",
            Literal::Text(_) => "a text",
            Literal::Time(_) => "a time",
            Literal::Code(_) => "an expression",
        }
    }

    /// The same text for all literals that are equal.
    pub(crate) fn plain(&self) -> String {
        match self {
            Literal::Code(code) => Literal::Code(plain(code)).to_string(),
            literal => literal.to_string(),
        }
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Literal::Whole(one), Literal::Whole(other)) => one == other,
            (Literal::Real(one), Literal::Real(other)) => one == other,
            (Literal::Truth(one), Literal::Truth(other)) => one == other,
            (Literal::Text(one), Literal::Text(other)) => one == other,
            (Literal::Time(one), Literal::Time(other)) => one == other,
            (Literal::Code(one), Literal::Code(other)) => plain(one) == plain(other),
            _ => false,
        }
    }
}

/// As it is written in a text.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Whole(number) => number.fmt(f),
            Literal::Real(number) => write!(f, "{number:?}"),
            Literal::Truth(truth) => truth.fmt(f),
            Literal::Text(text) => {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                write!(f, "\"{text}\"")
            }
            Literal::Time(time) => {
                let ms = time.as_millis();
                let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
                let (whole, unit) = units.into_iter().find(|(whole, _)| ms.is_multiple_of(*whole)).unwrap_or((1, "ms"));
                write!(f, "{}{unit}", ms / whole)
            }
            Literal::Code(code) if begins_expression(code) => f.write_str(code),
            Literal::Code(code) => write!(f, "`{code}`"),
        }
    }
}

/// A type that a parameter of a stage can have.
pub trait Parameter: Sized + Send + Sync + 'static {
    /// What text must have there, such as `a whole number`.
    const WANTED: &'static str;
    /// The value, if the literal is one. The only coercion is from a whole number to one that may have a fraction.
    fn read(literal: &Literal) -> Option<Self>;
    /// The default, for text that leaves the parameter out; `None` if text must not.
    fn missing() -> Option<Self> {
        None
    }
    /// What is wrong with an expression that [`read`](Parameter::read) refuses, if that is known.
    fn wrong(code: &str) -> Vec<WrongCode> {
        let _ = code;
        Vec::new()
    }
}

/// A mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCode {
    /// Where, as bytes of the expression.
    pub at: Span,
    /// What is wrong.
    pub what: String,
}

/// A parameter that text may leave out.
impl<X: Parameter> Parameter for Option<X> {
    const WANTED: &'static str = X::WANTED;
    fn read(literal: &Literal) -> Option<Self> {
        X::read(literal).map(Some)
    }
    fn missing() -> Option<Self> {
        Some(None)
    }
    fn wrong(code: &str) -> Vec<WrongCode> {
        X::wrong(code)
    }
}

impl Parameter for Duration {
    const WANTED: &'static str = "a time, such as `5m`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Time(time) => Some(*time),
            _ => None,
        }
    }
}

macro_rules! whole {
    ($($number:ty: $wanted:literal),*) => {$(
        impl Parameter for $number {
            const WANTED: &'static str = $wanted;
            fn read(literal: &Literal) -> Option<Self> {
                match literal {
                    Literal::Whole(number) => Self::try_from(*number).ok(),
                    _ => None,
                }
            }
        }
    )*};
}
whole!(
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number, at least 0",
    usize: "a whole number, at least 0",
    i64: "a whole number"
);

impl Parameter for f64 {
    const WANTED: &'static str = "a number";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Whole(number) => Some(*number as f64),
            Literal::Real(number) => Some(*number),
            _ => None,
        }
    }
}

impl Parameter for bool {
    const WANTED: &'static str = "`true` or `false`";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Truth(truth) => Some(*truth),
            _ => None,
        }
    }
}

impl Parameter for String {
    const WANTED: &'static str = "a text in quotes";
    fn read(literal: &Literal) -> Option<Self> {
        match literal {
            Literal::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}
