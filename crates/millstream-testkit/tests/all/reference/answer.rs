//! The named folds, by sorting and counting all values at once.

use super::keys::grouped;
use super::{digest, pair};
use millstream_testkit::random::{Answer, Value};

/// The answer about all values.
pub(super) fn of(answer: Answer, values: &[&Value]) -> Option<Value> {
    let rest = |value: &Value, modulus: i64| digest(value).rem_euclid(modulus);
    let dividing = |modulus: i64| values.iter().filter(|value| rest(value, modulus) == 0).count();
    let truth = |is_so: bool| Some(Value::I(is_so.into()));
    let own = |modulus: i64, k: i64| -> Vec<Value> {
        values.iter().filter(|value| rest(value, modulus) == k).map(|value| (*value).clone()).collect()
    };
    let by_rest = |modulus: i64| {
        let mut sorted: Vec<&Value> = values.to_vec();
        sorted.sort_by_key(|value| rest(value, modulus)); // stable
        sorted
    };
    let keyed = |keys: i64, of: &dyn Fn(Vec<Value>) -> Value| {
        let groups = grouped(keys, values.iter().copied()).into_iter();
        Some(Value::List(groups.map(|(k, own)| pair(k, of(own.into_iter().cloned().collect()))).collect()))
    };
    let mut sorted: Vec<&Value> = values.to_vec();
    sorted.sort();
    match answer {
        Answer::Count => Some(Value::I(values.len() as i64)),
        Answer::Sum => {
            let sum: i128 = values.iter().map(|value| i128::from(digest(value))).sum();
            Some(Value::I(sum as i64))
        }
        Answer::Last => values.last().copied().cloned(),
        Answer::Min => sorted.first().copied().cloned(),
        Answer::Max => sorted.last().copied().cloned(),
        Answer::MinByKey(modulus) | Answer::MinBy(modulus) => by_rest(modulus).first().copied().cloned(),
        Answer::MaxByKey(modulus) | Answer::MaxBy(modulus) => by_rest(modulus).last().copied().cloned(),
        Answer::TopN(n) => Some(Value::List(sorted.into_iter().rev().take(n).cloned().collect())),
        Answer::TopNByKey(n, modulus) | Answer::TopNBy(n, modulus) => {
            let greatest_first = (0..modulus).rev().flat_map(|k| own(modulus, k));
            Some(Value::List(greatest_first.take(n).collect()))
        }
        Answer::Find(modulus) => own(modulus, 0).first().cloned(),
        Answer::Any(modulus) => truth(dividing(modulus) > 0),
        Answer::All(modulus) => truth(dividing(modulus) == values.len()),
        Answer::CountBy(modulus) => keyed(modulus, &|own| Value::I(own.len() as i64)),
        Answer::GroupBy(modulus) => keyed(modulus, &Value::List),
    }
}
