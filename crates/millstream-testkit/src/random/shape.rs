//! The properties of edges' shapes that random pipelines use.

use super::value::Value;
use millstream_core::model::ModelShape;
use millstream_core::{
    AnyEdge, Choice, Density, Either, Filtered, Item, Lens, Merged, Model, On, Pair, Projected, SameItem, ToOwnedItem,
    Val,
};
use millstream_exec::{QueueShape, RingShape};

/// The type of the values in one ring of a random pipeline.
pub(crate) trait Element: Item + Clone + PartialEq {
    fn value(&self) -> Value;
    fn into_value(self) -> Value;
    fn of(value: Value) -> Self;
}

impl Element for Value {
    fn value(&self) -> Value {
        self.clone()
    }
    fn into_value(self) -> Value {
        self
    }
    fn of(value: Value) -> Self {
        value
    }
}

impl Element for (Value, Value) {
    fn value(&self) -> Value {
        Value::pair(self.0.clone(), self.1.clone())
    }
    fn into_value(self) -> Value {
        Value::pair(self.0, self.1)
    }
    fn of(value: Value) -> Self {
        of_value(value, Value::halves)
    }
}

impl Element for Either<Value, Value> {
    fn value(&self) -> Value {
        Value::lane(self.clone())
    }
    fn into_value(self) -> Value {
        Value::lane(self)
    }
    fn of(value: Value) -> Self {
        of_value(value, Value::either)
    }
}

/// `f` of the value of a slot. The value is dropped before `f`'s result is returned: a panic of its drop during the
/// return would leak that result (rust-lang/rust#47949).
pub(crate) fn of_slot<A: RandomShape, B>(slot: A::Ref<'_>, f: impl FnOnce(&Value) -> B) -> B {
    of_value(A::value(slot), f)
}

/// As [`of_slot`], for a value.
pub(crate) fn of_value<B>(value: Value, f: impl FnOnce(&Value) -> B) -> B {
    let result = f(&value);
    drop(value);
    result
}

/// A shape of an edge whose slots can be read as values.
pub(crate) trait RandomShape:
    RingShape + QueueShape + ModelShape + On<Model, Edge: 'static> + ToOwnedItem<Owned: Element>
{
    fn value(slot: Self::Ref<'_>) -> Value;
}

impl<T: Element, D: Density> RandomShape for Val<T, D> {
    fn value(slot: &T) -> Value {
        slot.value()
    }
}

impl<T: Element> RandomShape for AnyEdge<T> {
    fn value(slot: &T) -> Value {
        slot.value()
    }
}

impl<A: RandomShape, B: RandomShape> RandomShape for Pair<A, B>
where
    (A::Owned, B::Owned): Element,
{
    fn value((a, b): Self::Ref<'_>) -> Value {
        Value::pair(A::value(a), B::value(b))
    }
}

impl<A: RandomShape, B: RandomShape> RandomShape for Choice<A, B>
where
    Either<A::Owned, B::Owned>: Element,
{
    fn value(slot: Self::Ref<'_>) -> Value {
        Value::lane(slot.map_either(A::value, B::value))
    }
}

impl<A: RandomShape, B: RandomShape + SameItem<A>> RandomShape for Merged<A, B> {
    fn value(slot: Self::Ref<'_>) -> Value {
        A::value(slot)
    }
}

impl<A: RandomShape> RandomShape for Filtered<A> {
    fn value(slot: Self::Ref<'_>) -> Value {
        A::value(slot)
    }
}

impl<A: RandomShape, L: Lens<A, Target: RandomShape>> RandomShape for Projected<A, L> {
    fn value(slot: Self::Ref<'_>) -> Value {
        <L::Target as RandomShape>::value(slot)
    }
}
