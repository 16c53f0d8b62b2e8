use crate::pipe::{FoldBy, Id, Key, ScanBy, ShardBy, Then, TryMapOrDeadLetter, TryMapOrPark, id};
use crate::{Arrow, Bound, Cause, DeadLetter, Item, Quiet, Shape, ToOwnedItem};

/// Stages that keep a state for every key.
///
/// A key is whatever `key` makes of a value: owned, cheap to clone, and with a [`Hash`](std::hash::Hash) and an equality that
/// agree. `key` is a function of the value alone, as every closure of a pipeline. What a stage keeps for its keys is in
/// memory; how many keys there may be at once is a [`Bound`], which the plan shows, and a run's report says how many there
/// were. Where nothing else is said, the key behind the 1,048,576th is refused with an error.
///
/// The idea is that of Flink's `keyBy` and of key groups in Dataflow, with the order of the whole stream kept.
pub trait KeysExt: Arrow {
    /// The body, with a state of its own for every key: slot n holds what the body makes of the values of n's key up to n,
    /// as if there were no others. Each of its stages is run by `k` tasklets; the output is the same for every `k`, in
    /// the order of the input.
    ///
    /// To the copy of the body that a key has, the slots of other keys are empty. So a body's `enumerate` tells the
    /// numbers of the whole stream, and an empty slot has no key, and stays empty. What a body promises "in the order
    /// of the numbers", as `inspect` and `map_m` do, it promises of each key. A body may be anything that keeps its clock and is quiet,
    /// another `shard_by` too: then that has a state for each pair of keys, and its bound holds of each outer key.
    ///
    /// On rings one tasklet more gives every number the key slot of its key: its place among the states, and the tasklet that
    /// works on it, by the key's hash, which is [stable](crate::StableHasher). A stage with a state is k tasklets that all
    /// pass over all numbers, and each fills those of its keys, in one output ring; a stage without is as in
    /// [`shard`](Arrow::shard). Memory: a key slot of 8 bytes a number, the key twice and 24 bytes a key, and for each of them
    /// every stage's state.
    ///
    /// ```
    /// use millstream_core::{Arrow, KeysExt, ModelExt, pipeline};
    /// // Every account's balance, behind each of its movements.
    /// let p = pipeline::<(char, i64)>().shard_by(|(account, _)| *account, 4, |p| {
    ///     p.scan(0, |balance, (_, amount)| { *balance += amount; *balance })
    /// });
    /// assert_eq!(p.model([('a', 10), ('b', 5), ('a', -3), ('b', 1)]), [10, 5, 7, 6]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `k` is 0; a deployment, if there are more than 65,536 tasklets for the keys.
    fn shard_by<K, L, P>(
        self,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, K, L, P>>
    where
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        self.shard_by_within(Bound::default(), key, k, body)
    }

    /// As [`shard_by`](KeysExt::shard_by), with at most so many keys at once, and what a further one does.
    fn shard_by_within<K, L, P>(
        self,
        bound: Bound,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, K, L, P>>
    where
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        Then::new(self, ShardBy::new(bound, key, k, body(id())))
    }

    /// Empty at every number; at END one value: every key's answer, in the order of the keys. As [`fold`](Arrow::fold),
    /// END's own value is folded in first, and `finish` makes the answer of a key's state. Without values, no answers.
    ///
    /// The run ends with an error at the value of the 1,048,577th key; [`fold_by_within`](KeysExt::fold_by_within) takes
    /// another bound.
    ///
    /// ```
    /// use millstream_core::{KeysExt, ModelExt, pipeline};
    /// let count = pipeline::<char>().fold_by(|c| *c, 0, |n, _| *n += 1, |n| n);
    /// assert_eq!(count.model("banana".chars()), [vec![('a', 3), ('b', 1), ('n', 2)]]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_by<K, S, B, L, F, G>(
        self,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, K, S, L, F, G, B>>>
    where
        K: Item + Ord + Clone,
        S: Item + Clone,
        B: Item,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        self.fold_by_within(Bound::default().most(), key, state, f, finish)
    }

    /// As [`fold_by`](KeysExt::fold_by), with at most so many keys: the run ends with an error at the first value of a
    /// further one. (None is forgotten: its answer would be.)
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_by_within<K, S, B, L, F, G>(
        self,
        most: usize,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, K, S, L, F, G, B>>>
    where
        K: Item + Ord + Clone,
        S: Item + Clone,
        B: Item,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldBy::new(Bound::refuse(most).most(), key, state, f, finish)))
    }

    /// As [`try_map_or_dead_letter`](Arrow::try_map_or_dead_letter), and a key of which a value failed is **parked**: `f`
    /// does not see its later values, and `dead` gets them, too, in the order of the numbers, with
    /// [`Fault::Parked`](crate::Fault::Parked) and the number of the one that failed. Other keys go on.
    ///
    /// So nothing overtakes a failed value: whoever mends it works off the dead letters of its key, in their order. A key
    /// stays parked for the rest of the run. One tasklet runs it, since it remembers keys; inside
    /// [`shard_by`](KeysExt::shard_by) it is as many as that has.
    ///
    /// The run ends with an error where a 1,048,577th key would be parked;
    /// [`try_map_or_park_within`](KeysExt::try_map_or_park_within) takes another bound.
    ///
    /// ```
    /// use millstream_core::{DeadLetter, KeysExt, ModelExt, pipeline};
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let tell = move |letter: DeadLetter<'_, (char, i64), String>| {
    ///     let _ = dead.send(format!("{} {:?}: {}", letter.number, letter.input, letter.fault));
    /// };
    /// let book = |(account, amount): &(char, i64)| match *amount {
    ///     0 => Err(format!("nothing to book on {account}")),
    ///     amount => Ok(amount),
    /// };
    /// let p = pipeline::<(char, i64)>().try_map_or_park("book", |(account, _)| *account, book, tell);
    /// assert_eq!(p.model_slots([('a', 1), ('b', 0), ('b', 2), ('a', 3)]), [Some(1), None, None, Some(3), None]);
    /// let letters: Vec<_> = letters.try_iter().collect();
    /// assert_eq!(letters, [
    ///     "1 ('b', 0): nothing to book on b",
    ///     "2 ('b', 2): parked: a value of its key failed at number 1",
    /// ]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_map_or_park<K, L, B, E, F, G>(
        self,
        name: impl Into<String>,
        key: L,
        f: F,
        dead: G,
    ) -> Then<Self, TryMapOrPark<Self::Out, K, L, F, B, E, G>>
    where
        Self::Out: ToOwnedItem,
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        self.try_map_or_park_within(Bound::default().most(), name, key, f, dead)
    }

    /// As [`try_map_or_park`](KeysExt::try_map_or_park), with at most so many keys parked: the run ends with an error where
    /// a further one would be.
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_map_or_park_within<K, L, B, E, F, G>(
        self,
        most: usize,
        name: impl Into<String>,
        key: L,
        f: F,
        dead: G,
    ) -> Then<Self, TryMapOrPark<Self::Out, K, L, F, B, E, G>>
    where
        Self::Out: ToOwnedItem,
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        let letters = TryMapOrDeadLetter::new(name.into(), f, dead);
        Then::new(self, TryMapOrPark::new(Bound::refuse(most).most(), letters, key))
    }
}

impl<P: Arrow> KeysExt for P {}
