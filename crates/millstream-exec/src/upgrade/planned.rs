//! Upgrades that are asked for before a run starts.

use super::{Answer, Ends, Site, Upgrade, change_to};
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::Change;
use crate::migrations::StateRules;
use crate::{RingShape, UpgradeError};
use millstream_core::{Arrow, Deploy, Item, Val};
use std::marker::PhantomData;
use std::sync::Arc;

/// A pipeline of any type, for an upgrade that is asked for before the run starts.
pub(crate) struct Next(Box<dyn AnyNext>);

trait AnyNext: Send + Sync {
    fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError>;
}

struct Typed<R, P> {
    next: Arc<P>,
    states: StateRules,
    runner: PhantomData<fn() -> R>,
}

impl<R: RingRunner, T: Item, P> AnyNext for Typed<R, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        change_to::<R, _, _>((self.next.clone(), self.states.clone()), ends, site, Answer::FailsRun)
    }
}

impl Next {
    pub(crate) fn new<R: RingRunner, T: Item, P>(next: Upgrade<P>) -> Self
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let Upgrade { next, states } = next;
        Next(Box::new(Typed { next, states, runner: PhantomData::<fn() -> R> }))
    }

    /// The change of a run to this pipeline, if the run's ends have its types.
    pub(crate) fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        self.0.change(ends, site)
    }
}
