//! The counts that are kept in the repository.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// The file, in the folder of this crate.
pub(super) const FILE: &str = "kept.json";

/// The instructions of an item in each kernel, by one compiler.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    compiler: String,
    instructions: BTreeMap<String, f64>,
}

impl Kept {
    pub(super) fn read() -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path()).map_err(Failure::io(path().display().to_string()))?;
        serde_json::from_str(&text).map_err(|error| Failure::io(path().display().to_string())(error.into()))
    }

    /// No counts yet.
    pub(super) fn of_this_compiler() -> Self {
        Kept { compiler: this_compiler(), instructions: BTreeMap::new() }
    }

    pub(super) fn compiler(&self) -> &str {
        &self.compiler
    }

    pub(super) fn is_of_this_compiler(&self) -> bool {
        self.compiler == this_compiler()
    }

    pub(super) fn instructions(&self, kernel: &str) -> Option<f64> {
        self.instructions.get(kernel).copied()
    }

    pub(super) fn put(&mut self, kernel: &str, instructions: f64) {
        self.instructions.insert(kernel.to_owned(), (instructions * 1000.0).round() / 1000.0);
    }

    pub(super) fn write(&self) -> Result<(), Failure> {
        let cannot = || Failure::io(path().display().to_string());
        let text = serde_json::to_string_pretty(self).map_err(|error| cannot()(error.into()))?;
        std::fs::write(path(), text + "\n").map_err(cannot())
    }
}

fn path() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    manifest.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from).join(FILE)
}

/// The version of the compiler on PATH, which built this program a moment ago.
fn this_compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
