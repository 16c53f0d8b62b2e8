//! The stages that text can name.

mod folds;
mod sinks;
#[cfg(feature = "sqlite")]
mod sqlite;

use crate::counted::{Counting, Role, RowCount};
use crate::ends::Collected;
use crate::join::{Join, Joined, Sides};
use crate::parameters::{AtLeastOne, Condition, Filter, KEYS, Length, Letters, Schema, Separator};
use crate::parse::Reading;
use crate::program::Boxes;
use crate::raw::{Format, Raw};
use crate::rolling::Rolling;
use crate::rows::Rows;
use crate::sink::SinkOf;
use crate::source::SourceOf;
#[cfg(feature = "sqlite")]
use crate::sqlite::DatabaseFile;
use crate::stateless::{mapped, matching};
use crate::written::Written;
use crate::{parse, select};
use millstream_core::wires::WireExt;
use millstream_core::{Arrow, KernelsExt};
use millstream_jq::Expression;
use millstream_registry::{In, Registry};
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
    /// How many rows come to each stage.
    pub(crate) counting: Counting,
}

impl Building {
    /// The number of a sink that is being made, and the count of its rows.
    fn sink(&self, file: Option<String>) -> (usize, RowCount) {
        (self.collected.sink(SinkOf { file }), self.counting.of(Role::Sink))
    }
}

type Stages = Registry<Boxes>;

pub(crate) fn stages(building: &Building) -> Stages {
    let mut stages = Registry::empty();
    stages.ty::<Raw>("Files").ty::<Rows>("Rows").ty::<Written>("Output");
    sources(&mut stages, building);
    stateless(&mut stages, building);
    folds::register(&mut stages, building);
    orders(&mut stages, building);
    joins(&mut stages, building);
    sinks::register(&mut stages, building);
    stages.by_expression("map");
    for (name, help) in OTHERS {
        stages.instead_of(name, help);
    }
    #[cfg(not(feature = "sqlite"))]
    stages.instead_of("sqlite", "a command with SQLite is built by `cargo install millstream-cli --features sqlite`");
    stages
}

/// Names of jq, Miller, SQL and the shell, and what to write here.
const OTHERS: [(&str, &str); 38] = [
    ("add", "`sum(.qty)` is the sum"),
    ("average", "`mean(.qty)` is the mean"),
    ("avg", "`mean(.qty)` is the mean"),
    ("cut", "`map({id, qty})` keeps fields"),
    ("filter", "`where(.qty > 3)` keeps rows"),
    ("first", "`take(10)` is the first rows"),
    ("grep", "`where((test(\"a.b\")))` keeps lines that match"),
    ("group", "a fold takes a key: `count(by: .user)`"),
    ("group_by", "a fold takes a key: `count(by: .user)`"),
    ("head", "`take(10)` is the first rows"),
    ("last", "`latest` is the last row"),
    ("length", "`count` counts rows"),
    ("limit", "`take(10)` is the first rows"),
    ("max_by", "`top(1, .qty)` is the row with the greatest value"),
    ("median", "`quantile(.qty, 0.5)` is the median"),
    ("min_by", "`top(1, -.qty)` is the row with the least value"),
    ("order_by", "`top(10, .qty)` is the greatest rows"),
    ("p50", "`quantile(.qty, 0.5)` is the median"),
    ("p90", "`quantile(.qty, 0.9)` is the 90th percentile"),
    ("p95", "`quantile(.qty, 0.95)` is the 95th percentile"),
    ("p99", "`quantile(.qty, 0.99)` is the 99th percentile"),
    ("percentile", "`quantile(.qty, 0.95)` is the 95th percentile"),
    ("rate", "a fold takes a window: `count(every: 1m, at: .time)`"),
    ("rename", "`map({time: .ts, qty})` renames and keeps fields"),
    ("replace", "`map((gsub(\"a\"; \"b\")))` replaces in each line"),
    ("sed", "`map((gsub(\"a\"; \"b\")))` replaces in each line"),
    ("session", "a fold takes a session: `count(by: .user, session: 30m, at: .time)`"),
    ("sessionize", "a fold takes a session: `count(by: .user, session: 30m, at: .time)`"),
    ("sort", "`top(10, .qty)` is the greatest rows"),
    ("sort_by", "`top(10, .qty)` is the greatest rows"),
    ("tail", "`latest` is the last row"),
    ("tumble", "a fold takes a window: `count(every: 1m, at: .time)`"),
    ("tumbling", "a fold takes a window: `count(every: 1m, at: .time)`"),
    ("uniq", "`distinct(.user)` is the first row of each key, and `count(by: .user)` counts them"),
    ("unique", "`distinct(.user)` is the first row of each key"),
    ("unique_by", "`distinct(.user)` is the first row of each key"),
    ("wc", "`count` counts rows"),
    ("window", "a fold takes a window: `count(every: 1m, at: .time)`"),
];

fn sources(stages: &mut Stages, building: &Building) {
    let source = |name: &'static str, building: &Building| {
        let (stage, building): (Arc<str>, _) = (name.into(), building.clone());
        move |raw: In<Raw>, of: SourceOf| {
            let (stage, format) = (stage.clone(), of.format);
            let (declared, is_followed) = (of.columns.clone().map(Arc::new), of.follow);
            let reads = building.collected.source(of);
            let reading = Reading { format, dead: reads.dead, declared, is_followed };
            let count = building.counting.of(Role::Source);
            raw.shard(building.shards, move |p| {
                p.filter_map(move |raw: &Raw| {
                    (raw.source == reads.source).then(|| {
                        let rows = parse::rows(raw, &reading, &stage);
                        count.add(&rows);
                        rows
                    })
                })
            })
        }
    };
    type Declared = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<Letters>);
    let declared = |format, default, (files, schema, sample, follow, dead): Declared| SourceOf {
        format,
        files,
        columns: schema.map(|schema| schema.0),
        sample: sample.unwrap_or(default),
        follow: follow.unwrap_or(false),
        listen: None,
        dead: dead.map(|dead| dead.0),
        #[cfg(feature = "sqlite")]
        query: None,
    };
    let make = source("jsonl", building);
    type Json = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<Letters>, Option<String>);
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
    type Csv = (Option<String>, Option<Schema>, Option<usize>, Option<bool>, Option<Letters>, Option<Separator>);
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
    type Lines = (Option<String>, Option<bool>, Option<Letters>, Option<String>);
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
        type Query = (Option<DatabaseFile>, String, Option<Letters>);
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
    let (shards, counting) = (building.shards, building.counting.clone());
    let each = move |rows: In<Rows>, of_each: OfEach, expression: Expression, stage: &str| {
        let (stage, count): (Arc<str>, _) = (stage.into(), counting.of(Role::Stage));
        rows.shard(shards, move |p| {
            p.map(move |rows: &Rows| {
                count.add(rows);
                of_each(rows, &expression, &stage)
            })
        })
    };
    for name in ["where", "select"] {
        let each = each.clone();
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

fn orders(stages: &mut Stages, building: &Building) {
    type Cut = fn(&Rows, &mut u64) -> Rows;
    let cuts: [(&str, Cut, &str); 2] =
        [("take", select::first, "the first n rows"), ("skip", select::after, "the rows after the first n")];
    for (name, cut, about) in cuts {
        let counting = building.counting.clone();
        stages
            .stage_with(name, ["n"], move |rows: In<Rows>, n: usize| {
                let count = counting.of(Role::Stage);
                let step = move |left: &mut u64, rows: &Rows, _| {
                    count.add(rows);
                    cut(rows, left)
                };
                rows.scan_with(Rolling::new(n as u64, step, |_, own| own))
            })
            .about(about);
    }
    let counting = building.counting.clone();
    stages
        .stage_with("distinct", ["by", "most"], move |rows: In<Rows>, (by, most): (Filter, Option<AtLeastOne>)| {
            let (most, count) = (most.map_or(KEYS, |most| most.0), counting.of(Role::Stage));
            rows.scan_with(Rolling::new(
                select::Seen::default(),
                move |seen: &mut select::Seen, rows: &Rows, _| {
                    count.add(rows);
                    seen.new_ones(rows, &by.0, most)
                },
                |_, own| own,
            ))
        })
        .about("the first row of each key");
}

fn joins(stages: &mut Stages, building: &Building) {
    let counting = building.counting.clone();
    type Joining = (Filter, Option<Filter>, Option<Length>, Option<Filter>, Option<bool>, Option<AtLeastOne>);
    stages
        .stage_with(
            "join",
            ["on", "with", "within", "at", "keep", "most"],
            move |(rows, others): (In<Rows>, In<Rows>), (on, with, within, at, keep, most): Joining| {
                let (count, partners) = counting.of_join();
                let join = Join {
                    stage: "join".into(),
                    partners,
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
                    move |joined: &mut Joined, sides: &Sides, _| {
                        sides.rows().into_iter().flatten().for_each(|rows| count.add(rows));
                        join.step(joined, sides)
                    },
                    |_, own| own,
                ))
            },
        )
        .needs("within", "at")
        .needs("at", "within")
        .about("each row with the fields of the other wire's earlier rows of the same key");
}
