use super::{Parsed, Parser, Why};

impl Parser<'_> {
    /// The text up to its closing quote, with escape sequences resolved. Bytes that are not UTF-8 stay as they are.
    pub(super) fn text(&mut self) -> Parsed<Vec<u8>> {
        let from = self.at;
        if self.plain()? == b'"' {
            let text = self.bytes[from..self.at].to_vec();
            self.at += 1;
            return Ok(text);
        }
        let mut text = self.bytes[from..self.at].to_vec();
        loop {
            self.at += 1;
            let letter = self.escaped()?;
            text.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            let from = self.at;
            let end = self.plain()?;
            text.extend(&self.bytes[from..self.at]);
            if end == b'"' {
                self.at += 1;
                return Ok(text);
            }
        }
    }

    pub(super) fn pass_text(&mut self) -> Parsed<()> {
        while self.plain()? == b'\\' {
            self.at += 1;
            self.escaped()?;
        }
        self.at += 1;
        Ok(())
    }

    /// A byte string, after its first quote. It has escape sequences of two hexadecimal digits.
    pub(super) fn byte_string(&mut self) -> Parsed<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let from = self.at;
            let end = self.plain()?;
            bytes.extend(&self.bytes[from..self.at]);
            self.at += 1;
            if end == b'"' {
                return Ok(bytes);
            }
            match self.peek() {
                Some(b'u') => return self.fail(Why::Escape),
                Some(b'x') => {
                    self.at += 1;
                    bytes.push(self.hexadecimal(2)? as u8);
                }
                _ => bytes.extend(self.escaped()?.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Takes bytes that mean themselves, up to a quote or a backslash, which it returns.
    #[inline]
    fn plain(&mut self) -> Parsed<u8> {
        loop {
            match self.peek() {
                Some(byte @ (b'"' | b'\\')) => return Ok(byte),
                Some(byte @ 0..=0x1f) => return self.fail(Why::Control(byte)),
                Some(_) => self.at += 1,
                None => return self.fail(Why::Ended),
            }
        }
    }

    /// The character of the escape sequence after a backslash.
    fn escaped(&mut self) -> Parsed<char> {
        let Some(kind) = self.peek() else { return self.fail(Why::Ended) };
        let letter = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.fail(Why::Escape),
        };
        self.at += 1;
        Ok(letter)
    }

    fn unicode(&mut self) -> Parsed<char> {
        let first = self.hexadecimal(4)?;
        let code = if (0xd800..0xdc00).contains(&first) {
            if !self.take(b"\\u") {
                return self.fail(Why::Surrogate);
            }
            let second = self.hexadecimal(4)?;
            if !(0xdc00..0xe000).contains(&second) {
                return self.fail(Why::Surrogate);
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).map_or_else(|| self.fail(Why::Surrogate), Ok)
    }

    fn hexadecimal(&mut self, digits: usize) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..digits {
            let Some(byte) = self.peek() else { return self.fail(Why::Ended) };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return self.fail(Why::Expected("a hexadecimal digit"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}
