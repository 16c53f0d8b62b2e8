use std::fmt;
#[cfg(feature = "gzip")]
use std::io::BufRead;
#[cfg(any(feature = "gzip", feature = "zstd"))]
use std::io::BufReader;
use std::io::{Chain, Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::Path;

/// The bytes of a reader, decompressed if they begin as gzip (feature `gzip`) or zstd (feature `zstd`) does, and
/// unchanged otherwise. Only the content decides, so it works for pipes too.
///
/// The bytes of several members, or frames, follow each other. Uncompressed bytes are passed on at once, except for the
/// first ones while they could still begin a compressed file.
///
/// ```
/// use millstream::io::Decompressed;
///
/// # #[cfg(feature = "gzip")] {
/// // echo hello | gzip
/// let compressed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcbH\xcd\xc9\xc9\xe7\x02\0 0:6\x06\0\0\0";
/// assert_eq!(std::io::read_to_string(Decompressed::new(&compressed[..]))?, "hello\n");
/// # }
/// assert_eq!(std::io::read_to_string(Decompressed::new(&b"hello\n"[..]))?, "hello\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The reader's errors. If the content is damaged or ends within a member, an error after the bytes before that. If the
/// content begins as bzip2 or xz does, or as a format whose feature is missing, an error at once.
pub struct Decompressed<R> {
    state: State<R>,
    /// The format that the file's name implies.
    named: Option<Format>,
}

/// A reader, preceded by the bytes that were read from it.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

enum State<R> {
    /// The format is unknown; with the bytes that were read so far. There is no reader once an error has ended it.
    New(Option<R>, Vec<u8>),
    Plain(Seen<R>),
    #[cfg(feature = "gzip")]
    Gzip(Box<flate2::bufread::GzDecoder<BufReader<Seen<R>>>>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Decoder<'static, BufReader<Seen<R>>>>),
}

/// A format that files begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// The first bytes of files, as patterns of byte ranges.
const BEGINNINGS: [(Format, &[(u8, u8)]); 6] = [
    (Format::Gzip, &[(0x1f, 0x1f), (0x8b, 0x8b)]),
    (Format::Zstd, &[(0x28, 0x28), (0xb5, 0xb5), (0x2f, 0x2f), (0xfd, 0xfd)]),
    // A skippable frame.
    (Format::Zstd, &[(0x50, 0x5f), (0x2a, 0x2a), (0x4d, 0x4d), (0x18, 0x18)]),
    // A block follows, or the end of an empty file. No text begins like this.
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

/// The longest of them.
const MOST_BEGINNING: usize = 10;

/// The format of these first bytes, if it is known; and whether more bytes are needed.
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
    /// The bytes of this reader. It is first read by the first read of this.
    pub fn new(reader: R) -> Self {
        Decompressed { state: State::New(Some(reader), Vec::new()), named: None }
    }

    /// The bytes of a file of this name. If the name ends in `.gz` or `.zst`, and the content is neither gzip nor zstd,
    /// it is damaged.
    pub fn named(reader: R, name: impl AsRef<Path>) -> Self {
        let named = match name.as_ref().extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Some(Format::Gzip),
            Some("zst") => Some(Format::Zstd),
            _ => None,
        };
        Decompressed { named, ..Decompressed::new(reader) }
    }

    /// The operation that a read performs, for an error.
    pub(super) fn doing(&self) -> &'static str {
        match self.state {
            State::Plain(_) => "read",
            _ => "decompress",
        }
    }

    /// Reads until the format is known, at most `most` bytes at once.
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

impl<R: Read + Seek> Decompressed<R> {
    /// The same from this byte of its content on, if it was not read yet and its reader is at its beginning. It is
    /// nothing if the content ends before. What is compressed is read up to there.
    ///
    /// ```
    /// use millstream::io::Decompressed;
    /// use std::io::Cursor;
    ///
    /// let hello = Decompressed::new(Cursor::new("hello\n")).from_offset(3)?;
    /// assert_eq!(std::io::read_to_string(hello)?, "lo\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As a read.
    pub fn from_offset(mut self, offset: u64) -> Result<Self> {
        if let State::New(Some(reader), begin) = &mut self.state
            && Self::look(reader, begin, MOST_BEGINNING)?.or(self.named).is_none()
            && let State::New(Some(mut reader), _) = std::mem::replace(&mut self.state, State::New(None, Vec::new()))
        {
            reader.seek(SeekFrom::Start(offset))?;
            self.state = State::Plain(Cursor::new(Vec::new()).chain(reader));
            return Ok(self);
        }
        std::io::copy(&mut (&mut self).take(offset), &mut std::io::sink())?;
        Ok(self)
    }
}

#[cfg(feature = "gzip")]
impl<R: Read> Decompressed<R> {
    /// Reads from the present member of gzip, or from the next one that is not empty.
    fn read_members(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while let State::Gzip(decoder) = &mut self.state {
            let read = decoder.read(buffer).map_err(truncated)?;
            if read > 0 {
                return Ok(read);
            }
            // An interrupted read is repeated, so the decoder stays until it is known what follows.
            let next = decoder.get_mut().fill_buf()?.first().copied();
            match (next, std::mem::replace(&mut self.state, State::New(None, Vec::new()))) {
                (Some(MEMBER), State::Gzip(ended)) => {
                    self.state = State::Gzip(Box::new(flate2::bufread::GzDecoder::new(ended.into_inner())));
                }
                (None, _) => {}
                (Some(_), _) => {
                    let why = "after its last member it has bytes that are not gzip";
                    return Err(Error::new(ErrorKind::InvalidData, why));
                }
            }
        }
        Ok(0)
    }
}

/// The first byte of a member of gzip.
#[cfg(feature = "gzip")]
const MEMBER: u8 = 0x1f;

/// The decoder of a format.
fn decoder<R: Read>(seen: Seen<R>, format: Format) -> Result<State<R>> {
    match format {
        Format::Gzip => gzip(seen),
        Format::Zstd => zstd(seen),
        Format::Bzip2 => Err(refused("bzip2", "bzcat")),
        Format::Xz => Err(refused("xz", "xzcat")),
    }
}

fn refused(format: &str, program: &str) -> Error {
    let text = format!(
        "it is compressed by {format}, and only gzip and zstd can be decompressed here: use `{program} FILE |`"
    );
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
            State::Gzip(_) => self.read_members(buffer),
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
    Ok(State::Gzip(Box::new(flate2::bufread::GzDecoder::new(BufReader::new(seen)))))
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

/// The libraries have different texts for a file that ends too early.
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
    fn formats_are_known_by_their_first_bytes() {
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
