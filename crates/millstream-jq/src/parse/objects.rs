//! Objects by their fields, without building anything.

use super::Parser;
use super::compact::{MOST_FIELDS, Unsure};
use crate::Outputs;

/// A field of an object, as it is written there.
struct Field<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

/// Appends the object that has the fields of both, those of `second` where both have one: `$first + $second`. Returns
/// whether it has. If not, `out` is as it was, and only jq can tell what the sum is: one of them is no object or not
/// UTF-8, or has two fields of one name, more than 24 fields, or a key or a number that is not written as jq writes it.
///
/// ```
/// use millstream::jq::unite;
/// let mut out = Vec::new();
/// assert!(unite(br#"{"id": 7, "name": "a"}"#, br#"{"name": "b", "n": [1, 2]}"#, &mut out));
/// assert_eq!(out, br#"{"id":7,"name":"b","n":[1,2]}"#);
/// assert!(!unite(b"{}", b"[1]", &mut out));
/// ```
pub fn unite(first: &[u8], second: &[u8], out: &mut Vec<u8>) -> bool {
    let begun = out.len();
    let united = united(first, second, out).is_ok();
    if !united {
        out.truncate(begun);
    }
    united
}

fn united(first: &[u8], second: &[u8], out: &mut Vec<u8>) -> Result<(), Unsure> {
    let (first, second) = (fields(first)?, fields(second)?);
    let named = |fields: &[Field<'_>], key: &[u8]| fields.iter().position(|field| field.key == key);
    let replaced = first.iter().map(|field| named(&second, field.key).map_or(field, |at| &second[at]));
    let more = second.iter().filter(|field| named(&first, field.key).is_none());
    let mut open = b'{';
    for field in replaced.chain(more) {
        out.push(open);
        field.write_key(out);
        out.push(b':');
        field.write_value(out)?;
        open = b',';
    }
    out.extend_from_slice(if open == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// Adds each field of an object as two outputs, its name and its value: `to_entries[] | .key, .value`. Returns whether
/// it has; if not, only jq can tell, as with [`unite`], and `outputs` is as it was.
///
/// ```
/// use millstream::jq::{Outputs, entries};
/// let mut outputs = Outputs::default();
/// assert!(entries(br#"{"id": 7, "n": [1, 2]}"#, &mut outputs));
/// assert_eq!(outputs.iter().collect::<Vec<_>>(), [&br#""id""#[..], b"7", br#""n""#, b"[1,2]"]);
/// ```
pub fn entries(object: &[u8], outputs: &mut Outputs) -> bool {
    let (text, ends) = (outputs.text.len(), outputs.ends.len());
    let mut add = || -> Result<(), Unsure> {
        for field in fields(object)? {
            field.write_key(&mut outputs.text);
            outputs.ends.push(outputs.text.len());
            field.write_value(&mut outputs.text)?;
            outputs.ends.push(outputs.text.len());
        }
        Ok(())
    };
    let added = add().is_ok();
    if !added {
        outputs.text.truncate(text);
        outputs.ends.truncate(ends);
    }
    added
}

impl Field<'_> {
    fn write_key(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.key);
        out.push(b'"');
    }

    fn write_value(&self, out: &mut Vec<u8>) -> Result<(), Unsure> {
        let mut parser = Parser::new(self.value);
        parser.depth = 2;
        parser.compact(out)
    }
}

/// The fields of one object, with nothing behind it.
fn fields(json: &[u8]) -> Result<Vec<Field<'_>>, Unsure> {
    let mut parser = Parser::strict(json);
    if std::str::from_utf8(json).is_err() || parser.begin().is_none() || parser.peek() != Some(b'{') {
        return Err(Unsure);
    }
    parser.at += 1;
    // Within an object, which jq has within an array.
    parser.depth = 2;
    let mut fields: Vec<Field<'_>> = Vec::new();
    if parser.skip_white() == Some(b'}') {
        parser.at += 1;
        return if parser.begin().is_none() { Ok(fields) } else { Err(Unsure) };
    }
    loop {
        let key = parser.plain_key().filter(|key| !key.contains(&0x7f)).ok_or(Unsure)?;
        // Of two fields of one name the second counts, in the place of the first.
        if fields.len() == MOST_FIELDS || fields.iter().any(|field| field.key == key) {
            return Err(Unsure);
        }
        parser.pass()?;
        parser.colon()?;
        let from = parser.at;
        parser.pass()?;
        fields.push(Field { key, value: &json[from..parser.at] });
        let next = parser.skip_white().ok_or(Unsure)?;
        parser.at += 1;
        match next {
            b',' => _ = parser.skip_white(),
            b'}' if parser.begin().is_none() => return Ok(fields),
            _ => return Err(Unsure),
        }
    }
}
