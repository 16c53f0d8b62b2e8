use super::{Parsed, Parser, Why};
use jaq_json::Num;

impl Parser<'_> {
    /// The number that begins here.
    pub(super) fn number(&mut self) -> Parsed<Num> {
        let (from, is_whole) = (self.at, self.pass_digits()?);
        let digits = &self.bytes[from..self.at];
        if is_whole && let Some(small) = small(digits) {
            return Ok(Num::Int(small));
        }
        // The skipped bytes are digits, signs, dots and letters.
        let text = String::from_utf8_lossy(digits);
        Ok(match &*text {
            "+Infinity" => Num::Float(f64::INFINITY),
            "-Infinity" => Num::Float(f64::NEG_INFINITY),
            text if is_whole => Num::from_str_radix(text, 10).unwrap_or_else(|| Num::from_dec_str(text)),
            text => Num::Dec(text.to_owned().into()),
        })
    }

    pub(super) fn pass_number(&mut self) -> Parsed<()> {
        self.pass_digits().map(drop)
    }

    /// Skips a number. Returns whether it has neither a fraction nor an exponent.
    fn pass_digits(&mut self) -> Parsed<bool> {
        let from = self.at;
        if matches!(self.peek(), Some(b'-' | b'+')) {
            if self.strict && self.peek() == Some(b'+') {
                return self.fail(Why::Expected("a value"));
            }
            self.at += 1;
            if self.take(b"Infinity") {
                return if self.strict { self.fail(Why::NoNumber) } else { Ok(false) };
            }
        }
        if self.strict && matches!(self.bytes[self.at..], [b'0', b'0'..=b'9', ..]) {
            return self.fail(Why::Expected("a number without zeros before it"));
        }
        if self.bytes[from..].starts_with(b"-0") {
            // JSON allows no digits after a leading zero. jaq allows them after 0 and +0.
            self.at += 1;
        } else {
            self.digits();
        }
        let whole = self.at;
        if self.peek() == Some(b'.') && self.has_digit(from) {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) && self.has_digit(from) {
            self.at += 1;
            if matches!(self.peek(), Some(b'-' | b'+')) {
                self.at += 1;
            }
            self.digits();
        }
        if self.has_digit(from) {
            Ok(self.at == whole)
        } else if self.peek().is_none() {
            self.fail(Why::Ended)
        } else {
            self.fail(Why::Expected("a digit"))
        }
    }

    /// Whether the number from `from` up to here ends in a digit.
    fn has_digit(&self, from: usize) -> bool {
        self.bytes[from..self.at].last().is_some_and(u8::is_ascii_digit)
    }

    #[inline]
    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }
}

/// A whole number of few digits, with or without a sign.
fn small(digits: &[u8]) -> Option<isize> {
    let (negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.len() > 18 {
        return None;
    }
    let number = digits.iter().fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0'));
    isize::try_from(if negative { -number } else { number }).ok()
}
