//! Writes values as JSON, with the same bytes as jaq, except for what JSON does not have.

use crate::Style;
use crate::demand::Demand;
use crate::parse::Parser;
use jaq_json::write::{Pp, Styles};
use jaq_json::{Num, Val};
use std::io::Write;

/// Writes outputs one after the other.
#[derive(Debug)]
pub(crate) struct Writer {
    style: Style,
}

impl Writer {
    pub(crate) fn new(style: Style) -> Self {
        Writer { style }
    }

    pub(crate) fn write(&self, value: &Val, out: &mut Vec<u8>) {
        match value {
            Val::TStr(text) | Val::BStr(text) if self.style.raw => out.extend_from_slice(text),
            value if self.style.colours => coloured(&self.style, value, out),
            value => self.nested(value, 0, out),
        }
        if !self.style.join {
            out.push(b'\n');
        }
    }

    fn nested(&self, value: &Val, level: usize, out: &mut Vec<u8>) {
        match value {
            Val::Null => out.extend(b"null"),
            Val::Bool(true) => out.extend(b"true"),
            Val::Bool(false) => out.extend(b"false"),
            Val::Num(number) => write_number(number, out),
            Val::TStr(text) => write_text(text, out),
            Val::BStr(bytes) => write_text(String::from_utf8_lossy(bytes).as_bytes(), out),
            Val::Arr(items) => {
                out.push(b'[');
                self.sequence(items.iter(), level, out, |item, out| self.nested(item, level + 1, out));
                out.push(b']');
            }
            Val::Obj(fields) => {
                let field = |(key, value): (&Val, &Val), out: &mut Vec<u8>| {
                    match key {
                        Val::TStr(key) => write_text(key, out),
                        key => write_text(&one_line(key), out),
                    }
                    out.extend(if self.style.indent.is_some() { &b": "[..] } else { b":" });
                    self.nested(value, level + 1, out);
                };
                out.push(b'{');
                if self.style.sort_keys {
                    let mut sorted: Vec<_> = fields.iter().collect();
                    sorted.sort_by_key(|(key, _)| *key);
                    self.sequence(sorted.into_iter(), level, out, field);
                } else {
                    self.sequence(fields.iter(), level, out, field);
                }
                out.push(b'}');
            }
        }
    }

    fn sequence<T>(
        &self,
        items: impl ExactSizeIterator<Item = T>,
        level: usize,
        out: &mut Vec<u8>,
        write: impl Fn(T, &mut Vec<u8>),
    ) {
        let any = items.len() > 0;
        for (n, item) in items.enumerate() {
            if n > 0 {
                out.push(b',');
            }
            self.line(level + 1, out);
            write(item, out);
        }
        if any {
            self.line(level, out);
        }
    }

    /// Begins a line, if there are lines.
    fn line(&self, level: usize, out: &mut Vec<u8>) {
        if let Some(indent) = &self.style.indent {
            out.push(b'\n');
            (0..level).for_each(|_| out.extend(indent.as_bytes()));
        }
    }
}

/// Writes JSON on one line.
pub(crate) fn compacted(json: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    if Parser::new(json).compact(out).is_ok() {
        return;
    }
    out.truncate(begin);
    let value = Parser::new(json).value(&Demand::All).expect("the parser has accepted it");
    out.extend(one_line(&value));
}

/// A value as JSON on one line, without its end.
pub(crate) fn one_line(value: &Val) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::new(Style { indent: None, join: true, ..Style::default() }).write(value, &mut out);
    out
}

pub(crate) fn write_float(number: f64, out: &mut Vec<u8>) {
    write_number(&Num::Float(number), out);
}

/// Writes a number that JSON has. What is none of JSON is `null`, and what is too large is the largest, as jq has it.
fn write_number(number: &Num, out: &mut Vec<u8>) {
    match number {
        Num::Dec(text) => {
            // jaq negates the text of a number.
            let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
            out.extend([sign, without_zeros(digits)].concat().bytes());
        }
        Num::Float(x) if x.is_nan() => out.extend(b"null"),
        Num::Float(x) if x.abs() >= f64::MAX => {
            out.extend(if *x > 0.0 { LARGEST } else { LEAST }.as_bytes());
        }
        number => write!(out, "{number}").expect("writing to a vector cannot fail"),
    }
}

const LARGEST: &str = "1.7976931348623157e+308";
const LEAST: &str = "-1.7976931348623157e+308";

/// Digits that JSON has, of those that jaq reads: it takes a plus sign, and zeros before others.
fn without_zeros(digits: &str) -> &str {
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let rest = digits.trim_start_matches('0');
    let zeros = digits.len() - rest.len();
    if rest.starts_with(|first: char| first.is_ascii_digit()) { rest } else { &digits[zeros.saturating_sub(1)..] }
}

/// Writes a text in quotes. Bytes that are not UTF-8 stay as they are.
pub(crate) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(plain) = rest.iter().position(|byte| matches!(byte, 0..=0x1f | b'"' | b'\\' | 0x7f)) {
        out.extend(&rest[..plain]);
        match rest[plain] {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            0x08 => out.extend(b"\\b"),
            0x0c => out.extend(b"\\f"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            byte => write!(out, "\\u{byte:04x}").expect("writing to a vector cannot fail"),
        }
        rest = &rest[plain + 1..];
    }
    out.extend(rest);
    out.push(b'"');
}

/// A text as JSON.
pub(crate) fn json(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_text(text.as_bytes(), &mut out);
    out
}

/// Writes a value in the default colours, or those of `JQ_COLORS`. Only a person reads colours, so jaq's slower writer
/// will do.
fn coloured(style: &Style, value: &Val, out: &mut Vec<u8>) {
    let styles = Styles::ansi();
    let styles = match std::env::var("JQ_COLORS") {
        Ok(colours) => styles.parse(&colours),
        Err(_) => styles,
    };
    let sep_space = style.indent.is_some();
    let how = Pp { indent: style.indent.clone(), sort_keys: style.sort_keys, styles, sep_space };
    match Parser::new(&one_line(value)).value(&Demand::All) {
        Ok(value) => jaq_json::write::write(out, &how, 0, &value).expect("writing to a vector cannot fail"),
        // A filter can nest a value more deeply than one can be read: it has no colours.
        Err(_) => Writer::new(style.clone()).nested(value, 0, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_jaq() {
        let texts = [
            "null",
            "[true,false]",
            "{}",
            "[]",
            "[[],{}]",
            "{\"a\":1,\"b\":[1.5,-2,{\"c\":null}],\"a0\":{}}",
            "[1e3,1.50,0.1]",
            "[12345678901234567890,-0]",
            "\"\\u0000\\u001f\\u007f\\b\\f\\n\\r\\t\\\"\\\\/\u{e9}\u{1f600}\"",
        ];
        for text in texts {
            let value = jaq_json::read::parse_single(text.as_bytes()).unwrap();
            for (indent, sort_keys) in [(None, false), (Some("  "), false), (Some("\t"), true), (None, true)] {
                let indent = indent.map(str::to_owned);
                let how = Pp { sep_space: indent.is_some(), indent: indent.clone(), sort_keys, ..Pp::default() };
                let mut expected = Vec::new();
                jaq_json::write::write(&mut expected, &how, 0, &value).unwrap();
                let mut out = Vec::new();
                Writer::new(Style { indent, sort_keys, ..Style::default() }).write(&value, &mut out);
                expected.push(b'\n');
                assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected), "{text}");
            }
        }
    }
    #[test]
    fn what_json_does_not_have_is_written_as_jq_writes_it() {
        for (read, written) in [
            ("NaN", "null"),
            ("[Infinity,-Infinity]", "[1.7976931348623157e+308,-1.7976931348623157e+308]"),
            ("[+1.5,007.5,00.5,0.5,0e1,+00]", "[1.5,7.5,0.5,0.5,0e1,0]"),
            ("{1:2,[3,null]:4,\"a\":5}", "{\"1\":2,\"[3,null]\":4,\"a\":5}"),
            ("b\"a\\xff\"", "\"a\u{fffd}\""),
        ] {
            let value = jaq_json::read::parse_single(read.as_bytes()).unwrap();
            assert_eq!(String::from_utf8_lossy(&one_line(&value)), written, "{read}");
            let (mut plain, mut eyes) = (Vec::new(), Vec::new());
            compacted(read.as_bytes(), &mut plain);
            assert_eq!(String::from_utf8_lossy(&plain), written, "{read}");
            coloured(&Style { indent: None, ..Style::default() }, &value, &mut eyes);
            let mut eyes = String::from_utf8(eyes).unwrap();
            while let Some((from, end)) =
                eyes.find('\x1b').and_then(|from| Some((from, from + eyes[from..].find('m')?)))
            {
                eyes.replace_range(from..=end, "");
            }
            assert_eq!(eyes, written, "{read}, in colours");
        }
    }
}
