//! Keys: values that are equal are one key, however they were written.

use millstream_jq::Scalar;

/// The key that this JSON value is, in the form that all equal values have.
pub(crate) fn key_of(mut json: Vec<u8>) -> Vec<u8> {
    make_key(&mut json, 0);
    ordered(&json).unwrap_or(json)
}

/// Writes the numbers of a JSON value, which begins at `from` and ends with the text, in one form for all that are
/// equal: 1.0 and 1e0 are 1.
pub(crate) fn make_key(text: &mut Vec<u8>, from: usize) {
    // Most keys are texts and whole numbers.
    let is_written_so = |json: &[u8]| match json {
        b"-0" => false,
        [b'-' | b'0'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        [b'{' | b'[', ..] => !json.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        _ => true,
    };
    if is_written_so(&text[from..]) {
        return;
    }
    let json = text.split_off(from);
    let mut at = 0;
    while at < json.len() {
        let rest = &json[at..];
        let length = match rest[0] {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                let in_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
                let length = rest.iter().position(|byte| !in_number(byte)).unwrap_or(rest.len());
                write_number(&rest[..length], text);
                at += length;
                continue;
            }
            _ => 1,
        };
        text.extend_from_slice(&rest[..length]);
        at += length;
    }
}

/// A key with the fields of its objects in one order, by which equal objects are one key; `None` if it is in order. A
/// key is JSON as filters write it: without space, and each name of an object once.
pub(crate) fn ordered(key: &[u8]) -> Option<Vec<u8>> {
    if !matches!(key, [b'{' | b'[', ..]) || is_ordered(key) {
        return None;
    }
    let mut out = Vec::with_capacity(key.len());
    write_ordered(key, &mut out);
    (out != key).then_some(out)
}

/// Whether this is an object of scalars in order, as most keys of several fields are, or has no object.
fn is_ordered(key: &[u8]) -> bool {
    let (mut at, mut before) = (1, &b""[..]);
    let is_object = key[0] == b'{';
    while let Some(byte) = key.get(at) {
        match byte {
            b'"' => {
                let length = string_length(&key[at..]);
                let name = &key[at..at + length];
                at += length;
                if is_object && key.get(at) == Some(&b':') {
                    if name < before {
                        return false;
                    }
                    before = name;
                }
            }
            b'{' => return false,
            _ => at += 1,
        }
    }
    true
}

/// Writes the value at the beginning, and returns its length.
fn write_ordered(json: &[u8], out: &mut Vec<u8>) -> usize {
    match json.first() {
        Some(b'{') => {
            let (mut at, mut fields, mut text) = (1, Vec::new(), Vec::new());
            while json.get(at) == Some(&b'"') {
                let name = &json[at..at + string_length(&json[at..])];
                let from = text.len();
                // Behind the colon, and the comma or the bracket.
                at += name.len() + 1;
                at += write_ordered(json.get(at..).unwrap_or_default(), &mut text) + 1;
                fields.push((name, from..text.len()));
            }
            fields.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (n, (name, value)) in fields.into_iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(name);
                out.push(b':');
                out.extend_from_slice(&text[value]);
            }
            out.push(b'}');
            at.max(2)
        }
        Some(b'[') => {
            out.push(b'[');
            let mut at = 1;
            while json.get(at).is_some_and(|byte| *byte != b']') {
                if json[at] == b',' {
                    out.push(b',');
                    at += 1;
                }
                at += write_ordered(&json[at..], out);
            }
            out.push(b']');
            at + 1
        }
        Some(b'"') => {
            let length = string_length(json);
            out.extend_from_slice(&json[..length]);
            length
        }
        _ => {
            let length = json.iter().position(|byte| matches!(byte, b',' | b']' | b'}')).unwrap_or(json.len());
            out.extend_from_slice(&json[..length]);
            length
        }
    }
}

fn write_number(digits: &[u8], out: &mut Vec<u8>) {
    /// Below it, a whole number has at most 18 digits: it is an `Int` if it is written as one.
    const WHOLE: f64 = 1e18;
    match millstream_jq::scalar_of(digits) {
        _ if digits == b"-0" => out.push(b'0'),
        Some(Scalar::Decimal(_, x) | Scalar::Float(x)) if x.fract() == 0.0 && x.abs() < WHOLE => {
            Scalar::Int(x as i64).write(out);
        }
        Some(Scalar::Decimal(_, x)) => Scalar::Float(x).write(out),
        Some(other) => other.write(out),
        None => out.extend_from_slice(digits),
    }
}

/// The length of the string at the beginning, with its quotes.
pub(crate) fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_objects_are_one_key() {
        for (key, in_order) in [
            ("{}", None),
            ("[]", None),
            ("1", None),
            ("\"{b,a}\"", None),
            ("{\"a\":1,\"b\":\"x\"}", None),
            ("{\"b\":\"}\\\"\",\"a\":1}", Some("{\"a\":1,\"b\":\"}\\\"\"}")),
            ("[1,[],{},{\"b\":{},\"a\":[]}]", Some("[1,[],{},{\"a\":[],\"b\":{}}]")),
            (
                "{\"a\":{\"d\":null,\"c\":[{\"f\":1,\"e\":true}]}}",
                Some("{\"a\":{\"c\":[{\"e\":true,\"f\":1}],\"d\":null}}"),
            ),
            ("{\"a\":{\"b\":1,\"c\":2}}", None),
            ("{\"b\":{\"z\":1},\"a\":2}", Some("{\"a\":2,\"b\":{\"z\":1}}")),
            ("[{\"a\":1},{\"b\":2}]", None),
        ] {
            let found = ordered(key.as_bytes()).map(|key| String::from_utf8(key).expect("text"));
            assert_eq!(found.as_deref(), in_order, "{key}");
        }
    }

    #[test]
    fn equal_numbers_are_one_key() {
        for (all, key) in [
            (&["1", "1.0", "1e0", "10E-1"][..], "1"),
            (&["-2.50", "-2.5", "-25e-1"], "-2.5"),
            (&["0", "0.0", "-0.0", "0e5", "-0"], "0"),
            (&["[1.0,{\"1.0\":2e0}]", "[1,{\"1.0\":2}]"], "[1,{\"1.0\":2}]"),
            (&["\"1.0\""], "\"1.0\""),
            (&["{\"a\\\"1.0\":true}"], "{\"a\\\"1.0\":true}"),
            (&["18446744073709551616"], "18446744073709551616"),
            (&["100000000000000000", "1e17", "100000000000000000.0"], "100000000000000000"),
            (&["null"], "null"),
        ] {
            for json in all {
                let mut text = b"before".to_vec();
                text.extend_from_slice(json.as_bytes());
                make_key(&mut text, 6);
                assert_eq!(String::from_utf8_lossy(&text), format!("before{key}"), "{json}");
            }
        }
        let one = |json: &str| {
            let mut text = json.as_bytes().to_vec();
            make_key(&mut text, 0);
            text
        };
        assert_eq!(one("1e300"), one("10e299"));
        assert_ne!(one("1e300"), one("1e299"));
    }
}
