use crate::syntax::Joined;
use jaq_core::{compile, load};
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// The most mistakes that a message shows.
const SHOWN: usize = 20;

/// The most characters of a line that a message shows.
const WIDTH: usize = 160;

/// Why a text is not a filter: all mistakes, each with its place. `Display` shows the first 20, and of a long line 160
/// characters.
///
/// ```
/// use millstream::jq::Filter;
///
/// let wrong = Filter::new(".a | nosuch").unwrap_err();
/// assert_eq!(wrong.to_string(), "there is no filter `nosuch`, at column 6
///   .a | nosuch
///        ^^^^^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    filter: String,
    /// In the order of their places; at least one.
    mistakes: Vec<(Range<usize>, String)>,
}

impl Error for Wrong {}

impl Wrong {
    /// The mistakes, each with its place in the text, as bytes.
    #[must_use]
    pub fn mistakes(&self) -> &[(Range<usize>, String)] {
        &self.mistakes
    }

    pub(crate) fn loading(filter: &str, errors: load::Errors<&str, ()>) -> Self {
        let mistakes = errors.into_iter().flat_map(|(file, error)| {
            let found: Vec<_> = match error {
                load::Error::Io(paths) => {
                    let why = "modules cannot be loaded: write the definitions before the filter";
                    paths.iter().map(|(path, _)| (load::span(file.code, path), why.to_owned())).collect()
                }
                load::Error::Lex(errors) => errors.iter().map(|error| of_letters(file.code, error)).collect(),
                load::Error::Parse(errors) => errors.iter().map(|error| of_words(file.code, error)).collect(),
            };
            found
        });
        Wrong::of(filter, mistakes.collect())
    }

    pub(crate) fn compiling(filter: &str, errors: compile::Errors<&str, ()>, without: Advice) -> Self {
        let mistakes = errors.into_iter().flat_map(|(file, errors)| {
            let found = errors.iter().map(|(name, what)| (load::span(file.code, name), undefined(name, what, without)));
            found.collect::<Vec<_>>()
        });
        Wrong::of(filter, mistakes.collect())
    }

    /// A mistake that concerns the whole filter.
    pub(crate) fn whole(filter: &str, what: String) -> Self {
        Wrong::of(filter, vec![(0..filter.len(), what)])
    }

    /// A mistake in one place.
    pub(crate) fn at(filter: &str, at: Range<usize>, what: String) -> Self {
        Wrong::of(filter, vec![(at, what)])
    }

    /// The same mistakes of a text in which pairs were joined, in the text as it was.
    pub(crate) fn of_text(self, filter: &str, joined: Option<&Joined>) -> Self {
        let Some(joined) = joined else { return self };
        let mistakes = self.mistakes.into_iter();
        let mistakes = mistakes.map(|(at, what)| (joined.place(at.start)..joined.place(at.end), what));
        Wrong { filter: filter.to_owned(), mistakes: mistakes.collect() }
    }

    fn of(filter: &str, mut mistakes: Vec<(Range<usize>, String)>) -> Self {
        mistakes.sort_by_key(|(at, _)| at.start);
        Wrong { filter: filter.to_owned(), mistakes }
    }
}

fn of_letters(code: &str, (expected, found): &load::lex::Error<&str>) -> (Range<usize>, String) {
    let first = found.chars().next().map_or(0, char::len_utf8);
    let at = load::span(code, &found[..first]);
    let found = if first == 0 { "the end" } else { &found[..first] };
    if found == "'" {
        return (at, "a text stands in double quotes, not in `'`".to_owned());
    }
    (at, format!("expected {}, found {found}", expected.as_str()))
}

fn of_words(code: &str, (expected, found): &load::parse::Error<&str>) -> (Range<usize>, String) {
    let what = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
    (load::span(code, found), format!("expected {}, found {what}", expected.as_str()))
}

/// What to do instead of using a name that is left out.
pub(crate) type Advice = fn(&str) -> Option<&'static str>;

fn undefined(name: &str, what: &compile::Undefined, without: Advice) -> String {
    if let Some(instead) = without(name) {
        return format!("`{name}` is not supported: {instead}");
    }
    match (name, what) {
        ("reduce", compile::Undefined::Filter(_)) => {
            "`reduce` has two arguments: an initial value, an update".to_owned()
        }
        ("foreach", compile::Undefined::Filter(_)) => "`foreach` has two arguments, or three".to_owned(),
        (name, compile::Undefined::Filter(0)) => format!("there is no filter `{name}`"),
        (name, compile::Undefined::Filter(1)) => format!("there is no filter `{name}` with an argument"),
        (name, compile::Undefined::Filter(n)) => format!("there is no filter `{name}` with {n} arguments"),
        (name, what) => format!("there is no {} `{name}`", what.as_str()),
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (at, what)) in self.mistakes.iter().take(SHOWN).enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            let before = &self.filter[..at.start];
            let (number, begin) = (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |end| end + 1));
            let line = self.filter[begin..].lines().next().unwrap_or("");
            let (column, width) = (before[begin..].chars().count() + 1, self.filter[at.clone()].chars().count());
            if self.filter.contains('\n') {
                writeln!(f, "{what}, at line {number}, column {column}")?;
            } else {
                writeln!(f, "{what}, at column {column}")?;
            }
            // The place is in the middle of what is shown of a long line.
            let length = line.chars().count();
            let skipped = if length > WIDTH { (column - 1).saturating_sub(WIDTH / 2) } else { 0 };
            let shown: String = line.chars().skip(skipped).take(WIDTH).collect();
            let [before, after] = [skipped > 0, length > skipped + WIDTH].map(|cut| if cut { "…" } else { "" });
            let blanks = before.chars().count() + column - 1 - skipped;
            let most = shown.chars().count().saturating_sub(column - 1 - skipped);
            write!(f, "  {before}{shown}{after}\n  {}{}", " ".repeat(blanks), "^".repeat(width.min(most).max(1)))?;
        }
        match self.mistakes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            1 => f.write_str("\n1 further mistake"),
            more => write!(f, "\n{more} further mistakes"),
        }
    }
}
