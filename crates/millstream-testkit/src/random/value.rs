use proptest::prelude::*;
use std::fmt;

/// Whatever flows through a random pipeline. All functions on it are total, so that any two pipelines fit together.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// A number.
    I(i64),
    /// Two values.
    Pair(Box<(Value, Value)>),
}

impl Value {
    /// Two values as one.
    #[must_use]
    pub fn pair(first: Value, second: Value) -> Self {
        Value::Pair(Box::new((first, second)))
    }

    /// A number that depends on every part of the value.
    #[must_use]
    pub fn digest(&self) -> i64 {
        match self {
            Value::I(i) => *i,
            Value::Pair(pair) => pair.0.digest().wrapping_mul(31) ^ pair.1.digest(),
        }
    }

    /// The halves of a pair; a number makes two numbers.
    #[must_use]
    pub fn halves(&self) -> (Value, Value) {
        match self {
            Value::I(i) => (Value::I(*i), Value::I(!*i)),
            Value::Pair(pair) => (**pair).clone(),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I(i) => write!(f, "{i}"),
            Value::Pair(pair) => write!(f, "({:?}, {:?})", pair.0, pair.1),
        }
    }
}

/// Lists of at most `most` numbers.
pub fn values(most: usize) -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec((-20..100_i64).prop_map(Value::I), 0..=most)
}
