//! Stages that a program defines itself.

use millstream_core::{
    Arrow, KeepsClock, KernelsExt, KeysExt, ModelExt, ModelSlots, Quiet, ScanKernel, SequenceNumber, Sparse, Val,
    pipeline,
};
use millstream_exec::Edge;
use millstream_testkit::assert_deterministic_everywhere;
use proptest::collection::vec;
use proptest::prelude::any;
use std::marker::PhantomData;

/// The number of values so far, at each value and at END. Its step does not accept an empty slot below END.
struct Counted<E> {
    /// Whether its `model` fills every slot.
    fills: bool,
    edge: PhantomData<fn() -> E>,
}

fn counted<E>(fills: bool) -> Counted<E> {
    Counted { fills, edge: PhantomData }
}

impl<E: Edge<u64>> ScanKernel for Counted<E> {
    type In = E;
    type Out = u64;
    type Density = Sparse;
    type State = u64;
    const NAME: &'static str = "counted";

    fn start(&self) -> u64 {
        0
    }

    fn step(&self, count: &mut u64, _: SequenceNumber, value: Option<&u64>, end: bool) -> Option<u64> {
        assert!(value.is_some() || end, "an empty slot below END");
        *count += u64::from(value.is_some());
        Some(*count)
    }

    fn model(&self, slots: ModelSlots<'_, E>) -> Vec<Option<u64>> {
        let mut values = 0;
        slots.map(|value, end| {
            values += value.iter().count() as u64;
            (value.is_some() || end || self.fills).then_some(values)
        })
    }
}

/// As [`Counted`], but with nothing at END.
struct Quietly<E>(Counted<E>);

impl<E> KeepsClock for Quietly<E> {}
impl<E> Quiet for Quietly<E> {}

impl<E: Edge<u64>> ScanKernel for Quietly<E> {
    type In = E;
    type Out = u64;
    type Density = E::Density;
    type State = u64;
    const NAME: &'static str = "quietly";

    fn start(&self) -> u64 {
        0
    }

    fn step(&self, count: &mut u64, number: SequenceNumber, value: Option<&u64>, end: bool) -> Option<u64> {
        value.and_then(|value| self.0.step(count, number, Some(value), end))
    }

    fn model(&self, slots: ModelSlots<'_, E>) -> Vec<Option<u64>> {
        let mut count = 0;
        slots.map(|value, _| {
            count += u64::from(value.is_some());
            value.map(|_| count)
        })
    }
}

#[test]
fn a_step_is_called_for_values_and_at_end() {
    let p = pipeline::<u64>().filter(|x| x % 3 != 0).scan_with(counted(false));
    assert_eq!(p.model_slots([1, 3, 4]), [Some(1), None, Some(2), Some(2)]);
    assert_deterministic_everywhere(p, vec(any::<u64>(), 0..40));
}

#[test]
fn a_kernel_has_a_state_for_every_key() {
    let p = pipeline::<u64>().shard_by(|x| x % 3, 2, |p| p.filter(|x| x % 2 == 0).scan_with(Quietly(counted(false))));
    assert_eq!(p.model([0, 2, 4, 6, 12]), [1, 1, 1, 2, 3]);
    assert_deterministic_everywhere(p, vec(any::<u64>(), 0..40));
}

#[test]
#[should_panic(expected = "`counted`: `model` fills slot 1, where the input is empty")]
fn a_model_that_fills_an_empty_slot_is_refused() {
    let p = pipeline::<u64>().filter(|x| x % 3 != 0).scan_with(counted::<millstream_core::Filtered<Val<u64>>>(true));
    p.model([1, 3]);
}
