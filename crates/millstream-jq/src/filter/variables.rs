//! Global variables. Their reference counts are not atomic, so every thread has its own values.

use crate::Options;
use crate::demand::Demand;
use crate::functions::FILE_NAME;
use crate::options::Given;
use crate::parse::Parser;
use jaq_core::Vars;
use jaq_json::{Map, Val};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The global variables of one filter, as they were given.
#[derive(Debug)]
pub(crate) struct Variables {
    /// Differs between filters of one process.
    id: u64,
    named: Vec<(String, Given)>,
    positional: Vec<String>,
}

thread_local! {
    /// The values of the filter that this thread ran last.
    static LAST: RefCell<(u64, Vec<Val>)> = const { RefCell::new((0, Vec::new())) };
}

impl Variables {
    /// # Errors
    ///
    /// A name that cannot be a variable's.
    pub(crate) fn of(options: &Options) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let is_name = |name: &str| {
            let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
            first && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if let Some((name, _)) = options.variables.iter().find(|(name, _)| !is_name(name)) {
            return Err(format!("`{name}` cannot be the name of a variable: use only letters, digits and `_`"));
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        // If two variables have the same name, jq takes the first.
        let mut named: Vec<(String, Given)> = Vec::new();
        for (name, given) in &options.variables {
            if !named.iter().any(|(there, _)| there == name) {
                named.push((name.clone(), given.clone()));
            }
        }
        Ok(Variables { id, named, positional: options.positional.clone() })
    }

    /// The names, in the order of the values.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.named.iter().map(|(name, _)| format!("${name}"));
        names.chain(["$ARGS".to_owned(), FILE_NAME.to_owned()]).collect()
    }

    /// The values on this thread, for an input of a file of this name.
    pub(crate) fn values(&self, file_name: &str) -> Vars<Val> {
        LAST.with_borrow_mut(|(id, values)| {
            if *id != self.id {
                *values = self.parsed();
                *id = self.id;
            }
            let name = if file_name.is_empty() { Val::Null } else { Val::utf8_str(file_name.as_bytes().to_vec()) };
            Vars::new(values.iter().cloned().chain([name]))
        })
    }

    fn parsed(&self) -> Vec<Val> {
        let value = |given: &Given| match given {
            Given::Json(json) => Parser::new(json).value(&Demand::All).unwrap_or_default(),
            Given::Text(text) => Val::utf8_str(text.clone()),
        };
        let named: Vec<(Val, Val)> = self.named.iter().map(|(name, given)| (text(name), value(given))).collect();
        let positional = self.positional.iter().map(|argument| text(argument)).collect();
        let arguments = [(text("positional"), positional), (text("named"), Val::obj(named.iter().cloned().collect()))];
        let arguments = Val::obj(arguments.into_iter().collect::<Map>());
        named.into_iter().map(|(_, value)| value).chain([arguments]).collect()
    }
}

fn text(text: &str) -> Val {
    Val::utf8_str(text.as_bytes().to_vec())
}
