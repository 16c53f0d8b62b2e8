/// A literal in text.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    /// `true` or `false`.
    Truth(bool),
    /// A text in quotes.
    Text(String),
}

impl Literal {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Literal::Whole(_) => "a whole number",
            Literal::Real(_) => "a number with a fraction",
            Literal::Truth(_) => "a truth value",
            Literal::Text(_) => "a text",
        }
    }
}

/// A type that a parameter of a stage can have.
pub trait Parameter: Sized + Send + Sync + 'static {
    /// What text has to have there, as `a whole number`.
    const WANTED: &'static str;
    /// The value, if the literal is one. Nothing is coerced but a whole number to one that may have a fraction.
    fn read(literal: &Literal) -> Option<Self>;
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
    u64: "a whole number from 0 on",
    usize: "a whole number from 0 on",
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
