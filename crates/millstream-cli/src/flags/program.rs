//! The programs that commands name.

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, Error};
use clap::{Arg, Command, ValueEnum};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A program of this command, or a file with one as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramName {
    BuiltIn(Program),
    /// Only with the feature `run`.
    Text(PathBuf),
}

/// The parser of a [`ProgramName`].
#[derive(Clone, Debug)]
pub(super) struct Parser;

impl TypedValueParser for Parser {
    type Value = ProgramName;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ProgramName, Error> {
        let path = PathBuf::from(value);
        if cfg!(feature = "run") && path.extension().is_some_and(|extension| extension == "mill") {
            return Ok(ProgramName::Text(path));
        }
        let built_in = EnumValueParser::<Program>::new().parse_ref(command, arg, value);
        built_in.map(ProgramName::BuiltIn).map_err(|mut error| {
            if let (true, Some(ContextValue::Strings(values))) =
                (cfg!(feature = "run"), error.get(ContextKind::ValidValue))
            {
                let values = values.iter().cloned().chain(["FILE.mill".to_owned()]).collect();
                error.insert(ContextKind::ValidValue, ContextValue::Strings(values));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values: Vec<PossibleValue> =
            Program::value_variants().iter().filter_map(Program::to_possible_value).collect();
        Some(Box::new(values.into_iter()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Wc,
    Uppercase,
    Spaces,
    Sleep,
    Panic,
    Idle,
    Copying,
    /// Blocks through `cat`
    Pipe,
    /// Numbers plus the time: different in every run, and therefore refused by `verify`
    HiddenClock,
}

impl Program {
    /// Whether it reads files.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Program::Wc | Program::Uppercase | Program::Spaces | Program::Pipe)
    }
}
