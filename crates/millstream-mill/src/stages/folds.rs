//! The folds that text can name, and the parameters that all of them have.

use super::{Building, Stages};
use crate::counted::Role;
use crate::fold::{Aggregate, Aggregates, Fold, FoldKernel, Kind, Prepared, ill_timed, prepare, same_names, single};
use crate::parameters::{AtLeastOne, Each, Filter, KEYS, Lateness, Length, Part};
use crate::program::Boxes;
use crate::rolling::Rolling;
use crate::rows::Rows;
use millstream_core::pipe::{Then, ToAnyEdge};
use millstream_core::wires::Scope;
use millstream_core::{Arrow, ItemShape, KernelsExt, Overflow, Window};
use millstream_exec::FitsStatement;
use millstream_jq::Expression;
use millstream_registry::{In, TextBlock};
use std::sync::Arc;

/// The parameters that every fold has: by, every, session, at, late, most, each.
type Grouping = (
    Option<Filter>,
    Option<Length>,
    Option<Length>,
    Option<Filter>,
    Option<Lateness>,
    Option<AtLeastOne>,
    Option<Each>,
);

fn fold_of(stage: &str, aggregates: Vec<Aggregate>, (by, every, session, at, late, most, each): Grouping) -> Fold {
    let most = most.map_or(KEYS, |most| most.0);
    let window = match (every, session) {
        (Some(Length(every)), _) => Some(Window::tumbling(every)),
        (None, Some(Length(gap))) => Some(Window::session(gap)),
        (None, None) => None,
    };
    let late = late.map_or(0, |late| late.0);
    let windows = window.map(|window| window.lateness(late).at_most(usize::MAX, Overflow::Fail));
    let reads_time = windows.is_some() || matches!(each, Some(Each::Time(_)));
    let at = at.filter(|_| reads_time).map(|at| at.0);
    let key: Option<Expression> = by.map(|by| by.0);
    Fold {
        stage: stage.into(),
        aggregates,
        key_name: key.as_ref().and_then(Fold::path_name),
        key,
        windows,
        waits: late > 0,
        each,
        at,
        most,
    }
}

pub(super) fn register(stages: &mut Stages, building: &Building) {
    let (shards, counting) = (building.shards, building.counting.clone());
    all(stages, move |rows: In<Rows>, fold: Fold| {
        let (fold, count) = (Arc::new(fold), counting.of(Role::Stage));
        let (first, second, last) = (fold.clone(), fold.clone(), fold);
        let prepared = rows.shard(shards, move |p| {
            p.map(move |rows: &Rows| {
                count.add(rows);
                prepare(rows, &first)
            })
        });
        prepared.scan_with(Rolling::new(
            FoldKernel::new(),
            move |state: &mut FoldKernel, prepared: &Prepared, _| state.add(&second, prepared),
            move |state: FoldKernel, own: Option<Rows>| Rows::together(own, state.finish(&last)),
        ))
    });
}

/// The folds. `folded` makes the two stages of each, so those of all folds are one type, which is compiled once.
fn all<P>(stages: &mut Stages, folded: impl Fn(In<Rows>, Fold) -> P + Clone + Send + Sync + 'static)
where
    P: Arrow<In = Scope<TextBlock>, Out: ItemShape>,
    Boxes: FitsStatement<Then<P, ToAnyEdge<P::Out>>>,
{
    type Counting = (
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Lateness>,
        Option<AtLeastOne>,
        Option<String>,
        Option<Each>,
    );
    let make = folded.clone();
    stages
        .stage_with(
            "count",
            ["by", "every", "session", "at", "late", "most", "as", "each"],
            move |rows: In<Rows>, (by, every, session, at, late, most, named, each): Counting| {
                let aggregates = vec![single("count", Kind::Count, None, named)];
                make(rows, fold_of("count", aggregates, (by, every, session, at, late, most, each)))
            },
        )
        .refuses(ill_timed)
        .refuses(same_names)
        .about("how many rows there are, for each key and window");
    type Adding = (
        Filter,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Lateness>,
        Option<AtLeastOne>,
        Option<String>,
        Option<Each>,
    );
    let numbers = [
        ("sum", Kind::Sum, "the sum of the numbers, for each key and window, added in the order of the rows"),
        ("mean", Kind::Mean, "the mean of the numbers, for each key and window"),
        ("min", Kind::Min, "the least value, for each key and window"),
        ("max", Kind::Max, "the greatest value, for each key and window"),
    ];
    for (name, kind, about) in numbers {
        let make = folded.clone();
        stages
            .stage_with(
                name,
                ["of", "by", "every", "session", "at", "late", "most", "as", "each"],
                move |rows: In<Rows>, (of, by, every, session, at, late, most, named, each): Adding| {
                    let aggregates = vec![single(name, kind, Some(of), named)];
                    make(rows, fold_of(name, aggregates, (by, every, session, at, late, most, each)))
                },
            )
            .refuses(ill_timed)
            .refuses(same_names)
            .about(about);
    }
    type Quantiles = (
        Filter,
        Part,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Lateness>,
        Option<AtLeastOne>,
        Option<String>,
        Option<Each>,
    );
    let make = folded.clone();
    stages
        .stage_with(
            "quantile",
            ["of", "part", "by", "every", "session", "at", "late", "most", "as", "each"],
            move |rows: In<Rows>, (of, part, by, every, session, at, late, most, named, each): Quantiles| {
                let aggregates = vec![single("quantile", Kind::Quantile(part.0), Some(of), named)];
                make(rows, fold_of("quantile", aggregates, (by, every, session, at, late, most, each)))
            },
        )
        .refuses(ill_timed)
        .refuses(same_names)
        .about("the number below which this part of the numbers lies, within 1 %, for each key and window");
    type Tops = (
        AtLeastOne,
        Filter,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Lateness>,
        Option<AtLeastOne>,
        Option<Each>,
    );
    let make = folded.clone();
    stages
        .stage_with(
            "top",
            ["n", "of", "by", "every", "session", "at", "late", "most", "each"],
            move |rows: In<Rows>, (n, of, by, every, session, at, late, most, each): Tops| {
                let aggregates = vec![single("top", Kind::Top(n.0), Some(of), None)];
                make(rows, fold_of("top", aggregates, (by, every, session, at, late, most, each)))
            },
        )
        .refuses(ill_timed)
        .about("the n rows with the greatest values, the greatest first, for each key and window");
    let make = folded.clone();
    stages
        .stage_with(
            "latest",
            ["by", "every", "session", "at", "late", "most", "each"],
            move |rows: In<Rows>, given: Grouping| {
                let aggregates = vec![single("latest", Kind::Latest, None, None)];
                make(rows, fold_of("latest", aggregates, given))
            },
        )
        .refuses(ill_timed)
        .about("the last row, for each key and window");
    type Several = (
        Aggregates,
        Option<Filter>,
        Option<Length>,
        Option<Length>,
        Option<Filter>,
        Option<Lateness>,
        Option<AtLeastOne>,
        Option<Each>,
    );
    let make = folded.clone();
    stages
        .stage_with(
            "fold",
            ["to", "by", "every", "session", "at", "late", "most", "each"],
            move |rows: In<Rows>, (to, by, every, session, at, late, most, each): Several| {
                make(rows, fold_of("fold", to.0, (by, every, session, at, late, most, each)))
            },
        )
        .refuses(ill_timed)
        .refuses(same_names)
        .about("several of count, sum, mean, min, max and quantile, for each key and window");
}
