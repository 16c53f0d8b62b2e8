use super::accumulator::Accumulator;
use super::prepare::{Entry, Prepared, Value};
use super::spec::{Aggregate, Fold, Windows};
use crate::bytes::Bytes;
use crate::parameters::too_many;
use crate::rows::{FailedRow, RowAt, Rows};
use crate::time;
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
    /// The file and the source of the last rows.
    of: Option<(Arc<str>, usize)>,
}

/// The state of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Keyed {
    all: Vec<Accumulator>,
    shown: Shown,
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
        FoldKernel { keys: HashMap::new(), windows: OpenFolds::default(), of: None }
    }

    /// Adds rows. The results of windows that have closed are rows of the answer.
    ///
    /// # Panics
    ///
    /// If there are more keys than the fold may have.
    pub(crate) fn add(&mut self, fold: &Fold, prepared: &Prepared) -> Rows {
        let kinds = fold.aggregates.len();
        let mut answers = Answers::default();
        let starts =
            [false, true].map(|time_is_text| InWindow { all: start(&fold.aggregates), time_is_text, shown: None });
        for (n, entry) in prepared.entries.iter().enumerate() {
            let part = |(from, to): (u32, u32)| &prepared.text[from as usize..to as usize];
            let (key, shown) = (part(entry.key), (entry.shown != entry.key).then(|| part(entry.shown)));
            let values = &prepared.values[n * kinds..(n + 1) * kinds];
            match &fold.windows {
                None => self.add_to_key(fold, (key, shown), values, &prepared.text),
                Some(windows) => {
                    let start = &starts[usize::from(entry.time_is_text)];
                    self.add_to_window(
                        (fold, windows, start),
                        (key, shown),
                        entry,
                        (values, &prepared.text),
                        &mut answers,
                    );
                }
            }
        }
        let rest = Rows { dead: Vec::new(), ..prepared.rest.clone() };
        let late = answers.late.iter().map(|Late { number, row, behind }| FailedRow {
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

    fn add_to_key(&mut self, fold: &Fold, (key, shown): Key<'_>, values: &[Value], text: &[u8]) {
        if let Some(keyed) = self.keys.get_mut(key) {
            return add(&fold.aggregates, &mut keyed.all, values, text);
        }
        if self.keys.len() >= fold.most {
            too_many("keys", fold.most);
        }
        if let Slot::Vacant(slot) = self.keys.entry(key.into()) {
            let mut all = start(&fold.aggregates);
            add(&fold.aggregates, &mut all, values, text);
            slot.insert(Keyed { all, shown: shown.map(Into::into) });
        }
    }

    fn add_to_window(
        &mut self,
        (fold, windows, start): (&Fold, &Windows, &InWindow),
        (key, shown): Key<'_>,
        entry: &Entry,
        (values, text): (&[Value], &[u8]),
        answers: &mut Answers,
    ) {
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
        let window = &windows.window;
        if !self.windows.fold(window, key.into(), entry.time, start, add, join, &mut results) {
            let behind = self.windows.greatest().saturating_sub(entry.time);
            answers.late.push(Late { number: entry.number, row: entry.row, behind });
        }
        results.iter().for_each(|result| answers.window(fold, result, entry.number));
    }

    /// The answer at the end.
    pub(crate) fn finish(self, fold: &Fold) -> Option<Rows> {
        // Of no rows, too, there is an answer.
        let rest = match self.of {
            Some((file, source)) => Rows { file, source, ..Rows::none() },
            None => Rows::none(),
        };
        let mut answers = Answers::default();
        if let Some(windows) = &fold.windows {
            let mut results = Vec::new();
            self.windows.close(&windows.window, &InWindow::default(), &mut results);
            results.iter().for_each(|result| answers.window(fold, result, 0));
        } else if fold.key.is_none() && self.keys.is_empty() {
            answers.row(fold, b"", &start(&fold.aggregates), None, 0);
        } else {
            let mut keys: Vec<(Bytes, Keyed)> = self.keys.into_iter().collect();
            // Keys that are equal for jq and not the same text have an order, too.
            keys.sort_by(|(one, _), (other, _)| one.cmp(other));
            millstream_jq::sort_by_json(&mut keys, |(key, _)| key);
            for (key, Keyed { all, shown }) in &keys {
                answers.row(fold, shown.as_ref().unwrap_or(key), all, None, 0);
            }
        }
        Some(answers.rows(&rest))
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

/// Rows of an answer.
#[derive(Debug, Default)]
struct Answers {
    text: Vec<u8>,
    at: Vec<RowAt>,
    late: Vec<Late>,
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

impl Answers {
    fn end(&mut self, from: usize, number: u64) {
        self.at.push(RowAt { from: from as u32, to: self.text.len() as u32, cells: 0, number });
    }

    fn window(&mut self, fold: &Fold, result: &FoldedWindow<InWindow, Bytes>, number: u64) {
        // A window that only tells how many rows came late has no values.
        if result.state.all.is_empty() {
            return;
        }
        let is_text = result.state.time_is_text;
        let key = result.state.shown.as_ref().unwrap_or(&result.key);
        self.row(fold, key, &result.state.all, Some((result.start, result.end, is_text)), number);
    }

    /// The row, or the rows, of a key.
    fn row(&mut self, fold: &Fold, key: &[u8], all: &[Accumulator], window: Option<(u64, u64, bool)>, number: u64) {
        if let [accumulator] = all
            && fold.aggregates[0].kind.is_rows()
        {
            for row in accumulator.rows() {
                let from = self.text.len();
                self.text.extend_from_slice(row);
                self.end(from, number);
            }
            return;
        }
        let from = self.text.len();
        self.text.push(b'{');
        if let Some((start, end, is_text)) = window {
            self.text.extend_from_slice(b"\"start\":");
            time::write(start, is_text, &mut self.text);
            self.text.extend_from_slice(b",\"end\":");
            time::write(end, is_text, &mut self.text);
            self.text.push(b',');
        }
        if fold.key.is_some() {
            match key.strip_prefix(b"{").and_then(|key| key.strip_suffix(b"}")) {
                Some([]) => {}
                Some(fields) => {
                    self.text.extend_from_slice(fields);
                    self.text.push(b',');
                }
                None => {
                    self.name(&fold.key_name);
                    self.text.extend_from_slice(key);
                    self.text.push(b',');
                }
            }
        }
        for (n, (aggregate, accumulator)) in fold.aggregates.iter().zip(all).enumerate() {
            if n > 0 {
                self.text.push(b',');
            }
            self.name(&aggregate.name);
            accumulator.write(aggregate.kind, &mut self.text);
        }
        self.text.push(b'}');
        self.end(from, number);
    }

    fn name(&mut self, name: &str) {
        millstream_jq::Scalar::Text(name.as_bytes().into()).write(&mut self.text);
        self.text.push(b':');
    }

    fn rows(self, of: &Rows) -> Rows {
        of.with_json(self.text, self.at, Vec::new())
    }
}
