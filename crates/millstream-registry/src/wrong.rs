use crate::Span;
use std::error::Error;
use std::fmt;

/// The most mistakes that `Display` shows.
const SHOWN: usize = 20;

/// The most characters of a line that it shows.
const WIDTH: usize = 160;

/// A mistake in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub what: String,
    /// Where, as bytes of the text.
    pub at: Span,
    /// A remark below the place; may be empty.
    pub label: String,
    /// Another place that explains the mistake, with a remark.
    pub because: Option<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Mistake {
    pub(crate) fn new(what: impl Into<String>, at: Span, label: impl Into<String>) -> Self {
        Mistake { what: what.into(), at, label: label.into(), because: None, help: None }
    }

    pub(crate) fn because(mut self, at: Span, why: impl Into<String>) -> Self {
        self.because = Some((at, why.into()));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn help_if(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Why a registry cannot make a pipeline of a text: all mistakes, in the order of their places.
///
/// `Display` shows each mistake with its line, its column and what to do: the first 20, and of a long line 160
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    name: String,
    text: String,
    mistakes: Vec<Mistake>,
}

impl Error for Wrong {}

impl Wrong {
    /// These mistakes in a text, for a program that checks more than the registry does.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn of(text: &str, mistakes: Vec<Mistake>) -> Self {
        assert!(!mistakes.is_empty(), "a text that is wrong has a mistake");
        Wrong::new(text, mistakes)
    }

    pub(crate) fn new(text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.at.start);
        Wrong { name: "text".to_owned(), text: text.to_owned(), mistakes }
    }

    /// Sets the name of the file that `Display` shows.
    #[must_use]
    pub fn in_file(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The mistakes; at least one.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The line and column of a byte, from 1.
    fn place(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..at];
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[begin..].chars().count() + 1)
    }

    fn marked(&self, f: &mut fmt::Formatter<'_>, at: &Span, label: &str, mark: &str) -> fmt::Result {
        let (line, column) = self.place(at.start);
        let whole = self.text.lines().nth(line - 1).unwrap_or("");
        let length = whole.chars().count();
        // The place is in the middle of what is shown.
        let skipped = if length > WIDTH { (column - 1).saturating_sub(WIDTH / 2) } else { 0 };
        let shown: String = whole.chars().skip(skipped).take(WIDTH).collect();
        let [before, after] = [skipped > 0, length > skipped + WIDTH].map(|cut| if cut { "…" } else { "" });
        let most = shown.chars().count().saturating_sub(column - 1 - skipped);
        let width = self.text[at.clone()].chars().count().min(most).max(1);
        let (blanks, marks) = (" ".repeat(before.chars().count() + column - 1 - skipped), mark.repeat(width));
        let label = if label.is_empty() { String::new() } else { format!(" {label}") };
        write!(f, "\n{line:4} | {before}{shown}{after}\n     | {blanks}{marks}{label}")
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Mistake { what, at, label, because, help }) in self.mistakes.iter().take(SHOWN).enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            let (line, column) = self.place(at.start);
            write!(f, "error: {what}\n  --> {}:{line}:{column}", self.name)?;
            let mut marked = vec![(at, label, "^")];
            marked.extend(because.iter().map(|(at, why)| (at, why, "-")));
            marked.sort_by_key(|(at, ..)| at.start);
            for (at, label, mark) in marked {
                self.marked(f, at, label, mark)?;
            }
            if let Some(help) = help {
                write!(f, "\n     = help: {help}")?;
            }
        }
        match self.mistakes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            1 => f.write_str("\n1 further mistake"),
            more => write!(f, "\n{more} further mistakes"),
        }
    }
}

/// `did you mean`, if one of these names is near.
pub(crate) fn near<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Option<String> {
    let nearest = all.map(|other| (distance(name, other), other)).min()?;
    (nearest.0 <= 2 && nearest.0 < name.len()).then(|| format!("did you mean `{}`?", nearest.1))
}

/// The number of letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}
