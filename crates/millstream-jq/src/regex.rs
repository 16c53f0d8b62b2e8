//! Regular expressions. jaq leaves out the groups that took no part in a match, so that later ones have other places.

use jaq_json::{Error, Map, Val, ValR};
use regex_bites::bytes::RegexBuilder;
use std::ops::Range;

/// The matches in a text. Each is an array of its groups, of which the first is the whole match. With `between`, the
/// texts before, between and behind the matches are there, too. `re` may be an array of an expression and flags.
pub(crate) fn matches(text: &Val, re: &Val, flags: &Val, between: bool) -> ValR {
    let Val::TStr(bytes) = text else { return Err(Error::typ(text.clone(), "string")) };
    let (re, more) = if let Val::Arr(both) = re { (both.first().unwrap_or(re), both.get(1)) } else { (re, None) };
    let mut letters = String::new();
    for flags in [Some(flags), more].into_iter().flatten().filter(|flags| !matches!(flags, Val::Null)) {
        letters.push_str(utf8(flags)?);
    }
    if let Some(unknown) = letters.chars().find(|letter| !"gnimslxp".contains(*letter)) {
        return Err(Error::str(format_args!("invalid regex flag: {unknown}")));
    }
    let is = |letter: char| letters.contains(letter);
    let re = RegexBuilder::new(utf8(re)?)
        .case_insensitive(is('i'))
        .multi_line(is('m') || is('p'))
        .dot_matches_new_line(is('s') || is('p'))
        .swap_greed(is('l'))
        .ignore_whitespace(is('x'))
        .build()
        .map_err(|why| Error::str(format_args!("invalid regex: {why}")))?;
    let part = |range: Range<usize>| Val::utf8_str(bytes.slice(range));
    // The characters before a match, of which those before `counted` are counted.
    let (mut before, mut counted, mut end) = (0, 0, 0);
    let mut all = Vec::new();
    for groups in re.captures_iter(bytes) {
        let Some(whole) = groups.get(0) else { continue };
        if is('n') && whole.is_empty() {
            continue;
        }
        before += characters(&bytes[counted..whole.start()]);
        counted = whole.start();
        if between {
            all.push(part(end..counted));
        }
        let groups = groups.iter().zip(re.capture_names()).map(|(group, name)| {
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
        end = whole.end();
        if !is('g') {
            break;
        }
    }
    if between {
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
