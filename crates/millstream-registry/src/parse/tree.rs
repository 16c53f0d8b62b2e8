//! The parts of a parsed text.

use super::Kept;
use crate::{Literal, Span};

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) input: Name<'a>,
    pub(crate) statements: Vec<Statement<'a>>,
    /// `None` after a mistake in it.
    pub(crate) result: Option<Value<'a>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: Span,
}

#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) name: Name<'a>,
    /// `None` after a mistake in it.
    pub(crate) value: Option<Value<'a>>,
}

#[derive(Debug)]
pub(crate) enum Value<'a> {
    Wire(Name<'a>),
    Field(Box<Value<'a>>, Name<'a>),
    Call(Call<'a>),
}

/// A text as a program: statements, each of which binds a wire, is an output, or names stages to keep.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) steps: Vec<Step<'a>>,
}

#[derive(Debug)]
pub(crate) enum Step<'a> {
    Bind(Statement<'a>),
    Leave(Value<'a>),
    Keep(Vec<Kept>),
}

#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) stage: Name<'a>,
    pub(crate) version: u32,
    pub(crate) reads: Vec<Value<'a>>,
    pub(crate) parameters: Vec<Given<'a>>,
    /// The place of the call, without the value that is piped into it.
    pub(crate) at: Span,
    /// How deep calls and fields are nested here, this one included.
    pub(super) height: usize,
}

impl<'a> Call<'a> {
    /// A call that is a name alone.
    pub(crate) fn of(stage: Name<'a>) -> Self {
        let at = stage.at.clone();
        Call { stage, version: 1, reads: Vec::new(), parameters: Vec::new(), at, height: 1 }
    }
}

/// A parameter and its value.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// `None` for a value without a name: its place among the others selects the parameter.
    pub(crate) name: Option<Name<'a>>,
    pub(crate) literal: Literal,
    pub(crate) at: Span,
}

impl Value<'_> {
    pub(crate) fn at(&self) -> Span {
        match self {
            Value::Wire(name) => name.at.clone(),
            Value::Field(whole, name) => whole.at().start..name.at.end,
            Value::Call(call) => call.at.clone(),
        }
    }

    pub(super) fn height(&self) -> usize {
        match self {
            Value::Wire(_) => 0,
            Value::Field(whole, _) => whole.height() + 1,
            Value::Call(call) => call.height,
        }
    }
}
