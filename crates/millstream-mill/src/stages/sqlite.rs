//! The stage that writes a table of a SQLite database.

use super::{Building, SoFar, Stages, text_of_rows};
use crate::rows::Rows;
use crate::sink::SinkOf;
use crate::sqlite::{DatabaseFile, TableName, inserted, name_of};
use millstream_core::KernelsExt;
use millstream_registry::In;
use std::sync::Arc;

pub(super) fn sink(stages: &mut Stages, building: &Building) {
    let collected = building.collected.clone();
    stages
        .stage_with("sqlite", ["file", "table"], move |rows: In<Rows>, (file, table): (DatabaseFile, TableName)| {
            let number = collected.sink(SinkOf { file: Some(name_of(&file, &table)) });
            let stage: Arc<str> = "sqlite".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, _| inserted(&mut so_far.header, rows, number, &stage);
            rows.scan_with(text_of_rows(write, |_, own| own))
        })
        .named_by("table")
        .about("adds rows to a table of a SQLite database; the fields of the first row are its columns");
}
