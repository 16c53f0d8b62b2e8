//! Upgrades that are asked for before a run starts.

use super::{Answer, Ends, Site, Trial, Upgrade, change_to};
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

struct Typed<R, P: Arrow> {
    next: Arc<P>,
    states: StateRules,
    trial: Option<Trial<P::Out>>,
    runner: PhantomData<fn() -> R>,
}

impl<R: RingRunner, T: Item, P> AnyNext for Typed<R, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        let (version, trial) = ((self.next.clone(), self.states.clone()), self.trial.clone());
        // The result of a trial is no failure of the run.
        let answer = if trial.is_some() { Answer::Reported } else { Answer::FailsRun };
        change_to::<R, T, P>(version, trial, ends, site, (answer, None))
    }
}

impl Next {
    pub(crate) fn new<R: RingRunner, T: Item, P>(next: Upgrade<P>) -> Self
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let Upgrade { next, states, trial } = next;
        Next(Box::new(Typed { next, states, trial, runner: PhantomData::<fn() -> R> }))
    }

    /// The change of a run to this pipeline, if the run's ends have its types.
    pub(crate) fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        self.0.change(ends, site)
    }
}
