//! A second version beside the running one: it gets the same numbers, and its output is compared and goes nowhere.
//!
//! At a mark at number N every stage of the running version leaves a clone of its state, and goes on. The shadow begins
//! at N with the clones, reads the source's ring by a reader of its own, and its tasklets are stepped by the same
//! workers. A tasklet at its end reads both outputs side by side ([`Comparer`]). What fails in the shadow ends the
//! shadow, and not the run: its tasklets are dropped, and nothing is left of it.
//!
//! To cut over at number M is an upgrade without a hand-over: the running version retires at M, the comparer leaves its
//! reader of the shadow's output at M to the sink, and the shadow's tasklets, which have gone on meanwhile, are the
//! run's.

mod begin;
mod beside;
mod compare;
mod cut_over;

pub(crate) use compare::Agrees;

use super::shadow_state::ShadowState;
use super::{Answer, Ends, Site, Upgrade, UpgradeError, judged, typed};
use crate::RingShape;
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::Change;
use begin::Begin;
use beside::Place;
use compare::Left;
use cut_over::CutOver;
use millstream_core::{Arrow, Deploy, Item, Val};
use std::marker::PhantomData;
use std::sync::Arc;

impl<P: Arrow> Upgrade<P> {
    /// The change by which this pipeline begins to run beside that of a run, and the one by which it takes its place.
    pub(crate) fn beside<R: RingRunner, T: Item>(
        self,
        ends: Option<&Ends>,
        site: &Site,
        agrees: Arc<Agrees<P::Out>>,
        answer: Answer,
    ) -> Result<ShadowParts, UpgradeError>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let Upgrade { next, states } = self;
        let (fork, splice) = typed::<R, T, P::Out>(ends)?;
        judged(site.present().observer.clone().plan(), &next.plan(), &states)?;
        let (state, left, place): (_, Left<P::Out>, Place) = (ShadowState::new(), Arc::default(), Arc::default());
        let cuts_over: CutsOver = Box::new({
            let (site, fork, splice, state, left) =
                (site.clone(), fork.clone(), splice.clone(), state.clone(), Arc::clone(&left));
            let place = place.clone();
            move |answer| {
                let (site, fork, splice) = (site.clone(), fork.clone(), splice.clone());
                let (state, left, place) = (state.clone(), left.clone(), place.clone());
                Box::new(CutOver { site, fork, splice, state, left, place, answer, laid: false })
            }
        });
        let (runner, site, of_begin) = (PhantomData::<fn() -> R>, site.clone(), state.clone());
        let (state_of_begin, laid) = (of_begin, false);
        let begin = Begin {
            next,
            states,
            runner,
            site,
            fork,
            splice,
            agrees,
            state: state_of_begin,
            left,
            place,
            answer,
            laid,
        };
        Ok((Box::new(begin), state, cuts_over))
    }
}

/// The change by which a shadow begins, what it shares with the run, and how it takes the place of the running version.
pub(crate) type ShadowParts = (Box<dyn Change>, Arc<ShadowState>, CutsOver);

/// Makes the change by which a shadow takes the place of the running version.
pub(crate) type CutsOver = Box<dyn Fn(Answer) -> Box<dyn Change> + Send + Sync>;
