//! Values that are compared in their slots, and not cloned for it.

use millstream_core::{Filtered, Merged, Otherwise, Shape, ToOwnedItem, Val};
use std::cmp::Ordering;

#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Uncloned(u64);

impl Clone for Uncloned {
    fn clone(&self) -> Self {
        panic!("{} is cloned", self.0)
    }
}

fn compares_in_place<A>()
where
    A: for<'a> Shape<Ref<'a> = &'a Uncloned> + ToOwnedItem<Owned = Uncloned>,
{
    let [three, four] = [Uncloned(3), Uncloned(4)];
    assert!(A::eq_owned(&three, &Uncloned(3)) && !A::eq_owned(&three, &four));
    let compared = [&three, &four].map(|value| A::cmp_owned(&three, value));
    assert_eq!(compared, [Ordering::Equal, Ordering::Less]);
}

#[test]
fn edges_of_one_item_are_compared_in_place() {
    type One = Val<Uncloned>;
    compares_in_place::<One>();
    compares_in_place::<Filtered<One>>();
    compares_in_place::<Merged<One, Filtered<One>>>();
    compares_in_place::<Otherwise<Filtered<One>, One>>();
    compares_in_place::<Otherwise<Merged<One, One>, One>>();
}
