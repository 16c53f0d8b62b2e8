//! Keys: numbers that are equal are one key, however they were written.

use millstream_jq::Scalar;

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

fn write_number(digits: &[u8], out: &mut Vec<u8>) {
    /// From here on not every whole number is one of a machine.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match millstream_jq::scalar_of(digits) {
        _ if digits == b"-0" => out.push(b'0'),
        Some(Scalar::Decimal(_, x) | Scalar::Float(x)) if x.fract() == 0.0 && x.abs() < EXACT => {
            Scalar::Int(x as i64).write(out);
        }
        Some(Scalar::Decimal(_, x)) => Scalar::Float(x).write(out),
        Some(other) => other.write(out),
        None => out.extend_from_slice(digits),
    }
}

/// The length of the string at the beginning, with its quotes.
fn string_length(json: &[u8]) -> usize {
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
    fn equal_numbers_are_one_key() {
        for (all, key) in [
            (&["1", "1.0", "1e0", "10E-1"][..], "1"),
            (&["-2.50", "-2.5", "-25e-1"], "-2.5"),
            (&["0", "0.0", "-0.0", "0e5", "-0"], "0"),
            (&["[1.0,{\"1.0\":2e0}]", "[1,{\"1.0\":2}]"], "[1,{\"1.0\":2}]"),
            (&["\"1.0\""], "\"1.0\""),
            (&["{\"a\\\"1.0\":true}"], "{\"a\\\"1.0\":true}"),
            (&["18446744073709551616"], "18446744073709551616"),
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
