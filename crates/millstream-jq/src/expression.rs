use crate::depth::{AROUND, Levels};
use crate::native::{Cell, Cells, Native, Scalar};
use crate::parse::{FieldTree, Found, Parser};
use crate::{Filter, Options, Style, What, Wrong};
use memchr::memchr;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A filter over one row at a time, which may be JSON or anything with fields, such as a row of a table.
///
/// A filter of a few forms (fields, numbers, comparisons, objects of them) is evaluated without building values. jaq
/// evaluates every other filter, and every row for which the fast way has no certain answer. The answer is the same.
///
/// ```
/// use millstream::jq::{Expression, Fields, Outputs};
///
/// let total = Expression::new("{user, total: (.qty * .price)}")?;
/// let (mut row, mut out) = (Fields::default(), Outputs::default());
/// row.read(&total, br#"{"user": "ann", "qty": 2, "price": 30}"#).unwrap();
/// total.write(&row, &mut out).unwrap();
/// assert_eq!(out.iter().collect::<Vec<_>>(), [br#"{"user":"ann","total":60}"#]);
/// # Ok::<(), millstream::jq::Wrong>(())
/// ```
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    text: String,
    /// Compiled when jaq is first needed. Every native filter compiles.
    filter: OnceLock<Filter>,
    /// Whether an output is true.
    any: OnceLock<Filter>,
    native: Option<Native>,
    tree: FieldTree,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.0.text).finish()
    }
}

/// A row that an expression reads.
pub trait Row: Cells {
    /// The whole row, as JSON.
    fn json(&self) -> Cow<'_, [u8]>;
}

/// The fields of a JSON row that an expression reads. It can be reused for other rows.
#[derive(Debug, Default)]
pub struct Fields<'a> {
    json: &'a [u8],
    found: FoundFields,
}

/// The field at each path. Few paths need no allocation.
#[derive(Debug)]
enum FoundFields {
    Few([Found; FEW]),
    Many(Vec<Found>),
}

const FEW: usize = 8;

impl Default for FoundFields {
    fn default() -> Self {
        FoundFields::Few([Found::Nothing; FEW])
    }
}

impl FoundFields {
    fn of(paths: usize) -> Self {
        if paths <= FEW { FoundFields::default() } else { FoundFields::Many(vec![Found::Nothing; paths]) }
    }

    fn all(&mut self) -> &mut [Found] {
        match self {
            FoundFields::Few(all) => all,
            FoundFields::Many(all) => all,
        }
    }

    #[inline]
    fn at(&self, path: usize) -> Found {
        match self {
            FoundFields::Few(all) => all[path],
            FoundFields::Many(all) => all[path],
        }
    }
}

/// Outputs as JSON, each on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The text of all outputs, without line ends.
    pub text: Vec<u8>,
    /// The end of each output.
    pub ends: Vec<usize>,
}

/// The result of an expression for a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// One scalar.
    One(Scalar<'a>),
    /// Any number of values.
    Many(Outputs),
}

impl Outputs {
    /// The outputs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.text[begin..*end])
    }
}

/// Checks that some bytes are one JSON value.
///
/// # Errors
///
/// What is wrong with the bytes.
pub fn check_value(json: &[u8]) -> Result<(), String> {
    one(json, |parser| parser.pass())
}

/// Reads one value, and checks that nothing follows it.
fn one(json: &[u8], read: impl FnOnce(&mut Parser<'_>) -> Result<(), crate::parse::Invalid>) -> Result<(), String> {
    let mut parser = Parser::strict(json);
    if parser.begin().is_none() {
        return Err("there is no value".to_owned());
    }
    read(&mut parser).map_err(|invalid| format!("not JSON: {}", invalid.why))?;
    match parser.begin() {
        None => Ok(()),
        Some(at) => Err(format!("not JSON: more follows the value, at byte {}", at + 1)),
    }
}

impl Parser<'_> {
    /// Reads the next value for some paths, and returns what `with` makes of their fields; `None` if it is not JSON.
    pub(crate) fn find_all<T>(
        &mut self,
        tree: &FieldTree,
        paths: usize,
        json: &[u8],
        with: impl FnOnce(&Fields<'_>) -> T,
    ) -> Option<T> {
        let mut fields = Fields { json, found: FoundFields::of(paths) };
        self.find(tree, fields.found.all()).ok()?;
        Some(with(&fields))
    }
}

impl<'a> Fields<'a> {
    /// Reads a row for an expression.
    ///
    /// # Errors
    ///
    /// What is wrong with the row, if it is not one JSON value.
    pub fn read(&mut self, expression: &Expression, json: &'a [u8]) -> Result<(), String> {
        let compiled = &*expression.0;
        self.json = json;
        let Some(native) = &compiled.native else { return check_value(json) };
        self.found = FoundFields::of(native.paths().len());
        one(json, |parser| parser.find(&compiled.tree, self.found.all()))
    }
}

impl Cells for Fields<'_> {
    fn cell(&self, path: usize) -> Cell<'_> {
        match self.found.at(path) {
            Found::Nothing => Cell::Scalar(Scalar::Null),
            Found::Unknown => Cell::Unknown,
            Found::At(from, to) => json_cell(&self.json[from..to]),
        }
    }
}

impl Row for Fields<'_> {
    fn json(&self) -> Cow<'_, [u8]> {
        self.json.into()
    }
}

/// A JSON value as a cell.
fn json_cell(json: &[u8]) -> Cell<'_> {
    match json {
        b"null" => Cell::Scalar(Scalar::Null),
        b"true" => Cell::Scalar(Scalar::Bool(true)),
        b"false" => Cell::Scalar(Scalar::Bool(false)),
        [b'{' | b'[', ..] => Cell::Json(json),
        [b'"', text @ .., b'"'] => match memchr(b'\\', text) {
            None => Cell::Scalar(Scalar::Text(text.into())),
            Some(_) => Cell::Scalar(Scalar::Text(crate::parse::unescaped(json).into())),
        },
        [b'0'..=b'9' | b'-', ..] => Scalar::number(json).map_or(Cell::Unknown, Cell::Scalar),
        _ => Cell::Unknown,
    }
}

impl Expression {
    /// An expression of this text.
    ///
    /// # Errors
    ///
    /// All mistakes in the text.
    pub fn new(text: &str) -> Result<Self, Wrong> {
        let levels = Levels::of(text, 0)?;
        levels.on_a_stack(text, || {
            levels.check(text, 0)?;
            let native = Native::of(text).filter(|native| !native.is_identity());
            let filter = OnceLock::new();
            if native.is_none() {
                let _ = filter.set(on_lines(text)?);
            }
            let tree = native.as_ref().map(|native| FieldTree::of(native.paths())).unwrap_or_default();
            Ok(Expression(Arc::new(Compiled { text: text.to_owned(), filter, any: OnceLock::new(), native, tree })))
        })
    }

    fn filter(&self) -> &Filter {
        self.0.filter.get_or_init(|| on_lines(&self.0.text).expect("a native filter is one of jq"))
    }

    fn any(&self) -> &Filter {
        // A comment may end the text, and a backslash at its end makes the next line a part of it.
        let any = || on_lines(&format!("any((\n{}\n\n); .)", self.0.text)).expect("it is made of a filter");
        self.0.any.get_or_init(any)
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The paths of the fields that the expression asks a row for, by number. Each path is a list of keys. Empty if jaq
    /// evaluates every row.
    #[must_use]
    pub fn paths(&self) -> &[Vec<Vec<u8>>] {
        self.0.native.as_ref().map_or(&[], Native::paths)
    }

    /// Whether at least one output is neither `false` nor `null`.
    ///
    /// # Errors
    ///
    /// Why it fails for this row.
    pub fn holds(&self, row: &impl Row) -> Result<bool, String> {
        let native = self.0.native.as_ref();
        let known = native.and_then(|native| match native.selects(row) {
            Ok(true) => native.scalar(row).ok().map(|scalar| scalar.is_true()),
            Ok(false) => Some(false),
            Err(_) => None,
        });
        match known {
            Some(holds) => Ok(holds),
            None => Ok(answered(self.any(), &row.json())? == b"true\n"),
        }
    }

    /// Adds its outputs for a row.
    ///
    /// # Errors
    ///
    /// Why it fails for this row, as if its outputs are more than 256 MB. No output is added then.
    pub fn write(&self, row: &impl Row, outputs: &mut Outputs) -> Result<(), String> {
        let native = self.0.native.as_ref();
        let known = native.and_then(|native| match native.selects(row) {
            Ok(true) => native.write(row, &mut outputs.text).ok().map(|_| true),
            Ok(false) => Some(false),
            Err(_) => None,
        });
        match known {
            Some(true) => outputs.ends.push(outputs.text.len()),
            Some(false) => {}
            None => lines(&answered(self.filter(), &row.json())?, outputs),
        }
        Ok(())
    }

    /// Its values for a row.
    ///
    /// # Errors
    ///
    /// Why it fails for this row.
    pub fn values<'a>(&'a self, row: &'a impl Row) -> Result<Values<'a>, String> {
        if let Some(native) = &self.0.native
            && let Ok(selects) = native.selects(row)
        {
            match native.scalar(row) {
                _ if !selects => return Ok(Values::Many(Outputs::default())),
                Ok(scalar) => return Ok(Values::One(scalar)),
                Err(_) => {}
            }
        }
        let mut outputs = Outputs::default();
        self.write(row, &mut outputs)?;
        Ok(Values::Many(outputs))
    }
}

/// The most bytes of the outputs for one row.
const MOST: usize = 256 << 20;

/// A filter that writes each output on a line.
fn on_lines(text: &str) -> Result<Filter, Wrong> {
    let style = Style { indent: None, ..Style::default() };
    Filter::within(AROUND, text, &Options { style, for_rows: true, most: Some(MOST), ..Options::default() })
}

/// A filter's answer to one value.
fn answered(filter: &Filter, json: &[u8]) -> Result<Vec<u8>, String> {
    let answer = filter.answer(json);
    let failed = answer.said.into_iter().find_map(|said| match said.what {
        What::Failed(why) => Some(why),
        What::Invalid(why) => Some(format!("not JSON: {why}")),
        What::Halted(_) => Some("`halt` cannot end a stream here".to_owned()),
        What::Debug(_) | What::Stderr(_) => None,
    });
    failed.map_or(Ok(answer.out), Err)
}

fn lines(mut text: &[u8], outputs: &mut Outputs) {
    while let Some(end) = memchr(b'\n', text) {
        outputs.text.extend_from_slice(&text[..end]);
        outputs.ends.push(outputs.text.len());
        text = &text[end + 1..];
    }
}

/// A JSON value as a scalar, if it is one.
#[must_use]
pub fn scalar_of(json: &[u8]) -> Option<Scalar<'_>> {
    match json_cell(json) {
        Cell::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

/// The order of jq: null, false, true, numbers, texts, arrays, objects. A text that is not JSON counts as null.
#[must_use]
pub fn compare_json(left: &[u8], right: &[u8]) -> Ordering {
    if let (Some(left), Some(right)) = (scalar_of(left), scalar_of(right))
        && let Ok(order) = crate::native::order(&left, &right)
    {
        return order;
    }
    jaq_value(left).cmp(&jaq_value(right))
}

/// Sorts by JSON values, in the order of jq; equal ones keep their order.
pub fn sort_by_json<T>(items: &mut [T], key: impl Fn(&T) -> &[u8]) {
    items.sort_by_cached_key(|item| jaq_value(key(item)));
}

fn jaq_value(json: &[u8]) -> jaq_json::Val {
    Parser::new(json).value(&crate::demand::Demand::All).unwrap_or_default()
}
