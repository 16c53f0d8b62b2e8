use std::fmt;
#[cfg(any(feature = "gzip", feature = "zstd"))]
use std::io::BufReader;
use std::io::{Chain, Cursor, Error, ErrorKind, Read, Result};
use std::path::Path;

/// What a reader brings, decompressed if it begins as gzip (feature `gzip`) or zstd (feature `zstd`) does, and as it is
/// otherwise. Nothing but the content decides, so it is for pipes as well.
///
/// Members, or frames, one behind the other give their bytes in turn. Nothing is held back of what is not compressed,
/// but its first bytes for as long as they could begin a compressed file.
///
/// ```
/// use millstream_io::Decompressed;
/// # #[cfg(feature = "gzip")] {
/// use flate2::{Compression, write::GzEncoder};
/// use std::io::Write;
///
/// let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
/// encoder.write_all(b"hello\n")?;
/// let compressed = encoder.finish()?;
/// assert_eq!(std::io::read_to_string(Decompressed::new(&compressed[..]))?, "hello\n");
/// # }
/// assert_eq!(std::io::read_to_string(Decompressed::new(&b"hello\n"[..]))?, "hello\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of the reader; content that is damaged, or ends inside a member, after what can be had of it; content that
/// begins as bzip2 or xz does, or as a format whose feature is missing.
pub struct Decompressed<R> {
    state: State<R>,
    /// What its name says that it is.
    named: Option<Format>,
}

/// A reader whose first bytes have been looked at.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

enum State<R> {
    /// Not looked at, and what was read for that. There is no reader once it is known that it cannot be decompressed.
    New(Option<R>, Vec<u8>),
    Plain(Seen<R>),
    #[cfg(feature = "gzip")]
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<Seen<R>>>>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Decoder<'static, BufReader<Seen<R>>>>),
}

/// A format, by what it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// The beginnings of files: patterns of ranges of bytes.
const BEGINNINGS: [(Format, &[(u8, u8)]); 6] = [
    (Format::Gzip, &[(0x1f, 0x1f), (0x8b, 0x8b)]),
    (Format::Zstd, &[(0x28, 0x28), (0xb5, 0xb5), (0x2f, 0x2f), (0xfd, 0xfd)]),
    // A frame to be skipped.
    (Format::Zstd, &[(0x50, 0x5f), (0x2a, 0x2a), (0x4d, 0x4d), (0x18, 0x18)]),
    // Followed by a block, or by the end of an empty file. No text begins so.
    (
        Format::Bzip2,
        &[(b'B', b'B'), (b'Z', b'Z'), (b'h', b'h'), (b'1', b'9'), (0x31, 0x31), (0x41, 0x41), (0x59, 0x59)],
    ),
    (
        Format::Bzip2,
        &[(b'B', b'B'), (b'Z', b'Z'), (b'h', b'h'), (b'1', b'9'), (0x17, 0x17), (0x72, 0x72), (0x45, 0x45)],
    ),
    (Format::Xz, &[(0xfd, 0xfd), (b'7', b'7'), (b'z', b'z'), (b'X', b'X'), (b'Z', b'Z'), (0, 0)]),
];

/// The format of what begins so; none if it is none that is known; and whether more bytes have to tell.
fn format(begin: &[u8]) -> (Option<Format>, bool) {
    let fits = |pattern: &[(u8, u8)]| pattern.iter().zip(begin).all(|((low, high), byte)| (low..=high).contains(&byte));
    let mut open = false;
    for (format, pattern) in BEGINNINGS.iter().filter(|(_, pattern)| fits(pattern)) {
        if begin.len() >= pattern.len() {
            return (Some(*format), false);
        }
        open = true;
    }
    (None, open)
}

impl<R: Read> Decompressed<R> {
    /// What this reader brings. Nothing is read before the first read of this.
    pub fn new(reader: R) -> Self {
        Decompressed { state: State::New(Some(reader), Vec::new()), named: None }
    }

    /// What a file with this name brings. If the name ends in `.gz` or `.zst`, and the content begins neither as gzip
    /// nor as zstd does, it is damaged.
    pub fn named(reader: R, name: impl AsRef<Path>) -> Self {
        let named = match name.as_ref().extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Some(Format::Gzip),
            Some("zst") => Some(Format::Zstd),
            _ => None,
        };
        Decompressed { named, ..Decompressed::new(reader) }
    }

    /// What cannot be done when a read fails.
    pub(super) fn doing(&self) -> &'static str {
        match self.state {
            State::Plain(_) => "read",
            _ => "decompress",
        }
    }

    /// Reads until it is known how to go on, at most `most` bytes at once.
    fn look(reader: &mut R, begin: &mut Vec<u8>, most: usize) -> Result<Option<Format>> {
        loop {
            let (format, open) = format(begin);
            if format.is_some() || !open {
                return Ok(format);
            }
            let known = begin.len();
            begin.resize(known + most, 0);
            let read = reader.read(&mut begin[known..]);
            begin.truncate(known + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(None);
            }
        }
    }
}

/// What reads a format.
fn decoder<R: Read>(seen: Seen<R>, format: Format) -> Result<State<R>> {
    match format {
        Format::Gzip => gzip(seen),
        Format::Zstd => zstd(seen),
        Format::Bzip2 => Err(refused("bzip2", "bzcat")),
        Format::Xz => Err(refused("xz", "xzcat")),
    }
}

fn refused(format: &str, program: &str) -> Error {
    let text =
        format!("it is compressed by {format}, and only gzip and zstd are decompressed here: `{program} FILE |`");
    Error::new(ErrorKind::Unsupported, text)
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let State::New(reader, begin) = &mut self.state {
            let Some(from) = reader else { return Ok(0) };
            let format = Self::look(from, begin, buffer.len())?.or(self.named);
            let (Some(from), begin) = (reader.take(), std::mem::take(begin)) else { return Ok(0) };
            let seen = Cursor::new(begin).chain(from);
            self.state = match format {
                Some(format) => decoder(seen, format)?,
                None => State::Plain(seen),
            };
        }
        match &mut self.state {
            State::New(..) => Ok(0),
            State::Plain(seen) => seen.read(buffer),
            #[cfg(feature = "gzip")]
            State::Gzip(decoder) => decoder.read(buffer).map_err(truncated),
            #[cfg(feature = "zstd")]
            State::Zstd(decoder) => decoder.read(buffer).map_err(truncated),
        }
    }
}

impl<R> fmt::Debug for Decompressed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressed").finish_non_exhaustive()
    }
}

#[cfg(feature = "gzip")]
fn gzip<R: Read>(seen: Seen<R>) -> Result<State<R>> {
    Ok(State::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(seen)))))
}

#[cfg(not(feature = "gzip"))]
fn gzip<R>(_: Seen<R>) -> Result<State<R>> {
    Err(Error::other("this program was built without the feature `gzip` of millstream"))
}

#[cfg(feature = "zstd")]
fn zstd<R: Read>(seen: Seen<R>) -> Result<State<R>> {
    Ok(State::Zstd(Box::new(zstd::Decoder::with_buffer(BufReader::new(seen))?)))
}

#[cfg(not(feature = "zstd"))]
fn zstd<R>(_: Seen<R>) -> Result<State<R>> {
    Err(Error::other("this program was built without the feature `zstd` of millstream"))
}

/// The libraries each have their own words for a file that ends too early.
#[cfg(any(feature = "gzip", feature = "zstd"))]
fn truncated(error: Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::new(ErrorKind::UnexpectedEof, "it is truncated: it ends inside a member"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_what_they_begin_with() {
        assert_eq!(format(b"\x1f\x8b\x08"), (Some(Format::Gzip), false));
        assert_eq!(format(b"\x28\xb5\x2f\xfd"), (Some(Format::Zstd), false));
        assert_eq!(format(b"\x53\x2a\x4d\x18"), (Some(Format::Zstd), false));
        assert_eq!(format(b"BZh91AY&SY"), (Some(Format::Bzip2), false));
        assert_eq!(format(b"\xfd7zXZ\0"), (Some(Format::Xz), false));
        assert_eq!(format(b"BZh9 is a text"), (None, false));
        assert_eq!(format(b"to be"), (None, false));
        for begin in [&b""[..], b"\x1f", b"\x28\xb5", b"BZ", b"\xfd7z"] {
            assert_eq!(format(begin), (None, true), "{begin:?}");
        }
    }
}
