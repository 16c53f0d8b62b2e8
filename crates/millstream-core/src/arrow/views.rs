use crate::pipe::{ShowPart, Then, ToMaybe};
use crate::shape::ShownBy;
use crate::{Arrow, Item, Shape};

/// A pipeline, and the part of its outputs that the closure `C` shows.
pub type WithPart<P, C, U, T> = Then<P, ShowPart<<P as Arrow>::Out, ShownBy<C, U>, T>>;

/// Other views of the same slots, which add no stage and copy nothing. For every [`Arrow`].
pub trait ViewExt: Arrow {
    /// Reads a part of every value by reference: a field, an element, anything that a value lends.
    ///
    /// The slots are the same, and so is their density. On queues, where a reader owns its values, the part is cloned.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// #[derive(Clone)]
    /// struct Order { id: u64, item: String }
    ///
    /// let item = pipeline::<Order>().part(|order| &order.item);
    /// assert_eq!(item.plan().stages.len(), 0);
    /// assert_eq!(item.model([Order { id: 7, item: "tea".to_owned() }]), ["tea"]);
    /// # let _ = |order: Order| order.id;
    /// ```
    #[doc(alias("field", "lens", "project"))]
    fn part<U, T, C>(self, show: C) -> WithPart<Self, C, U, T>
    where
        U: Item,
        T: Item,
        Self::Out: for<'a> Shape<Ref<'a> = &'a U>,
        C: for<'a> Fn(&'a U) -> &'a T + Send + Sync + 'static,
    {
        Then::new(self, ShowPart::new(ShownBy::new(show)))
    }

    /// Turns every slot below END into an `Option`: `None` where it is empty. END is filled where it was.
    ///
    /// What is read after it is an `Option<&T>`, and not an `&Option<T>`.
    ///
    /// A join with this edge keeps the numbers at which the edge is empty: it is a left join by number. Since this view
    /// fills slots at which its input is empty, it cannot be in a lane of a choice, at a key or in a `shard`.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let p = pipeline::<u64>().fanout(|p| p, |p| p.filter(|x| x % 2 == 0).maybe());
    /// assert_eq!(p.model([1, 2, 3]), [(1, None), (2, Some(2)), (3, None)]);
    /// ```
    ///
    /// What a stage yields at END, such as a fold's answer, is in no pair with values, which are empty there: the plan
    /// [warns](crate::plan::Warning::LosesEnd). `values.or(answer)` in a [`wires!`](crate::wires!) block has both.
    #[doc(alias("left_join", "option", "outer_join"))]
    fn maybe(self) -> Then<Self, ToMaybe<Self::Out>> {
        Then::new(self, ToMaybe::new())
    }
}

impl<P: Arrow> ViewExt for P {}
