//! The functions of the stages of random pipelines.

use super::shape::of_value;
use super::value::Value;

/// The function of a `Pipe::Map`.
pub(crate) fn mapped(value: &Value, plus: i64) -> Value {
    value.like(value.digest().wrapping_mul(31).wrapping_add(plus))
}

/// The predicate of a `Pipe::Filter`.
pub(crate) fn kept(value: &Value, modulus: i64) -> bool {
    value.digest().rem_euclid(modulus) != 0
}

/// The function of a `Pipe::Scan`.
pub(crate) fn scanned(state: &mut Value, value: &Value) -> Value {
    *state = value.like(state.digest().wrapping_mul(31).wrapping_add(value.digest()));
    state.clone()
}

/// The function of a `Pipe::FlatMap`.
pub(crate) fn expanded(value: &Value, modulus: i64) -> impl Iterator<Item = Value> + use<> {
    let value = value.clone();
    (0..value.digest().rem_euclid(modulus)).map(move |plus| mapped(&value, plus))
}

/// The key of a value. `keys` is at least 1: with 0, a stage borrows the value itself.
pub(crate) fn keyed(value: &Value, keys: i64) -> Value {
    value.like(value.digest().rem_euclid(keys))
}

/// The function of a `Pipe::Fold`.
pub(crate) fn folded(state: &mut Value, value: &Value) {
    *state = value.like(state.digest().wrapping_mul(17) ^ value.digest());
}

/// The function of a `Pipe::ScanFinish` at END.
pub(crate) fn finished(state: Value) -> Option<Value> {
    of_value(state, |state| kept(state, 3).then(|| state.like(state.digest().wrapping_mul(17).wrapping_add(1))))
}

/// The function of a `Pipe::TryMap`.
pub(crate) fn tried(value: &Value, modulus: i64, plus: i64) -> Result<Value, &'static str> {
    match kept(value, modulus) {
        true => Ok(mapped(value, plus)),
        // Unwinds like a panic, but prints no message.
        false if plus % 2 == 1 => std::panic::resume_unwind(Box::new("odd")),
        false => Err("even"),
    }
}
