//! Regular expressions, each built once for many values. jaq builds one for every value, and leaves out the groups that
//! took no part in a match, so that later ones have other places.

use jaq_json::{Error, Map, Val, ValR};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// An expression with its flags.
#[derive(Debug)]
struct Expression {
    source: String,
    flags: String,
    regex: Regex,
}

/// A thread keeps the expressions of its program's text, and of those in its input the last ones.
const KEPT: usize = 16;

thread_local! {
    /// The one that was used last is the last.
    static BUILT: RefCell<Vec<Rc<Expression>>> = const { RefCell::new(Vec::new()) };
}

impl Expression {
    /// `re` may be an array of an expression and flags.
    fn of(re: &Val, flags: &Val) -> Result<Rc<Self>, Error> {
        let (re, more) = if let Val::Arr(both) = re { (both.first().unwrap_or(re), both.get(1)) } else { (re, None) };
        let text = |flags: Option<&Val>| match flags {
            None | Some(Val::Null) => Ok(String::new()),
            Some(flags) => utf8(flags).map(str::to_owned),
        };
        let (source, flags) = (utf8(re)?, text(Some(flags))? + &text(more)?);
        BUILT.with_borrow_mut(|built| {
            let known = built.iter().rposition(|known| known.source == source && known.flags == flags);
            let expression = match known {
                Some(last) if last + 1 == built.len() => return Ok(Rc::clone(&built[last])),
                Some(known) => built.remove(known),
                None => Rc::new(Self { regex: build(source, &flags)?, source: source.to_owned(), flags }),
            };
            if built.len() == KEPT {
                built.remove(0);
            }
            built.push(Rc::clone(&expression));
            Ok(expression)
        })
    }

    fn is(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

fn build(source: &str, flags: &str) -> Result<Regex, Error> {
    if let Some(unknown) = flags.chars().find(|flag| !"gnimslxp".contains(*flag)) {
        return Err(Error::str(format_args!("invalid regex flag: {unknown}")));
    }
    let is = |flag: char| flags.contains(flag);
    let built = RegexBuilder::new(source)
        .case_insensitive(is('i'))
        .multi_line(is('m') || is('p'))
        .dot_matches_new_line(is('s') || is('p'))
        .swap_greed(is('l'))
        .ignore_whitespace(is('x'))
        .build();
    built.map_err(|why| {
        // The lines before the last one show the expression.
        let why = why.to_string();
        let last = why.lines().last().unwrap_or_default();
        Error::str(format_args!("invalid regex: {}", last.trim_start_matches("error: ")))
    })
}

/// Whether a text has a match.
pub(crate) fn test(text: &Val, re: &Val, flags: &Val) -> ValR {
    let Val::TStr(bytes) = text else { return Err(Error::typ(text.clone(), "string")) };
    let re = Expression::of(re, flags)?;
    let found =
        if re.is('n') { re.regex.find_iter(bytes).any(|found| !found.is_empty()) } else { re.regex.is_match(bytes) };
    Ok(Val::from(found))
}

/// The parts of a text that an answer has. The texts between matches are also those before and behind all of them.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Parts {
    Matches,
    Between,
    Both,
}

/// The parts of a text. A match is an array of its groups, of which the first is the whole match.
pub(crate) fn matches(text: &Val, re: &Val, flags: &Val, parts: Parts) -> ValR {
    let Val::TStr(bytes) = text else { return Err(Error::typ(text.clone(), "string")) };
    let re = Expression::of(re, flags)?;
    let part = |range: Range<usize>| Val::utf8_str(bytes.slice(range));
    // The characters before a match, of which those before `counted` are counted.
    let (mut before, mut counted, mut end) = (0, 0, 0);
    let mut all = Vec::new();
    for groups in re.regex.captures_iter(bytes) {
        let Some(whole) = groups.get(0) else { continue };
        // An empty one also matches between the bytes of a character.
        let within = bytes.get(whole.start()).is_some_and(|byte| (0x80..0xc0).contains(byte));
        if whole.is_empty() && (within || re.is('n')) {
            continue;
        }
        if parts != Parts::Matches {
            all.push(part(end..whole.start()));
        }
        end = whole.end();
        if parts == Parts::Between {
            if re.is('g') { continue } else { break }
        }
        before += characters(&bytes[counted..whole.start()]);
        counted = whole.start();
        let groups = groups.iter().zip(re.regex.capture_names()).map(|(group, name)| {
            let (offset, length, string) = match group {
                Some(group) => {
                    let offset = before + characters(&bytes[counted..group.start()]);
                    (offset, characters(group.as_bytes()), part(group.range()))
                }
                None => (-1, 0, Val::Null),
            };
            let fields = [("offset", Val::from(offset)), ("length", Val::from(length)), ("string", string)];
            let name = name.map(|name| ("name", Val::from(name.to_owned())));
            Val::obj(fields.into_iter().chain(name).map(|(key, value)| (Val::utf8_str(key), value)).collect::<Map>())
        });
        all.push(groups.collect());
        if !re.is('g') {
            break;
        }
    }
    if parts != Parts::Matches {
        all.push(part(end..bytes.len()));
    }
    Ok(all.into_iter().collect())
}

fn utf8(value: &Val) -> Result<&str, Error> {
    match value {
        Val::TStr(bytes) => std::str::from_utf8(bytes).map_err(Error::str),
        other => Err(Error::typ(other.clone(), "string")),
    }
}

fn characters(bytes: &[u8]) -> isize {
    String::from_utf8_lossy(bytes).chars().count() as isize
}
