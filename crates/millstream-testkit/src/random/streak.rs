use super::shape::{RandomShape, of_slot};
use super::steps::kept;
use super::value::Value;
use millstream_core::{KeepsClock, ModelSlots, Quiet, ScanKernel, SequenceNumber};
use std::marker::PhantomData;

/// A stage as a program defines one: how many values in a row have a digest that the modulus does not divide,
/// up to each.
pub(super) struct Streak<A> {
    modulus: i64,
    shape: PhantomData<fn() -> A>,
}

impl<A> Streak<A> {
    pub(super) fn new(modulus: i64) -> Self {
        Streak { modulus, shape: PhantomData }
    }
}

impl<A> KeepsClock for Streak<A> {}
impl<A> Quiet for Streak<A> {}

impl<A: RandomShape> ScanKernel for Streak<A> {
    type In = A;
    type Out = Value;
    type Density = A::Density;
    type State = i64;
    const NAME: &'static str = "streak";

    fn start(&self) -> i64 {
        0
    }

    fn step(&self, streak: &mut i64, _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<Value> {
        slot.map(|slot| {
            of_slot::<A, _>(slot, |value| {
                *streak = if kept(value, self.modulus) { *streak + 1 } else { 0 };
                value.like(*streak)
            })
        })
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Value>> {
        let mut seen = Vec::new();
        slots.map(|slot, _| {
            seen.push(A::value(slot?));
            let streak = seen.iter().rev().take_while(|value| kept(value, self.modulus)).count();
            seen.last().map(|value| value.like(streak as i64))
        })
    }
}
