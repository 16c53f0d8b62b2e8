//! Blocks of named wires.

use super::Pipe;
use std::fmt;

/// A block of wires. Wire 0 is its input, and statement n binds wire n + 1. A statement reads wires before it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Graph {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The wire that is the output.
    pub result: usize,
}

/// A statement of a [`Graph`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A body on a wire. It keeps its clock.
    Body(usize, Pipe),
    /// Two wires joined by number, as a pair; three or four, as a list.
    Join(Vec<usize>),
    /// The first wire; the second one where the first is empty.
    Or(usize, usize),
    /// At each number one of two quiet bodies, each on a wire: the first if the modulus, at least 1, divides the digest
    /// of the wire's value.
    If {
        /// The wire whose values are judged.
        wire: usize,
        /// The modulus.
        modulus: i64,
        /// The lane of those values.
        yes: (usize, Pipe),
        /// The lane of all others.
        no: (usize, Pipe),
    },
}

impl Graph {
    /// The bodies of its statements.
    pub fn bodies(&self) -> impl Iterator<Item = &Pipe> {
        self.statements.iter().flat_map(|statement| match statement {
            Statement::Body(_, body) => vec![body],
            Statement::If { yes, no, .. } => vec![&yes.1, &no.1],
            Statement::Join(_) | Statement::Or(..) => Vec::new(),
        })
    }

    /// The same bodies, mutable.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Pipe> {
        self.statements.iter_mut().flat_map(|statement| match statement {
            Statement::Body(_, body) => vec![body],
            Statement::If { yes, no, .. } => vec![&mut yes.1, &mut no.1],
            Statement::Join(_) | Statement::Or(..) => Vec::new(),
        })
    }

    /// The same block with other bodies.
    #[must_use]
    pub fn with_bodies(mut self, change: impl Fn(Pipe) -> Pipe) -> Self {
        self.bodies_mut().for_each(|body| *body = change(std::mem::replace(body, Pipe::Id)));
        self
    }

    /// Graphs that are a little simpler, the simplest first.
    pub(crate) fn simpler(&self) -> Vec<Graph> {
        let shorter = self
            .statements
            .len()
            .checked_sub(1)
            .filter(|last| self.result <= *last)
            .map(|last| Graph { statements: self.statements[..last].to_vec(), result: self.result });
        let before = (0..self.result).map(|result| Graph { result, ..self.clone() });
        let count = self.bodies().count();
        let bodies = (0..count).flat_map(|n| {
            let simple = self.bodies().nth(n).map(Pipe::simpler).unwrap_or_default();
            simple.into_iter().map(move |simple| {
                let mut graph = self.clone();
                if let Some(body) = graph.bodies_mut().nth(n) {
                    *body = simple;
                }
                graph
            })
        });
        shorter.into_iter().chain(before).chain(bodies).collect()
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block(")?;
        for (n, statement) in self.statements.iter().enumerate() {
            write!(f, "let w{} = {statement}; ", n + 1)?;
        }
        write!(f, "w{})", self.result)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Body(wire, body) => write!(f, "w{wire}.{body}"),
            Statement::Join(wires) => {
                let wires: Vec<String> = wires.iter().map(|wire| format!("w{wire}")).collect();
                write!(f, "({})", wires.join(", "))
            }
            Statement::Or(first, second) => write!(f, "w{first}.or(w{second})"),
            Statement::If { wire, modulus, yes, no } => {
                write!(f, "if w{wire} % {modulus} == 0 {{ w{}.{} }} else {{ w{}.{} }}", yes.0, yes.1, no.0, no.1)
            }
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
