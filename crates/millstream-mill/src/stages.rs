//! The stages that text can name.

mod folds;
#[cfg(feature = "sqlite")]
mod sqlite;

use crate::ends::Collected;
use crate::grid::Grid;
use crate::join::{Join, Joined, Sides};
use crate::parameters::{AtLeastOne, Condition, Filter, Length, Schema, Separator};
use crate::program::Boxes;
use crate::raw::{Format, Raw};
use crate::rolling::Rolling;
use crate::rows::{Form, Rows};
use crate::sink::{Header, SinkOf};
use crate::source::SourceOf;
#[cfg(feature = "sqlite")]
use crate::sqlite::DatabaseFile;
use crate::stateless::{mapped, matching};
use crate::written::Written;
use crate::{parse, select, sink};
use millstream_core::wires::WireExt;
use millstream_core::{AnyEdge, Arrow, KernelsExt};
use millstream_jq::Expression;
use millstream_registry::{In, Registry};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the stages are built.
#[derive(Clone, Debug)]
pub(crate) struct Building {
    /// The tasklets of a stage without a state.
    pub(crate) shards: usize,
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// The sources and sinks of the text so far.
    pub(crate) collected: Collected,
}

type Stages = Registry<Boxes>;

/// The most keys of a fold, unless text sets another number.
const KEYS: usize = 1_000_000;

pub(crate) fn stages(building: &Building) -> Stages {
    let mut stages = Registry::empty();
    stages.ty::<Raw>("Files").ty::<Rows>("Rows").ty::<Written>("Output");
    sources(&mut stages, building);
    stateless(&mut stages, building);
    folds::register(&mut stages, building.shards);
    orders(&mut stages);
    joins(&mut stages);
    sinks(&mut stages, building);
    stages.by_expression("map");
    for (name, help) in OTHERS {
        stages.instead_of(name, help);
    }
    #[cfg(not(feature = "sqlite"))]
    stages.instead_of("sqlite", "a command with SQLite is built by `cargo install millstream-cli --features sqlite`");
    stages
}

/// Names of jq, Miller, SQL and the shell, and what to write here.
const OTHERS: [(&str, &str); 22] = [
    ("add", "`sum(.qty)` is the sum"),
    ("avg", "`mean(.qty)` is the mean"),
    ("average", "`mean(.qty)` is the mean"),
    ("cut", "`map({id, qty})` keeps fields"),
    ("filter", "`where(.qty > 3)` keeps rows"),
    ("first", "`take(10)` is the first rows"),
    ("group", "a fold takes a key: `count(by: .user)`"),
    ("group_by", "a fold takes a key: `count(by: .user)`"),
    ("head", "`take(10)` is the first rows"),
    ("last", "`latest` is the last row"),
    ("length", "`count` counts rows"),
    ("limit", "`take(10)` is the first rows"),
    ("max_by", "`top(1, .qty)` is the row with the greatest value"),
    ("min_by", "`top(1, -.qty)` is the row with the least value"),
    ("order_by", "`top(10, .qty)` is the greatest rows"),
    ("sort", "`top(10, .qty)` is the greatest rows"),
    ("sort_by", "`top(10, .qty)` is the greatest rows"),
    ("tail", "`latest` is the last row"),
    ("uniq", "`distinct(.user)` is the first row of each key, and `count(by: .user)` counts them"),
    ("unique", "`distinct(.user)` is the first row of each key"),
    ("unique_by", "`distinct(.user)` is the first row of each key"),
    ("wc", "`count` counts rows"),
];

fn sources(stages: &mut Stages, building: &Building) {
    let source = |name: &'static str, building: &Building| {
        let (stage, shards, collected): (Arc<str>, _, _) = (name.into(), building.shards, building.collected.clone());
        move |raw: In<Raw>, of: SourceOf| {
            let (stage, format, reads) = (stage.clone(), of.format, collected.source(of));
            raw.shard(shards, move |p| {
                p.filter_map(move |raw: &Raw| {
                    (raw.source == reads.source).then(|| parse::rows(raw, format, reads.dead, &stage))
                })
            })
        }
    };
    type Declared = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<String>);
    let declared = |format, default, (files, schema, sample, follow, dead): Declared| SourceOf {
        format,
        files,
        columns: schema.map(|schema| schema.0),
        sample: sample.unwrap_or(default),
        follow: follow.unwrap_or(false),
        listen: None,
        dead,
        #[cfg(feature = "sqlite")]
        query: None,
    };
    let make = source("jsonl", building);
    type Json = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<String>, Option<String>);
    stages
        .stage_with(
            "jsonl",
            ["files", "schema", "sample", "follow", "dead", "listen"],
            move |raw: In<Raw>, (files, schema, sample, follow, dead, listen): Json| {
                let of = declared(Format::Json, 0, (files, schema, sample, follow, dead));
                make(raw, SourceOf { listen, ..of })
            },
        )
        .about("rows of JSON, each on a line");
    let make = source("tsv", building);
    stages
        .stage_with("tsv", ["files", "schema", "sample", "follow", "dead"], move |raw: In<Raw>, given: Declared| {
            make(raw, declared(Format::Table(b'\t'), SAMPLE, given))
        })
        .about("rows of a table with tabs between cells; the first row has the names");
    let make = source("csv", building);
    type Csv = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<String>, Option<Separator>);
    stages
        .stage_with(
            "csv",
            ["files", "schema", "sample", "follow", "dead", "separator"],
            move |raw: In<Raw>, (files, schema, sample, follow, dead, separator): Csv| {
                let format = Format::Table(separator.map_or(b',', |separator| separator.0));
                make(raw, declared(format, SAMPLE, (files, schema, sample, follow, dead)))
            },
        )
        .about("rows of a table in CSV (RFC 4180); the first row has the names");
    let make = source("lines", building);
    type Lines = (Option<String>, Option<bool>, Option<String>, Option<String>);
    stages
        .stage_with(
            "lines",
            ["files", "follow", "dead", "listen"],
            move |raw: In<Raw>, (files, follow, dead, listen): Lines| {
                let of = declared(Format::Lines, 0, (files, None, None, follow, dead));
                make(raw, SourceOf { listen, ..of })
            },
        )
        .about("each line as a text");
    #[cfg(feature = "sqlite")]
    {
        let make = source("sqlite", building);
        type Query = (Option<DatabaseFile>, String, Option<String>);
        stages
            .stage_with("sqlite", ["files", "query", "dead"], move |raw: In<Raw>, (files, query, dead): Query| {
                let of = declared(Format::Json, 0, (files.map(|files| files.0), None, None, None, dead));
                make(raw, SourceOf { query: Some(query), ..of })
            })
            .about("the rows that a query of a SQLite database returns");
    }
}

/// The rows of a table that are sampled for the types of its columns.
const SAMPLE: usize = 100;

fn stateless(stages: &mut Stages, building: &Building) {
    type OfEach = fn(&Rows, &Expression, &Arc<str>) -> Rows;
    let shards = building.shards;
    let each = move |rows: In<Rows>, of_each: OfEach, expression: Expression, stage: &str| {
        let stage: Arc<str> = stage.into();
        rows.shard(shards, move |p| p.map(move |rows: &Rows| of_each(rows, &expression, &stage)))
    };
    for name in ["where", "select"] {
        stages
            .stage_with(name, ["condition"], move |rows: In<Rows>, condition: Condition| {
                each(rows, matching, condition.0, name)
            })
            .about("the rows for which the condition is neither false nor null");
    }
    stages
        .stage_with("map", ["to"], move |rows: In<Rows>, to: Filter| each(rows, mapped, to.0, "map"))
        .about("the results of the expression for each row: one row, several, or none");
}

fn orders(stages: &mut Stages) {
    type Cut = fn(&Rows, &mut u64) -> Rows;
    let cuts: [(&str, Cut, &str); 2] =
        [("take", select::first, "the first n rows"), ("skip", select::after, "the rows after the first n")];
    for (name, cut, about) in cuts {
        stages
            .stage_with(name, ["n"], move |rows: In<Rows>, n: usize| {
                let step = move |left: &mut u64, rows: &Rows, _| cut(rows, left);
                rows.scan_with(Rolling::new(n as u64, step, |_, own| own))
            })
            .about(about);
    }
    stages
        .stage_with("distinct", ["by", "most"], |rows: In<Rows>, (by, most): (Filter, Option<AtLeastOne>)| {
            let most = most.map_or(KEYS, |most| most.0);
            rows.scan_with(Rolling::new(
                select::Seen::default(),
                move |seen: &mut select::Seen, rows: &Rows, _| seen.new_ones(rows, &by.0, most),
                |_, own| own,
            ))
        })
        .about("the first row of each key");
}

fn joins(stages: &mut Stages) {
    type Joining = (Filter, Option<Filter>, Option<Length>, Option<Filter>, Option<bool>, Option<AtLeastOne>);
    stages
        .stage_with(
            "join",
            ["on", "with", "within", "at", "keep", "most"],
            |(rows, others): (In<Rows>, In<Rows>), (on, with, within, at, keep, most): Joining| {
                let join = Join {
                    stage: "join".into(),
                    with: with.map_or_else(|| on.0.clone(), |with| with.0),
                    on: on.0,
                    within: within.zip(at).map(|(within, at)| (within.0, at.0)),
                    keeps: keep.unwrap_or(false),
                    most: most.map_or(KEYS, |most| most.0),
                };
                let both =
                    (rows, others).map(|(rows, others): (&Rows, &Rows)| Sides::Both(rows.clone(), others.clone()));
                let these = rows.map(|rows: &Rows| Sides::These(rows.clone()));
                let those = others.map(|others: &Rows| Sides::Others(others.clone()));
                both.or(these).or(those).scan_with(Rolling::new(
                    Joined::default(),
                    move |joined: &mut Joined, sides: &Sides, _| join.step(joined, sides),
                    |_, own| own,
                ))
            },
        )
        .needs("within", "at")
        .needs("at", "within")
        .about("each row with the fields of the other wire's earlier rows of the same key");
}

fn sinks(stages: &mut Stages, building: &Building) {
    let shards = building.shards;
    type Write = fn(&Rows, usize, &Arc<str>) -> Written;
    let plain: [(&str, Write, &str); 2] = [
        ("jsonl", sink::json, "writes each row as JSON on a line"),
        ("lines", sink::lines, "writes each row on a line: texts without quotes, other values as JSON"),
    ];
    for (name, write, about) in plain {
        let (stage, collected): (Arc<str>, _) = (name.into(), building.collected.clone());
        stages
            .stage_with(name, ["file"], move |rows: In<Rows>, file: Option<String>| {
                let (stage, number) = (stage.clone(), collected.sink(SinkOf { file }));
                rows.shard(shards, move |p| p.map(move |rows: &Rows| write(rows, number, &stage)))
            })
            .named_by("file")
            .about(about);
    }
    let collected = building.collected.clone();
    stages
        .stage_with("csv", ["file", "separator"], move |rows: In<Rows>, given: (Option<String>, Option<Separator>)| {
            let (number, separator) = (collected.sink(SinkOf { file: given.0 }), given.1.map_or(b',', |one| one.0));
            rows.scan_with(written_table(number, separator, "csv"))
        })
        .named_by("file")
        .about("writes a table; the fields of the first row are its columns");
    let collected = building.collected.clone();
    stages
        .stage_with("tsv", ["file"], move |rows: In<Rows>, file: Option<String>| {
            rows.scan_with(written_table(collected.sink(SinkOf { file }), b'\t', "tsv"))
        })
        .named_by("file")
        .about("writes a table with tabs between cells");
    let collected = building.collected.clone();
    stages
        .stage_with("table", ["file"], move |rows: In<Rows>, file: Option<String>| {
            let number = collected.sink(SinkOf { file });
            let stage: Arc<str> = "table".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, _| so_far.grid.add(rows, number, &stage);
            let end = move |so_far: SoFar, own| Written::together(own, so_far.grid.finish(number));
            rows.scan_with(text_of_rows(write, end))
        })
        .named_by("file")
        .about("writes aligned columns for people: up to 1000 rows at once, the rest at the end");
    #[cfg(feature = "sqlite")]
    sqlite::sink(stages, building);
    printed(stages, building);
    stages
        .stage("both", |(one, other): (In<Written>, In<Written>)| {
            (one, other).map(|(one, other): (&Written, &Written)| Written::both(one, other)).or(one).or(other)
        })
        .about("two outputs merged into one");
}

/// What a sink knows of the rows so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SoFar {
    header: Header,
    grid: Grid,
    has_begun: bool,
}

/// Makes a text of rows; the flag says whether this is END.
type WriteRows = Box<dyn Fn(&mut SoFar, &Rows, bool) -> Written + Send + Sync>;
/// What a text ends with.
type EndRows = Box<dyn Fn(SoFar, Option<Written>) -> Option<Written> + Send + Sync>;

/// A sink with a state. In boxes its functions make one type of all such sinks, which is compiled once.
fn text_of_rows(
    write: impl Fn(&mut SoFar, &Rows, bool) -> Written + Send + Sync + 'static,
    end: impl Fn(SoFar, Option<Written>) -> Option<Written> + Send + Sync + 'static,
) -> Rolling<AnyEdge<Rows>, SoFar, WriteRows, EndRows, Written> {
    Rolling::new(SoFar::default(), Box::new(write), Box::new(end))
}

/// A sink whose rows are those of a table.
fn written_table(
    number: usize,
    separator: u8,
    stage: &str,
) -> Rolling<AnyEdge<Rows>, SoFar, WriteRows, EndRows, Written> {
    let stage: Arc<str> = stage.into();
    let write =
        move |so_far: &mut SoFar, rows: &Rows, _| sink::table(&mut so_far.header, rows, number, separator, &stage);
    text_of_rows(write, |_, own| own)
}

/// What rows without a sink go through.
fn printed(stages: &mut Stages, building: &Building) {
    let (collected, terminal) = (building.collected.clone(), building.terminal);
    stages
        .stage("print", move |rows: In<Rows>| {
            let number = collected.sink(SinkOf { file: None });
            let stage: Arc<str> = "print".into();
            let write = move |so_far: &mut SoFar, rows: &Rows, is_end| match &rows.form {
                Form::Table { separator, .. } => sink::table(&mut so_far.header, rows, number, *separator, &stage),
                Form::Lines => sink::lines(rows, number, &stage),
                // Only folds answer at the end. Windows may have been written before it.
                Form::Json if terminal && is_end && !so_far.has_begun => {
                    let own = so_far.grid.add(rows, number, &stage);
                    Written::together(Some(own), std::mem::take(&mut so_far.grid).finish(number)).unwrap_or_default()
                }
                Form::Json => {
                    so_far.has_begun |= !rows.at.is_empty();
                    sink::json(rows, number, &stage)
                }
            };
            rows.scan_with(text_of_rows(write, |_, own| own))
        })
        .about(
            "writes rows to standard output as they came: JSON, a table or lines; at the end, on a terminal, aligned",
        );
}
