//! Blocks of named wires in random pipelines, by the library's own blocks.

use super::edge::{Boxed, Chain};
use super::join::{as_ring, as_sparse};
use super::kind::{Any, F, H, Kind, Whole};
use super::shape::RandomShape;
use super::tree::{Graph, Pipe, Statement};
use super::value::Value;
use millstream_core::wires::{Wire, WireExt, choose};
use millstream_core::{Arrow, ItemShape, PartsExt, ToOwnedItem, id};
use millstream_exec::{AnyPipe, BoxBlock, OnQueues};

/// The scope of every block.
enum Here {}

type AnyWire = Wire<Here, Any>;

/// The statements of a library block, on every deployment.
type Statements = BoxBlock<Any, Here, OnQueues<AnyPipe>>;

/// The block, by the library's own blocks. Each edge in it is an edge of any shape.
pub(crate) fn block(graph: &Graph, input: Kind, body: &impl Fn(&Pipe, Kind) -> Chain) -> Chain {
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
