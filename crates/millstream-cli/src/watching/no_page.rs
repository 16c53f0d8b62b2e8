//! A command without the page.

use crate::config::RunConfig;
use crate::interrupts::Interrupts;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_observe::Watch;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Shown;

pub(crate) fn ended(_: Outcome) {}

impl Shown {
    pub(crate) fn open(_: &RunConfig, _: &Complaints) -> Option<Self> {
        Some(Shown)
    }

    pub(crate) fn begins_alone(&self) {}

    pub(crate) fn begins_after(&self, _: Option<u32>) {}

    pub(crate) fn is_taken_over(&mut self) {}

    pub(super) fn show(&self, _: &Arc<Watch>) {}

    pub(crate) fn lingers(&self, _: Outcome, _: &Interrupts, _: Option<&Complaints>) -> bool {
        false
    }

    pub(crate) fn linger(&self, _: &Interrupts) {}
}
