//! A path in a snapshot: a text, or its bytes if it is not UTF-8.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Other(OsString),
}

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let name = path.to_str().map_or_else(|| Name::Other(path.into()), |text| Name::Text(text.to_owned()));
    name.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Name::deserialize(deserializer)? {
        Name::Text(text) => text.into(),
        Name::Other(name) => name.into(),
    })
}
