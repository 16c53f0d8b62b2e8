use super::accumulator::Accumulator;
use super::answers::{Answers, When};
use super::prepare::{Entry, Prepared, Value};
use super::running::Running;
use super::spec::{Aggregate, Fold};
use crate::bytes::{Bytes, Found};
use crate::parameters::too_many;
use crate::rows::{FailedRow, Rows};
use crate::time;
use millstream_core::Window;
use millstream_core::pipe::{FoldedWindow, OpenFolds};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

/// A key in the form that all equal ones have, and as it is shown, if that is another one.
type Key<'a> = (&'a [u8], Option<&'a [u8]>);

/// A fold that has read some rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FoldKernel {
    keys: HashMap<Bytes, Keyed>,
    windows: OpenFolds<Bytes, InWindow>,
    running: Running,
    /// The file and the source of the last rows.
    of: Option<(Arc<str>, usize)>,
}

/// The state of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Keyed {
    all: Vec<Accumulator>,
    shown: Shown,
    /// Whether it is one of the keys that have changed.
    changed: bool,
}

/// The state of a window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct InWindow {
    all: Vec<Accumulator>,
    time_is_text: bool,
    shown: Shown,
}

/// How a key stood in its first row, if the order of its fields was another one there.
type Shown = Option<Bytes>;

impl FoldKernel {
    pub(crate) fn new() -> Self {
        FoldKernel { keys: HashMap::new(), windows: OpenFolds::default(), running: Running::default(), of: None }
    }

    /// Adds rows. The results of windows that have closed, and the answers that are due, are rows of the answer.
    ///
    /// # Panics
    ///
    /// If there are more keys, or windows of keys, than the fold may have.
    pub(crate) fn add(&mut self, fold: &Fold, prepared: &Prepared) -> Rows {
        let kinds = fold.aggregates.len();
        let (mut answers, mut late) = (Answers::default(), Vec::new());
        self.begin(fold);
        let starts =
            [false, true].map(|time_is_text| InWindow { all: start(&fold.aggregates), time_is_text, shown: None });
        for (n, entry) in prepared.entries.iter().enumerate() {
            let part = |(from, to): (u32, u32)| &prepared.text[from as usize..to as usize];
            let (key, shown) = (part(entry.key), (entry.shown != entry.key).then(|| part(entry.shown)));
            let values = &prepared.values[n * kinds..(n + 1) * kinds];
            let values = (values, &*prepared.text);
            let place = (&*prepared.rest.file, entry.number);
            match (&fold.windows, fold.each) {
                (None, None) => self.add_to_key(fold, (key, shown), values, place),
                (None, Some(each)) => {
                    if let Some(when) = self.running.before(each, entry) {
                        self.answer(fold, when, entry.number, &mut answers);
                    }
                    self.add_to_key(fold, (key, shown), values, place);
                    if let Some(when) = self.running.after(each) {
                        self.answer(fold, when, entry.number, &mut answers);
                    }
                }
                (Some(window), _) => {
                    let start = &starts[usize::from(entry.time_is_text)];
                    late.extend(self.add_to_window((fold, window, start), (key, shown), entry, values, &mut answers));
                    if self.windows.kept() > fold.most {
                        too_many_windows(fold, place);
                    }
                }
            }
        }
        if fold.each.is_none() {
            self.running.count(prepared.entries.len());
        }
        let rest = Rows { dead: Vec::new(), ..prepared.rest.clone() };
        let late = late.iter().map(|Late { number, row, behind }| FailedRow {
            stage: fold.stage.clone(),
            file: rest.file.clone(),
            number: *number,
            path: String::new(),
            why: time::late(*behind),
            row: prepared.all[row.0 as usize..row.1 as usize].to_vec(),
            source: rest.source,
        });
        let dead = prepared.rest.dead.iter().cloned().chain(late).collect();
        let out = Rows { dead, ..answers.rows(&rest) };
        self.of = Some((rest.file, rest.source));
        out
    }

    /// From a fold with `each` on, it is known which keys have changed: before, nothing was answered.
    fn begin(&mut self, fold: &Fold) {
        if fold.each.is_some() && self.running.changed.is_none() {
            self.keys.values_mut().for_each(|keyed| keyed.changed = true);
            self.running.changed = Some(self.keys.keys().cloned().collect());
        }
    }

    fn add_to_key(
        &mut self,
        fold: &Fold,
        (key, shown): Key<'_>,
        (values, text): (&[Value], &[u8]),
        place: (&str, u64),
    ) {
        let changed = &mut self.running.changed;
        if let Some(keyed) = self.keys.get_mut(key) {
            if let Some(changed) = changed
                && !keyed.changed
            {
                keyed.changed = true;
                changed.push(key.into());
            }
            return add(&fold.aggregates, &mut keyed.all, values, text);
        }
        if self.keys.len() >= fold.most {
            too_many("keys", fold.most, place, "");
        }
        if let Slot::Vacant(slot) = self.keys.entry(key.into()) {
            let mut all = start(&fold.aggregates);
            add(&fold.aggregates, &mut all, values, text);
            let keyed = Keyed { all, shown: shown.map(Into::into), changed: changed.is_some() };
            slot.insert(keyed);
            changed.iter_mut().for_each(|changed| changed.push(key.into()));
        }
    }

    /// The answers of the keys that have changed since their last ones.
    fn answer(&mut self, fold: &Fold, when: When, number: u64, answers: &mut Answers) {
        let mut changed = self.running.changed.replace(Vec::new()).unwrap_or_default();
        in_order(&mut changed, |key| key);
        for key in &changed {
            let keyed = self.keys.get_mut(key).expect("a key that has changed is known");
            keyed.changed = false;
            answers.row(fold, keyed.shown.as_ref().unwrap_or(key), &keyed.all, when, number);
        }
    }

    fn add_to_window(
        &mut self,
        (fold, window, start): (&Fold, &Window, &InWindow),
        (key, shown): Key<'_>,
        entry: &Entry,
        (values, text): (&[Value], &[u8]),
        answers: &mut Answers,
    ) -> Option<Late> {
        let with_shown;
        let start = match shown {
            None => start,
            Some(shown) => {
                with_shown = InWindow { shown: Some(shown.into()), ..start.clone() };
                &with_shown
            }
        };
        let add = |window: &mut InWindow| add(&fold.aggregates, &mut window.all, values, text);
        let join = |one: &mut InWindow, other: InWindow| {
            for ((aggregate, one), other) in fold.aggregates.iter().zip(&mut one.all).zip(other.all) {
                one.join(aggregate.kind, other);
            }
        };
        let mut results = Vec::new();
        let is_in_one = self.windows.fold(window, Found(key), entry.time, start, add, join, &mut results);
        of_windows(fold, &mut results, entry.number, answers);
        if !is_in_one {
            self.windows.forget_late(window, &key.into());
        }
        let behind = self.windows.greatest().saturating_sub(entry.time);
        (!is_in_one).then_some(Late { number: entry.number, row: entry.row, behind })
    }

    /// The answer at the end.
    pub(crate) fn finish(mut self, fold: &Fold) -> Option<Rows> {
        // Of no rows, too, there is an answer.
        let rest = match &self.of {
            Some((file, source)) => Rows { file: file.clone(), source: *source, ..Rows::none() },
            None => Rows::none(),
        };
        let mut answers = Answers::default();
        let when = fold.each.map_or(When::AtEnd, |each| self.running.now(each));
        if let Some(window) = &fold.windows {
            let mut results = Vec::new();
            self.windows.close(window, &InWindow::default(), &mut results);
            of_windows(fold, &mut results, 0, &mut answers);
        } else if fold.key.is_none() && self.keys.is_empty() {
            answers.row(fold, b"", &start(&fold.aggregates), when, 0);
        } else if fold.each.is_some() {
            self.begin(fold);
            self.answer(fold, when, 0, &mut answers);
        } else {
            let mut keys: Vec<(Bytes, Keyed)> = self.keys.into_iter().collect();
            in_order(&mut keys, |(key, _)| key);
            for (key, Keyed { all, shown, .. }) in &keys {
                answers.row(fold, shown.as_ref().unwrap_or(key), all, when, 0);
            }
        }
        Some(answers.rows(&rest))
    }
}

fn too_many_windows(fold: &Fold, place: (&str, u64)) -> ! {
    let what = if fold.key.is_some() { "open windows of keys" } else { "open windows" };
    let besides = if fold.waits { "; a shorter `late` closes them sooner" } else { "" };
    too_many(what, fold.most, place, besides)
}

/// The order of the keys in answers.
fn in_order<T>(items: &mut [T], key: impl Fn(&T) -> &Bytes) {
    // Keys that are equal for jq and not the same text have an order, too.
    items.sort_by(|one, other| key(one).cmp(key(other)));
    millstream_jq::sort_by_json(items, |item| key(item));
}

/// The answers of windows, which come in the order of their ends.
fn of_windows(fold: &Fold, results: &mut [FoldedWindow<InWindow, Bytes>], number: u64, answers: &mut Answers) {
    for results in results.chunk_by_mut(|one, other| one.end == other.end) {
        in_order(results, |result| &result.key);
        // A window that only tells how many rows came late has no values.
        for FoldedWindow { key, start, end, state, .. } in results.iter().filter(|result| !result.state.all.is_empty())
        {
            let when = When::Window(*start, *end, state.time_is_text);
            answers.row(fold, state.shown.as_ref().unwrap_or(key), &state.all, when, number);
        }
    }
}

fn start(aggregates: &[Aggregate]) -> Vec<Accumulator> {
    aggregates.iter().map(|aggregate| Accumulator::new(aggregate.kind)).collect()
}

#[inline]
fn add(aggregates: &[Aggregate], all: &mut [Accumulator], values: &[Value], text: &[u8]) {
    for ((aggregate, accumulator), value) in aggregates.iter().zip(all).zip(values) {
        accumulator.add(aggregate.kind, *value, text);
    }
}

/// A row that came late.
#[derive(Debug)]
struct Late {
    number: u64,
    /// Where it is.
    row: (u32, u32),
    /// How many milliseconds it was behind the latest row.
    behind: u64,
}
