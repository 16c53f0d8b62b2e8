#![expect(clippy::type_complexity, reason = "a combinator says what it is made of")]

use crate::pipe::{AnswerBy, BorrowedKeys, Borrows, Count, FoldBy, Group, Id, Key, ScanBy, ShardBy, Then, id};
use crate::pipe::{FoldWindows, JoinedBy, NeverJoined, Window};
use crate::{Arrow, Bound, Item, Quiet, Shape, ToOwnedItem};
use std::hash::Hash;

/// Stages that keep a state for every key, where the key is a part of the value. For every [`Arrow`].
///
/// Each is the stage of [`KeysExt`](crate::KeysExt) without `_ref`, with a `key` that returns a reference: a `&str`
/// of a `String`, a `&[u8]` of a [`Piece`](crate::text::Piece), a field. A key that has no state yet is copied, in a
/// `shard_by_ref` twice; any other is only looked up. So a count of words allocates for each different word, not for
/// each word. The model copies the key of every value.
///
/// A key and its owned form have the same hash and equality, as [`Borrow`](std::borrow::Borrow) demands; otherwise a
/// key may have several states. The output has the owned form: `String` for `str`, `Vec<u8>` for `[u8]`. Snapshots are
/// those of the stage without `_ref` and that key: a program can change from one to the other, and go on.
///
/// The name is that of `entry_ref` in hashbrown's hash map.
pub trait BorrowedKeysExt: Arrow {
    /// Runs a body with a state of its own for every key, which is a part of the value, each stage on `k` tasklets.
    ///
    /// Otherwise as [`shard_by`](crate::KeysExt::shard_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<(String, i64)>().shard_by_ref(|(account, _)| account.as_str(), 4, |p| {
    ///     p.scan(0, |balance, (_, amount)| { *balance += amount; *balance })
    /// });
    /// let moved = [("ann", 10), ("bob", 5), ("ann", -3)].map(|(who, sum)| (who.to_owned(), sum));
    /// assert_eq!(p.collect(moved)?, [10, 5, 7]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `k` is 0. A deployment panics if there are more than 65,536 tasklets for the keys.
    fn shard_by_ref<Q, L, P>(
        self,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, BorrowedKeys<Q, L>, P>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        self.shard_by_ref_within(Bound::default(), key, k, body)
    }

    /// Runs a body with a state of its own for every key, which is a part of the value, within a bound on the number
    /// of keys.
    ///
    /// Otherwise as [`shard_by_within`](crate::KeysExt::shard_by_within).
    fn shard_by_ref_within<Q, L, P>(
        self,
        bound: Bound,
        key: L,
        k: usize,
        body: impl FnOnce(Id<Self::Out>) -> P,
    ) -> Then<Self, ShardBy<Self::Out, BorrowedKeys<Q, L>, P>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        P: Arrow<In = Self::Out> + Quiet,
    {
        Then::new(self, ShardBy::new(bound, BorrowedKeys::new(key), k, body(id())))
    }

    /// Folds the values of every key, which is a part of the value, and yields every key's answer at END, in the order
    /// of the keys.
    ///
    /// Otherwise as [`fold_by`](crate::KeysExt::fold_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sum = pipeline::<(String, u64)>()
    ///     .fold_by_ref(|(name, _)| name.as_str(), 0, |sum, (_, x)| *sum += x, |sum| sum);
    /// let values = [("a", 1), ("b", 2), ("a", 3)].map(|(name, x)| (name.to_owned(), x));
    /// assert_eq!(sum.model(values), [[("a".to_owned(), 4), ("b".to_owned(), 2)]]);
    /// ```
    fn fold_by_ref<Q, S, B, L, F, G>(
        self,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, S, BorrowedKeys<Q, L>, F, G, B>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        S: Item + Clone,
        B: Item,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        self.fold_by_ref_within(Bound::default().most(), key, state, f, finish)
    }

    /// Folds the values of at most `most` keys, which are parts of the values, and yields every key's answer at END.
    ///
    /// Otherwise as [`fold_by_within`](crate::KeysExt::fold_by_within).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn fold_by_ref_within<Q, S, B, L, F, G>(
        self,
        most: usize,
        key: L,
        state: S,
        f: F,
        finish: G,
    ) -> Then<Self, ScanBy<FoldBy<Self::Out, S, BorrowedKeys<Q, L>, F, G, B>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        S: Item + Clone,
        B: Item,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        let most = Bound::refuse(most).most();
        Then::new(self, ScanBy::new(FoldBy::new(most, BorrowedKeys::new(key), state, f, finish)))
    }

    /// Counts the values of each key, which is a part of the value, and yields at END one vector of keys and counts,
    /// in the order of the keys.
    ///
    /// Otherwise as [`count_by`](crate::KeysExt::count_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use millstream::text::Block;
    /// let words = pipeline::<Block>().words().count_by_ref(|word| word.text());
    /// let text = Block::from(b"a rose is a rose\n".to_vec());
    /// let counts: Vec<_> = words.model([text]).concat();
    /// assert_eq!(counts, [(b"a".to_vec(), 2), (b"is".to_vec(), 1), (b"rose".to_vec(), 2)]);
    /// ```
    fn count_by_ref<Q, L>(self, key: L) -> Then<Self, ScanBy<AnswerBy<Count<Self::Out>, BorrowedKeys<Q, L>>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
    {
        self.count_by_ref_within(Bound::default().most(), key)
    }

    /// Counts the values of at most `most` keys, which are parts of the values, and yields at END one vector of keys
    /// and counts.
    ///
    /// Otherwise as [`count_by_within`](crate::KeysExt::count_by_within).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn count_by_ref_within<Q, L>(
        self,
        most: usize,
        key: L,
    ) -> Then<Self, ScanBy<AnswerBy<Count<Self::Out>, BorrowedKeys<Q, L>>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
    {
        let most = Bound::refuse(most).most();
        Then::new(self, ScanBy::new(AnswerBy::new(Count::new(), most, BorrowedKeys::new(key))))
    }

    /// Collects the values of every key, which is a part of the value, and yields all of them at END, in the order of
    /// the keys.
    ///
    /// Otherwise as [`group_by`](crate::KeysExt::group_by): every value is cloned, and kept until END.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let by_name = pipeline::<(&'static str, u64)>().group_by_ref(|(name, _)| *name);
    /// let values = [("a", 1), ("b", 2), ("a", 3)];
    /// let groups = by_name.model(values).concat();
    /// assert_eq!(groups[0], ("a".to_owned(), vec![("a", 1), ("a", 3)]));
    /// ```
    fn group_by_ref<Q, L>(self, key: L) -> Then<Self, ScanBy<AnswerBy<Group<Self::Out>, BorrowedKeys<Q, L>>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
    {
        self.group_by_ref_within(Bound::default().most(), key)
    }

    /// Collects the values of at most `most` keys, which are parts of the values, and yields all of them at END.
    ///
    /// Otherwise as [`group_by_within`](crate::KeysExt::group_by_within).
    ///
    /// # Panics
    ///
    /// If `most` is 0, or more than 4,294,967,295 (`u32::MAX`).
    fn group_by_ref_within<Q, L>(
        self,
        most: usize,
        key: L,
    ) -> Then<Self, ScanBy<AnswerBy<Group<Self::Out>, BorrowedKeys<Q, L>>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
    {
        let most = Bound::refuse(most).most();
        Then::new(self, ScanBy::new(AnswerBy::new(Group::new(), most, BorrowedKeys::new(key))))
    }

    /// Folds the values of each key, which is a part of the value, and each tumbling or sliding window of event time,
    /// and yields the state when the window closes.
    ///
    /// Otherwise as [`fold_windows_by`](crate::WindowsExt::fold_windows_by). A value that falls into the last window of
    /// its key copies no key, unless the windows have [early results](crate::pipe::Window::early_every). Any other value
    /// does: it opens or closes a window, or comes out of order or late.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let tens = pipeline::<(String, u64)>()
    ///     .fold_windows_by_ref(
    ///         |(name, _)| name.as_str(),
    ///         Window::tumbling(10),
    ///         |(_, time)| *time,
    ///         0,
    ///         |n, _| *n += 1,
    ///     )
    ///     .flatten()
    ///     .map(|ten| (ten.key.clone(), ten.start, ten.state));
    /// let values = [("a", 1), ("b", 2), ("a", 3), ("b", 12)].map(|(name, time)| (name.to_owned(), time));
    /// let counts = [("a", 0, 2), ("b", 0, 1), ("b", 10, 1)].map(|(name, start, n)| (name.to_owned(), start, n));
    /// assert_eq!(tens.model(values), counts);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`fold_windows`](crate::WindowsExt::fold_windows).
    fn fold_windows_by_ref<Q, S, L, T, F>(
        self,
        key: L,
        window: Window,
        time: T,
        state: S,
        f: F,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, BorrowedKeys<Q, L>, T, F, NeverJoined>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        S: Item + Clone,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, BorrowedKeys::new(key), time, state, f, NeverJoined)))
    }

    /// Folds the values of the sessions of each key, which is a part of the value, and yields the state when the
    /// session ends.
    ///
    /// Otherwise as [`fold_sessions_by`](crate::WindowsExt::fold_sessions_by). A value that falls into the last session
    /// of its key copies no key, unless the sessions have [early results](crate::pipe::Window::early_every). Any other
    /// value does: it begins, joins or ends a session, or comes out of order or late.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let visits = pipeline::<(String, u64)>().fold_sessions_by_ref(
    ///     |(user, _)| user.as_str(),
    ///     Window::session(30),
    ///     |(_, minute)| *minute,
    ///     0,
    ///     |pages, _| *pages += 1,
    ///     |pages, later| *pages += later,
    /// );
    /// let visits = visits.flatten().map(|visit| (visit.key.clone(), visit.start, visit.state));
    /// let pages = [("ann", 0), ("bob", 10), ("ann", 25)].map(|(user, minute)| (user.to_owned(), minute));
    /// assert_eq!(visits.model(pages), [("bob".to_owned(), 10, 1), ("ann".to_owned(), 0, 2)]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`fold_sessions`](crate::WindowsExt::fold_sessions).
    fn fold_sessions_by_ref<Q, S, L, T, F, J>(
        self,
        key: L,
        window: Window,
        time: T,
        state: S,
        f: F,
        join: J,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, BorrowedKeys<Q, L>, T, F, JoinedBy<J>>>>
    where
        Q: ?Sized + Hash + Eq + ToOwned<Owned: Key + Ord> + 'static,
        S: Item + Clone,
        L: for<'a> Borrows<'a, <Self::Out as Shape>::Ref<'a>, Q> + Send + Sync + 'static,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        J: Fn(&mut S, S) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, BorrowedKeys::new(key), time, state, f, JoinedBy(join))))
    }
}

impl<P: Arrow> BorrowedKeysExt for P {}
