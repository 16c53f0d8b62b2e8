use super::DEEPEST;
use std::fmt;

/// Where some bytes are no JSON, and why.
#[derive(Debug)]
pub(crate) struct Invalid {
    pub(crate) at: usize,
    pub(crate) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Something else than what was expected.
    Expected(&'static str),
    /// The end, within a value.
    Ended,
    Control(u8),
    Escape,
    Surrogate,
    TooDeep,
    NoNumber,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Expected(what) => write!(f, "expected {what}"),
            Why::Ended => f.write_str("the input ends within a value"),
            Why::Control(byte) => write!(f, "a string contains the control character \\u{byte:04x} without an escape"),
            Why::Escape => f.write_str("there is no such escape sequence"),
            Why::Surrogate => f.write_str("half of a surrogate pair"),
            Why::NoNumber => f.write_str("NaN and Infinity are no numbers of JSON: write null"),
            Why::TooDeep => write!(f, "more than {DEEPEST} brackets are open"),
        }
    }
}
