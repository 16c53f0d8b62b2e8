//! The stages that keep a state and their clock.

use super::{Slot, digest};
use millstream_testkit::random::{Stream, Value};

/// Whether the stream ends at number `n`, at the outer level.
pub(super) fn ends(stage: Stream, input: &[Slot], n: usize) -> bool {
    match stage {
        Stream::Take(k) => input[..n].iter().flatten().count() == k,
        Stream::TakeWhile(modulus) => input[n].as_ref().is_some_and(|value| divides(modulus, value)),
        _ => false,
    }
}

/// One stage at one number: `seen` ends with the number's own slot.
pub(super) fn at(stage: Stream, seen: &[Slot], is_end: bool) -> Slot {
    let values: Vec<&Value> = seen.iter().flatten().collect();
    let here = seen.last().and_then(Option::as_ref);
    let list = |values: &[&Value]| Some(Value::List(values.iter().copied().cloned().collect()));
    if let Stream::Chunks(n) = stage {
        let left = values.len() % n;
        return match here {
            Some(_) if left == 0 => list(&values[values.len() - n..]),
            _ if is_end && left > 0 => list(&values[values.len() - left..]),
            _ => None,
        };
    }
    let value = here?;
    let (count, before) = (values.len(), values.len().checked_sub(2).map(|n| values[n]));
    match stage {
        Stream::Take(n) => here.filter(|_| count <= n).cloned(),
        Stream::TakeWhile(modulus) => here.filter(|_| !values.iter().any(|v| divides(modulus, v))).cloned(),
        Stream::Skip(n) => here.filter(|_| count > n).cloned(),
        Stream::SkipWhile(modulus) => here.filter(|_| values.iter().any(|v| divides(modulus, v))).cloned(),
        Stream::Dedup(modulus) => {
            let rest = |value: &Value| digest(value).rem_euclid(modulus);
            let differs = before.is_none_or(|before| rest(before) != rest(value));
            differs.then(|| Value::I(rest(value)))
        }
        Stream::Windows(n) | Stream::MapWindows(n) => count.checked_sub(n).and_then(|first| list(&values[first..])),
        Stream::Pairwise => Some(Value::Pair(Box::new((before?.clone(), value.clone())))),
        Stream::Enumerate => Some(Value::Pair(Box::new((Value::I(seen.len() as i64 - 1), value.clone())))),
        Stream::Inspect => Some(value.clone()),
        Stream::MapM(plus) => Some(Value::I(digest(value).wrapping_mul(31).wrapping_add(plus))),
        Stream::Streak(modulus) => {
            let others = values.iter().rposition(|v| divides(modulus, v)).map_or(0, |last| last + 1);
            Some(Value::I((count - others) as i64))
        }
        Stream::Chunks(_) => unreachable!("it also fills END"),
    }
}

fn divides(modulus: i64, value: &Value) -> bool {
    digest(value).rem_euclid(modulus) == 0
}
