use crate::sabotage::Sabotaged;
use millstream_core::Either::{self, Left, Right};
use proptest::prelude::*;
use std::fmt;

/// The value of every edge of a random pipeline. All functions on it are total, so that any two pipelines fit together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A number.
    I(i64),
    /// Two values.
    Pair(Box<(Value, Value)>),
    /// A left value.
    L(Box<Value>),
    /// A right value.
    R(Box<Value>),
    /// Any number of values.
    List(Vec<Value>),
    /// A number whose calls a saboteur counts.
    Sabotaged(Sabotaged),
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
            Value::L(value) => value.digest().wrapping_mul(3),
            Value::R(value) => value.digest().wrapping_mul(5).wrapping_add(1),
            Value::List(list) => list.iter().fold(7, |sum, value| sum.wrapping_mul(13).wrapping_add(value.digest())),
            Value::Sabotaged(value) => value.number(),
        }
    }

    /// A number. It belongs to the same [saboteur](crate::Saboteur) as a part of this value, if one does.
    #[must_use]
    pub fn like(&self, number: i64) -> Self {
        self.sabotaged().map_or(Value::I(number), |value| Value::Sabotaged(value.like(number)))
    }

    fn sabotaged(&self) -> Option<&Sabotaged> {
        match self {
            Value::I(_) => None,
            Value::Pair(pair) => pair.0.sabotaged().or_else(|| pair.1.sabotaged()),
            Value::L(value) | Value::R(value) => value.sabotaged(),
            Value::List(list) => list.iter().find_map(Value::sabotaged),
            Value::Sabotaged(value) => Some(value),
        }
    }

    /// The halves of a pair; of any other value, two numbers made from its digest.
    #[must_use]
    pub fn halves(&self) -> (Value, Value) {
        match self {
            Value::Pair(pair) => (**pair).clone(),
            other => (other.like(other.digest()), other.like(!other.digest())),
        }
    }

    /// The first of its [halves](Value::halves).
    #[must_use]
    pub fn first(&self) -> Value {
        let (first, second) = self.halves();
        drop(second);
        first
    }

    /// The second of its [halves](Value::halves).
    #[must_use]
    pub fn second(&self) -> Value {
        let (first, second) = self.halves();
        drop(first);
        second
    }

    /// The elements of a list or a pair; of any other value, the value alone.
    #[must_use]
    pub fn parts(&self) -> Vec<Value> {
        match self {
            Value::Pair(pair) => vec![pair.0.clone(), pair.1.clone()],
            Value::List(list) => list.clone(),
            alone => vec![alone.clone()],
        }
    }

    /// The content of a left or a right value, the first half of a pair, the first element of a list; any other value
    /// itself.
    #[must_use]
    pub fn inside(&self) -> &Value {
        match self {
            Value::L(value) | Value::R(value) => value,
            Value::Pair(pair) => &pair.0,
            Value::List(list) => list.first().unwrap_or(self),
            other => other,
        }
    }

    /// The content of a left or a right value. Any other value is left if its digest is even, and right if it is odd.
    #[must_use]
    pub fn either(&self) -> Either<Value, Value> {
        match self {
            Value::L(value) => Left((**value).clone()),
            Value::R(value) => Right((**value).clone()),
            other if other.digest() % 2 == 0 => Left(other.clone()),
            other => Right(other.clone()),
        }
    }

    /// A left or a right value.
    #[must_use]
    pub fn lane(either: Either<Value, Value>) -> Self {
        either.either(|left| Value::L(left.into()), |right| Value::R(right.into()))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I(i) => write!(f, "{i}"),
            Value::Pair(pair) => write!(f, "({:?}, {:?})", pair.0, pair.1),
            Value::L(value) => write!(f, "L{value:?}"),
            Value::R(value) => write!(f, "R{value:?}"),
            Value::List(list) => write!(f, "{list:?}"),
            Value::Sabotaged(value) => write!(f, "{value:?}"),
        }
    }
}

/// Lists of at most `most` numbers.
pub fn values(most: usize) -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec((-20..100_i64).prop_map(Value::I), 0..=most)
}
