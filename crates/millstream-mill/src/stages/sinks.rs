//! The stages that write rows.

use super::{Building, Stages};
use crate::counted::{Role, RowCount};
use crate::grid::Grid;
use crate::parameters::Separator;
use crate::rolling::Rolling;
use crate::rows::{Form, Rows};
use crate::sink::{self, Header};
use crate::written::Written;
use millstream_core::wires::WireExt;
use millstream_core::{AnyEdge, Arrow, KernelsExt};
use millstream_registry::In;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) fn register(stages: &mut Stages, building: &Building) {
    let shards = building.shards;
    type Write = fn(&Rows, usize, &Arc<str>) -> Written;
    let plain: [(&str, Write, &str); 2] = [
        ("jsonl", sink::json, "writes each row as JSON on a line"),
        ("lines", sink::lines, "writes each row on a line: texts without quotes, other values as JSON"),
    ];
    for (name, write, about) in plain {
        let (stage, building): (Arc<str>, _) = (name.into(), building.clone());
        stages
            .stage_with(name, ["file"], move |rows: In<Rows>, file: Option<String>| {
                let (stage, (number, count)) = (stage.clone(), building.sink(file));
                rows.shard(shards, move |p| {
                    p.map(move |rows: &Rows| {
                        count.add(rows);
                        write(rows, number, &stage)
                    })
                })
            })
            .named_by("file")
            .about(about);
    }
    let sinks = building.clone();
    stages
        .stage_with("csv", ["file", "separator"], move |rows: In<Rows>, given: (Option<String>, Option<Separator>)| {
            let (sink, separator) = (sinks.sink(given.0), given.1.map_or(b',', |one| one.0));
            rows.scan_with(written_table(sink, separator, "csv"))
        })
        .named_by("file")
        .about("writes a table; the fields of the first row are its columns");
    let sinks = building.clone();
    stages
        .stage_with("tsv", ["file"], move |rows: In<Rows>, file: Option<String>| {
            rows.scan_with(written_table(sinks.sink(file), b'\t', "tsv"))
        })
        .named_by("file")
        .about("writes a table with tabs between cells");
    let sinks = building.clone();
    stages
        .stage_with("table", ["file"], move |rows: In<Rows>, file: Option<String>| {
            let (number, count) = sinks.sink(file);
            let stage: Arc<str> = "table".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, is_end| so_far.grid.add(rows, number, &stage, is_end);
            let end = move |so_far: SoFar, own| Written::together(own, so_far.grid.finish(number));
            rows.scan_with(text_of_rows(count, write, end))
        })
        .named_by("file")
        .about("writes aligned columns for people: 1000 rows at a time, and all answers of the end together");
    #[cfg(feature = "sqlite")]
    super::sqlite::sink(stages, building);
    printed(stages, building);
    let counting = building.counting.clone();
    stages
        .stage("both", move |(one, other): (In<Written>, In<Written>)| {
            counting.of(Role::None);
            (one, other).map(|(one, other): (&Written, &Written)| Written::both(one, other)).or(one).or(other)
        })
        .about("two outputs merged into one");
}

/// A sink's knowledge of the rows so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SoFar {
    pub(super) header: Header,
    grid: Grid,
    has_begun: bool,
}

/// Makes a text of rows; the flag says whether this is END.
pub(super) type WriteRows = Box<dyn Fn(&mut SoFar, &Rows, bool) -> Written + Send + Sync>;
/// Makes the end of a text.
pub(super) type EndRows = Box<dyn Fn(SoFar, Option<Written>) -> Option<Written> + Send + Sync>;

/// A sink with a state. In boxes its functions make one type of all such sinks, which is compiled once.
pub(super) fn text_of_rows(
    count: RowCount,
    write: impl Fn(&mut SoFar, &Rows, bool) -> Written + Send + Sync + 'static,
    end: impl Fn(SoFar, Option<Written>) -> Option<Written> + Send + Sync + 'static,
) -> Rolling<AnyEdge<Rows>, SoFar, WriteRows, EndRows, Written> {
    let write = move |so_far: &mut SoFar, rows: &Rows, is_end| {
        count.add(rows);
        write(so_far, rows, is_end)
    };
    Rolling::new(SoFar::default(), Box::new(write), Box::new(end))
}

/// A sink whose rows are those of a table.
fn written_table(
    (number, count): (usize, RowCount),
    separator: u8,
    stage: &str,
) -> Rolling<AnyEdge<Rows>, SoFar, WriteRows, EndRows, Written> {
    let stage: Arc<str> = stage.into();
    let write =
        move |so_far: &mut SoFar, rows: &Rows, _| sink::table(&mut so_far.header, rows, number, separator, &stage);
    text_of_rows(count, write, |_, own| own)
}

/// Adds `print`, the stage for rows without a sink.
fn printed(stages: &mut Stages, building: &Building) {
    let (sinks, terminal) = (building.clone(), building.terminal);
    stages
        .stage("print", move |rows: In<Rows>| {
            let (number, count) = sinks.sink(None);
            let stage: Arc<str> = "print".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, is_end| match &rows.form {
                Form::Table { separator, .. } => sink::table(&mut so_far.header, rows, number, *separator, &stage),
                Form::Lines => sink::lines(rows, number, &stage),
                // Only folds answer at the end. Windows may have been written before it.
                Form::Json if terminal && is_end && !so_far.has_begun => {
                    let mut grid = Grid::default();
                    let own = grid.add(rows, number, &stage, true);
                    // Rows that are no table of one header stay JSON: none is to be missing.
                    if own.dead.len() > rows.dead.len() {
                        return sink::json(rows, number, &stage);
                    }
                    Written::together(Some(own), grid.finish(number)).unwrap_or_default()
                }
                Form::Json => {
                    so_far.has_begun |= !rows.at.is_empty();
                    sink::json(rows, number, &stage)
                }
            };
            rows.scan_with(text_of_rows(count, write, |_, own| own))
        })
        .about(
            "writes rows to standard output as they came: JSON, a table or lines; at the end, on a terminal, aligned",
        );
}
