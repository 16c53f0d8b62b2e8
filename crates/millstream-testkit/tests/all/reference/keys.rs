//! The stages that have a state for every key.

use super::{Slot, digest, edge, pair};
use millstream_testkit::random::{Pipe, Value};

/// The key of a value: the value itself, if `keys` is 0.
pub(super) fn key(value: &Value, keys: i64) -> Value {
    if keys == 0 { value.clone() } else { Value::I(digest(value).rem_euclid(keys)) }
}

/// The body of each number's key, on that key's slots since the key became known.
pub(super) fn by_key(keys: i64, most: usize, body: &Pipe, input: &[Slot]) -> Vec<Slot> {
    let keys: Vec<Option<Value>> = input.iter().map(|slot| slot.as_ref().map(|value| key(value, keys))).collect();
    let mut output = vec![None; input.len()];
    for first in (0..input.len()).filter(|n| keys[*n].is_some() && begins(&keys, *n, most)) {
        let own = |n: usize| {
            let ended = (first + 1..=n).any(|later| keys[later] == keys[first] && begins(&keys, later, most));
            n >= first && keys[n] == keys[first] && !ended
        };
        let slots: Vec<Slot> = (0..input.len()).map(|n| input[n].clone().filter(|_| own(n))).collect();
        let slots_of_body = edge(body, &slots);
        (0..input.len()).filter(|n| own(*n)).for_each(|n| output[n] = slots_of_body[n].clone());
    }
    output
}

/// Whether the key of number `n` is not known there: it never occurred, or at least `most` other keys occurred since.
fn begins(keys: &[Option<Value>], n: usize, most: usize) -> bool {
    let Some(before) = (0..n).rev().find(|before| keys[*before] == keys[n]) else { return true };
    let mut others: Vec<&Value> = keys[before + 1..n].iter().flatten().collect();
    others.sort_unstable();
    others.dedup();
    others.len() >= most
}

/// The values of each key, in the order of the keys.
pub(super) fn grouped<'v>(keys: i64, values: impl Iterator<Item = &'v Value> + Clone) -> Vec<(Value, Vec<&'v Value>)> {
    let mut known: Vec<Value> = values.clone().map(|value| key(value, keys)).collect();
    known.sort_unstable();
    known.dedup();
    let own = |k: &Value| values.clone().filter(|value| key(value, keys) == *k).collect();
    known.into_iter().map(|k| (k.clone(), own(&k))).collect()
}

/// Every key's answer.
pub(super) fn folded(keys: i64, start: i64, seen: &[Slot]) -> Value {
    let step = |state: i64, value: &&Value| state.wrapping_mul(17) ^ digest(value);
    let answers = grouped(keys, seen.iter().flatten()).into_iter();
    Value::List(answers.map(|(k, own)| pair(k, Value::I(own.iter().fold(start, step)))).collect())
}

/// The first value that failed, among those with the last number's key.
pub(super) fn failed(keys: i64, modulus: i64, seen: &[Slot]) -> Option<&Value> {
    let last = seen.last()?.as_ref()?;
    let same = |value: &&Value| key(value, keys) == key(last, keys);
    seen.iter().flatten().filter(same).find(|value| digest(value).rem_euclid(modulus) == 0)
}
