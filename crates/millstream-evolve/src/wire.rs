//! Frames: four bytes of length, lowest first, then a body of values encoded by postcard.
//!
//! A body is written straight into the buffer that is sent, and read from the buffer that received it. Byte strings are
//! borrowed, and lists are read value by value.

use crate::Violation;
use serde::{Deserialize, Serialize};

/// The bytes of a frame's length.
pub(crate) const LENGTH: usize = 4;

/// Writes one frame to the end of a buffer.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Frame<'a> {
    pub(crate) fn begin(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH]);
        Frame { out, start }
    }

    pub(crate) fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> &mut Self {
        put(self.out, value).expect("every message has an encoding");
        self
    }

    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.put(&(bytes.len() as u64));
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends items that are encoded already.
    pub(crate) fn put_raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    pub(crate) fn end(&mut self) {
        let length = u32::try_from(self.out.len() - self.start - LENGTH).expect("a frame has less than 4 GiB");
        self.out[self.start..self.start + LENGTH].copy_from_slice(&length.to_le_bytes());
    }
}

/// Appends a value to `out`.
pub(crate) fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), postcard::Error> {
    let taken = std::mem::take(out);
    *out = postcard::to_extend(value, taken)?;
    Ok(())
}

/// Appends a value as a byte string to `out`. It is encoded into `scratch` first, since its length comes first.
pub(crate) fn put_as_bytes<T: Serialize>(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    value: &T,
) -> Result<(), postcard::Error> {
    scratch.clear();
    put(scratch, value)?;
    put(out, &(scratch.len() as u64))?;
    out.extend_from_slice(scratch);
    Ok(())
}

/// A body that is read value by value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Body(bytes)
    }

    pub(crate) fn get<T: Deserialize<'a>>(&mut self) -> Result<T, Violation> {
        let (value, rest) = postcard::take_from_bytes(self.0)?;
        self.0 = rest;
        Ok(value)
    }

    /// A byte string, borrowed.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Violation> {
        self.get::<&[u8]>()
    }

    pub(crate) fn end(self) -> Result<(), Violation> {
        match self.0.len() {
            0 => Ok(()),
            rest => Err(Violation::new(format!("{rest} bytes after the end of a message"))),
        }
    }
}

/// The body of the first frame of these bytes, and the length of the frame; `None` if it has not arrived as a whole.
pub(crate) fn first_frame(received: &[u8], most: usize) -> Result<Option<(&[u8], usize)>, Violation> {
    let Some((length, rest)) = received.split_first_chunk::<LENGTH>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > most {
        return Err(Violation::new(format!("a message of {length} bytes; at most {most} are accepted")));
    }
    Ok(rest.get(..length).map(|body| (body, LENGTH + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_whole_or_it_is_none() {
        let mut out = Vec::new();
        Frame::begin(&mut out).put(&7_u32).put_bytes(b"abc").end();
        for cut in 0..out.len() {
            assert_eq!(first_frame(&out[..cut], 100), Ok(None), "{cut}");
        }
        out.push(9);
        let (body, length) = first_frame(&out, 100).unwrap().unwrap();
        assert_eq!(length, out.len() - 1);
        let mut body = Body::new(body);
        assert_eq!(body.get::<u32>(), Ok(7));
        assert_eq!(body.bytes(), Ok(&b"abc"[..]));
        assert_eq!(body.end(), Ok(()));
    }

    #[test]
    fn a_long_frame_is_refused_by_its_length_alone() {
        assert!(first_frame(&[255, 255, 255, 255], 100).is_err());
        assert!(Body::new(&[1]).end().is_err());
    }
}
