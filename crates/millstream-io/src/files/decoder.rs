use std::fmt;
use std::fs::File;
#[cfg(any(feature = "gzip", feature = "zstd"))]
use std::io::{BufReader, ErrorKind};
use std::io::{Error, Read, Result};
use std::path::Path;

/// An open file, and how its bytes are made of what is in it.
pub(super) enum Decoder {
    Plain(File),
    #[cfg(feature = "gzip")]
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<File>>>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Decoder<'static, BufReader<File>>>),
}

impl Decoder {
    pub(super) fn open(path: &Path, decompress: bool) -> Result<Self> {
        let file = File::open(path)?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") if decompress => gzip(file),
            Some("zst") if decompress => zstd(file),
            _ => Ok(Decoder::Plain(file)),
        }
    }

    /// What cannot be done when a read fails.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Decoder::Plain(_) => "read",
            #[cfg(feature = "gzip")]
            Decoder::Gzip(_) => "decompress",
            #[cfg(feature = "zstd")]
            Decoder::Zstd(_) => "decompress",
        }
    }
}

impl Read for Decoder {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Decoder::Plain(file) => file.read(buffer),
            #[cfg(feature = "gzip")]
            Decoder::Gzip(decoder) => decoder.read(buffer).map_err(truncated),
            #[cfg(feature = "zstd")]
            Decoder::Zstd(decoder) => decoder.read(buffer).map_err(truncated),
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decoder::Plain(file) => f.debug_tuple("Plain").field(file).finish(),
            #[cfg(feature = "gzip")]
            Decoder::Gzip(_) => f.write_str("Gzip"),
            #[cfg(feature = "zstd")]
            Decoder::Zstd(_) => f.write_str("Zstd"),
        }
    }
}

#[cfg(feature = "gzip")]
fn gzip(file: File) -> Result<Decoder> {
    Ok(Decoder::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(file)))))
}

#[cfg(not(feature = "gzip"))]
fn gzip(_: File) -> Result<Decoder> {
    Err(Error::other("this program was built without the feature `gzip` of millstream"))
}

#[cfg(feature = "zstd")]
fn zstd(file: File) -> Result<Decoder> {
    Ok(Decoder::Zstd(Box::new(zstd::Decoder::with_buffer(BufReader::new(file))?)))
}

#[cfg(not(feature = "zstd"))]
fn zstd(_: File) -> Result<Decoder> {
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
