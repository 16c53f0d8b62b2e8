//! The names that filters have beside those of the language.

use crate::left_out;
use crate::operators::{self, FIRST, LAST, PRODUCT, QUOTIENT, REMAINDER};
use crate::parse::Parser;
use crate::regex::{self, Parts};
use crate::tables::{csv, join, tsv};
use crate::wrong::Advice;
use jaq_core::data::HasLut;
use jaq_core::load::parse::{Def, Term};
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{Bind, Cv, DataT, Error, Lut, Native, ValX, ValXs, load};
use jaq_json::{Val, ValR};
use std::cell::RefCell;
use std::fmt::Display;
use std::iter::{empty, once};

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

/// Names of jq that jaq does not define, or that answer otherwise there, without an error: jaq deletes the first path
/// first, after which others lead to other items; it flattens an empty array to null, and no object; it picks items of
/// an array into an object; an entry without `key` has the name null; a range without a step has no end; its `gamma` is
/// not the logarithm; its times have fractions; `map_values` takes several outputs, and `sub` each combination of them;
/// and base64 needs its `=`.
const MORE: &str = r#"
def IN(s): any(s == .; .);
def IN(source; s): any(source == s; .);
def INDEX(source; f): reduce source as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
def JOIN($index; f): [.[] | [., $index[f]]];
def JOIN($index; source; f): source | [., $index[f]];
def JOIN($index; source; f; joined): source | [., $index[f]] | joined;
def range($from; $to; $by):
  if $by > 0 then $from | while(. < $to; . + $by) elif $by < 0 then $from | while(. > $to; . + $by) else empty end;
def ascii: [.] | implode;
def toarray: if isarray then . else [.] end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def delpaths($paths): reduce ($paths | sort | reverse[]) as $path (.; getpath($path) |= empty);
def from_entries: reduce (.[] | {
    (.key // .Key // .name // .Name // error("an entry has no `key`, `Key`, `name` or `Name`")):
      (if has("value") then .value else .Value end)
  }) as $entry ({}; . + $entry);
def with_entries(f): to_entries | map(f) | from_entries;
def pick(f):
  def put($path; $value): if $path == [] then $value else
    $path[0] as $at
    | if $at | isstring then . // {} else . // [] end
    | if $at | isnumber then . + [range(length; $at + 1) | null] end
    | .[$at] |= put($path[1:]; $value)
  end;
  reduce path_value(f) as [$path, $value] (null; put($path; $value));
def flatten($d): if $d > 0 then [.[] | if isarray then flatten($d - 1)[] else . end] end;
def flatten: flatten(infinite);
def map_values(f): .[] |= first(f);
def test(re): test(re; null);
def match(re; flags): matches(re; flags)[] | .[0] + {captures: [.[1:][] | {offset, length, string, name}]};
def match(re): match(re; null);
def scan(re; flags): matches(re; "g" + flags)[] | [.[].string] | if length > 1 then .[1:] else .[0] end;
def scan(re): scan(re; null);
def sub($re; f; $flags):
  split_matches($re; $flags) as $parts
  | [range(1; $parts | length; 2) as $n | $parts[$n] | [capture_of_match | f]] as $made
  | ([$made[] | length] | max) as $texts
  | if $texts > 0 then
      range($texts) as $n
      | reduce range($made | length) as $i (""; . + $parts[2 * $i] + $made[$i][$n]) + $parts[-1]
    end;
def sub($re; f): sub($re; f; null);
def gsub($re; f; $flags): sub($re; f; "g" + $flags);
def gsub($re; f): sub($re; f; "g");
def gamma: lgamma;
def nearbyint: rint;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def todate: todateiso8601;
def @base64d: tostring | . + ["", "", "==", "="][length % 4] | decode_base64;
def halt_error($code):
  (if . == null then empty elif isstring then . else tojson + "\n" end | stderr_empty), halt($code);
def halt_error: halt_error(5);
"#;

/// The variable behind `input_filename`. No filter can have a variable of this name.
pub(crate) const FILE_NAME: &str = "$!input_filename";

/// The functions that are written in the language, but for those that are left out.
pub(crate) fn definitions(without: Advice) -> impl Iterator<Item = Def<&'static str>> {
    let more = load::parse(MORE, |parser| parser.defs()).expect("the definitions are in the language");
    // No text can contain the variable's name.
    let more = more.into_iter().chain([Def { name: "input_filename", args: Vec::new(), body: Term::Var(FILE_NAME) }]);
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let theirs = theirs.filter(|def| !["tonumber", "join", "test"].contains(&def.name));
    theirs.chain(more).filter(move |def| without(def.name).is_none())
}

/// The functions that are written in Rust: jaq's without the ones that are left out, and ours.
pub(crate) fn functions() -> impl Iterator<Item = Fun<Kind>> {
    let replaced = ["debug_empty", "stderr_empty", "fromjson", "matches", "split_matches", "split_"];
    let is_kept = move |name: &str| left_out::without(name).is_none() && !replaced.contains(&name);
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    theirs.filter(move |(name, ..)| is_kept(name)).chain(ours()).chain([last()])
}

fn ours() -> impl Iterator<Item = Fun<Kind>> {
    let ours: [jaq_core::native::Filter<jaq_core::RunPtr<Kind>>; 15] = [
        (PRODUCT, v(2), |cv| of_two(cv, operators::product)),
        (QUOTIENT, v(2), |cv| of_two(cv, operators::quotient)),
        (REMAINDER, v(2), |cv| of_two(cv, operators::remainder)),
        (FIRST, [Bind::Fun(())].into(), |mut cv| {
            let (filter, context) = cv.0.pop_fun();
            Box::new(filter.run((context, cv.1)).next().into_iter())
        }),
        ("test", v(2), |cv| with_two(cv, regex::test)),
        ("matches", v(2), |cv| with_two(cv, |text, re, flags| regex::matches(text, re, flags, Parts::Matches))),
        ("split_", v(2), |cv| with_two(cv, |text, re, flags| regex::matches(text, re, flags, Parts::Between))),
        ("split_matches", v(2), |cv| with_two(cv, |text, re, flags| regex::matches(text, re, flags, Parts::Both))),
        ("join", v(1), |mut cv| {
            let between = cv.0.pop_var();
            bome(join(&cv.1, &between))
        }),
        ("fromjson", v(0), |cv| Box::new(once(from_json(&cv.1)))),
        ("tonumber", v(0), |cv| Box::new(once(to_number(cv.1)))),
        ("@csv", v(0), |cv| bome(csv(&cv.1))),
        ("@tsv", v(0), |cv| bome(tsv(&cv.1))),
        ("debug_empty", v(0), |cv| {
            cv.0.data().said.borrow_mut().push(Message::Debug(cv.1));
            Box::new(empty())
        }),
        ("stderr_empty", v(0), |cv| {
            cv.0.data().said.borrow_mut().push(Message::Stderr(cv.1));
            Box::new(empty())
        }),
    ];
    ours.into_iter().map(run::<Kind>)
}

fn of_two<'a>(mut cv: Cv<'a, Kind>, of: fn(Val, Val) -> ValR) -> ValXs<'a, Val> {
    let right = cv.0.pop_var();
    bome(of(cv.0.pop_var(), right))
}

fn with_two<'a>(mut cv: Cv<'a, Kind>, of: fn(&Val, &Val, &Val) -> ValR) -> ValXs<'a, Val> {
    let second = cv.0.pop_var();
    bome(of(&cv.1, &cv.0.pop_var(), &second))
}

/// The last output of a filter, or null. In a path it is the last place, and an update is one of all places.
fn last() -> Fun<Kind> {
    let last = Native::<Kind>::new(|mut cv| {
        let (filter, context) = cv.0.pop_fun();
        let last = filter.run((context, cv.1)).try_fold(None, |_, output| output.map(Some));
        Box::new(once(last.map(Option::unwrap_or_default)))
    });
    let last = last.with_paths(|mut cv| {
        let (filter, context) = cv.0.pop_fun();
        let last = filter.paths((context, cv.1)).try_fold(None, |_, place| place.map(Some));
        Box::new(last.transpose().into_iter())
    });
    let last = last.with_update(|mut cv, update| {
        let (filter, context) = cv.0.pop_fun();
        filter.update((context, cv.1), update)
    });
    (LAST, [Bind::Fun(())].into(), last)
}

/// The most characters of a value in a message.
const SHOWN: usize = 200;

/// The value that a text is. jaq's own reader takes stack space for each bracket, without a limit, and reads several.
fn from_json(text: &Val) -> ValX<'static, Val> {
    let failed = |why: &dyn Display| {
        let mut shown = text.to_string();
        if let Some((end, _)) = shown.char_indices().nth(SHOWN) {
            shown.replace_range(end.., "...");
        }
        Err(Error::str(format_args!("cannot parse {shown} as JSON: {why}")).into())
    };
    let Val::TStr(bytes) = text else { return failed(&"it is not a string") };
    let mut parser = Parser::new(bytes);
    let mut values = parser.values();
    match values.next() {
        None => failed(&"there is no value"),
        Some(Err(wrong)) => failed(&wrong.why),
        Some(Ok(value)) => match values.next() {
            None => Ok(value),
            Some(Err(wrong)) => failed(&wrong.why),
            Some(Ok(_)) => failed(&"more than one value"),
        },
    }
}

/// The number that a text is. As in jq, a point needs no digits before it, or behind it.
fn to_number(value: Val) -> ValX<'static, Val> {
    if let Val::Num(_) = value {
        return Ok(value);
    }
    let why = match from_json(&value) {
        Ok(number @ Val::Num(_)) => return Ok(number),
        Ok(_) => Error::str("cannot parse as number").into(),
        Err(why) => why,
    };
    let text = if let Val::TStr(bytes) = &value { std::str::from_utf8(bytes).unwrap_or("").trim() } else { "" };
    match text.parse::<f64>() {
        Ok(x) if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => Ok(x.into()),
        _ => Err(why),
    }
}
