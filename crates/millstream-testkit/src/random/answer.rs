//! Folds that have a name.

use super::edge::{Boxed, Chain};
use super::kind::Kind;
use super::shape::{RandomShape, of_slot};
use super::steps::{kept, keyed};
use super::value::Value;
use millstream_core::{Arrow, BorrowedKeysExt, FoldExt, KeysExt, id};
use std::fmt;
use std::num::Wrapping;

/// The folds of [`FoldExt`], and those of [`KeysExt`] that are made of them. A modulus is at least 1. That of
/// `CountBy` and `GroupBy` may be 0: then every value is its own key, [borrowed](BorrowedKeysExt).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// How many values there are.
    Count,
    /// The sum of the digests, which wraps.
    Sum,
    /// The last value.
    Last,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The value whose digest has the least rest by the modulus; the first of several.
    MinByKey(i64),
    /// The value whose digest has the greatest rest by the modulus; the last of several.
    MaxByKey(i64),
    /// As [`MinByKey`](Answer::MinByKey), by an order.
    MinBy(i64),
    /// As [`MaxByKey`](Answer::MaxByKey), by an order.
    MaxBy(i64),
    /// This many of the greatest values: a list.
    TopN(usize),
    /// This many of the values with the greatest rests of their digests by the modulus: a list.
    TopNByKey(usize, i64),
    /// As [`TopNByKey`](Answer::TopNByKey), by an order.
    TopNBy(usize, i64),
    /// The first value whose digest the modulus divides.
    Find(i64),
    /// Whether the modulus divides some value's digest: 1 or 0.
    Any(i64),
    /// Whether the modulus divides every value's digest: 1 or 0.
    All(i64),
    /// How many values there are of each rest of the digest by the modulus: a list of pairs.
    CountBy(i64),
    /// The values of each rest of the digest by the modulus: a list of pairs.
    GroupBy(i64),
}

pub(crate) fn answer<A: RandomShape>(of: Answer, input: Kind) -> Chain {
    let divides = |modulus| move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| !kept(value, modulus));
    let key = |modulus| move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| keyed(value, modulus));
    let values = || id::<A>().map(|slot| A::value(slot));
    let by_rest = |modulus| move |a: &Value, b: &Value| keyed(a, modulus).cmp(&keyed(b, modulus));
    let truth = |is_so: &bool| Value::I(i64::from(*is_so));
    let number = |count: &u64| Value::I(*count as i64);
    let chain = Chain::empty(input);
    match of {
        Answer::Count => chain.then(Boxed::new(id::<A>().count().map(number))),
        Answer::Sum => {
            let digests = id::<A>().map(|slot| of_slot::<A, _>(slot, |value| Wrapping(value.digest())));
            chain.then(Boxed::new(digests.sum().map(|sum| Value::I(sum.0))))
        }
        Answer::Last => chain.then(Boxed::new(values().last())),
        Answer::Min => chain.then(Boxed::new(values().min())),
        Answer::Max => chain.then(Boxed::new(values().max())),
        Answer::MinByKey(modulus) => chain.then(Boxed::new(values().min_by_key(move |value| keyed(value, modulus)))),
        Answer::MaxByKey(modulus) => chain.then(Boxed::new(values().max_by_key(move |value| keyed(value, modulus)))),
        Answer::MinBy(modulus) => chain.then(Boxed::new(values().min_by(by_rest(modulus)))),
        Answer::MaxBy(modulus) => chain.then(Boxed::new(values().max_by(by_rest(modulus)))),
        Answer::TopN(n) => chain.then(Boxed::new(values().top_n(n).map(|top| Value::List(top.clone())))),
        Answer::TopNByKey(n, modulus) => {
            let top = values().top_n_by_key(n, move |value| keyed(value, modulus));
            chain.then(Boxed::new(top.map(|top| Value::List(top.clone()))))
        }
        Answer::TopNBy(n, modulus) => {
            let top = values().top_n_by(n, by_rest(modulus));
            chain.then(Boxed::new(top.map(|top| Value::List(top.clone()))))
        }
        Answer::Find(modulus) => chain.then(Boxed::new(values().find(move |value| !kept(value, modulus)))),
        Answer::Any(modulus) => chain.then(Boxed::new(id::<A>().any(divides(modulus)).map(truth))),
        Answer::All(modulus) => chain.then(Boxed::new(id::<A>().all(divides(modulus)).map(truth))),
        Answer::CountBy(modulus) => {
            let pair = |(key, count): &(Value, u64)| Value::pair(key.clone(), Value::I(*count as i64));
            let list = move |counts: &Vec<(Value, u64)>| Value::List(counts.iter().map(pair).collect());
            match modulus {
                0 => chain.then(Boxed::new(values().count_by_ref(|value| value).map(list))),
                _ => chain.then(Boxed::new(id::<A>().count_by(key(modulus)).map(list))),
            }
        }
        Answer::GroupBy(modulus) => {
            let pair = |(key, own): &(Value, Vec<Value>)| Value::pair(key.clone(), Value::List(own.clone()));
            let list = move |groups: &Vec<(Value, Vec<Value>)>| Value::List(groups.iter().map(pair).collect());
            match modulus {
                0 => chain.then(Boxed::new(values().group_by_ref(|value| value).map(list))),
                _ => chain.then(Boxed::new(values().group_by(move |value| keyed(value, modulus)).map(list))),
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Count => write!(f, "count"),
            Answer::Sum => write!(f, "sum"),
            Answer::Last => write!(f, "last"),
            Answer::Min => write!(f, "min"),
            Answer::Max => write!(f, "max"),
            Answer::MinByKey(modulus) => write!(f, "min_by_key({modulus})"),
            Answer::MaxByKey(modulus) => write!(f, "max_by_key({modulus})"),
            Answer::MinBy(modulus) => write!(f, "min_by({modulus})"),
            Answer::MaxBy(modulus) => write!(f, "max_by({modulus})"),
            Answer::TopN(n) => write!(f, "top_n({n})"),
            Answer::TopNByKey(n, modulus) => write!(f, "top_n_by_key({n}, {modulus})"),
            Answer::TopNBy(n, modulus) => write!(f, "top_n_by({n}, {modulus})"),
            Answer::Find(modulus) => write!(f, "find({modulus})"),
            Answer::Any(modulus) => write!(f, "any({modulus})"),
            Answer::All(modulus) => write!(f, "all({modulus})"),
            Answer::CountBy(modulus) => write!(f, "count_by({modulus})"),
            Answer::GroupBy(modulus) => write!(f, "group_by({modulus})"),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
