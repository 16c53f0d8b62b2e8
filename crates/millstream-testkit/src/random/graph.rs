//! Blocks of named wires in random pipelines.

use super::edge::{Boxed, Chain};
use super::join::as_ring;
use super::kind::{Any, F, H, Kind, Whole};
use super::shape::RandomShape;
use super::tree::Pipe;
use super::value::Value;
use millstream_core::wires::{Wire, WireExt, choose};
use millstream_core::{Arrow, ItemShape, PartsExt, ToOwnedItem, id};
use millstream_exec::{AnyPipe, BoxBlock, OnQueues};
use std::fmt;

/// A block of wires. Wire 0 is its input, and statement n binds wire n + 1. A statement reads wires before it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Graph {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The wire that is the output.
    pub result: usize,
}

/// What a wire of a [`Graph`] is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A body on a wire. It keeps its clock.
    Body(usize, Pipe),
    /// Two wires joined by number, as a pair; three or four, as a list.
    Join(Vec<usize>),
    /// The first wire, and the second where it is empty.
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

    /// The same, to change them.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Pipe> {
        self.statements.iter_mut().flat_map(|statement| match statement {
            Statement::Body(_, body) => vec![body],
            Statement::If { yes, no, .. } => vec![&mut yes.1, &mut no.1],
            Statement::Join(_) | Statement::Or(..) => Vec::new(),
        })
    }

    /// The same with other bodies.
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

/// The scope of every block.
enum Here {}

type AnyWire = Wire<Here, Any>;

/// What is in a block of the library, on every deployment.
type Statements = BoxBlock<Any, Here, OnQueues<AnyPipe>>;

/// The block, by the library's own blocks. Each edge in it is an edge of any shape.
pub(crate) fn graph(graph: &Graph, input: Kind, body: &impl Fn(&Pipe, Kind) -> Chain) -> Chain {
    let before = as_ring(Chain::empty(input));
    let (mut block, first) = Statements::new();
    let mut wires: Vec<AnyWire> = vec![first];
    for statement in &graph.statements {
        let name = format!("wire-{}", wires.len());
        let wire = match statement {
            Statement::Body(wire, pipe) => {
                with_body(wires[*wire], &mut block, name, body(pipe, Kind::Whole(Whole::Any)))
            }
            Statement::Join(of) => match of[..] {
                [a, b] => {
                    let pair = (wires[a], wires[b]).map(|(a, b)| Value::pair(a.clone(), b.clone()));
                    block.wire(name, pair.any_edge())
                }
                [a, b, c] => {
                    let list = (wires[a], wires[b], wires[c]).map(|(a, b, c)| list(&[a, b, c]));
                    block.wire(name, list.any_edge())
                }
                [a, b, c, d] => {
                    let list = (wires[a], wires[b], wires[c], wires[d]).map(|(a, b, c, d)| list(&[a, b, c, d]));
                    block.wire(name, list.any_edge())
                }
                _ => unreachable!("two to four wires are joined"),
            },
            Statement::Or(a, b) => block.wire(name, wires[*a].or(wires[*b]).any_edge()),
            Statement::If { wire, modulus, yes, no } => {
                let lane = |lane: &(usize, Pipe)| (wires[lane.0], body(&lane.1, Kind::Whole(Whole::Any)));
                let (yes, no, modulus) = (lane(yes), lane(no), *modulus);
                if_else(wires[*wire], modulus, yes, no, &mut block, name)
            }
        };
        wires.push(wire);
    }
    let block = block.emit(wires[graph.result]);
    let input = before.output;
    let chain = match input {
        Kind::Whole(Whole::F) => Chain::empty(input).then(Boxed::new(id::<F>().any_edge().then(block))),
        _ => Chain::empty(input).then(Boxed::new(id::<H>().any_edge().then(block))),
    };
    before.followed_by(chain)
}

fn list(values: &[&Value]) -> Value {
    Value::List(values.iter().map(|value| (*value).clone()).collect())
}

/// A ring of values.
trait OneRing: RandomShape + ItemShape<Item = Value> + ToOwnedItem<Owned = Value> {}
impl<A: RandomShape + ItemShape<Item = Value> + ToOwnedItem<Owned = Value>> OneRing for A {}

fn with_body(wire: AnyWire, block: &mut Statements, name: String, body: Chain) -> AnyWire {
    fn on<B: OneRing>(wire: AnyWire, block: &mut Statements, name: String, body: Chain) -> AnyWire {
        block.wire(name, wire.then(body.boxed::<Any, B>()).any_edge())
    }
    let body = as_ring(body);
    match body.output {
        Kind::Whole(Whole::F) => on::<F>(wire, block, name, body),
        _ => on::<H>(wire, block, name, body),
    }
}

fn if_else(
    judged: AnyWire,
    modulus: i64,
    yes: (AnyWire, Chain),
    no: (AnyWire, Chain),
    block: &mut Statements,
    name: String,
) -> AnyWire {
    let condition = judged.map(move |value| value.digest().rem_euclid(modulus) == 0);
    let (yes_body, no_body) = (as_sparse(yes.1).boxed_quiet::<Any, H>(), as_sparse(no.1).boxed_quiet::<Any, H>());
    let chosen = choose::<Here, _, _, _>(
        condition,
        |lane, w| w.lane(lane.see(yes.0).any_edge().then(yes_body)),
        |lane, w| w.lane(lane.see(no.0).any_edge().then(no_body)),
    );
    block.wire(name, chosen.any_edge())
}

/// The chain, to a sparse ring.
fn as_sparse(chain: Chain) -> Chain {
    let chain = as_ring(chain);
    if chain.output == Kind::Whole(Whole::H) {
        return chain;
    }
    let copy = Boxed::new(id::<F>().filter_map(|value| Some(value.clone())));
    chain.followed_by(Chain::empty(Kind::Whole(Whole::F)).then(copy))
}
