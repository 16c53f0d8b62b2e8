#![expect(clippy::type_complexity, reason = "a combinator says what it is made of")]

use crate::pipe::{
    AnswerBy, CloneStep, Count, DeadLetters, FoldBy, Group, Id, Key, OwnedKeys, ParkedKeys, ScanBy, ShardBy, Then,
    TryMapOrDeadLetter, TryMapOrPark, TryScanOrPark, id,
};
use crate::{Arrow, Bound, Cause, DeadLetter, Item, Quiet, Shape, ToOwnedItem};

/// Stages that keep a state for every key. For every [`Arrow`].
///
/// A key is the result of the function `key` for a value: owned, cheap to clone, and with a [`Hash`](std::hash::Hash)
/// and an equality that agree. For a key that is a part of the value see [`BorrowedKeysExt`](crate::BorrowedKeysExt).
/// `key` depends on the value alone, as every closure of a pipeline does. The states of the keys are in memory.
///
/// A [`Bound`] limits the number of keys at once; the plan shows it, and a run's report has
/// the number of keys. Unless another bound is set, the 1,048,577th key ends the run with an error.
///
/// The idea is that of Flink's `keyBy` and of key groups in Dataflow, with the order of the whole stream kept.
pub trait KeysExt: Arrow {
    /// Runs a body with a state of its own for every key, each stage on `k` tasklets.
    ///
    /// Slot n holds the body's output for the values of n's key up to n, as if there were no other keys. The output is
    /// the same for every `k`, in the order of the input.
    ///
    /// To a key's copy of the body, the slots of other keys are empty. Three things follow. `enumerate` in a body
    /// yields numbers of the whole stream. An empty slot has no key and stays empty. A promise "in the order of the
    /// numbers", as `inspect` and `map_m` make it, holds within each key. A body may be anything that is
    /// [quiet](Quiet), even another `shard_by`: that one has a state for each pair of keys, and its bound applies to
    /// each outer key separately.
    ///
    /// On rings one more tasklet assigns every number the key slot of its key: the index of its state, and the tasklet
    /// that works on it, by the key's [stable](crate::StableHasher) hash, or those of the key that it evicts. A stage
    /// with a state is k tasklets; each passes over all numbers, and fills those of its keys in one shared output ring.
    /// A stage without a state runs as in [`shard`](Arrow::shard).
    ///
    /// **Memory**: a key slot of 8 bytes a number; for each key twice the key and 32 bytes; and for each key the state
    /// of every stage. The model runs the body once for each key, on the values of that key and END: its time and
    /// memory are proportional to the values and the keys.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // Every account's balance, after each of its movements.
    /// let p = pipeline::<(char, i64)>().shard_by(|(account, _)| *account, 4, |p| {
    ///     p.scan(0, |balance, (_, amount)| { *balance += amount; *balance })
    /// });
    /// assert_eq!(p.model([('a', 10), ('b', 5), ('a', -3), ('b', 1)]), [10, 5, 7, 6]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `k` is 0. A deployment panics if there are more than 65,536 tasklets for the keys.
    #[doc(alias("group_by", "key_by", "partition_by"))]
    fn shard_by<K, L, P>(
        self,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, OwnedKeys<K, L>, P>>
    where
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        self.shard_by_within(Bound::default(), key, k, body)
    }

    /// Runs a body with a state of its own for every key, within a bound on the number of keys.
    ///
    /// The [`Bound`] is the greatest number of keys at once, and what happens when one more comes. Otherwise as
    /// [`shard_by`](KeysExt::shard_by).
    ///
    /// # Panics
    ///
    /// If `k` is 0, or the bytes of `bound` ([`Bound::refuse_bytes`]) have no room for one key. A deployment panics if
    /// there are more than 65,536 tasklets for the keys.
    fn shard_by_within<K, L, P>(
        self,
        bound: Bound,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, OwnedKeys<K, L>, P>>
    where
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        Then::new(self, ShardBy::new(bound, OwnedKeys::new(key), k, body(id())))
    }

    /// Folds the values of every key, and yields one value at END: every key's answer, in the order of the keys.
    ///
    /// `finish` makes the answer of a key's state. As with [`fold`](Arrow::fold), END's own value is folded in first,
    /// and every slot below END is empty. Without values the answer is an empty `Vec`. The 1,048,577th key ends the run
    /// with an error; [`fold_by_within`](KeysExt::fold_by_within) sets another bound. The states are in a hash table,
    /// and are sorted at END. Its hash is no protection against keys that were chosen to collide.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let count = pipeline::<char>().fold_by(|c| *c, 0, |n, _| *n += 1, |n| n);
    /// assert_eq!(count.model("banana".chars()), [vec![('a', 3), ('b', 1), ('n', 2)]]);
    /// ```
    #[doc(alias("aggregate_by", "reduce_by"))]
    fn fold_by<K, S, B, L, F, G>(
        self,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, S, OwnedKeys<K, L>, F, G, B>>>
    where
        K: Key + Ord,
        S: Item + Clone,
        B: Item,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        self.fold_by_within(Bound::default().most(), key, state, f, finish)
    }

    /// Folds the values of at most `most` keys, and yields every key's answer at END.
    ///
    /// The first value of one key more ends the run with an error. No key is forgotten, since its answer would be lost.
    /// Otherwise as [`fold_by`](KeysExt::fold_by).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn fold_by_within<K, S, B, L, F, G>(
        self,
        most: usize,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, S, OwnedKeys<K, L>, F, G, B>>>
    where
        K: Key + Ord,
        S: Item + Clone,
        B: Item,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldBy::new(Bound::refuse(most).most(), OwnedKeys::new(key), state, f, finish)))
    }

    /// Counts the values of each key, and yields at END one vector of keys and counts, in the order of the keys.
    ///
    /// There can be as many keys as in [`fold_by`](KeysExt::fold_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(
    ///     pipeline::<char>().count_by(|c| *c).model("banana".chars()),
    ///     [vec![('a', 3), ('b', 1), ('n', 2)]]
    /// );
    /// ```
    #[doc(alias("counts", "histogram"))]
    fn count_by<K, L>(self, key: L) -> Then<Self, ScanBy<AnswerBy<Count<Self::Out>, OwnedKeys<K, L>>>>
    where
        K: Key + Ord,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        self.count_by_within(Bound::default().most(), key)
    }

    /// Counts the values of at most `most` keys, and yields at END one vector of keys and counts.
    ///
    /// The first value of one key more ends the run with an error. Otherwise as [`count_by`](KeysExt::count_by).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let error = pipeline::<u64>().count_by_within(2, |x| *x).collect([5, 6, 5, 7]).unwrap_err();
    /// assert!(error.to_string().contains("number 3: there are 2 keys, and this value would add one"));
    /// # let allows = "allow more keys with the stage's method `.._within(n, ..)`";
    /// # assert!(error.to_string().contains(allows), "{error}");
    /// ```
    fn count_by_within<K, L>(
        self,
        most: usize,
        key: L,
    ) -> Then<Self, ScanBy<AnswerBy<Count<Self::Out>, OwnedKeys<K, L>>>>
    where
        K: Key + Ord,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(AnswerBy::new(Count::new(), Bound::refuse(most).most(), OwnedKeys::new(key))))
    }

    /// Collects the values of every key, and yields all of them at END, in the order of the keys.
    ///
    /// The output is one `Vec` of keys and their values.
    ///
    /// Clones every value, and keeps all of them until END. For outputs while the values flow, use
    /// [`shard_by`](KeysExt::shard_by). There can be as many keys as in [`fold_by`](KeysExt::fold_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let by_rest = pipeline::<u64>().group_by(|x| x % 2);
    /// assert_eq!(by_rest.model(1..=5), [vec![(0, vec![2, 4]), (1, vec![1, 3, 5])]]);
    /// ```
    #[doc(alias = "into_group_map")]
    fn group_by<K, L>(self, key: L) -> Then<Self, ScanBy<AnswerBy<Group<Self::Out>, OwnedKeys<K, L>>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        K: Key + Ord,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        self.group_by_within(Bound::default().most(), key)
    }

    /// Collects the values of at most `most` keys, and yields all of them at END, in the order of the keys.
    ///
    /// The first value of one key more ends the run with an error. Otherwise as [`group_by`](KeysExt::group_by).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn group_by_within<K, L>(
        self,
        most: usize,
        key: L,
    ) -> Then<Self, ScanBy<AnswerBy<Group<Self::Out>, OwnedKeys<K, L>>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        K: Key + Ord,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(AnswerBy::new(Group::new(), Bound::refuse(most).most(), OwnedKeys::new(key))))
    }

    /// Applies a function that can fail to every value, and parks a key after its first failure.
    ///
    /// A failure leaves the slot empty and goes to `dead`, as with
    /// [`try_map_or_dead_letter`](crate::TryMapExt::try_map_or_dead_letter). From then on `f` does not see values of
    /// that key: they go to `dead` too, in the order of the numbers, with [`Fault::Parked`](crate::Fault::Parked) and
    /// the number of the value that failed. Other keys go on.
    ///
    /// No value of a key therefore overtakes a failed one: a repair job can process the dead letters of a key in their
    /// order. A key stays parked for the rest of the run. One tasklet runs the stage, since it remembers keys; inside
    /// [`shard_by`](KeysExt::shard_by) the k tasklets of that run it.
    ///
    /// The 1,048,577th parked key ends the run with an error;
    /// [`try_map_or_park_within`](KeysExt::try_map_or_park_within) sets another bound.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let tell = move |letter: DeadLetter<'_, (char, i64), String>| {
    ///     let _ = dead.send(format!("{} {:?}: {}", letter.number, letter.input, letter.fault));
    /// };
    /// let book = |(account, amount): &(char, i64)| match *amount {
    ///     0 => Err(format!("nothing to book on {account}")),
    ///     amount => Ok(amount),
    /// };
    /// let p =
    ///     pipeline::<(char, i64)>().try_map_or_park("book", |(account, _)| *account, book, tell);
    /// assert_eq!(
    ///     p.model_slots([('a', 1), ('b', 0), ('b', 2), ('a', 3)]),
    ///     [Some(1), None, None, Some(3), None]
    /// );
    /// let letters: Vec<_> = letters.try_iter().collect();
    /// assert_eq!(letters, [
    ///     "1 ('b', 0): nothing to book on b",
    ///     "2 ('b', 2): parked: an earlier value of its key failed, at number 1",
    /// ]);
    /// ```
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

    /// Applies a function that can fail to every value, and parks at most `most` keys after a failure.
    ///
    /// A failure of a further key ends the run with an error. Otherwise as
    /// [`try_map_or_park`](KeysExt::try_map_or_park).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
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
        let map = TryMapOrDeadLetter::new(f, DeadLetters::new(name.into(), dead));
        Then::new(self, TryMapOrPark::new(map, ParkedKeys::new(most, key)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail, and parks a key after its first failure.
    ///
    /// The scan has one state for all keys. A failure leaves it as it was before the value; to that end it is cloned
    /// before every value. The failure goes to `dead`, and so do later values of its key, in their order and unseen by
    /// `f`, as with [`try_map_or_park`](KeysExt::try_map_or_park).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let spend = |left: &mut u64, (_, cost): &(char, u64)| {
    ///     *left = left.checked_sub(*cost).ok_or("not enough")?;
    ///     Ok::<_, &str>(*left)
    /// };
    /// let send = move |letter: DeadLetter<'_, (char, u64), _>| {
    ///     let _ = dead.send(format!("{} {:?}: {}", letter.number, letter.input, letter.fault));
    /// };
    /// let p = pipeline::<(char, u64)>().try_scan_or_park("spend", |(who, _)| *who, 10, spend, send);
    /// let costs = [('a', 3), ('b', 9), ('b', 1), ('a', 4)];
    /// assert_eq!(p.model_slots(costs), [Some(7), None, None, Some(3), None]);
    /// let letters: Vec<_> = letters.try_iter().collect();
    /// assert_eq!(letters, [
    ///     "1 ('b', 9): not enough",
    ///     "2 ('b', 1): parked: an earlier value of its key failed, at number 1",
    /// ]);
    /// ```
    fn try_scan_or_park<K, L, S, B, E, F, G>(
        self,
        name: impl Into<String>,
        key: L,
        state: S,
        f: F,
        dead: G,
    ) -> Then<Self, TryScanOrPark<Self::Out, K, L, CloneStep<S, F, B, E>, E, G>>
    where
        Self::Out: ToOwnedItem,
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        S: Item + Clone,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        self.try_scan_or_park_within(Bound::default().most(), name, key, state, f, dead)
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail, and parks at most `most` keys after a failure.
    ///
    /// A failure of a further key ends the run with an error. Otherwise as
    /// [`try_scan_or_park`](KeysExt::try_scan_or_park).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn try_scan_or_park_within<K, L, S, B, E, F, G>(
        self,
        most: usize,
        name: impl Into<String>,
        key: L,
        state: S,
        f: F,
        dead: G,
    ) -> Then<Self, TryScanOrPark<Self::Out, K, L, CloneStep<S, F, B, E>, E, G>>
    where
        Self::Out: ToOwnedItem,
        K: Key,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        S: Item + Clone,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        let letters = DeadLetters::new(name.into(), dead);
        Then::new(self, TryScanOrPark::new(CloneStep::new(state, f), letters, ParkedKeys::new(most, key)))
    }
}

impl<P: Arrow> KeysExt for P {}
