//! What the changes of one shadow share, whatever its pipeline is.

use super::Agrees;
use super::compare::Left;
use super::place::Place;
use crate::marks::Change;
use crate::sink_tasklet::Splice;
use crate::source_ring::SourceFork;
use crate::upgrade::shadow_state::ShadowState;
use crate::upgrade::{Answer, Site};
use millstream_core::Item;
use millstream_ring::RingLayout;
use std::sync::Arc;

pub(crate) struct Common<T: Item, A: RingLayout> {
    pub(super) site: Site,
    pub(super) fork: Arc<SourceFork<T>>,
    pub(super) splice: Arc<Splice<A>>,
    pub(super) agrees: Arc<Agrees<A>>,
    pub(super) state: Arc<ShadowState>,
    pub(super) left: Left<A>,
    pub(super) place: Place,
    /// Why the author of the upgrade wants it.
    pub(super) reason: Option<String>,
}

impl<T: Item, A: RingLayout> Common<T, A> {
    pub(super) fn new(
        site: Site,
        (fork, splice): (Arc<SourceFork<T>>, Arc<Splice<A>>),
        agrees: Arc<Agrees<A>>,
        reason: Option<String>,
    ) -> Arc<Self> {
        let (left, place) = (Arc::default(), Place::default());
        Arc::new(Common { site, fork, splice, agrees, state: ShadowState::new(), left, place, reason })
    }
}

/// A shadow of any type.
pub(crate) trait AnyShadow: Send + Sync {
    fn state(&self) -> &Arc<ShadowState>;

    /// The change by which it takes the place of the running version.
    fn cut_over(self: Arc<Self>, answer: Answer) -> Box<dyn Change>;

    /// The same, and the shadow that the running version is from then on.
    fn cut_over_keeping(self: Arc<Self>, answer: Answer) -> (Box<dyn Change>, Arc<dyn AnyShadow>);
}
