//! What is said at the end of a run.

use crate::message::{Complaints, quoted};
use millstream_mill::Program;
use std::ffi::OsStr;

/// A signal has ended a run before it had read everything: how far it came, and what its answers are of.
pub(super) fn say_interrupted(program: &Program, within: Option<&OsStr>, complaints: &Complaints) {
    let Some(file) = within else { return };
    let has = |what: &str| program.calls().iter().any(|call| call.given(what).is_some());
    // Every fold has this parameter.
    let has_folds = program.calls().iter().any(|call| call.parameters.iter().any(|(name, _)| *name == "session"));
    let answers = if has("every") || has("session") {
        "windows that were still open have answered with the rows that had come"
    } else if has_folds {
        "the answers are those of these rows"
    } else {
        "the output is that of these rows"
    };
    let file = if file == "-" { "standard input".to_owned() } else { quoted(file) };
    let rows = rows(program.rows().of("source").unwrap_or_default());
    complaints.note(&format!("interrupted within {file}, after {rows}: {answers}"));
}

fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}
