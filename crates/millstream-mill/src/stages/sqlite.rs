//! The stage that writes a table of a SQLite database.

use super::sinks::{SoFar, text_of_rows};
use super::{Building, Stages};
use crate::rows::Rows;
use crate::sqlite::{DatabaseFile, TableName, inserted, name_of};
use millstream_core::KernelsExt;
use millstream_registry::In;
use std::sync::Arc;

pub(super) fn sink(stages: &mut Stages, building: &Building) {
    let sinks = building.clone();
    stages
        .stage_with("sqlite", ["file", "table"], move |rows: In<Rows>, (file, table): (DatabaseFile, TableName)| {
            let (number, count) = sinks.sink(Some(name_of(&file, &table)));
            let stage: Arc<str> = "sqlite".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, _| inserted(&mut so_far.header, rows, number, &stage);
            rows.scan_with(text_of_rows(count, write, |_, own| own))
        })
        .named_by("table")
        .about("adds rows to a table of a SQLite database; the fields of the first row are its columns");
}
