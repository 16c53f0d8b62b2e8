//! The edges of a block while it is deployed.

use super::Forks;
use crate::plan::Describe;
use crate::{Arrow, Backend, On};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// The edges of the wires of one scope, while the deployment `K` deploys it. Copies are the same scope.
pub struct Edges<K: Backend>(Rc<Inside<K>>);

struct Inside<K: Backend> {
    held: RefCell<Vec<Held<K>>>,
    /// How many pipelines read each wire, if the deployment has to know.
    readers: Option<Vec<usize>>,
    /// The scope around a lane.
    outer: Option<Edges<K>>,
}

/// One edge: the reading end that further ones are forked from.
struct Held<K: Backend> {
    edge: Option<Box<dyn Any>>,
    /// The number of pipelines that will read it, if that is known.
    left: Option<usize>,
    unread: fn(Box<dyn Any>, &mut K::Wiring),
}

impl<K: Backend> Clone for Edges<K> {
    fn clone(&self) -> Self {
        Edges(self.0.clone())
    }
}

impl<K: Backend> std::fmt::Debug for Edges<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edges").field("wires", &self.0.held.borrow().len()).finish_non_exhaustive()
    }
}

impl<K: Backend> Edges<K> {
    /// The scope of `body`, whose first wire is `first`; inside `outer` if it is a lane's.
    pub(super) fn of<F: On<K, Edge: 'static>, P: Arrow>(
        body: &P,
        first: F::Edge,
        outer: Option<Edges<K>>,
        wiring: &mut K::Wiring,
    ) -> Self
    where
        K: Forks<F>,
    {
        let readers = K::COUNTS_READERS.then(|| Describe::readers(body));
        let scope = Edges(Rc::new(Inside { held: RefCell::default(), readers, outer }));
        scope.push::<F>(first, wiring);
        scope
    }

    /// The scope around this lane's.
    pub(super) fn outer(&self) -> Edges<K> {
        self.0.outer.clone().expect("a lane's scope is in another one")
    }

    /// Adds a wire.
    pub(super) fn push<F: On<K, Edge: 'static>>(&self, edge: F::Edge, wiring: &mut K::Wiring)
    where
        K: Forks<F>,
    {
        let id = self.0.held.borrow().len();
        let left = self.0.readers.as_ref().map(|readers| readers[id]);
        let unread = |edge: Box<dyn Any>, wiring: &mut K::Wiring| {
            K::unread(*edge.downcast::<F::Edge>().expect("it was put in as this type"), wiring);
        };
        let mut held = Held { edge: Some(Box::new(edge)), left, unread };
        if left == Some(0) {
            held.finish(wiring);
        }
        self.0.held.borrow_mut().push(held);
    }

    /// A reading end of the wire number `id`.
    pub(super) fn read<F: On<K, Edge: 'static>>(&self, id: usize, wiring: &mut K::Wiring) -> F::Edge
    where
        K: Forks<F>,
    {
        let (edge, last) = {
            let mut held = self.0.held.borrow_mut();
            let held = held.get_mut(id).expect("a wire is read in the block that it belongs to, after its statement");
            held.left = held.left.map(|left| left.saturating_sub(1));
            (held.edge.take().expect("no more readers than were counted"), held.left == Some(0))
        };
        let edge = *edge.downcast::<F::Edge>().expect("a wire is read in the block that it belongs to");
        if last {
            return edge;
        }
        let (one, rest) = K::fork(edge, wiring);
        self.0.held.borrow_mut()[id].edge = Some(Box::new(rest));
        one
    }

    /// Drops the reading ends that are no longer read: an unused reading end would stop its writer.
    pub(super) fn close(&self, wiring: &mut K::Wiring) {
        for held in self.0.held.borrow_mut().iter_mut() {
            held.finish(wiring);
        }
    }
}

impl<K: Backend> Held<K> {
    fn finish(&mut self, wiring: &mut K::Wiring) {
        if let Some(edge) = self.edge.take() {
            (self.unread)(edge, wiring);
        }
    }
}
