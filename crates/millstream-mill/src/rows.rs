//! Some rows of a stream, in one slot.

use crate::columns::{Columns, Type};
use millstream_core::failure::fail;
use millstream_core::text::Block;
use millstream_jq::{Cell, Cells, Expression, Fields, Row, Scalar};
use std::borrow::Cow;
use std::sync::Arc;

/// The rows in a slot, and the failures on the way to it. A stage passes on the failures of its inputs.
#[derive(Clone, Debug)]
pub struct Rows {
    pub(crate) file: Arc<str>,
    pub(crate) form: Form,
    /// The bytes of all rows, and of others.
    pub(crate) text: Block,
    pub(crate) at: Vec<RowAt>,
    pub(crate) dead: Vec<FailedRow>,
    /// Where the dead letters of its source go.
    pub(crate) source: usize,
}

/// How the rows stand in their text.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// JSON values.
    Json,
    /// Rows of a table: where the cells of each are, one after the other.
    Table { columns: Arc<Columns>, cells: Arc<[(u32, u32)]>, separator: u8 },
    /// Texts.
    Lines,
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAt {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Where the cells of a row of a table begin.
    pub(crate) cells: u32,
    /// The number of the row of the source that it comes from.
    pub(crate) number: u64,
}

/// A row that a stage could not process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRow {
    /// The stage.
    pub stage: Arc<str>,
    /// The file.
    pub file: Arc<str>,
    /// The number of the row in the file, from 1; 0 for an answer at the end.
    pub number: u64,
    /// The field that does not fit, as `.price`; empty if it is not one field.
    pub path: String,
    /// What is wrong.
    pub why: String,
    /// The row.
    pub row: Vec<u8>,
    /// Where the dead letters of its source go: a number of [`Program::dead`](crate::Program::dead).
    pub source: usize,
}

/// The rows of `other` that failed, and are not among those of `one`. A block may have many, so only rows of one number
/// are compared.
pub(crate) fn more_of<'a>(one: &[FailedRow], other: &'a [FailedRow]) -> impl Iterator<Item = &'a FailedRow> {
    let mut known: Vec<&FailedRow> = one.iter().collect();
    known.sort_by_key(|dead| dead.number);
    other.iter().filter(move |dead| {
        let from = known.partition_point(|there| there.number < dead.number);
        !known[from..].iter().take_while(|there| there.number == dead.number).any(|there| there == dead)
    })
}

/// One row, in any form.
pub(crate) enum AnyRow<'a> {
    Json(Fields<'a>),
    Table(TableRow<'a>),
    Line(&'a [u8]),
}

/// A row of a table, with the places of the paths that an expression reads.
pub(crate) struct TableRow<'a> {
    text: &'a [u8],
    columns: &'a Columns,
    cells: &'a [(u32, u32)],
    paths: &'a [Place],
}

/// Where a path of an expression leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Column(usize),
    /// There is no such column.
    Nothing,
    /// To a field of a cell.
    Unknown,
}

/// Why a row cannot be JSON, or become JSON.
pub(crate) fn no_utf8(row: &[u8]) -> String {
    let column = std::str::from_utf8(row).map_or_else(|error| error.valid_up_to(), str::len);
    let byte = row.get(column).copied().unwrap_or_default();
    format!("not UTF-8, which JSON needs: byte {byte:#04x}, at column {}", column + 1)
}

impl Rows {
    /// No rows, of no file.
    pub(crate) fn none() -> Self {
        let text = Vec::new().into();
        Rows { file: "".into(), form: Form::Json, text, at: Vec::new(), dead: Vec::new(), source: 0 }
    }

    /// The failures of a slot, without its rows.
    pub(crate) fn emptied(&self) -> Self {
        Rows { form: Form::Json, text: Vec::new().into(), at: Vec::new(), ..self.clone() }
    }

    /// The rows of a step at END, and what comes after them. Both are JSON, or one has no rows.
    pub(crate) fn together(own: Option<Rows>, last: Option<Rows>) -> Option<Rows> {
        let (Some(own), Some(last)) = (&own, &last) else { return own.or(last) };
        let mut text = own.text.to_vec();
        let (mut at, shift) = (own.at.clone(), text.len() as u32);
        text.extend_from_slice(&last.text);
        at.extend(last.at.iter().map(|row| RowAt { from: row.from + shift, to: row.to + shift, ..*row }));
        let dead = own.dead.iter().chain(&last.dead).cloned().collect();
        Some(own.with_json(text, at, dead))
    }

    /// JSON rows in the place of these.
    pub(crate) fn with_json(&self, text: Vec<u8>, at: Vec<RowAt>, dead: Vec<FailedRow>) -> Self {
        if u32::try_from(text.len()).is_err() {
            fail("more than 4 GB are made of one block of rows: smaller rows, or fewer for each row, are less")
        }
        Rows { file: self.file.clone(), form: Form::Json, text: text.into(), at, dead, source: self.source }
    }

    pub(crate) fn bytes(&self, at: &RowAt) -> &[u8] {
        &self.text[at.from as usize..at.to as usize]
    }

    /// Where the paths of an expression lead in these rows.
    pub(crate) fn places(&self, expression: &Expression) -> Vec<Place> {
        let Form::Table { columns, .. } = &self.form else { return Vec::new() };
        let place = |path: &Vec<Vec<u8>>| match (columns.place(&path[0]), path.len()) {
            (Some(column), 1) => Place::Column(column),
            (None, _) => Place::Nothing,
            (Some(_), _) => Place::Unknown,
        };
        expression.paths().iter().map(place).collect()
    }

    /// A row for an expression, whose paths lead to these places.
    pub(crate) fn row<'a>(
        &'a self,
        at: &RowAt,
        expression: &Expression,
        places: &'a [Place],
    ) -> Result<AnyRow<'a>, String> {
        match &self.form {
            Form::Json => {
                let mut fields = Fields::default();
                fields.read(expression, self.bytes(at))?;
                Ok(AnyRow::Json(fields))
            }
            Form::Lines => Ok(AnyRow::Line(self.bytes(at))),
            Form::Table { .. } => Ok(AnyRow::Table(self.table_row(at, places))),
        }
    }

    /// # Panics
    ///
    /// If these are no rows of a table.
    fn table_row<'a>(&'a self, at: &RowAt, paths: &'a [Place]) -> TableRow<'a> {
        let Form::Table { columns, cells, .. } = &self.form else { panic!("rows of a table") };
        let from = at.cells as usize;
        TableRow { text: &self.text, columns, cells: &cells[from..from + columns.all.len()], paths }
    }

    /// A row as JSON.
    pub(crate) fn json(&self, at: &RowAt) -> Cow<'_, [u8]> {
        match &self.form {
            Form::Json => self.bytes(at).into(),
            Form::Lines => AnyRow::Line(self.bytes(at)).json().into_owned().into(),
            Form::Table { .. } => self.table_row(at, &[]).json().into_owned().into(),
        }
    }

    /// Whether JSON that is made of a row is UTF-8, as JSON is: tables and lines are of any bytes. Rows that are JSON
    /// were checked when they came.
    pub(crate) fn check_utf8(&self, at: &RowAt, json: &[u8]) -> Result<(), String> {
        if matches!(self.form, Form::Json) || std::str::from_utf8(json).is_ok() {
            return Ok(());
        }
        Err(no_utf8(self.bytes(at)))
    }

    /// The cells of a row of a table.
    pub(crate) fn cells(&self, at: &RowAt) -> impl Iterator<Item = &[u8]> {
        let cells = match &self.form {
            Form::Table { columns, cells, .. } => &cells[at.cells as usize..at.cells as usize + columns.all.len()],
            _ => &[],
        };
        cells.iter().map(|(from, to)| &self.text[*from as usize..*to as usize])
    }

    /// A row that failed.
    pub(crate) fn dead(&self, stage: &Arc<str>, at: &RowAt, why: String) -> FailedRow {
        FailedRow {
            stage: stage.clone(),
            file: self.file.clone(),
            number: at.number,
            path: String::new(),
            why,
            row: self.bytes(at).to_vec(),
            source: self.source,
        }
    }
}

impl TableRow<'_> {
    fn value(&self, column: usize) -> Option<Scalar<'_>> {
        let (from, to) = self.cells[column];
        let cell = &self.text[from as usize..to as usize];
        let column = &self.columns.all[column];
        Some(match column.of {
            _ if cell.is_empty() && column.optional => Scalar::Null,
            Type::Text | Type::Any => Scalar::Text(cell.into()),
            Type::Bool => Scalar::Bool(cell == b"true"),
            Type::Int | Type::Float => return Scalar::number(cell),
        })
    }
}

impl Cells for AnyRow<'_> {
    #[inline]
    fn cell(&self, path: usize) -> Cell<'_> {
        match self {
            AnyRow::Json(fields) => fields.cell(path),
            AnyRow::Line(_) => Cell::Unknown,
            AnyRow::Table(row) => match row.paths[path] {
                Place::Column(column) => row.value(column).map_or(Cell::Unknown, Cell::Scalar),
                Place::Nothing => Cell::Scalar(Scalar::Null),
                Place::Unknown => Cell::Unknown,
            },
        }
    }
}

impl TableRow<'_> {
    fn json(&self) -> Cow<'_, [u8]> {
        let mut out = vec![b'{'];
        for (n, column) in self.columns.all.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            Scalar::Text(column.name.as_bytes().into()).write(&mut out);
            out.push(b':');
            match self.value(n) {
                Some(value) => value.write(&mut out),
                // A number that is too long for a machine's is written as it is.
                None => {
                    let (from, to) = self.cells[n];
                    out.extend_from_slice(&self.text[from as usize..to as usize]);
                }
            }
        }
        out.push(b'}');
        out.into()
    }
}

impl Row for AnyRow<'_> {
    fn json(&self) -> Cow<'_, [u8]> {
        match self {
            AnyRow::Json(fields) => fields.json(),
            AnyRow::Table(row) => row.json(),
            AnyRow::Line(line) => {
                let mut out = Vec::with_capacity(line.len() + 2);
                Scalar::Text((*line).into()).write(&mut out);
                out.into()
            }
        }
    }
}
