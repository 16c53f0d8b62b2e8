//! The types of columns and fields: declared, or sampled.

use crate::fold::{named, split};
use millstream_jq::{Scalar, scalar_of};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The names and types of the columns of a table, or of the fields of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// In the order of a table's columns.
    pub all: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its cells.
    pub of: Type,
    /// Whether a cell may be empty, which is null.
    pub optional: bool,
}

/// A type of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Type {
    /// A whole number, as JSON writes it.
    Int,
    /// A number, as JSON writes it.
    Float,
    /// `true` or `false`.
    Bool,
    /// Anything, as a text.
    Text,
    /// Any JSON value; not in a table.
    Any,
}

impl Type {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "int" => Type::Int,
            "float" => Type::Float,
            "bool" => Type::Bool,
            "text" => Type::Text,
            "any" => Type::Any,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Int => "int",
            Type::Float => "float",
            Type::Bool => "bool",
            Type::Text => "text",
            Type::Any => "any",
        }
    }

    /// The description of a value of this type.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Type::Int => "a whole number",
            Type::Float => "a number",
            Type::Bool => "true or false",
            Type::Text => "a text",
            Type::Any => "a value",
        }
    }

    /// Whether a cell of a table is one. Every cell is a text.
    #[inline]
    pub(crate) fn has_cell(self, cell: &[u8]) -> bool {
        match self {
            Type::Text | Type::Any => true,
            Type::Int => is_int(cell),
            Type::Float => is_number(cell),
            Type::Bool => matches!(cell, b"true" | b"false"),
        }
    }
}

/// Whether it is a whole number of JSON of at most 18 digits.
#[inline]
fn is_int(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let plain = match digits {
        [b'0'] => cell.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    plain && digits.len() <= 18
}

/// Whether it is a number of JSON.
#[inline]
fn is_number(cell: &[u8]) -> bool {
    if is_int(cell) {
        return true;
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = cell.strip_prefix(b"-").unwrap_or(cell);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    } else if rest.is_empty() {
        // A whole number that is too long for an int, or -0.
        return true;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            exponent => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

impl Columns {
    /// The columns that a text declares, as `{id: int, user: text, price: float?}`.
    ///
    /// # Errors
    ///
    /// What is wrong, and where, as bytes of the text.
    pub fn declared(text: &str) -> Result<Self, (std::ops::Range<usize>, String)> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let Some(inner) = inner else {
            return Err((0..text.len(), "a schema is written as `{id: int, user: text, price: float?}`".to_owned()));
        };
        let (mut all, mut at): (Vec<Column>, _) = (Vec::new(), 1);
        for part in split(inner) {
            let here = at + (part.len() - part.trim_start().len());
            let whole = here..here + part.trim().len();
            at += part.len() + 1;
            if part.trim().is_empty() && inner.trim().is_empty() {
                break;
            }
            let Some((name, of)) = named(part) else {
                return Err((whole, "a column is written as `price: float`".to_owned()));
            };
            let of = of.trim();
            let (of, optional) = of.strip_suffix('?').map_or((of, false), |of| (of, true));
            let Some(of) = Type::of(of.trim()) else {
                return Err((
                    whole,
                    "a type is int, float, bool, text or any, with `?` if it may be missing".to_owned(),
                ));
            };
            if part.trim_start().starts_with(':') || all.iter().any(|column| column.name == name) {
                return Err((whole, "each column needs its own name".to_owned()));
            }
            all.push(Column { name, of, optional });
        }
        Ok(Columns { all })
    }

    /// The place of a column.
    pub(crate) fn place(&self, name: &[u8]) -> Option<usize> {
        self.all.iter().position(|column| column.name.as_bytes() == name)
    }

    /// The columns of a table with these names, from some of its rows: of the first type that all cells which are not
    /// empty have.
    pub(crate) fn sampled<'a>(names: &[String], rows: impl Iterator<Item = Vec<&'a [u8]>> + Clone) -> Self {
        let column = |(place, name): (usize, &String)| {
            let cells = || rows.clone().filter_map(move |row| row.get(place).copied());
            let filled = || cells().filter(|cell| !cell.is_empty());
            let fits = |of: &Type| filled().all(|cell| of.has_cell(cell));
            let all_empty = filled().next().is_none();
            let of = [Type::Int, Type::Float, Type::Bool].into_iter().find(|of| !all_empty && fits(of));
            let of = of.unwrap_or(Type::Text);
            let optional = of != Type::Text && cells().any(<[u8]>::is_empty);
            Column { name: name.clone(), of, optional }
        };
        Columns { all: names.iter().enumerate().map(column).collect() }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (n, Column { name, of, optional }) in self.all.iter().enumerate() {
            let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let mut quoted = Vec::new();
            Scalar::Text(name.as_bytes().into()).write(&mut quoted);
            let shown = if plain { name.into() } else { String::from_utf8_lossy(&quoted) };
            let (comma, optional) = (if n > 0 { ", " } else { "" }, if *optional { "?" } else { "" });
            write!(f, "{comma}{shown}: {}{optional}", of.name())?;
        }
        f.write_str("}")
    }
}

/// The type of a JSON value, for a sample.
pub(crate) fn type_of(json: &[u8]) -> Option<Type> {
    match json.first() {
        Some(b'{' | b'[') => Some(Type::Any),
        _ => match scalar_of(json) {
            Some(Scalar::Null) => None,
            Some(Scalar::Bool(_)) => Some(Type::Bool),
            Some(Scalar::Int(_)) => Some(Type::Int),
            Some(Scalar::Float(_) | Scalar::Decimal(..)) => Some(Type::Float),
            Some(Scalar::Text(_)) => Some(Type::Text),
            None => Some(Type::Any),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_and_shown() {
        let text = "{id: int, \"a b\": text, price: float?, on: bool}";
        assert_eq!(Columns::declared(text).unwrap().to_string(), text);
        let text = r#"{"a,b": text, "c:d": int?, "e\"f": int, "g\\": any, "": bool}"#;
        assert_eq!(Columns::declared(text).unwrap().to_string(), text);
        assert_eq!(Columns::declared("{}").unwrap(), Columns::default());
        for (text, at) in [("id", 0..2), ("{id}", 1..3), ("{a: int, b: number}", 9..18), ("{a: int, a: int}", 9..15)] {
            assert_eq!(Columns::declared(text).unwrap_err().0, at, "{text}");
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        for int in ["0", "1", "-12", "123456789012345678"] {
            assert!(is_int(int.as_bytes()) && is_number(int.as_bytes()), "{int}");
        }
        for float in ["1.5", "-0", "0.0", "1e5", "1E-2", "-1.25e+3", "1234567890123456789"] {
            assert!(!is_int(float.as_bytes()) && is_number(float.as_bytes()), "{float}");
        }
        for text in ["", "-", "01", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "1 ", "1_000"] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
    }
}
