//! Filters of a few forms, evaluated without jaq: fields, numbers, comparisons, and objects of them.
//!
//! jaq evaluates every other filter, and every value for which this module has no certain answer: an error, an
//! overflow, a field of something that is not an object. All messages are therefore jaq's. A test compares the two.

mod compile;
mod scalar;

pub use scalar::Scalar;
pub(crate) use scalar::order;

use crate::write::write_text;
use jaq_core::ops::{Cmp, Math};
use std::borrow::Cow;
use std::io::Write;

/// A filter with exactly one output, or none if a condition is false.
#[derive(Debug)]
pub(crate) struct Native {
    /// If one of these is `false` or `null` for an input, there is no output.
    conditions: Vec<Expr>,
    /// `None` for the input itself.
    output: Option<Output>,
    /// The paths of the fields that it reads. Each path is a list of keys.
    paths: Vec<Vec<Vec<u8>>>,
}

#[derive(Debug)]
enum Output {
    Value(Expr),
    /// Each key as JSON, with its colon.
    Object(Vec<(Vec<u8>, Expr)>),
}

#[derive(Debug)]
enum Expr {
    Field(usize),
    Constant(Scalar<'static>),
    Math(Math, Box<Expr>, Box<Expr>),
    Cmp(Cmp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
}

/// The contents of a field.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// A scalar.
    Scalar(Scalar<'a>),
    /// An array or an object, as JSON.
    Json(&'a [u8]),
    /// Only jaq has the answer, as for a field of a number.
    Unknown,
}

/// Only jaq has the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

/// Where the fields of an input are.
pub trait Cells {
    /// The field with this number among the paths.
    fn cell(&self, path: usize) -> Cell<'_>;
}

impl Native {
    pub(crate) fn of(filter: &str) -> Option<Self> {
        compile::native(filter)
    }

    pub(crate) fn paths(&self) -> &[Vec<Vec<u8>>] {
        &self.paths
    }

    /// Whether every input has an output.
    pub(crate) fn has_no_conditions(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether the output is the input itself.
    pub(crate) fn is_identity(&self) -> bool {
        self.output.is_none()
    }

    /// Whether all conditions hold.
    pub(crate) fn selects(&self, cells: &impl Cells) -> Result<bool, Unknown> {
        for condition in &self.conditions {
            if !condition.scalar(cells)?.is_true() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The output, if it is a scalar. It does not check the conditions.
    pub(crate) fn scalar<'a>(&'a self, cells: &'a impl Cells) -> Result<Scalar<'a>, Unknown> {
        match &self.output {
            Some(Output::Value(value)) => value.scalar(cells),
            _ => Err(Unknown),
        }
    }

    /// Writes the output on one line, without its end, and returns whether it is neither `false` nor `null`. Writes
    /// nothing if the output is unknown.
    pub(crate) fn write(&self, cells: &impl Cells, out: &mut Vec<u8>) -> Result<bool, Unknown> {
        let begin = out.len();
        let written = match &self.output {
            None => Err(Unknown),
            Some(Output::Value(value)) => value.write(cells, out),
            Some(Output::Object(fields)) => object(fields, cells, out).map(|()| true),
        };
        if written.is_err() {
            out.truncate(begin);
        }
        written
    }
}

fn object(fields: &[(Vec<u8>, Expr)], cells: &impl Cells, out: &mut Vec<u8>) -> Result<(), Unknown> {
    out.push(b'{');
    for (n, (key, value)) in fields.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        value.write(cells, out)?;
    }
    out.push(b'}');
    Ok(())
}

impl Expr {
    fn scalar<'a>(&'a self, cells: &'a impl Cells) -> Result<Scalar<'a>, Unknown> {
        Ok(match self {
            Expr::Field(path) => match cells.cell(*path) {
                Cell::Scalar(scalar) => scalar,
                Cell::Json(_) | Cell::Unknown => return Err(Unknown),
            },
            Expr::Constant(scalar) => scalar.clone(),
            Expr::Math(op, left, right) => scalar::math(*op, &left.scalar(cells)?, &right.scalar(cells)?)?,
            Expr::Cmp(op, left, right) => {
                Scalar::Bool(scalar::compare(*op, &left.scalar(cells)?, &right.scalar(cells)?)?)
            }
            Expr::And(left, right) => Scalar::Bool(left.truth(cells)? && right.truth(cells)?),
            Expr::Or(left, right) => Scalar::Bool(left.truth(cells)? || right.truth(cells)?),
            Expr::Not(inner) => Scalar::Bool(!inner.truth(cells)?),
        })
    }

    /// Whether it is neither `false` nor `null`; arrays and objects are true.
    fn truth(&self, cells: &impl Cells) -> Result<bool, Unknown> {
        match self {
            Expr::Field(path) => match cells.cell(*path) {
                Cell::Scalar(scalar) => Ok(scalar.is_true()),
                Cell::Json(_) => Ok(true),
                Cell::Unknown => Err(Unknown),
            },
            other => Ok(other.scalar(cells)?.is_true()),
        }
    }

    fn write(&self, cells: &impl Cells, out: &mut Vec<u8>) -> Result<bool, Unknown> {
        if let Expr::Field(path) = self
            && let Cell::Json(json) = cells.cell(*path)
        {
            crate::write::compacted(json, out);
            return Ok(true);
        }
        let scalar = self.scalar(cells)?;
        scalar.write(out);
        Ok(scalar.is_true())
    }
}

impl Scalar<'_> {
    /// Whether it is neither `false` nor `null`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        !matches!(self, Scalar::Null | Scalar::Bool(false))
    }

    /// Writes it as JSON, as jaq writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Scalar::Null => out.extend_from_slice(b"null"),
            Scalar::Bool(true) => out.extend_from_slice(b"true"),
            Scalar::Bool(false) => out.extend_from_slice(b"false"),
            Scalar::Int(n) => write!(out, "{n}").expect("writing to a vector cannot fail"),
            Scalar::Float(x) => crate::write::write_float(*x, out),
            Scalar::Decimal(digits, _) => out.extend_from_slice(digits),
            Scalar::Text(text) => write_text(text, out),
        }
    }

    /// The same, with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Scalar::Null => Scalar::Null,
            Scalar::Bool(truth) => Scalar::Bool(truth),
            Scalar::Int(n) => Scalar::Int(n),
            Scalar::Float(x) => Scalar::Float(x),
            Scalar::Decimal(digits, x) => Scalar::Decimal(Cow::Owned(digits.into_owned()), x),
            Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
        }
    }
}
