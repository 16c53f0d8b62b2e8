use super::ends::Lent;
use super::link::Link;
use crate::in_place::InPlace;
use crate::kept::Kept;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use millstream_core::SequenceNumber;
use millstream_ring::Mark;
use std::mem::take;
use std::sync::Arc;

/// A stage past which a loop can go.
pub(super) struct Passer {
    /// None while the loop has it.
    pub(super) tasklet: Option<Box<dyn Tasklet>>,
    /// How many numbers have passed since its last step.
    pub(super) passed: usize,
}

/// The tasklet of such a stage.
pub(super) struct LentStage {
    stage: Lent<Passer>,
    /// The stage by itself, while a new version of the pipeline takes its state: no loop goes past it.
    own: Option<Box<dyn Tasklet>>,
    link: Arc<Link>,
    /// Whether it reads the source's ring.
    is_first: bool,
    /// How many numbers had passed when it looked last.
    passed: usize,
    probe: TaskProbe,
}

impl LentStage {
    pub(super) fn new(stage: Lent<Passer>, link: Arc<Link>, is_first: bool) -> Self {
        let probe = stage.lock().as_ref().and_then(|passer| Some(passer.tasklet.as_ref()?.probe())).unwrap_or_default();
        LentStage { stage, own: None, link, is_first, passed: 0, probe }
    }
}

impl Tasklet for LentStage {
    fn step(&mut self, most: usize) -> Progress {
        if let Some(own) = &mut self.own {
            return own.step(most);
        }
        let Some(mut lent) = self.stage.try_lock() else { return Progress::NONE };
        let Some(Passer { tasklet, passed }) = lent.as_mut() else { return Progress::DONE };
        let Some(tasklet) = tasklet else { return Progress::NONE };
        self.passed += take(passed);
        let elsewhere = self.passed > 0;
        if self.is_first && self.link.takes_ring() {
            return Progress { elsewhere, ..Progress::NONE };
        }
        let progress = tasklet.step(most);
        drop(lent);
        Progress { elsewhere, worked: progress.worked | self.link.is_awaited(), ..progress }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn passed_elsewhere(&mut self) -> usize {
        if self.passed > 0 {
            return take(&mut self.passed);
        }
        self.stage.lock().as_mut().map_or(0, |passer| take(&mut passer.passed))
    }

    fn failed_at(&self) -> Option<u64> {
        match &self.own {
            Some(own) => own.failed_at(),
            None => self.stage.try_lock()?.as_ref()?.tasklet.as_ref()?.failed_at(),
        }
    }

    fn backlog(&self) -> u64 {
        match &self.own {
            Some(own) => own.backlog(),
            None => {
                self.stage.try_lock().and_then(|stage| Some(stage.as_ref()?.tasklet.as_ref()?.backlog())).unwrap_or(0)
            }
        }
    }

    fn probe(&self) -> TaskProbe {
        self.probe.clone()
    }
}

impl AtMarks for LentStage {
    fn pass(&mut self) -> Option<Mark> {
        match &mut self.own {
            Some(own) => own.at_marks()?.pass(),
            None => self.stage.try_lock()?.as_mut()?.tasklet.as_mut()?.at_marks()?.pass(),
        }
    }

    fn state(&mut self) -> Option<Kept> {
        match &mut self.own {
            Some(own) => own.at_marks()?.state(),
            None => self.stage.lock().as_mut()?.tasklet.as_mut()?.at_marks()?.state(),
        }
    }

    fn clock(&mut self) -> Option<SequenceNumber> {
        match &mut self.own {
            Some(own) => own.at_marks()?.clock(),
            None => self.stage.lock().as_mut()?.tasklet.as_mut()?.at_marks()?.clock(),
        }
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        let lent = self.stage.lock().take().and_then(|passer| passer.tasklet);
        self.own = lent.or(self.own.take());
        self.own.as_mut()?.at_marks()?.in_place()
    }

    fn resume(&mut self) {
        let mut lent = self.stage.lock();
        if let Some(own) = self.own.take() {
            // The new version was refused: a loop may go past the stage again.
            *lent = Some(Passer { tasklet: Some(own), passed: 0 });
        }
        let stage = lent.as_mut().and_then(|passer| passer.tasklet.as_mut());
        stage.and_then(|stage| stage.at_marks()).into_iter().for_each(AtMarks::resume);
    }
}

impl Drop for LentStage {
    fn drop(&mut self) {
        self.stage.give_up();
    }
}
