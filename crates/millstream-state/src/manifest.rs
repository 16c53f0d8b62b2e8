//! The manifest in a snapshot's file, and the file's bytes.
//!
//! # The file
//!
//! `snapshots/IIIIIIIIII-E.snapshot`, with the snapshot's id and the epoch of the process that wrote it:
//!
//! 1. the bytes of its parts, one after the other, except for parts that are in an earlier snapshot's file;
//! 2. a line of JSON, the [`Manifest`];
//! 3. a last line, `millstream-snapshot FORMAT LENGTH CRC`: the number of the format; the bytes of the line of JSON and
//!    both its line ends; the CRC-32 (as in gzip) of these bytes and of the last line up to it.
//!
//! So `tail -n 2` shows the manifest. One file is one sync and one rename, however many parts there are.

use crate::StateError;
use crate::disk::{DiskFile, read_exact};
use crate::sealed::Kind;
use crate::xxh64::xxh64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

pub(crate) const KIND: Kind = Kind { name: "millstream-snapshot", format: FORMAT };

/// The number of the format that [`StateDir::save`](crate::StateDir::save) writes, and the last that is read.
///
/// In format 2 a part may have only the changes of a state since another part: see
/// [`Snapshot::to_parts_since`](millstream_exec::Snapshot::to_parts_since).
pub const FORMAT: u32 = 2;

/// The description of a snapshot in its own file. It is written last, and never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The number of the file's format.
    pub format: u32,
    /// The program whose state it is.
    pub program: String,
    /// The snapshot's place among those of its directory: later ones have higher ids.
    pub id: u64,
    /// The number of the mark: everything below it is in the snapshot, and nothing else.
    pub at: u64,
    /// The number of the output's clock at the mark; `None` if the program did not pass it.
    pub output_at: Option<u64>,
    /// The epoch of the process that wrote it.
    pub epoch: u64,
    /// When it was written, in milliseconds since 1970, by the clock of that machine.
    pub written_unix_ms: u64,
    /// The position of the source.
    pub source: Value,
    /// The claim of the sink.
    pub sink: Value,
    /// The claims of side sinks, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub side_sinks: BTreeMap<String, Value>,
    /// The plan of the pipeline.
    pub plan: Value,
    /// The plan's fingerprint: two programs with equal plans have equal ones.
    pub fingerprint: String,
    /// The number that each stage with a state takes next, on the stage's own clock. Empty in snapshots of versions
    /// that did not store it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, u64>,
    /// The parts, in the order in which they were saved.
    pub parts: Vec<PartEntry>,
}

/// Where a part of a snapshot is, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartEntry {
    /// Its name, which no other part of the snapshot has.
    pub name: String,
    /// The name of the file in the directory `snapshots`: the snapshot's own, or that of an earlier one where the part
    /// has not changed since.
    pub file: String,
    /// Where the part begins in the file, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// The XXH64 of its bytes, with the seed 0; in JSON 16 hexadecimal digits.
    #[serde(with = "hex")]
    pub hash: u64,
}

/// A part of a snapshot that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Manifest {
    /// The name of the snapshot's file in the directory `snapshots`.
    #[must_use]
    pub fn file(&self) -> String {
        file_name(self.id, self.epoch)
    }

    /// The sum of the lengths of its parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.length))
    }

    /// The sum of the lengths of the parts in its own file: the bytes that were written for it.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        let file = self.file();
        let own = self.parts.iter().filter(|part| part.file == file);
        own.fold(0, |sum: u64, part| sum.saturating_add(part.length))
    }

    /// The names of the earlier files that have parts of it.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &str> {
        let file = self.file();
        self.parts.iter().map(|part| part.file.as_str()).filter(move |of| *of != file)
    }
}

pub(crate) fn file_name(id: u64, epoch: u64) -> String {
    format!("{id:010}-{epoch}.snapshot")
}

/// The id and the epoch in the name of a snapshot's file.
pub(crate) fn parse_name(name: &str) -> Option<(u64, u64)> {
    let (id, epoch) = name.strip_suffix(".snapshot")?.split_once('-')?;
    let (id, epoch) = (id.parse().ok()?, epoch.parse().ok()?);
    (file_name(id, epoch) == name).then_some((id, epoch))
}

/// The entries of parts, and the bytes of the parts that must be written, one after the other: all but those that the
/// base has as they are.
pub(crate) fn entries<'a>(
    file: &str,
    parts: &[(&str, &'a [u8])],
    base: Option<&Manifest>,
) -> (Vec<PartEntry>, Vec<&'a [u8]>) {
    let known: HashMap<&str, &PartEntry> =
        base.iter().flat_map(|base| &base.parts).map(|part| (part.name.as_str(), part)).collect();
    let (mut offset, mut written) = (0, Vec::new());
    let mut entry = |(name, bytes): &(&str, &'a [u8])| {
        let (length, hash) = (bytes.len() as u64, xxh64(bytes));
        let same = |part: &&PartEntry| (part.length, part.hash) == (length, hash) && length > 0;
        if let Some(same) = known.get(name).copied().filter(same) {
            return same.clone();
        }
        let entry = PartEntry { name: (*name).to_owned(), file: file.to_owned(), offset, length, hash };
        offset += length;
        written.push(*bytes);
        entry
    };
    (parts.iter().map(&mut entry).collect(), written)
}

/// The entries of parts that are the base's.
pub(crate) fn kept(base: Option<&Manifest>, names: &[&str]) -> Result<Vec<PartEntry>, String> {
    let known: HashMap<&str, &PartEntry> =
        base.iter().flat_map(|base| &base.parts).map(|part| (part.name.as_str(), part)).collect();
    let entry = |name: &&str| known.get(name).copied().cloned().ok_or_else(|| format!("its base has no part `{name}`"));
    names.iter().map(entry).collect()
}

/// The manifest at the end of an open file. `path` is the file's, and its name counts.
pub(crate) fn read(file: &mut dyn DiskFile, path: &Path) -> Result<Manifest, StateError> {
    let (manifest, begin): (Manifest, u64) = KIND.read(file).map_err(|why| why.at(path, &KIND))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if manifest.file() != name {
        return Err(StateError::damaged(path, format!("its name should be {}", manifest.file())));
    }
    let mut end = 0_u64;
    for part in &manifest.parts {
        if part.file == name {
            if part.offset != end {
                let why = format!("the part `{}` does not follow the part before it", part.name);
                return Err(StateError::damaged(path, why));
            }
            end = end.saturating_add(part.length);
        } else if parse_name(&part.file).is_none() {
            let why = format!("the part `{}` is in a file that is not a snapshot's", part.name);
            return Err(StateError::damaged(path, why));
        }
    }
    if end != begin {
        let why = format!("its parts have {begin} bytes, and its manifest says {end}");
        return Err(StateError::damaged(path, why));
    }
    Ok(manifest)
}

/// Reads the parts of a snapshot, one at a time, and checks each. `open` opens a file of the directory `below`.
pub(crate) fn read_parts(
    below: &Path,
    manifest: &Manifest,
    mut open: impl FnMut(&Path) -> Result<Box<dyn DiskFile>, StateError>,
    mut with: impl FnMut(Part),
) -> Result<(), StateError> {
    let mut path = below.join(manifest.file());
    let mut file = open(&path)?;
    if read(&mut *file, &path)? != *manifest {
        return Err(StateError::damaged(&path, "its manifest has changed since it was listed"));
    }
    for part in &manifest.parts {
        if !path.ends_with(&part.file) {
            path = below.join(&part.file);
            file = open(&path)?;
        }
        let wrong = |what: &str| StateError::damaged(&path, format!("the part `{}` {what}", part.name));
        let within = part.offset.checked_add(part.length);
        let length = file.length().map_err(StateError::io("measure", &path))?;
        if within.is_none_or(|end| end > length) {
            return Err(wrong("reaches beyond the end of the file"));
        }
        let mut bytes = vec![0; usize::try_from(part.length).map_err(|_| wrong("is larger than the memory"))?];
        read_exact(&mut *file, &mut bytes, part.offset).map_err(StateError::io("read", &path))?;
        if xxh64(&bytes) != part.hash {
            return Err(wrong("has another hash than its manifest says"));
        }
        with(Part { name: part.name.clone(), bytes });
    }
    Ok(())
}

mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(hash: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{hash:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        let hash = u64::from_str_radix(&text, 16).map_err(D::Error::custom)?;
        if format!("{hash:016x}") == text { Ok(hash) } else { Err(D::Error::custom("a hash has 16 digits")) }
    }
}
