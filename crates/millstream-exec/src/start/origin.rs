//! The source of a run: a tasklet, a thread, or senders.

use super::threads::Threads;
use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::feed::{self, Output, Quick, SweepTasklet, Turns};
use crate::fusion::LentSource;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::source::{Connect, SourceTasklet, most_slots};
use crate::source_ring::SourceRing;
use crate::stages_on::StagesOn;
use crate::tasklet::Tasklet;
use crate::together::Together;
use crate::watched::Role;
use crate::{Source, Wiring};
use millstream_core::Item;
use std::sync::Arc;

/// Starts the thread of a source that may wait, outside the workers.
pub(super) type StartFeed = Box<dyn FnOnce(&Arc<Pool>) -> std::io::Result<()> + Send>;

/// The origin of a run's values.
pub(super) struct Origin<T: Item> {
    pub(super) feeding: Feed,
    /// The state that the source shares with its senders, and later with all threads of the run.
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) connect: Box<ConnectSource<T>>,
}

/// Fills the source's ring.
pub(super) type ConnectSource<T> = dyn FnOnce(SourceRing<T>, &mut Wiring) -> std::io::Result<Connected>;

/// A source that fills its ring once the run has started.
pub(super) struct Connected {
    pub(super) end: Option<StopSource>,
    pub(super) feed: Option<StartFeed>,
}

impl<T: Item> Origin<T> {
    pub(super) fn values<X: Source<T>>(source: X, threads: Threads) -> Self {
        let (waits, slots) = (source.waits(), most_slots::<T, X>());
        let feeding = if threads == Threads::Workers { Feed::of(&source) } else { Feed::by_caller(slots) };
        let channels = source.channels();
        let values = source.into_values();
        let connect = move |ring, wiring: &mut Wiring| {
            let slots = most_slots::<T, X>();
            if feeding.threads() > 0 {
                wiring.shared.source_waits.stop_at_end(channels);
                // Known to the compiler, so one of them is left.
                return Ok(if slots < usize::MAX {
                    fed_by_thread(values, ring, wiring, move |pool, _, on| Together::new(pool, slots, on))
                } else {
                    fed_by_thread(values, ring, wiring, Quick::new)
                });
            }
            let shared = wiring.shared.clone();
            let tasklet = if waits {
                SourceTasklet::waiting(values, ring, shared)
            } else {
                SourceTasklet::ready(values, ring, wiring.batch, shared)
            };
            // A loop takes values in batches, or one by one if the source may wait: as the source's type says.
            let tasklet: Box<dyn Tasklet> = if X::IN_LOOP && waits == X::WAITS && wiring.ends.is_some() {
                Box::new(LentSource::new(tasklet, wiring))
            } else {
                Box::new(tasklet)
            };
            wiring.end("source", Role::Source, tasklet);
            Ok(Connected { end: None, feed: None })
        };
        Origin { feeding, shared: None, connect: Box::new(connect) }
    }

    /// A source that fills its ring by itself.
    pub(super) fn external(source: Box<dyn Connect<T>>) -> Self {
        let (feeding, shared) = (source.feed(), Some(source.shared()));
        let connect = |ring, wiring: &mut Wiring| {
            source.connect(ring, wiring).map(|end| Connected { end: Some(end), feed: None })
        };
        Origin { feeding, shared, connect: Box::new(connect) }
    }
}

/// A thread takes these values and fills the ring. It runs the stages itself by `turns`, if there are any.
fn fed_by_thread<T: Item, R: Turns<T>>(
    values: impl Iterator<Item = T> + Send + 'static,
    ring: SourceRing<T>,
    wiring: &mut Wiring,
    turns: impl FnOnce(&Arc<Pool>, &Output<T>, StagesOn) -> Option<R> + Send + 'static,
) -> Connected {
    let (shared, stages_on) = (wiring.shared.clone(), wiring.stages_on);
    let output = Output::new(ring, shared.clone());
    sweeps(&output, wiring);
    let end: StopSource = Arc::new(output.clone());
    let feed = move |pool: &Arc<Pool>| {
        let pool = Arc::downgrade(pool);
        let turns = move |output: &Output<T>| pool.upgrade().and_then(|pool| turns(&pool, output, stages_on));
        feed::spawn(values, output, shared, turns)
    };
    Connected { end: Some(end), feed: Some(Box::new(feed)) }
}

/// Adds the tasklet that drops released values while no new ones come, if such values need a drop.
pub(crate) fn sweeps<T: Item>(output: &Output<T>, wiring: &mut Wiring) {
    if Feed::sweeps::<T>() {
        wiring.end("source", Role::Source, Box::new(SweepTasklet(output.clone())));
    }
}
