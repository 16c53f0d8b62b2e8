//! Objects by their fields, without building values.

use super::Parser;
use super::compact::{Unsure, write_key};
use crate::Outputs;

/// A field of an object, as it is written.
struct Field<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

/// Appends `$first + $second`, an object with the fields of both; a field that both have is the second's. Returns
/// whether it was appended. If not, `out` is as it was, and only jq can tell the sum: `first` or `second` is not an
/// object or not UTF-8, or has two fields of one name, more than 24 fields, or a key or a number that is not written as
/// jq writes it.
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
        write_key(field.key, out);
        out.push(b':');
        field.write_value(out)?;
        open = b',';
    }
    out.extend_from_slice(if open == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// Adds two outputs for each field of an object, its name and its value: `to_entries[] | .key, .value`. Returns whether
/// they were added. If not, `outputs` is as it was, and only jq can tell the outputs, as with [`unite`].
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
            write_key(field.key, &mut outputs.text);
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
    fn write_value(&self, out: &mut Vec<u8>) -> Result<(), Unsure> {
        let mut parser = Parser::new(self.value);
        parser.depth = 2;
        parser.compact(out)
    }
}

/// The fields of one object, which nothing follows.
fn fields(json: &[u8]) -> Result<Vec<Field<'_>>, Unsure> {
    let mut parser = Parser::strict(json);
    if std::str::from_utf8(json).is_err() || parser.begin().is_none() || parser.peek() != Some(b'{') {
        return Err(Unsure);
    }
    parser.at += 1;
    // jq has this object within an array.
    parser.depth = 2;
    let mut fields = Vec::new();
    parser.fields(|parser, key| {
        let from = parser.at;
        parser.pass()?;
        fields.push(Field { key, value: &json[from..parser.at] });
        Ok(())
    })?;
    if parser.begin().is_some() { Err(Unsure) } else { Ok(fields) }
}
