use super::rule::Choice;
use super::{ItemFormat, Merge};
use crate::shared::Shared;
use crate::source_ring::SourceRing;
use crate::stage::Shows;
use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::Item;
use millstream_core::failure::fail;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Moves the values of several producers into the source's ring.
pub(crate) struct MergeTasklet<T: Item, O: ItemFormat<T>> {
    merge: Merge<T>,
    output: SourceRing<O::Item>,
    batch: usize,
    ended: bool,
    /// Whether the value after those published is being chosen.
    chooses: bool,
    shared: Arc<Shared>,
    /// What wakes it to look for silent producers.
    _ticks: Option<Ticks>,
    format: PhantomData<O>,
}

impl<T: Item, O: ItemFormat<T>> MergeTasklet<T, O> {
    pub(crate) fn new(
        merge: Merge<T>,
        output: SourceRing<O::Item>,
        batch: usize,
        shared: Arc<Shared>,
        ticks: Option<Ticks>,
    ) -> Self {
        let (ended, chooses, format) = (false, false, PhantomData);
        MergeTasklet { merge, output, batch, ended, chooses, shared, _ticks: ticks, format }
    }
}

impl<T: Item, O: ItemFormat<T>> MergeTasklet<T, O> {
    /// Lays the marks that are due, those that producers want among them.
    fn lay(&mut self) -> Laid {
        let MergeTasklet { merge, output, shared, .. } = self;
        let marks = &shared.marks;
        let mut laid = Laid { any: output.lay(marks), waits: false };
        if merge.wants_cuts() {
            laid.waits = merge.lay_cuts(|asked| {
                let id = *asked.get_or_insert_with(|| marks.ask(false));
                laid.any |= !marks.has_laid(id) && output.lay(marks);
                marks.has_laid(id).then_some(id)
            });
        }
        laid
    }

    /// Ends the stream after the `moved` last numbers, or as soon as the next one need not wait.
    fn end(&mut self, moved: usize, laid: Laid) -> Progress {
        if !laid.waits && self.output.try_end(&self.shared.marks) {
            self.shared.end_source();
            Progress { moved: moved + 1, ..Progress::DONE }
        } else {
            Progress { worked: laid.any, ..Progress::moved(moved) }
        }
    }
}

/// Whether marks were laid, and whether one that a producer wants has to wait for those under way.
struct Laid {
    any: bool,
    waits: bool,
}

impl<T: Item, O: ItemFormat<T>> Tasklet for MergeTasklet<T, O> {
    fn step(&mut self, most: usize) -> Progress {
        let laid = self.lay();
        if self.ended {
            return self.end(0, laid);
        }
        let claim = match self.output.try_claim(&self.shared.marks, self.batch.min(most)) {
            Err(_) => return Progress::DONE,
            Ok(None) => return Progress { worked: laid.any, ..Progress::NONE },
            Ok(Some(claim)) => claim,
        };
        let (room, mut moved, mut shows) = (claim.len(), 0, Shows::new(claim));
        self.merge.begin();
        self.chooses = true;
        while moved < room {
            match self.merge.choose(room - moved) {
                Ok(Choice::Take { lane, most }) => {
                    let run = self.merge.take(lane, most);
                    let (producer, first) = (run.producer, run.first);
                    let mut items = (first..).zip(run.values).map(|(number, value)| O::item(producer, number, value));
                    moved += shows.claim().extend(&mut items);
                }
                Ok(Choice::Nothing) => break,
                Ok(Choice::Ended) => {
                    self.ended = true;
                    break;
                }
                Err(cause) => fail(cause),
            }
        }
        self.chooses = false;
        shows.publish();
        if self.ended {
            // A record may end before its producers do.
            self.merge.end();
            let laid = self.lay();
            return self.end(moved, laid);
        }
        if moved == 0 {
            self.output.producer.sweep();
        }
        Progress { worked: laid.any, ..Progress::moved(moved) }
    }

    fn failed_at(&self) -> Option<u64> {
        self.chooses.then(|| self.output.producer.next().0)
    }

    fn backlog(&self) -> u64 {
        self.merge.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_source(self.output.producer.probe())
    }
}

/// A thread that wakes the run regularly to check for silent producers, since nothing else would. It ends when this is
/// dropped.
pub(crate) struct Ticks {
    _ends: Sender<Infallible>,
}

impl Ticks {
    pub(crate) fn start(shared: &Arc<Shared>, bound: Duration) -> std::io::Result<Self> {
        let shared: Weak<Shared> = Arc::downgrade(shared);
        let every = (bound / 2).max(Duration::from_millis(1));
        let (ends, end) = channel();
        let tick = move || {
            while end.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                shared.upgrade().iter().for_each(|shared| shared.wake());
            }
        };
        std::thread::Builder::new().name("millstream-idle".to_owned()).spawn(tick)?;
        Ok(Ticks { _ends: ends })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use millstream_testkit::within;

    #[test]
    fn the_thread_that_looks_for_silent_producers_ends_with_them() {
        within(Duration::from_secs(60), || {
            let shared = Arc::new(Shared::early());
            let others = Arc::weak_count(&shared);
            let ticks = Ticks::start(&shared, Duration::MAX).unwrap();
            assert_eq!(Arc::weak_count(&shared), others + 1);
            drop(ticks);
            while Arc::weak_count(&shared) > others {
                std::thread::yield_now();
            }
        })
        .unwrap();
    }
}
