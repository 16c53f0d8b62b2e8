use crate::Arrow;
use crate::pipe::{ExpandKernel, FilterBy, FilterKernel, Renumber, ScanBy, ScanKernel, Then};

/// Stages of your own. For every [`Arrow`].
///
/// A kernel is a step with a state, and beside it the step's meaning as a function of lists: its `model`. The
/// [`Model`](crate::Model) runs the meaning, and every other deployment runs the step, in a `shard_by` with a state for
/// every key. The testkit's `assert_deterministic` compares the two.
pub trait KernelsExt: Arrow {
    /// Runs a stage of your own that keeps its clock: a Mealy machine.
    ///
    /// The state is a value beside the kernel: each run and each key begins with [`start`](ScanKernel::start), and a
    /// snapshot has a clone of it. A kernel that fills END's slot only if its input does is [`Quiet`](crate::Quiet):
    /// with `impl KeepsClock for Streak {}` and `impl Quiet for Streak {}` it can be in a `shard_by` and in a lane of a
    /// choice.
    ///
    /// A [`step`](ScanKernel::step) that returns `None` for a value on a [`Dense`](crate::Dense) output ends the run
    /// with an error; an output that may be left empty is [`Sparse`](crate::Sparse), and one only at END is
    /// [`AtEnd`](crate::AtEnd).
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// /// How many values in a row were above the limit, up to each value.
    /// struct Streak { limit: u64 }
    ///
    /// impl ScanKernel for Streak {
    ///     type In = Val<u64>;
    ///     type Out = u64;
    ///     type Density = Dense;
    ///     type State = u64;
    ///     const NAME: &'static str = "streak";
    ///
    ///     fn start(&self) -> u64 {
    ///         0
    ///     }
    ///     fn step(&self, streak: &mut u64, _: SequenceNumber, value: Option<&u64>, _end: bool) -> Option<u64> {
    ///         *streak = if *value? > self.limit { *streak + 1 } else { 0 };
    ///         Some(*streak)
    ///     }
    ///     fn model(&self, slots: ModelSlots<'_, Val<u64>>) -> Vec<Option<u64>> {
    ///         let mut seen = Vec::new();
    ///         slots.map(|value, _end| {
    ///             seen.push(*value?);
    ///             Some(seen.iter().rev().take_while(|value| **value > self.limit).count() as u64)
    ///         })
    ///     }
    /// }
    ///
    /// let streaks = pipeline::<u64>().scan_with(Streak { limit: 2 });
    /// assert_eq!(streaks.model([1, 3, 4, 2, 5]), [0, 1, 2, 0, 1]);
    /// assert_eq!(streaks.collect([1, 3, 4, 2, 5])?, [0, 1, 2, 0, 1]);
    /// # Ok::<(), RunError>(())
    /// ```
    #[doc(alias("operator", "process", "transform"))]
    fn scan_with<K: ScanKernel<In = Self::Out>>(self, kernel: K) -> Then<Self, ScanBy<K>> {
        Then::new(self, ScanBy::new(kernel))
    }

    /// Runs a filter of your own, with a state. No value is copied: the stage writes a mask.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// /// Keeps every n-th value.
    /// struct EveryNth(usize);
    ///
    /// impl FilterKernel for EveryNth {
    ///     type In = Val<char>;
    ///     type State = usize;
    ///     const NAME: &'static str = "every_nth";
    ///
    ///     fn start(&self) -> usize {
    ///         0
    ///     }
    ///     fn keeps(&self, seen: &mut usize, _: &char) -> bool {
    ///         *seen += 1;
    ///         *seen % self.0 == 0
    ///     }
    ///     fn model(&self, values: Vec<&char>) -> Vec<bool> {
    ///         (1..=values.len()).map(|nth| nth % self.0 == 0).collect()
    ///     }
    /// }
    ///
    /// assert_eq!(pipeline::<char>().filter_with(EveryNth(2)).model("stream".chars()), ['t', 'e', 'm']);
    /// ```
    fn filter_with<K: FilterKernel<In = Self::Out>>(self, kernel: K) -> Then<Self, FilterBy<K>> {
        Then::new(self, FilterBy::new(kernel))
    }

    /// Runs a stage of your own that returns any number of outputs for each value, on a new clock.
    ///
    /// It is a [`flat_map`](crate::ClockExt::flat_map) with a state, and with outputs after the last value.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// /// Runs of equal values, each with its length.
    /// struct Runs;
    ///
    /// impl ExpandKernel for Runs {
    ///     type In = Val<char>;
    ///     type Item = (char, u64);
    ///     type Values = std::option::IntoIter<(char, u64)>;
    ///     type State = Option<(char, u64)>;
    ///     const NAME: &'static str = "runs";
    ///
    ///     fn start(&self) -> Self::State {
    ///         None
    ///     }
    ///     fn expand(&self, run: &mut Self::State, value: &char) -> Self::Values {
    ///         match run {
    ///             Some((same, length)) if same == value => {
    ///                 *length += 1;
    ///                 None.into_iter()
    ///             }
    ///             _ => run.replace((*value, 1)).into_iter(),
    ///         }
    ///     }
    ///     fn finish(&self, run: Self::State) -> Option<Self::Values> {
    ///         Some(run.into_iter())
    ///     }
    ///     fn model(&self, values: Vec<&char>, ended: bool) -> Vec<(char, u64)> {
    ///         let runs = values.chunk_by(|a, b| a == b).map(|run| (*run[0], run.len() as u64));
    ///         let mut runs: Vec<_> = runs.collect();
    ///         if !ended {
    ///             runs.pop();
    ///         }
    ///         runs
    ///     }
    /// }
    ///
    /// assert_eq!(pipeline::<char>().expand_with(Runs).model("aab".chars()), [('a', 2), ('b', 1)]);
    /// ```
    fn expand_with<K: ExpandKernel<In = Self::Out>>(self, kernel: K) -> Then<Self, Renumber<K>> {
        Then::new(self, Renumber::new(kernel))
    }
}

impl<P: Arrow> KernelsExt for P {}
