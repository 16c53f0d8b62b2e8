//! Blocks as rows, and rows that do not fit their types.

use crate::columns::{Column, Columns, Type};
use crate::raw::{Format, Raw};
use crate::rows::{FailedRow, Form, RowAt, Rows, no_utf8};
use crate::table::Split;
use memchr::memchr_iter;
use millstream_jq::{Cell, Cells, Expression, Fields, Outputs, Scalar, check_value};
use std::sync::Arc;

/// How a source reads its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) format: Format,
    /// The number of what takes the rows that fail.
    pub(crate) dead: usize,
    /// The declared types; those of other columns are sampled.
    pub(crate) declared: Option<Arc<Columns>>,
    /// Whether its files are followed, of which each has the header again.
    pub(crate) is_followed: bool,
}

impl Reading {
    /// A type that is to be declared for a column, unless the column's is declared.
    fn advised(&self, column: &Column, wider: String) -> Option<String> {
        let is_declared = |declared: &Arc<Columns>| declared.all.iter().any(|other| other.name == column.name);
        (!self.declared.as_ref().is_some_and(is_declared)).then_some(wider)
    }
}

/// The rows of a block. `stage` is the name for those that fail.
pub(crate) fn rows(raw: &Raw, reading: &Reading, stage: &Arc<str>) -> Rows {
    let Reading { format, dead, .. } = *reading;
    let rows = Rows {
        file: raw.file.clone(),
        form: Form::Lines,
        text: raw.block.clone(),
        at: Vec::new(),
        dead: Vec::new(),
        source: dead,
    };
    match (format, &raw.columns) {
        (Format::Lines, _) => Rows { at: lines(raw), ..rows },
        (Format::Json, None) => {
            let is_blank = |at: &RowAt| raw.block[at.from as usize..at.to as usize].trim_ascii().is_empty();
            let at = lines(raw).into_iter().filter(|at| !is_blank(at)).collect();
            valid(Rows { form: Form::Json, at, ..rows }, stage)
        }
        (Format::Json, Some(columns)) => {
            let all = Rows { form: Form::Json, at: lines(raw), ..rows };
            fitting(all, columns, reading, stage)
        }
        (Format::Table(separator), Some(columns)) => table(raw, rows, (separator, columns), reading, stage),
        (Format::Table(_), None) => rows,
    }
}

fn lines(raw: &Raw) -> Vec<RowAt> {
    let (bytes, mut from, mut number) = (&raw.block[..], raw.skip, raw.first);
    let mut all = Vec::new();
    let ends = memchr_iter(b'\n', &bytes[raw.skip..]).map(|at| raw.skip + at);
    for end in ends.chain((bytes.last() != Some(&b'\n')).then_some(bytes.len())) {
        let to = if end > from && bytes[end - 1] == b'\r' { end - 1 } else { end };
        all.push(RowAt { from: from as u32, to: to as u32, cells: 0, number });
        (from, number) = (end + 1, number + 1);
    }
    all
}

/// What is asked of each row of these before it is read as JSON: whether it is UTF-8.
fn utf8(rows: &Rows) -> impl Fn(&[u8]) -> Result<(), String> + use<> {
    let all = std::str::from_utf8(&rows.text).is_ok();
    move |row| if all || std::str::from_utf8(row).is_ok() { Ok(()) } else { Err(no_utf8(row)) }
}

/// The rows that are JSON. A later stage may read no field, and still counts rows.
fn valid(mut rows: Rows, stage: &Arc<str>) -> Rows {
    let (mut at, mut dead) = (std::mem::take(&mut rows.at), Vec::new());
    let utf8 = utf8(&rows);
    at.retain(|row| match utf8(rows.bytes(row)).and_then(|()| check_value(rows.bytes(row))) {
        Ok(()) => true,
        Err(why) => {
            dead.push(rows.dead(stage, row, why));
            false
        }
    });
    Rows { at, dead, ..rows }
}

/// JSON rows whose fields have the types.
fn fitting(rows: Rows, columns: &Arc<Columns>, reading: &Reading, stage: &Arc<str>) -> Rows {
    let mut object = vec![b'{'];
    for (n, column) in columns.all.iter().enumerate() {
        if n > 0 {
            object.push(b',');
        }
        Scalar::Text(column.name.as_bytes().into()).write(&mut object);
    }
    object.push(b'}');
    let fields = Expression::new(&String::from_utf8_lossy(&object)).expect("names in quotes are fields");
    let (mut at, mut dead, utf8) = (Vec::new(), Vec::new(), utf8(&rows));
    for row in &rows.at {
        let json = rows.bytes(row);
        if json.trim_ascii().is_empty() {
            continue;
        }
        let mut by_jq = Outputs::default();
        let read = match utf8(json) {
            Ok(()) => fields_of(&fields, columns.all.len(), json, &mut by_jq),
            Err(why) => Err(why),
        };
        let fits = read.map_err(|why| (String::new(), why)).and_then(|read| {
            let misfit = columns.all.iter().enumerate().find(|(n, column)| {
                let cell = read.cell(*n);
                !fits_cell(column.of, column.optional, &cell)
            });
            misfit.map_or(Ok(()), |(n, column)| {
                let cell = read.cell(n);
                let found = match &cell {
                    Cell::Scalar(scalar) => shown(scalar),
                    Cell::Json(json) => String::from_utf8_lossy(json).into_owned(),
                    Cell::Unknown => "a number of more than 18 digits".to_owned(),
                };
                let wider = match cell {
                    Cell::Scalar(Scalar::Null) => format!("{}?", column.of.name()),
                    Cell::Scalar(Scalar::Decimal(..) | Scalar::Float(_)) | Cell::Unknown => "float".to_owned(),
                    _ => "any".to_owned(),
                };
                Err((format!(".{}", column.name), misfit_of(column, &found, reading.advised(column, wider))))
            })
        });
        match fits {
            Ok(()) => at.push(*row),
            Err((path, why)) => dead.push(FailedRow { path, ..rows.dead(stage, row, why) }),
        }
    }
    Rows { at, dead, ..rows }
}

/// The fields of a row. Only jq reads an object with escape sequences in its names, and says why a row has no fields.
fn fields_of<'a>(
    fields: &Expression,
    many: usize,
    json: &'a [u8],
    by_jq: &'a mut Outputs,
) -> Result<Fields<'a>, String> {
    let mut read = Fields::default();
    read.read(fields, json)?;
    if (0..many).any(|n| matches!(read.cell(n), Cell::Unknown)) {
        fields.write(&read, by_jq)?;
        read.read(fields, &by_jq.text)?;
    }
    Ok(read)
}

/// Why a value does not fit its column. If the type was sampled, one that would fit can be declared.
fn misfit_of(column: &Column, found: &str, wider: Option<String>) -> String {
    let why = format!("expected {}, found {found}", column.of.wanted());
    let Some(wider) = wider else { return why };
    format!(
        "{why}: the first rows had the type {}; declare the schema with `{}: {wider}`",
        column.of.name(),
        column.name
    )
}

/// Whether a value is of a type. An unknown one is a number that has too many digits for a machine's.
fn fits_cell(of: Type, optional: bool, cell: &Cell<'_>) -> bool {
    match (of, cell) {
        (Type::Any, _) => true,
        (_, Cell::Scalar(Scalar::Null)) => optional,
        (Type::Int, Cell::Scalar(Scalar::Int(_)))
        | (Type::Float, Cell::Scalar(Scalar::Int(_) | Scalar::Decimal(..)) | Cell::Unknown)
        | (Type::Bool, Cell::Scalar(Scalar::Bool(_)))
        | (Type::Text, Cell::Scalar(Scalar::Text(_))) => true,
        _ => false,
    }
}

fn shown(scalar: &Scalar<'_>) -> String {
    let mut out = Vec::new();
    scalar.write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The rows of a table whose cells have the types.
fn table(raw: &Raw, rows: Rows, of: (u8, &Arc<Columns>), reading: &Reading, stage: &Arc<str>) -> Rows {
    let (separator, columns) = of;
    let split = Split::of(&raw.block, raw.skip, separator);
    let text =
        if split.unquoted.is_empty() { raw.block.clone() } else { [&raw.block[..], &split.unquoted].concat().into() };
    let typed: Vec<(usize, Type, bool)> = columns
        .all
        .iter()
        .enumerate()
        .filter(|(_, column)| !matches!(column.of, Type::Text | Type::Any))
        .map(|(n, column)| (n, column.of, column.optional))
        .collect();
    let form = Form::Table { columns: columns.clone(), cells: split.cells.into(), separator };
    let mut all = Rows { form, text, ..rows };
    let Form::Table { cells, .. } = &all.form else { unreachable!("it was just made") };
    let cell = |n: usize| {
        let (from, to) = cells[n];
        &all.text[from as usize..to as usize]
    };
    let (mut at, mut dead) = (Vec::with_capacity(split.rows.len()), Vec::new());
    let ends = split.rows.iter().skip(1).map(|row| row.2).chain([cells.len() as u32]);
    for ((number, (from, to, begin)), end) in (raw.first..).zip(&split.rows).zip(ends) {
        let row = RowAt { from: *from, to: *to, cells: *begin, number };
        if from == to {
            continue;
        }
        if split.is_open && end as usize == cells.len() {
            let why =
                "a quote at the beginning of a cell is not closed: the rest of the file became this row".to_owned();
            dead.push(all.dead(stage, &row, why));
            continue;
        }
        let many = (end - begin) as usize;
        if many != columns.all.len() {
            let many = if many == 1 { "1 cell".to_owned() } else { format!("{many} cells") };
            let why = format!("the row has {many}, and the header has {}", columns.all.len());
            dead.push(all.dead(stage, &row, why));
            continue;
        }
        let mut cells = columns.all.iter().zip(*begin as usize..);
        if reading.is_followed && cells.all(|(column, n)| column.name.as_bytes() == cell(n)) {
            continue;
        }
        let misfit = typed.iter().find(|(n, of, optional)| {
            let cell = cell(*begin as usize + n);
            !(of.has_cell(cell) || *optional && cell.is_empty())
        });
        let Some((n, ..)) = misfit else {
            at.push(row);
            continue;
        };
        let (column, cell) = (&columns.all[*n], cell(*begin as usize + n));
        let wider = match cell {
            b"" => format!("{}?", column.of.name()),
            cell if Type::Float.has_cell(cell) => "float".to_owned(),
            _ => "text".to_owned(),
        };
        let found = format!("{:?}", String::from_utf8_lossy(cell));
        let why = misfit_of(column, &found, reading.advised(column, wider));
        dead.push(FailedRow { path: format!(".{}", columns.all[*n].name), ..all.dead(stage, &row, why) });
    }
    (all.at, all.dead) = (at, dead);
    all
}
