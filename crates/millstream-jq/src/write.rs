//! Writes values as text, with the same bytes as jaq.

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
            Val::BStr(_) => out.extend(value.to_string().bytes()),
            Val::Arr(items) => {
                out.push(b'[');
                self.sequence(items.iter(), level, out, |item, out| self.nested(item, level + 1, out));
                out.push(b']');
            }
            Val::Obj(fields) => {
                let field = |(key, value): (&Val, &Val), out: &mut Vec<u8>| {
                    self.nested(key, level + 1, out);
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
    Writer::new(Style { indent: None, join: true, ..Style::default() }).write(&value, out);
}

pub(crate) fn write_float(number: f64, out: &mut Vec<u8>) {
    write_number(&Num::Float(number), out);
}

fn write_number(number: &Num, out: &mut Vec<u8>) {
    match number {
        Num::Dec(text) => out.extend(text.as_bytes()),
        number => write!(out, "{number}").expect("writing to a vector cannot fail"),
    }
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
    jaq_json::write::write(out, &how, 0, value).expect("writing to a vector cannot fail");
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
            "[1e3,1.50,0.1,NaN]",
            "[12345678901234567890,-0]",
            "\"\\u0000\\u001f\\u007f\\b\\f\\n\\r\\t\\\"\\\\/\u{e9}\u{1f600}\"",
            "{1:2,[3]:4,b\"\\x00\":5}",
            "b\"\\xff\"",
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
}
