//! A second version beside the running one: it gets the same numbers, and its output is compared and goes nowhere.
//!
//! At a mark at number N every stage of the running version leaves a clone of its state, and goes on. The shadow begins
//! at N with the clones, reads the source's ring by a reader of its own, and its tasklets are stepped by the same
//! workers. A tasklet at its end reads both outputs side by side ([`Comparer`](compare::Comparer)). A failure in the
//! shadow ends the shadow and leaves the run alone: the shadow's tasklets are dropped, and nothing is left of it.
//!
//! To cut over at number M is an upgrade without a hand-over: both versions retire at M, the comparer leaves its reader
//! of the shadow's output at M to the sink, and the shadow's tasklets go on at M as the run's. No step of the shadow is
//! in progress meanwhile, so a failure from M on is always the run's. If the version that retires is kept, its tasklets
//! go on at M as those of the next shadow do, and the sink leaves its reader of their output to the next comparer.
//!
//! A version that is [tried](Upgrade::tried) is a shadow whose cutting over is planned when the mark at N is laid: the
//! source waits there, so that M is the same number in every run. If the shadow ends before, the plan is moot.

mod begin;
mod beside;
mod common;
mod compare;
mod cut_over;
mod keep;
mod place;
mod trial;

pub(crate) use common::{AnyShadow, Common};
pub(crate) use compare::Agrees;
pub(crate) use trial::{Trial, equal, related};

use super::{Answer, Ends, Site, Upgrade, UpgradeError, judged, typed};
use crate::RingShape;
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::Change;
use crate::migrations::StateRules;
use begin::Begin;
use millstream_core::{Arrow, Deploy, Item, Val};
use std::marker::PhantomData;
use std::sync::Arc;

/// The change by which a shadow begins, and the shadow itself.
pub(crate) type Begins = (Box<dyn Change>, Arc<dyn AnyShadow>);

/// The change by which a pipeline begins to run beside that of a run, if the run's ends have its types. `tried` is the
/// number of numbers for which it runs before it takes the other's place, if it is a trial.
pub(crate) fn beside<R: RingRunner, T: Item, P>(
    (next, states): (Arc<P>, StateRules),
    ends: Option<&Ends>,
    site: &Site,
    agrees: Arc<Agrees<P::Out>>,
    (tried, answer): (Option<u64>, Answer),
) -> Result<Begins, UpgradeError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    let (fork, splice) = typed::<R, T, P::Out>(ends)?;
    let common = Common::new(site.clone(), (fork, splice), agrees, states.reason.clone());
    let shadow: Arc<dyn AnyShadow> = common.clone();
    let begin = Begin { next, states, runner: PhantomData::<fn() -> R>, common, tried, answer, laid: false };
    Ok((Box::new(begin), shadow))
}

impl<P: Arrow> Upgrade<P> {
    /// The change by which this pipeline begins to run beside that of a run. The plans are judged before.
    pub(crate) fn beside<R: RingRunner, T: Item>(
        self,
        ends: Option<&Ends>,
        site: &Site,
        agrees: Arc<Agrees<P::Out>>,
        answer: Answer,
    ) -> Result<Begins, UpgradeError>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let Upgrade { next, states, .. } = self;
        let plan = next.plan();
        let begun = beside::<R, T, P>((next, states.clone()), ends, site, agrees, (None, answer))?;
        judged(site.present().observer.clone().plan(), &plan, &states)?;
        Ok(begun)
    }
}
