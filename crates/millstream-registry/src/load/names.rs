//! The names of the stages of a text.

use super::Loader;
use crate::Literal;
use crate::parse::Kept;
use crate::registry::Entry;
use crate::wrong::{Mistake, near};
use millstream_exec::BoxKind;
use std::borrow::Cow;

impl<'a, K: BoxKind> Loader<'a, K> {
    /// The name of a statement. A statement of a program that binds no name is named after its stage; a further one
    /// gets a number as well.
    pub(super) fn named(
        &mut self,
        name: Cow<'static, str>,
        stage: &'a str,
        entry: &Entry<K>,
        literals: &[Option<Literal>],
    ) -> Cow<'static, str> {
        if !name.is_empty() || self.input.is_none() {
            return name;
        }
        let given = entry.named_by.and_then(|name| {
            let place = entry.parameters.iter().position(|parameter| parameter.name == name)?;
            literals[place].as_ref()
        });
        let name = match given {
            Some(Literal::Text(text)) => Cow::Owned(format!("{stage} {text}")),
            _ => Cow::Borrowed(stage),
        };
        let times = self.named.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name.into_owned().into() } else { format!("{name}-{times}").into() }
    }

    /// Notes names after `keep` that no stage has.
    pub(super) fn are_stages(&mut self, keeps: &[&Kept]) {
        let names = || self.called.iter().map(|call| call.name.as_str());
        let unknown = keeps.iter().filter(|kept| !names().any(|name| name == kept.name));
        let mistake = |kept: &&Kept| {
            let help = near(&kept.name, names()).unwrap_or_else(|| "`let NAME = ..` gives a stage a name".to_owned());
            Mistake::new(format!("no stage is named `{}`", kept.name), kept.at.clone(), "").help(help)
        };
        let mistakes: Vec<_> = unknown.map(mistake).collect();
        self.mistakes.extend(mistakes);
    }
}
