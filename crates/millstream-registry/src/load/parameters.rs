//! Checks the values in a call against the parameters of its stage.

use super::Loader;
use crate::parse::{Call, Given, Name};
use crate::registry::{Entry, Rule};
use crate::stage::ParameterOf;
use crate::wrong::{Mistake, near};
use crate::{Literal, WrongCode};
use millstream_exec::BoxKind;
use std::time::Duration;

impl<'a, K: BoxKind> Loader<'a, K> {
    /// The values of an entry's parameters, in the entry's order, as far as the text has them; fewer after a mistake.
    pub(super) fn parameters(&mut self, call: &Call<'a>, entry: &Entry<K>) -> Vec<Option<Literal>> {
        let stage = call.stage.text;
        let mut literals: Vec<Option<Literal>> = vec![None; entry.parameters.len()];
        let mut without_name = 0;
        for given in &call.parameters {
            let place = match &given.name {
                Some(name) => self.place(stage, name, entry),
                None => {
                    without_name += 1;
                    self.nth(stage, given, without_name - 1, entry)
                }
            };
            let Some(place) = place else { continue };
            let parameter = &entry.parameters[place];
            if !(parameter.accepts)(&given.literal) {
                self.not_accepted(parameter, given);
            }
            if literals[place].replace(given.literal.clone()).is_some() {
                let at = given.name.as_ref().map_or_else(|| given.at.clone(), |name| name.at.clone());
                self.mistakes.push(Mistake::new(format!("`{}` is given twice", parameter.name), at, ""));
            }
        }
        for (parameter, literal) in entry.parameters.iter().zip(&literals) {
            if literal.is_none() && !parameter.optional {
                let what = format!("`{stage}` needs `{}`", parameter.name);
                let mistake = Mistake::new(what, call.stage.at.clone(), "");
                self.mistakes.push(mistake.help(format!("`{}: ..`, {}", parameter.name, parameter.wanted)));
            }
        }
        let place = |name: &str| entry.parameters.iter().position(|parameter| parameter.name == name);
        let given = |name: &str| place(name).and_then(|place| literals[place].clone());
        let is_given = |name: &str| given(name).is_some();
        for rule in &entry.rules {
            let (what, help) = match *rule {
                Rule::Needs(one, other) if is_given(one) && !is_given(other) => {
                    let help = place(other).map(|place| format!("`{other}: ..`, {}", entry.parameters[place].wanted));
                    (format!("`{stage}` with `{one}` needs `{other}`"), help)
                }
                Rule::Excludes(one, other) if is_given(one) && is_given(other) => {
                    (format!("`{stage}` takes `{one}` or `{other}`, not both"), None)
                }
                Rule::Refuses(check) => match check(stage, &given) {
                    Some((what, help)) => (what, Some(help)),
                    None => continue,
                },
                _ => continue,
            };
            self.mistakes.push(Mistake::new(what, call.stage.at.clone(), "").help_if(help));
        }
        literals
    }

    /// The place of the parameter with this name.
    fn place(&mut self, stage: &str, name: &Name<'a>, entry: &Entry<K>) -> Option<usize> {
        let place = entry.parameters.iter().position(|parameter| parameter.name == name.text);
        if place.is_none() {
            let names = entry.parameters.iter().map(|parameter| parameter.name);
            let help = near(name.text, names).or_else(|| Some(parameter_names(entry)));
            let what = format!("`{stage}` has no parameter `{}`", name.text);
            self.mistakes.push(Mistake::new(what, name.at.clone(), "").help_if(help));
        }
        place
    }

    /// The place of the n-th value without a name.
    fn nth(&mut self, stage: &str, given: &Given<'a>, n: usize, entry: &Entry<K>) -> Option<usize> {
        if n < entry.parameters.len() {
            return Some(n);
        }
        let most = entry.parameters.len();
        let what = format!(
            "`{stage}` takes no more than {} here",
            if most == 1 { "1 value".to_owned() } else { format!("{most} values") }
        );
        let is_expression = |parameter: &ParameterOf| (parameter.accepts)(&given.literal);
        let help = match &given.literal {
            Literal::Code(_) if entry.parameters.last().is_some_and(is_expression) => {
                format!("{}; an expression with a comma needs brackets: `(.a, .b)`", parameter_names(entry))
            }
            _ => parameter_names(entry),
        };
        self.mistakes.push(Mistake::new(what, given.at.clone(), "one too many").help(help));
        None
    }

    fn not_accepted(&mut self, parameter: &ParameterOf, given: &Given<'a>) {
        let Literal::Code(code) = &given.literal else {
            let what = format!("`{}` is {}", parameter.name, parameter.wanted);
            let label = format!("this is {}", given.literal.kind());
            let written = given.literal.to_string();
            if let Literal::Whole(number @ 1..) = given.literal
                && (parameter.accepts)(&Literal::Time(Duration::from_secs(1)))
            {
                let help = format!("a time has a unit: `{number}s`, `{number}ms` or `{number}m`");
                return self.mistakes.push(Mistake::new(what, given.at.clone(), label).help(help));
            }
            let help = (parameter.accepts)(&Literal::Code(written.clone())).then(|| match &given.literal {
                Literal::Text(name) if is_name(name) => {
                    format!("a field is written as `.{name}`; as an expression a text needs brackets: `({written})`")
                }
                _ => format!("as an expression it needs brackets: `({written})`"),
            });
            return self.mistakes.push(Mistake::new(what, given.at.clone(), label).help_if(help));
        };
        let wrong = (parameter.wrong)(code);
        // The expression may be in backquotes.
        let begin = given.at.start + (given.at.len() - code.len()) / 2;
        if wrong.is_empty() {
            let what = format!("`{}` is {}", parameter.name, parameter.wanted);
            self.mistakes.push(Mistake::new(what, given.at.clone(), "this is an expression"));
        }
        self.mistakes.extend(wrong.into_iter().map(|WrongCode { at, what }| {
            let at = (begin + at.start).min(given.at.end)..(begin + at.end).min(given.at.end);
            Mistake::new(what, at, "")
        }));
    }
}

fn parameter_names<K: BoxKind>(entry: &Entry<K>) -> String {
    match entry.parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join("`, `") {
        names if names.is_empty() => "it has none".to_owned(),
        names => format!("it has `{names}`"),
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|first: char| is_letter(first) && !first.is_ascii_digit()) && text.chars().all(is_letter)
}
