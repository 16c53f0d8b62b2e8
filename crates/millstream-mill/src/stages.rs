//! The stages that text can name.

use crate::fold::{Aggregate, Aggregates, Fold, FoldKernel, Kind, Prepared, Windows, prepare, single};
use crate::grid::Grid;
use crate::join::{Join, Joined, Sides};
use crate::parameters::{AtLeastOne, Filter, Length, Part, Schema, Separator};
use crate::program::Collected;
use crate::raw::{Format, Raw};
use crate::rolling::Rolling;
use crate::rows::{Form, Rows};
use crate::sink::{Header, SinkOf};
use crate::source::SourceOf;
use crate::stateless::{mapped, matching};
use crate::written::Written;
use crate::{parse, select, sink};
use millstream_core::wires::WireExt;
use millstream_core::{Arrow, KernelsExt, Overflow, Window};
use millstream_exec::OnQueues;
use millstream_jq::Expression;
use millstream_registry::{In, Registered, Registry};
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

type Stages = Registry<OnQueues>;

/// The rules of the parameters that every fold has.
trait WithWindows {
    fn windows(self) -> Self;
}

impl WithWindows for Registered<'_> {
    fn windows(self) -> Self {
        self.needs("every", "at").needs("session", "at").needs("late", "at").excludes("every", "session")
    }
}

/// The most keys of a fold, unless text sets another number.
const KEYS: usize = 1_000_000;

pub(crate) fn stages(building: &Building) -> Stages {
    let mut stages = Registry::empty();
    stages.ty::<Raw>("Files").ty::<Rows>("Rows").ty::<Written>("Output");
    sources(&mut stages, building);
    stateless(&mut stages, building);
    folds(&mut stages, building);
    orders(&mut stages);
    joins(&mut stages);
    sinks(&mut stages, building);
    stages
}

fn sources(stages: &mut Stages, building: &Building) {
    let source = |name: &'static str, building: &Building| {
        let (stage, shards, collected): (Arc<str>, _, _) = (name.into(), building.shards, building.collected.clone());
        move |raw: In<Raw>, of: SourceOf| {
            let (stage, format, number) = (stage.clone(), of.format, collected.source(of));
            raw.shard(shards, move |p| {
                p.filter_map(move |raw: &Raw| (raw.source == number).then(|| parse::rows(raw, format, &stage)))
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
        dead,
    };
    let make = source("jsonl", building);
    stages
        .stage_with("jsonl", ["files", "schema", "sample", "follow", "dead"], move |raw: In<Raw>, given: Declared| {
            make(raw, declared(Format::Json, 0, given))
        })
        .about("rows of JSON, each on a line");
    let make = source("tsv", building);
    stages
        .stage_with("tsv", ["files", "schema", "sample", "follow", "dead"], move |raw: In<Raw>, given: Declared| {
            make(raw, declared(Format::Table(b'\t'), SAMPLE, given))
        })
        .about("rows of a table with tabs between cells, of which the first row has the names");
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
        .about("rows of a table as RFC 4180 has it, of which the first row has the names");
    let make = source("lines", building);
    type Lines = (Option<String>, Option<bool>, Option<String>);
    stages
        .stage_with("lines", ["files", "follow", "dead"], move |raw: In<Raw>, (files, follow, dead): Lines| {
            make(raw, declared(Format::Lines, 0, (files, None, None, follow, dead)))
        })
        .about("each line as a text");
}

/// The rows of a table that are sampled for the types of its columns.
const SAMPLE: usize = 100;

fn stateless(stages: &mut Stages, building: &Building) {
    let shards = building.shards;
    for name in ["where", "select"] {
        let stage: Arc<str> = name.into();
        stages
            .stage_with(name, ["condition"], move |rows: In<Rows>, condition: Filter| {
                let stage = stage.clone();
                rows.shard(shards, move |p| p.map(move |rows: &Rows| matching(rows, &condition.0, &stage)))
            })
            .about("the rows for which the condition is neither false nor null");
    }
    let stage: Arc<str> = "map".into();
    stages
        .stage_with("map", ["to"], move |rows: In<Rows>, to: Filter| {
            let stage = stage.clone();
            rows.shard(shards, move |p| p.map(move |rows: &Rows| mapped(rows, &to.0, &stage)))
        })
        .about("what the expression makes of each row: one row, several, or none");
}

/// The parameters that every fold has: by, every, session, at, late, most.
type Grouping = (Option<Filter>, Option<Length>, Option<Length>, Option<Filter>, Option<Length>, Option<AtLeastOne>);

fn fold_of(stage: &str, aggregates: Vec<Aggregate>, (by, every, session, at, late, most): Grouping) -> Fold {
    let most = most.map_or(KEYS, |most| most.0);
    let window = match (every, session) {
        (Some(Length(every)), _) => Some(Window::tumbling(every)),
        (None, Some(Length(gap))) => Some(Window::session(gap)),
        (None, None) => None,
    };
    let windows = window.zip(at).map(|(window, at)| Windows {
        window: window.lateness(late.map_or(0, |late| late.0)).at_most(most, Overflow::Fail),
        at: at.0,
    });
    let key: Option<Expression> = by.map(|by| by.0);
    Fold { stage: stage.into(), aggregates, key_name: Fold::name_of(key.as_ref()), key, windows, most }
}

/// The two stages of a fold.
macro_rules! folded {
    ($rows:expr, $fold:expr, $shards:expr) => {{
        let fold = Arc::new($fold);
        let (first, second, last) = (fold.clone(), fold.clone(), fold);
        let prepared = $rows.shard($shards, move |p| p.map(move |rows: &Rows| prepare(rows, &first)));
        prepared.scan_with(Rolling::new(
            FoldKernel::new(),
            move |state: &mut FoldKernel, prepared: &Prepared, _| state.add(&second, prepared),
            move |state: FoldKernel, own: Option<Rows>| Rows::together(own, state.finish(&last)),
        ))
    }};
}

fn folds(stages: &mut Stages, building: &Building) {
    let shards = building.shards;
    type Counting = (
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Length>,
        Option<AtLeastOne>,
        Option<String>,
    );
    stages
        .stage_with(
            "count",
            ["by", "every", "session", "at", "late", "most", "as"],
            move |rows: In<Rows>, (by, every, session, at, late, most, named): Counting| {
                let aggregates = vec![single("count", Kind::Count, None, named)];
                folded!(rows, fold_of("count", aggregates, (by, every, session, at, late, most)), shards)
            },
        )
        .windows()
        .about("how many rows there are, for each key and window");
    type Adding = (
        Filter,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Length>,
        Option<AtLeastOne>,
        Option<String>,
    );
    let numbers = [
        ("sum", Kind::Sum, "the sum of the numbers, for each key and window, added in the order of the rows"),
        ("mean", Kind::Mean, "the mean of the numbers, for each key and window"),
        ("min", Kind::Min, "the least value, for each key and window"),
        ("max", Kind::Max, "the greatest value, for each key and window"),
    ];
    for (name, kind, about) in numbers {
        stages
            .stage_with(
                name,
                ["of", "by", "every", "session", "at", "late", "most", "as"],
                move |rows: In<Rows>, (of, by, every, session, at, late, most, named): Adding| {
                    let aggregates = vec![single(name, kind, Some(of), named)];
                    folded!(rows, fold_of(name, aggregates, (by, every, session, at, late, most)), shards)
                },
            )
            .windows()
            .about(about);
    }
    type Quantiles = (
        Filter,
        Part,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Length>,
        Option<AtLeastOne>,
        Option<String>,
    );
    stages
        .stage_with(
            "quantile",
            ["of", "part", "by", "every", "session", "at", "late", "most", "as"],
            move |rows: In<Rows>, (of, part, by, every, session, at, late, most, named): Quantiles| {
                let aggregates = vec![single("quantile", Kind::Quantile(part.0), Some(of), named)];
                folded!(rows, fold_of("quantile", aggregates, (by, every, session, at, late, most)), shards)
            },
        )
        .windows()
        .about("the number below which this part of the numbers lies, within 1 %, for each key and window");
    type Tops = (
        AtLeastOne,
        Filter,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Length>,
        Option<AtLeastOne>,
    );
    stages
        .stage_with(
            "top",
            ["n", "of", "by", "every", "session", "at", "late", "most"],
            move |rows: In<Rows>, (n, of, by, every, session, at, late, most): Tops| {
                let aggregates = vec![single("top", Kind::Top(n.0), Some(of), None)];
                folded!(rows, fold_of("top", aggregates, (by, every, session, at, late, most)), shards)
            },
        )
        .windows()
        .about("the n rows with the greatest values, the greatest first, for each key and window");
    stages
        .stage_with(
            "latest",
            ["by", "every", "session", "at", "late", "most"],
            move |rows: In<Rows>, given: Grouping| {
                let aggregates = vec![single("latest", Kind::Latest, None, None)];
                folded!(rows, fold_of("latest", aggregates, given), shards)
            },
        )
        .windows()
        .about("the last row, for each key and window");
    type Several = (
        Aggregates,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Length>,
        Option<AtLeastOne>,
    );
    stages
        .stage_with(
            "fold",
            ["to", "by", "every", "session", "at", "late", "most"],
            move |rows: In<Rows>, (to, by, every, session, at, late, most): Several| {
                folded!(rows, fold_of("fold", to.0, (by, every, session, at, late, most)), shards)
            },
        )
        .windows()
        .about("several of count, sum, mean, min, max and quantile, for each key and window");
}

fn orders(stages: &mut Stages) {
    stages
        .stage_with("take", ["n"], |rows: In<Rows>, n: usize| {
            let start = n as u64;
            rows.scan_with(Rolling::new(
                start,
                |left: &mut u64, rows: &Rows, _| select::first(rows, left),
                |_, own| own,
            ))
        })
        .about("the first n rows");
    stages
        .stage_with("skip", ["n"], |rows: In<Rows>, n: usize| {
            let start = n as u64;
            rows.scan_with(Rolling::new(
                start,
                |left: &mut u64, rows: &Rows, _| select::after(rows, left),
                |_, own| own,
            ))
        })
        .about("the rows after the first n");
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
            .about(about);
    }
    let collected = building.collected.clone();
    stages
        .stage_with("csv", ["file", "separator"], move |rows: In<Rows>, given: (Option<String>, Option<Separator>)| {
            let (number, separator) = (collected.sink(SinkOf { file: given.0 }), given.1.map_or(b',', |one| one.0));
            rows.scan_with(written_table(number, separator, "csv"))
        })
        .about("writes a table; the fields of the first row are its columns");
    let collected = building.collected.clone();
    stages
        .stage_with("tsv", ["file"], move |rows: In<Rows>, file: Option<String>| {
            rows.scan_with(written_table(collected.sink(SinkOf { file }), b'\t', "tsv"))
        })
        .about("writes a table with tabs between cells");
    let collected = building.collected.clone();
    stages
        .stage_with("table", ["file"], move |rows: In<Rows>, file: Option<String>| {
            let number = collected.sink(SinkOf { file });
            let stage: Arc<str> = "table".into();
            rows.scan_with(Rolling::new(
                Grid::default(),
                move |grid: &mut Grid, rows: &Rows, _| grid.add(rows, number, &stage),
                move |grid: Grid, own: Option<Written>| Written::together(own, grid.finish(number)),
            ))
        })
        .about("writes aligned columns for eyes: up to 1000 rows at once, the rest at the end");
    printed(stages, building);
    stages
        .stage("both", |(one, other): (In<Written>, In<Written>)| {
            (one, other).map(|(one, other): (&Written, &Written)| Written::both(one, other)).or(one).or(other)
        })
        .about("two outputs as one");
}

type TableKernel<F, G> = Rolling<millstream_core::AnyEdge<Rows>, Header, F, G, Written>;

/// A sink whose rows are those of a table.
fn written_table(
    number: usize,
    separator: u8,
    stage: &str,
) -> TableKernel<
    impl Fn(&mut Header, &Rows, bool) -> Written + Send + Sync + 'static,
    impl Fn(Header, Option<Written>) -> Option<Written> + Send + Sync + 'static,
> {
    let stage: Arc<str> = stage.into();
    Rolling::new(
        Header::default(),
        move |header: &mut Header, rows: &Rows, _| sink::table(header, rows, number, separator, &stage),
        |_, own| own,
    )
}

/// What rows without a sink go through.
fn printed(stages: &mut Stages, building: &Building) {
    let (collected, terminal) = (building.collected.clone(), building.terminal);
    stages
        .stage("print", move |rows: In<Rows>| {
            let number = collected.sink(SinkOf { file: None });
            let stage: Arc<str> = "print".into();
            rows.scan_with(Rolling::new(
                Header::default(),
                move |header: &mut Header, rows: &Rows, is_end| match &rows.form {
                    Form::Table { separator, .. } => sink::table(header, rows, number, *separator, &stage),
                    Form::Lines => sink::lines(rows, number, &stage),
                    // Only folds answer at the end.
                    Form::Json if terminal && is_end => {
                        let mut grid = Grid::default();
                        let own = grid.add(rows, number, &stage);
                        Written::together(Some(own), grid.finish(number)).unwrap_or_default()
                    }
                    Form::Json => sink::json(rows, number, &stage),
                },
                |_, own| own,
            ))
        })
        .about(
            "writes rows to standard output as they came: JSON, a table or lines; at the end, on a terminal, aligned",
        );
}
