//! `@csv` and `@tsv`, which jaq's standard library lacks, and `join`, for which null is an empty text.

use crate::write::one_line;
use jaq_json::{Error, Num, Val, ValR};

/// A row as CSV. Texts are quoted, and quotes in them doubled.
pub(crate) fn csv(row: &Val) -> ValR {
    written(row, "CSV", b',', |text, out| {
        out.push(b'"');
        for byte in text {
            if *byte == b'"' {
                out.push(b'"');
            }
            out.push(*byte);
        }
        out.push(b'"');
    })
}

/// A row as TSV. A tab, a line end, a backslash and NUL in a text become escape sequences.
pub(crate) fn tsv(row: &Val) -> ValR {
    written(row, "TSV", b'\t', |text, out| {
        for byte in text {
            match byte {
                b'\n' => out.extend(b"\\n"),
                b'\r' => out.extend(b"\\r"),
                b'\t' => out.extend(b"\\t"),
                b'\\' => out.extend(b"\\\\"),
                0 => out.extend(b"\\0"),
                byte => out.push(*byte),
            }
        }
    })
}

fn written(row: &Val, kind: &str, between: u8, write: impl Fn(&[u8], &mut Vec<u8>)) -> ValR {
    let Val::Arr(fields) = row else {
        return Err(Error::str(format!("cannot write {row} as {kind}: a row is an array")));
    };
    let mut out = Vec::new();
    for (n, field) in fields.iter().enumerate() {
        if n > 0 {
            out.push(between);
        }
        match field {
            Val::Null => {}
            Val::Num(Num::Float(x)) if x.is_nan() => {}
            Val::Bool(_) | Val::Num(_) => out.extend(one_line(field)),
            Val::TStr(text) => write(text, &mut out),
            _ => {
                let why = format!("cannot write {field} as a field of {kind}: a field cannot be an array or an object");
                return Err(Error::str(why));
            }
        }
    }
    Ok(Val::utf8_str(out))
}

/// The items of an array, or the values of an object, as one text, with another one between them.
pub(crate) fn join(all: &Val, between: &Val) -> ValR {
    let items: Vec<&Val> = match all {
        Val::Arr(items) => items.iter().collect(),
        Val::Obj(fields) => fields.values().collect(),
        other => return Err(Error::str(format!("cannot join the items of {other}: it is no array, and no object"))),
    };
    let mut out = Vec::new();
    for (n, item) in items.into_iter().enumerate() {
        match between {
            _ if n == 0 => {}
            Val::Null => {}
            Val::TStr(text) => out.extend_from_slice(text),
            other => return Err(Error::str(format!("cannot join by {other}: it is no text"))),
        }
        match item {
            Val::Null => {}
            Val::TStr(text) | Val::BStr(text) => out.extend_from_slice(text),
            Val::Bool(_) | Val::Num(_) => out.extend(item.to_string().bytes()),
            Val::Arr(_) | Val::Obj(_) => {
                return Err(Error::str(format!("cannot join {item}: it is no text, number or boolean")));
            }
        }
    }
    Ok(Val::utf8_str(out))
}
