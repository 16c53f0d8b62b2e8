//! The names that filters have beside those of the language.

use crate::left_out;
use crate::parse::Parser;
use crate::product::{PRODUCT, product};
use crate::tables::{csv, tsv};
use jaq_core::data::HasLut;
use jaq_core::load::parse::{Def, Term};
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{DataT, Error, Lut, ValX, load};
use jaq_json::Val;
use std::cell::RefCell;
use std::fmt::Display;

/// The values that filters work on, and what filters can reach beside their input.
#[derive(Debug)]
pub(crate) enum Kind {}

/// The data that a filter can reach beside its input.
pub(crate) struct Around<'a> {
    pub(crate) lut: &'a Lut<Kind>,
    /// The messages of `debug` and `stderr` since this was last emptied.
    pub(crate) said: RefCell<Vec<Message>>,
}

/// The messages of a filter beside its output.
#[derive(Debug)]
pub(crate) enum Message {
    Debug(Val),
    Stderr(Val),
}

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = &'a Around<'a>;
}

impl<'a> HasLut<'a, Kind> for &'a Around<'a> {
    fn lut(&self) -> &'a Lut<Kind> {
        self.lut
    }
}

/// Names of jq that jaq does not define, or that silently answer otherwise: jaq deletes the first path first, after
/// which others lead to other items, and it flattens an empty array to null, and no object.
const MORE: &str = r#"
def IN(s): any(s == .; .);
def IN(source; s): any(source == s; .);
def INDEX(source; f): reduce source as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
def ascii: [.] | implode;
def toarray: if isarray then . else [.] end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def delpaths($paths): reduce ($paths | sort | reverse[]) as $path (.; getpath($path) |= empty);
def flatten($d): if $d > 0 then [.[] | if isarray then flatten($d - 1)[] else . end] end;
def flatten: flatten(infinite);
"#;

/// The variable behind `input_filename`. No filter can have a variable of this name.
pub(crate) const FILE_NAME: &str = "$!input_filename";

pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let more = load::parse(MORE, |parser| parser.defs()).expect("the definitions are in the language");
    // No text can contain the variable's name.
    let more = more.into_iter().chain([Def { name: "input_filename", args: Vec::new(), body: Term::Var(FILE_NAME) }]);
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    theirs.filter(|def| def.name != "tonumber").chain(more)
}

/// The functions that are written in Rust: jaq's without the ones that are left out, and ours.
pub(crate) fn functions() -> impl Iterator<Item = Fun<Kind>> {
    let replaced = ["debug_empty", "stderr_empty", "fromjson"];
    let is_kept = move |name: &str| left_out::without(name).is_none() && !replaced.contains(&name);
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    theirs.filter(move |(name, ..)| is_kept(name)).chain(ours())
}

fn ours() -> impl Iterator<Item = Fun<Kind>> {
    let ours: [jaq_core::native::Filter<jaq_core::RunPtr<Kind>>; 7] = [
        (PRODUCT, v(2), |mut cv| {
            let right = cv.0.pop_var();
            bome(product(cv.0.pop_var(), right))
        }),
        ("fromjson", v(0), |cv| Box::new(from_json(&cv.1).into_iter())),
        ("tonumber", v(0), |cv| Box::new(std::iter::once(to_number(cv.1)))),
        ("@csv", v(0), |cv| bome(csv(&cv.1))),
        ("@tsv", v(0), |cv| bome(tsv(&cv.1))),
        ("debug_empty", v(0), |cv| {
            cv.0.data().said.borrow_mut().push(Message::Debug(cv.1));
            Box::new(std::iter::empty())
        }),
        ("stderr_empty", v(0), |cv| {
            cv.0.data().said.borrow_mut().push(Message::Stderr(cv.1));
            Box::new(std::iter::empty())
        }),
    ];
    ours.into_iter().map(run::<Kind>)
}

/// The most characters of a value in a message.
const SHOWN: usize = 200;

/// The values in a text. jaq's own reader takes stack space for each bracket, without a limit.
fn from_json(text: &Val) -> Vec<ValX<'static, Val>> {
    let failed = |why: &dyn Display| {
        let mut shown = text.to_string();
        if let Some((end, _)) = shown.char_indices().nth(SHOWN) {
            shown.replace_range(end.., "...");
        }
        Err(Error::str(format_args!("cannot parse {shown} as JSON: {why}")).into())
    };
    match text {
        Val::TStr(bytes) => {
            Parser::new(bytes).values().map(|value| value.or_else(|wrong| failed(&wrong.why))).collect()
        }
        _ => vec![failed(&"it is not a string")],
    }
}

/// The number that a text is. jaq takes a text for as many numbers as it has: for none, too.
fn to_number(value: Val) -> ValX<'static, Val> {
    if let Val::Num(_) = value {
        return Ok(value);
    }
    let mut all = from_json(&value);
    match all.pop() {
        Some(Ok(number @ Val::Num(_))) if all.is_empty() => Ok(number),
        Some(Err(why)) => Err(why),
        _ => Err(Error::str("cannot parse as number").into()),
    }
}
