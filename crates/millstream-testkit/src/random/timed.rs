//! Random pipelines after sources that look at a clock.

use super::build::Built;
use super::value::Value;
use crate::check::{Difference, ended};
use crate::deployment::{Deployment, Feeding};
use crate::way::Way;
use millstream_exec::source::{self, Source};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A source that looks at a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// What it looks at the clock for.
    pub by: Timing,
    /// Its time, in microseconds.
    pub micros: u64,
    /// The values of the source that it reads. Each one comes after this many microseconds, or at once if there are
    /// none.
    pub inputs: Vec<(u64, Value)>,
}

/// What a source looks at the clock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// At most one value in that time.
    Throttle,
    /// No value that a newer one follows within that time.
    Debounce,
    /// [`Timed::SILENCE`] where none comes within that time.
    Timeout,
}

impl Timed {
    /// The value that stands for a time without a value.
    pub const SILENCE: Value = Value::I(i64::MIN / 3);

    fn values(&self) -> Box<dyn Iterator<Item = Value> + Send> {
        let inputs = self.inputs.clone().into_iter().map(|(pause, value)| {
            if pause > 0 {
                std::thread::sleep(Duration::from_micros(pause));
            }
            value
        });
        let time = Duration::from_micros(self.micros);
        match self.by {
            Timing::Throttle => Box::new(source::throttle(inputs, time).into_values()),
            Timing::Debounce => Box::new(source::debounce(inputs, time).into_values()),
            Timing::Timeout => {
                let items = source::timeout(inputs, time).into_values();
                Box::new(items.map(|item| item.unwrap_or(Timed::SILENCE)))
            }
        }
    }

    /// Whether these can be all of its values: not even the last ones are lost.
    #[must_use]
    pub fn may_be(&self, came: &[Value]) -> bool {
        let ends_alike = match self.by {
            Timing::Debounce => came.last() == self.inputs.last().map(|(_, value)| value),
            Timing::Throttle | Timing::Timeout => {
                came.iter().filter(|value| **value != Timed::SILENCE).count() == self.inputs.len()
            }
        };
        ends_alike && self.may_begin_with(came)
    }

    /// Whether these can be its first values, whatever the clock says.
    #[must_use]
    pub fn may_begin_with(&self, came: &[Value]) -> bool {
        let mut inputs = self.inputs.iter().map(|(_, value)| value);
        match self.by {
            Timing::Debounce => came.iter().all(|value| inputs.any(|input| input == value)),
            Timing::Throttle => came.iter().all(|value| inputs.next() == Some(value)),
            Timing::Timeout => {
                let twice = came.windows(2).any(|two| two == [Timed::SILENCE, Timed::SILENCE]);
                let mut values = came.iter().filter(|value| **value != Timed::SILENCE);
                !twice && values.all(|value| inputs.next() == Some(value))
            }
        }
    }
}

/// Sources with up to `most` values that look at a clock for up to 200 microseconds.
pub fn timed(most: usize) -> impl Strategy<Value = Timed> {
    let by = prop_oneof![Just(Timing::Throttle), Just(Timing::Debounce), Just(Timing::Timeout)];
    let pause = prop_oneof![4 => Just(0), 1 => 1..=200_u64];
    let inputs = vec((pause, any::<i16>().prop_map(|n| Value::I(i64::from(n)))), 0..=most);
    (by, 1..=200_u64, inputs).prop_map(|(by, micros, inputs)| Timed { by, micros, inputs })
}

impl Built {
    /// Runs it on rings after a source that looks at a clock, and compares it with the model on the values that came
    /// from the source, as [`check`](Built::check) does. Returns those.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_timed(&self, timed: &Timed, deployment: Deployment) -> Result<Vec<Value>, Difference> {
        let came = Arc::new(Mutex::new(Vec::new()));
        let notes = came.clone();
        let values = timed.values().inspect(move |value| {
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(value.clone());
        });
        let (pipeline, deployment) = (self.runs().clone(), Deployment { feeding: Feeding::Waiting, ..deployment });
        let ran = self.watched(|| ended(move || pipeline.collect_live(deployment.rings(), Box::new(values))))?;
        let came = came.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.judge_run(Way::Rings(deployment), came.clone(), &ran)?;
        Ok(came)
    }
}
