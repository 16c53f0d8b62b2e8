//! The outputs of two versions, number by number.

use crate::shared::Shared;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::upgrade::shadow_end::ShadowEnd;
use crate::upgrade::shadow_state::ShadowState;
use millstream_core::{SequenceNumber, Shape};
use millstream_ring::{End, Mark, MarkKind, Reader, RingLayout};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the values of a number agree; if not, both as texts.
pub(crate) type Agrees<A> =
    dyn for<'a> Fn(SequenceNumber, SlotOf<'a, A>, SlotOf<'a, A>) -> Result<(), [String; 2]> + Send + Sync;

/// What is at a number of an edge.
type SlotOf<'a, A> = Option<<A as Shape>::Ref<'a>>;

/// Where the comparer leaves its reader of the shadow's output, at the number at which the running version retires.
pub(crate) type Left<A> = Arc<Mutex<Option<Reader<A>>>>;

/// Reads both outputs.
pub(crate) struct Comparer<A: RingLayout> {
    pub(crate) running: Reader<A>,
    /// None once it was left.
    pub(crate) shadow: Option<Reader<A>>,
    pub(crate) agrees: Arc<Agrees<A>>,
    pub(crate) state: Arc<ShadowState>,
    pub(crate) shared: Arc<Shared>,
    /// The stage that writes the output.
    pub(crate) stage: String,
    pub(crate) left: Left<A>,
    pub(crate) batch: usize,
    /// The number that is compared. A panic of the comparison drops the values, and with them the readers go on.
    pub(crate) number: SequenceNumber,
}

impl<A: RingLayout> Comparer<A> {
    /// Compares the next number, if both versions have published it. Returns whether they have.
    fn compare(&mut self) -> bool {
        let number = self.running.position();
        self.number = number;
        let Some(shadow) = &mut self.shadow else { return false };
        let Some(mut running) = self.running.batch(1) else { return false };
        let Some(shadow) = shadow.batch(1) else {
            // It is not read yet.
            running.truncate(0);
            return false;
        };
        let judged = (self.agrees)(number, running.get(0), shadow.get(0));
        drop((running, shadow));
        self.judge(number, judged);
        true
    }

    /// Compares END, if both versions have come to it.
    fn compare_end(&mut self) -> bool {
        let number = self.running.position();
        self.number = number;
        let Some(shadow) = &mut self.shadow else { return false };
        if self.running.backlog() == 0 || shadow.backlog() == 0 {
            return false;
        }
        let Some(running) = self.running.end() else { return false };
        let Some(shadow) = shadow.end() else {
            // It is not read yet.
            running.keep();
            return false;
        };
        let judged = (self.agrees)(number, running.value(), shadow.value());
        drop((running, shadow));
        self.judge(number, judged);
        true
    }

    /// Whether only one of the outputs goes on below a mark, or below END: then they do not go on side by side. Returns
    /// the end of the shadow.
    fn runs_apart(&mut self) -> Option<ShadowEnd> {
        let shadow = self.shadow.as_mut()?;
        // A number is published after the marks at it, so this is read before them.
        let (running_goes_on, shadow_goes_on) = (self.running.backlog() > 0, shadow.backlog() > 0);
        let more = match (self.running.mark(), shadow.mark()) {
            (Some(_), None) if shadow_goes_on => true,
            (None, Some(_)) if running_goes_on => false,
            (None, None) if running_goes_on && shadow_goes_on => {
                let ends = |reader: &mut Reader<A>| reader.end().map(End::keep).is_some();
                match (ends(&mut self.running), ends(shadow)) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(ShadowEnd::OtherNumbers { stage: self.stage.clone(), number: self.running.position(), more })
    }

    fn judge(&self, number: SequenceNumber, judged: Result<(), [String; 2]>) {
        match judged {
            Ok(()) => _ = self.state.agreed.fetch_add(1, Ordering::Relaxed),
            Err([running, shadow]) => {
                let end = ShadowEnd::Differs { stage: self.stage.clone(), number, running, shadow };
                self.shared.marks.end_shadow(&self.state, end);
            }
        }
    }
}

impl<A: RingLayout> AtMarks for Comparer<A> {
    fn pass(&mut self) -> Option<Mark> {
        let shadow = self.shadow.as_mut()?;
        // Both show it at one number.
        let mark = self.running.mark().filter(|mark| shadow.mark() == Some(*mark))?;
        self.running.pass_mark();
        shadow.pass_mark();
        if mark.kind == MarkKind::Retire {
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = self.shadow.take();
        }
        Some(mark)
    }

    /// The running version goes on, and is compared on.
    fn resume(&mut self) {
        if let Some(shadow) = self.left.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.shadow = Some(shadow);
        }
    }
}

impl<A: RingLayout> Tasklet for Comparer<A> {
    fn step(&mut self, most: usize) -> Progress {
        let mut moved = 0;
        while moved < self.batch.min(most) && !self.state.is_over() && self.compare() {
            moved += 1;
        }
        if self.state.is_over() {
            return Progress { worked: true, ..Progress::moved(moved) };
        }
        if moved > 0 {
            return Progress::moved(moved);
        }
        if self.compare_end() {
            return Progress { worked: true, ..Progress::ENDED };
        }
        let Some(end) = self.runs_apart() else { return Progress::NONE };
        self.shared.marks.end_shadow(&self.state, end);
        Progress { worked: true, ..Progress::NONE }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        Some(self.number.0)
    }

    fn failed_in(&self) -> Option<&str> {
        Some(&self.stage)
    }

    fn backlog(&self) -> u64 {
        self.running.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_sink(self.running.probe())
    }
}
