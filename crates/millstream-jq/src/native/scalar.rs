use super::Unknown;
use jaq_core::ops::{Cmp, Math};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A JSON value that is neither an array nor an object, as jaq represents it.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A computed number.
    Float(f64),
    /// A number with a fraction or an exponent: its text, and its value.
    Decimal(Cow<'a, [u8]>, f64),
    /// A text, without quotes and escape sequences.
    Text(Cow<'a, [u8]>),
}

impl<'a> Scalar<'a> {
    /// Parses a number in JSON's syntax; `None` if it is too large, or not a number.
    #[must_use]
    pub fn number(digits: &'a [u8]) -> Option<Self> {
        if digits.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            if matches!(digits, [b'+', ..] | [b'0', b'0'..=b'9', ..]) {
                return None;
            }
            let value: f64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            return value.is_finite().then_some(Scalar::Decimal(Cow::Borrowed(digits), value));
        }
        let whole = match digits {
            // jaq writes it without the sign.
            [b'-', b'0', ..] | [b'+', ..] => None,
            [b'-', rest @ ..] => whole(rest).map(|n| -n),
            rest => whole(rest),
        };
        whole.map(Scalar::Int)
    }

    /// Its value, if it is a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Scalar::Int(n) => Some(*n as f64),
            Scalar::Float(x) | Scalar::Decimal(_, x) => Some(*x),
            _ => None,
        }
    }
}

#[inline]
fn whole(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 || digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    digits.iter().try_fold(0_i64, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i64::from(digit - b'0')))
}

fn certain(x: f64) -> Result<Scalar<'static>, Unknown> {
    if x.is_finite() { Ok(Scalar::Float(x)) } else { Err(Unknown) }
}

pub(super) fn math(op: Math, left: &Scalar<'_>, right: &Scalar<'_>) -> Result<Scalar<'static>, Unknown> {
    if let (Scalar::Int(x), Scalar::Int(y)) = (left, right) {
        let whole = match op {
            Math::Add => x.checked_add(*y),
            Math::Sub => x.checked_sub(*y),
            Math::Mul => x.checked_mul(*y),
            Math::Div => return certain(*x as f64 / *y as f64),
            Math::Rem => x.checked_rem(*y),
        };
        return whole.map(Scalar::Int).ok_or(Unknown);
    }
    if let (Math::Add, Scalar::Text(x), Scalar::Text(y)) = (op, left, right) {
        return Ok(Scalar::Text(Cow::Owned([&**x, &**y].concat())));
    }
    let (Some(x), Some(y)) = (left.as_f64(), right.as_f64()) else { return Err(Unknown) };
    match op {
        Math::Add => certain(x + y),
        Math::Sub => certain(x - y),
        Math::Mul => certain(x * y),
        Math::Div => certain(x / y),
        Math::Rem => Err(Unknown),
    }
}

/// The order of jq: null, false, true, numbers, texts.
pub(crate) fn order(left: &Scalar<'_>, right: &Scalar<'_>) -> Result<Ordering, Unknown> {
    let rank = |scalar: &Scalar<'_>| match scalar {
        Scalar::Null => 0,
        Scalar::Bool(_) => 1,
        Scalar::Int(_) | Scalar::Float(_) | Scalar::Decimal(..) => 2,
        Scalar::Text(_) => 3,
    };
    Ok(match (left, right) {
        (Scalar::Int(x), Scalar::Int(y)) => x.cmp(y),
        (Scalar::Bool(x), Scalar::Bool(y)) => x.cmp(y),
        (Scalar::Text(x), Scalar::Text(y)) => x.cmp(y),
        _ => match (left.as_f64(), right.as_f64()) {
            (Some(x), Some(y)) => x.partial_cmp(&y).ok_or(Unknown)?,
            _ => rank(left).cmp(&rank(right)),
        },
    })
}

pub(super) fn compare(op: Cmp, left: &Scalar<'_>, right: &Scalar<'_>) -> Result<bool, Unknown> {
    let order = order(left, right)?;
    Ok(match op {
        Cmp::Lt => order.is_lt(),
        Cmp::Le => order.is_le(),
        Cmp::Gt => order.is_gt(),
        Cmp::Ge => order.is_ge(),
        Cmp::Eq => order.is_eq(),
        Cmp::Ne => order.is_ne(),
    })
}
