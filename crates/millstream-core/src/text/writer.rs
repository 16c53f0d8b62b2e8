use std::marker::PhantomData;
use std::{fmt, io};

/// A writer for the text of one value, at the end of a block that the stage fills.
///
/// It only appends. The bytes written become the value's piece.
pub struct Writer<'w, T: ?Sized = [u8]> {
    bytes: &'w mut Vec<u8>,
    start: usize,
    kind: PhantomData<fn(&T)>,
}

impl<'w, T: ?Sized> Writer<'w, T> {
    /// Appends to `bytes`. If `T` is `str`, all bytes from here on must be UTF-8.
    #[doc(hidden)]
    #[inline(always)]
    pub fn new(bytes: &'w mut Vec<u8>) -> Self {
        Writer { start: bytes.len(), bytes, kind: PhantomData }
    }

    /// The number of bytes written for this value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether no byte was written for this value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Writer<'_, [u8]> {
    /// Appends one byte.
    #[inline(always)]
    pub fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends these bytes.
    #[inline(always)]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the bytes of an iterator.
    #[inline(always)]
    pub fn extend_with(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.bytes.extend(bytes);
    }
}

impl Writer<'_, str> {
    /// Appends one character.
    #[inline(always)]
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Appends a string.
    #[inline(always)]
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// Never fails.
impl io::Write for Writer<'_, [u8]> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend(bytes);
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Never fails.
impl fmt::Write for Writer<'_, str> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl<T: ?Sized> fmt::Debug for Writer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("len", &self.len()).finish_non_exhaustive()
    }
}
