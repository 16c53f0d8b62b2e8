//! Two objects as one, without building anything.

use super::Parser;
use super::compact::{MOST_FIELDS, Unsure};

/// A field of an object, as it is written there.
struct Field<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

/// Appends the object that has the fields of both, those of `second` where both have one: `$first + $second`. Returns
/// whether it has. If not, `out` is as it was, and only jq can tell what the sum is: one of them is no object, has two
/// fields of one name, more than 24 fields, or a key or a number that is not written as jq writes it.
///
/// ```
/// let mut out = Vec::new();
/// assert!(millstream_jq::unite(br#"{"id": 7, "name": "a"}"#, br#"{"name": "b", "n": [1, 2]}"#, &mut out));
/// assert_eq!(out, br#"{"id":7,"name":"b","n":[1,2]}"#);
/// assert!(!millstream_jq::unite(b"{}", b"[1]", &mut out));
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
    for Field { key, value } in replaced.chain(more) {
        out.push(open);
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        let mut parser = Parser::new(value);
        parser.depth = 1;
        parser.compact(out)?;
        open = b',';
    }
    out.extend_from_slice(if open == b'{' { b"{}" } else { b"}" });
    Ok(())
}

/// The fields of one object, with nothing behind it.
fn fields(json: &[u8]) -> Result<Vec<Field<'_>>, Unsure> {
    let mut parser = Parser::new(json);
    if parser.begin().is_none() || parser.peek() != Some(b'{') {
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
