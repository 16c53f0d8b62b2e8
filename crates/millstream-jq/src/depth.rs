//! How deep a filter may be, and where it is too deep.
//!
//! The parser and the compiler of jaq call themselves for each level of a text, and the evaluation does so for each
//! level of what was compiled. A level is a bracket, a word such as `try`, or an operator of a chain. No text may
//! overflow a stack, so:
//!
//! - Without any recursion, [`Levels`] counts the levels that there are at most. If they are not few, the text is
//!   read and compiled on a stack that is large enough for them.
//! - What was read is measured. If its evaluation might overflow the 2 MiB that a thread has, the text is refused.
//!
//! Long lists are no deep trees: `syntax` joins `,`, `or` and `and` as balanced trees, and [`spread`] does so with the
//! fields of an object and the parts of a text.

use crate::Wrong;
use crate::syntax;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};
use std::{mem, panic, thread};

/// The most levels of a filter. Evaluation in a debug build takes up to 8 KiB for each.
const DEEPEST: usize = 200;

/// Levels that a filter of the crate may have around a text: it is made of a text that is not too deep.
pub(crate) const AROUND: usize = 20;

/// The most levels of a text, before it is known what they are.
const MOST: usize = 1 << 15;

/// As many need no stack of their own.
const FEW: usize = 24;

/// The bytes of stack for each level, to read and compile it.
const ROOM: usize = if cfg!(debug_assertions) { 32 << 10 } else { 8 << 10 };

/// The longest list that stays as it is.
const LIST: usize = 32;

/// The levels of a text, as many as there can be.
#[derive(Debug)]
pub(crate) struct Levels {
    most: usize,
    /// Where there are more than the limit first, or else where there are the most.
    place: usize,
}

/// A bracket or a text that is open.
struct Open {
    letter: u8,
    /// The levels of this part: operators, words and lists.
    levels: usize,
    /// The most levels of a closed bracket in this part.
    inner: usize,
    /// The most levels of the parts before.
    before: usize,
    /// The levels at the beginning of each definition that is open.
    definitions: Vec<usize>,
}

impl Open {
    fn new(letter: u8) -> Self {
        Open { letter, levels: 0, inner: 0, before: 0, definitions: Vec::new() }
    }

    fn most(&self) -> usize {
        self.before.max(self.levels + self.inner)
    }

    /// Ends a part, behind which there are these levels.
    fn end_part(&mut self, levels: usize) {
        self.before = self.most();
        (self.levels, self.inner) = (levels, 0);
    }
}

impl Levels {
    /// The levels of a text with `around` levels around it.
    ///
    /// # Errors
    ///
    /// If there are too many for any stack.
    pub(crate) fn of(text: &str, around: usize) -> Result<Self, Wrong> {
        let found = Levels::count(text.as_bytes());
        if found.most > MOST + around { Err(found.too_deep(text)) } else { Ok(found) }
    }

    fn count(text: &[u8]) -> Self {
        let (mut open, mut at, mut now, mut place) = (vec![Open::new(b'(')], 0, 0, (0, 0));
        while let Some(&byte) = text.get(at) {
            let is_inner = open.len() > 1;
            let top = open.last_mut().expect("the whole text is open");
            let (before, begin) = (top.levels, at);
            at += 1;
            match byte {
                b'"' if top.letter == b'"' => closed(&mut open, &mut now),
                b'\\' if top.letter == b'"' => {
                    top.levels += 1;
                    now += 1;
                    if text.get(at) == Some(&b'(') {
                        open.push(Open::new(b'('));
                        now += 1;
                    }
                    at += 1;
                }
                _ if top.letter == b'"' => {}
                b'"' | b'(' | b'[' | b'{' => {
                    open.push(Open::new(byte));
                    now += 1;
                }
                b')' | b']' | b'}' if is_inner => closed(&mut open, &mut now),
                b'#' => at = behind_comment(text, at),
                b';' => {
                    let definition = top.definitions.pop();
                    let is_next = text[at..].trim_ascii_start().starts_with(b"def");
                    top.end_part(definition.map_or(0, |levels| levels - usize::from(is_next)));
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    at = behind_name(text, at);
                    match &text[begin..at] {
                        b"def" => {
                            top.levels += 1;
                            top.definitions.push(top.levels);
                        }
                        b"if" | b"elif" | b"try" | b"catch" | b"reduce" | b"foreach" | b"label" | b"as" | b"or"
                        | b"and" => top.levels += 1,
                        _ => {}
                    }
                }
                b'0'..=b'9' | b'$' | b'@' => at = behind_name(text, at),
                b'.' => {
                    top.levels += 1;
                    at = behind_name(text, at);
                }
                b',' | b'-' => top.levels += 1,
                b'|' | b'=' | b'!' | b'<' | b'>' | b'+' | b'*' | b'/' | b'%' => {
                    top.levels += 1;
                    at += text[at..].iter().take_while(|byte| b"|=!<>+*/%".contains(byte)).count();
                }
                _ => {}
            }
            if let Some(top) = open.last().filter(|_| byte != b'"' && byte != b'\\' && !b"()[]{}".contains(&byte)) {
                now = (now + top.levels).saturating_sub(before);
            }
            let here = open.last().map_or(0, |top| top.levels + top.inner);
            // What was compiled may have more levels than this, as a call has.
            let here = now.max(here).min(DEEPEST + 1);
            if here > place.0 {
                place = (here, begin);
            }
        }
        while open.len() > 1 {
            closed(&mut open, &mut now);
        }
        Levels { most: open[0].most(), place: place.1 }
    }

    /// Whether there are certainly no more than the limit.
    pub(crate) fn are_few(&self) -> bool {
        self.most <= DEEPEST
    }

    /// Calls a function that reads this text, and compiles it.
    pub(crate) fn on_a_stack<T: Send>(
        &self,
        text: &str,
        f: impl FnOnce() -> Result<T, Wrong> + Send,
    ) -> Result<T, Wrong> {
        if self.most <= FEW {
            return f();
        }
        let stack = (self.most + FEW) * ROOM;
        thread::scope(|scope| match thread::Builder::new().stack_size(stack).spawn_scoped(scope, f) {
            Ok(thread) => thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
            Err(why) => Err(Wrong::whole(text, format!("there is no thread to compile it: {why}"))),
        })
    }

    /// Refuses a filter that is too deep. It recurses.
    pub(crate) fn check(&self, text: &str, around: usize) -> Result<(), Wrong> {
        let is_deep = syntax::parse(text).is_some_and(|(term, _)| Heights::default().of(&term) > DEEPEST + around);
        if is_deep { Err(self.too_deep(text)) } else { Ok(()) }
    }

    pub(crate) fn too_deep(&self, text: &str) -> Wrong {
        let what = format!(
            "this is more than {DEEPEST} levels deep, where each operator of a chain is one, and a call with arguments \
             is {CALL}: cut it into several filters, one behind the other"
        );
        Wrong::at(text, self.place..text.len().min(self.place + 1), what)
    }
}

fn closed(open: &mut Vec<Open>, now: &mut usize) {
    let Some(inner) = open.pop() else { return };
    *now = now.saturating_sub(inner.levels + 1);
    if let Some(around) = open.last_mut() {
        around.inner = around.inner.max(1 + inner.most());
        // Brackets that follow each other may be parts of one path.
        around.levels += 1;
        *now += 1;
    }
}

fn behind_name(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

/// A comment goes on behind a line that ends with an odd number of backslashes.
fn behind_comment(text: &[u8], mut at: usize) -> usize {
    loop {
        let Some(length) = memchr::memchr(b'\n', &text[at..]) else { return text.len() };
        let line = &text[at..at + length];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += length + 1;
        if line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return at;
        }
    }
}

/// The levels that a call with arguments counts as: the filter that is called may have some around an argument.
const CALL: usize = 8;

/// As many parts of a path, or variables of a pattern, take the stack of a level.
const PARTS: usize = 4;

/// Measures the levels of an evaluation. The definitions in scope: each with its number of arguments and its levels.
#[derive(Default)]
struct Heights<'s>(Vec<(&'s str, usize, usize)>);

impl<'s> Heights<'s> {
    fn of(&mut self, term: &Term<&'s str>) -> usize {
        let inner = match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => 0,
            Term::Str(_, parts) => self.of_list(parts.iter().map(|part| match part {
                StrPart::Term(term) => (None, Some(term)),
                StrPart::Str(_) | StrPart::Char(_) => (None, None),
            })),
            Term::Obj(fields) => self.of_list(fields.iter().map(|(key, value)| (Some(key), value.as_ref()))),
            Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => self.of(inner),
            Term::BinOp(left, how, right) => {
                let pattern = if let BinaryOp::Pipe(Some(pattern)) = how { self.of_pattern(pattern) } else { 0 };
                self.of(left).max(self.of(right).saturating_add(pattern))
            }
            Term::Fold(_, source, pattern, arguments) => {
                let arguments = self.of_all(arguments).saturating_add(self.of_pattern(pattern));
                self.of(source).max(arguments).saturating_add(1)
            }
            Term::TryCatch(inner, caught) => self.of(inner).max(caught.as_ref().map_or(0, |caught| self.of(caught))),
            Term::IfThenElse(cases, rest) => {
                let rest = rest.as_ref().map_or(0, |rest| self.of(rest).saturating_add(cases.len()));
                cases.iter().enumerate().fold(rest, |most, (n, (condition, then))| {
                    most.max(self.of(condition).max(self.of(then)).saturating_add(n))
                })
            }
            Term::Def(definitions, inner) => {
                let known = self.0.len();
                let mut most = 0;
                for Def { name, args, body } in definitions {
                    let body = self.of(body);
                    most = most.max(body);
                    self.0.push((name, args.len(), body));
                }
                let inner = self.of(inner);
                self.0.truncate(known);
                most.max(inner)
            }
            Term::Call(name, arguments) => {
                let own = self.0.iter().rev().find(|(other, many, _)| other == name && *many == arguments.len());
                let called = match own {
                    Some((.., body)) => body.saturating_add(1),
                    None if arguments.is_empty() || name.starts_with('!') => 1,
                    None => CALL - 1,
                };
                self.of_all(arguments).saturating_add(called)
            }
            Term::Path(inner, Path(parts)) => {
                let index = parts.iter().fold(0, |most, (part, _)| match part {
                    Part::Index(index) => most.max(self.of(index)),
                    Part::Range(from, to) => from.iter().chain(to).fold(most, |most, end| most.max(self.of(end))),
                });
                self.of(inner).max(index).saturating_add(parts.len() / PARTS)
            }
        };
        inner.saturating_add(1)
    }

    fn of_all(&mut self, terms: &[Term<&'s str>]) -> usize {
        terms.iter().fold(0, |most, term| most.max(self.of(term)))
    }

    /// The levels of fields or parts, each of which is behind the ones before it.
    fn of_list<'t>(
        &mut self,
        all: impl Iterator<Item = (Option<&'t Term<&'s str>>, Option<&'t Term<&'s str>>)>,
    ) -> usize
    where
        's: 't,
    {
        all.enumerate().fold(0, |most, (n, (key, value))| {
            let deep = key.into_iter().chain(value).fold(0, |most, term| most.max(self.of(term)));
            most.max(deep.saturating_add(n.min(LIST)))
        })
    }

    fn of_pattern(&mut self, pattern: &Pattern<&'s str>) -> usize {
        let inner = match pattern {
            Pattern::Var(_) => return 0,
            Pattern::Arr(all) => all.iter().fold(all.len() / PARTS, |most, one| most.max(self.of_pattern(one))),
            Pattern::Obj(fields) => fields.iter().fold(fields.len() / PARTS, |most, (key, pattern)| {
                most.max(self.of(key)).max(self.of_pattern(pattern))
            }),
        };
        inner.saturating_add(1)
    }
}

/// Makes balanced trees of objects with many fields, and of texts of many parts, which jaq adds one to the other.
/// Returns whether there were any.
pub(crate) fn spread(term: &mut Term<&str>) -> bool {
    syntax::each(
        term,
        |_| false,
        |term| match term {
            Term::Obj(fields) if fields.len() > LIST => {
                *term = added(mem::take(fields), &Term::Obj);
                true
            }
            Term::Str(format, parts) if parts.len() > LIST => {
                let format = *format;
                *term = added(mem::take(parts), &|parts| Term::Str(format, parts));
                true
            }
            _ => false,
        },
    )
}

fn added<'s, T>(mut parts: Vec<T>, made: &dyn Fn(Vec<T>) -> Term<&'s str>) -> Term<&'s str> {
    if parts.len() <= LIST {
        return made(parts);
    }
    let others = parts.split_off(parts.len() / 2);
    Term::BinOp(added(parts, made).into(), BinaryOp::Math(Math::Add), added(others, made).into())
}
