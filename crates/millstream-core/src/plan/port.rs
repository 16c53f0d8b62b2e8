//! Edges and stages while a plan is built.

use super::{Describe, StateType};
use std::cell::RefCell;
use std::rc::Rc;

/// At which numbers an edge can hold values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Below END.
    pub numbers: bool,
    /// At END.
    pub end: bool,
}

impl Filled {
    /// The slots that a source fills.
    pub const NUMBERS: Filled = Filled { numbers: true, end: false };
    /// The slots that a fold fills.
    pub const END: Filled = Filled { numbers: false, end: true };

    pub(super) fn and(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers && other.numbers, end: self.end && other.end }
    }

    pub(super) fn or(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers || other.numbers, end: self.end || other.end }
    }
}

/// The reading end of an edge while a plan is built: the rings that the edge reads.
#[derive(Clone, Debug)]
pub struct Port {
    pub(super) rings: Vec<usize>,
    pub(super) filled: Filled,
    pub(super) clock: usize,
    /// The wires, if this is the scope of a block.
    pub(super) scope: Option<Rc<ScopePorts>>,
}

/// The wires of a block while a plan is built.
#[derive(Debug, Default)]
pub(super) struct ScopePorts {
    /// Each wire's port, and how many pipelines read it.
    wires: RefCell<Vec<(Port, usize)>>,
    /// The scope around a lane.
    outer: Option<Port>,
    /// The one port of all wires, if only their readers are counted.
    any: Option<Port>,
}

impl Port {
    /// The port of an edge.
    pub(super) fn edge(rings: Vec<usize>, filled: Filled, clock: usize) -> Port {
        Port { rings, filled, clock, scope: None }
    }

    fn of_scope(scope: ScopePorts) -> Port {
        Port { scope: Some(Rc::new(scope)), ..Port::edge(Vec::new(), Filled::NUMBERS, 0) }
    }

    /// The scope of a block whose first wire is `input`.
    #[must_use]
    pub fn scope(input: Port) -> Port {
        let scope = Port::of_scope(ScopePorts::default());
        scope.add_wire(input);
        scope
    }

    /// The scope of a lane of a choice in the scope `outer`; its first wire says which lane a number takes.
    #[must_use]
    pub fn lane_scope(outer: Port, tag: Port) -> Port {
        let scope = Port::of_scope(ScopePorts { outer: Some(outer), ..ScopePorts::default() });
        scope.add_wire(tag);
        scope
    }

    /// A scope with any wires, each of which is like `wire`.
    pub(super) fn any_scope(wire: Port) -> Port {
        let any = |outer| ScopePorts { outer, any: Some(wire.clone()), ..ScopePorts::default() };
        let scope = Port::of_scope(any(Some(Port::of_scope(any(None)))));
        scope.add_wire(wire.clone());
        scope
    }

    fn in_scope(&self) -> &ScopePorts {
        self.scope.as_deref().expect("only what reads a block's scope asks for its wires")
    }

    /// Adds a wire to this scope.
    pub fn add_wire(&self, wire: Port) {
        self.in_scope().wires.borrow_mut().push((wire, 0));
    }

    /// The wire number `id` of this scope. Counts its reader.
    ///
    /// # Panics
    ///
    /// If this is not the port of a scope, or the scope has no such wire.
    #[must_use]
    pub fn wire(&self, id: usize) -> Port {
        let scope = self.in_scope();
        match scope.wires.borrow_mut().get_mut(id) {
            Some((port, readers)) => {
                *readers += 1;
                port.clone()
            }
            None => scope.any.clone().expect("a wire is read in the block that it belongs to, after its statement"),
        }
    }

    /// The scope around this lane's.
    ///
    /// # Panics
    ///
    /// If this is not the port of a lane's scope.
    #[must_use]
    pub fn outer(&self) -> Port {
        self.in_scope().outer.clone().expect("a lane's scope is in another one")
    }

    /// How many pipelines read each wire of this scope.
    pub(super) fn readers(&self) -> Vec<usize> {
        self.in_scope().wires.borrow().iter().map(|(_, readers)| *readers).collect()
    }

    /// The slots of this edge and of another one, of which one at most is filled at each number.
    #[must_use]
    pub fn merged(self, other: Port) -> Port {
        Port::edge([self.rings, other.rings].concat(), self.filled.or(other.filled), self.clock)
    }

    /// The slots of this edge, seen at the numbers at which both hold a value.
    pub(super) fn at_numbers_of(&self, other: &Port) -> Port {
        let rings = [&other.rings[..], &self.rings[..]].concat();
        Port::edge(rings, self.filled.and(other.filled), self.clock)
    }

    /// The slots of this edge, every one of which is filled below END.
    #[must_use]
    pub fn at_every_number(self) -> Port {
        Port { filled: Filled { numbers: true, ..self.filled }, ..self }
    }

    /// At which numbers this edge can hold values.
    #[must_use]
    pub fn filled(&self) -> Filled {
        self.filled
    }
}

/// The properties of a stage that a combinator adds.
#[derive(Clone, Copy, Debug)]
pub struct StageKind {
    /// The combinator's name.
    pub name: &'static str,
    /// The type of the state that the stage keeps from one number to the next. `()` for a stage that keeps nothing and
    /// has to see its numbers in order.
    pub state: Option<StateType>,
    /// Bytes of one slot of its output ring.
    pub slot_bytes: usize,
    /// Whether its output is dense.
    pub dense: bool,
    /// At which numbers its output can hold values.
    pub fills: Filled,
}

/// A body that describes itself.
pub type Body<'a> = Box<dyn FnOnce(&mut Describe) -> Port + 'a>;
