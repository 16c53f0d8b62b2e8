//! Stages with a state that aggregate by window, that have many outputs a value, or whose step can fail; and the nests
//! around each.
#![expect(clippy::type_complexity, reason = "the test is about shapes")]
#![expect(clippy::unused_unit, reason = "one macro for all closures")]

use crate::grow::nest;
use crate::prove;
use crate::stages::{Digest, Edge, closure};
use millstream_core::pipe::{
    CloneStep, FlatScan, FlatScanFinish, FoldWindows, FoldedWindow, Id, JoinedBy, LeaveEmpty, LogStep, NeverJoined,
    OneKey, OwnedKeys, Renumber, ScanBy, ShardBy, Stop, Then, TryScan, TryScanOrDeadLetter, TryScanOrPark,
    TryScanRetry,
};
use millstream_core::{
    Arrow, ChoiceExt, ClockExt, DeadLetter, Item, KeysExt, PartsExt, Quiet, Retry, Shape, ToOwnedItem, TryScanExt,
    UndoLog, Window, WindowsExt, pipeline,
};
use millstream_exec::{AnyPipe, BoxExt, FreePipe};

impl<S: Digest, K: Digest> Digest for Vec<FoldedWindow<S, K>> {
    fn digest(&self) -> u64 {
        self.iter().fold(self.len() as u64, |digest, window| {
            let numbers = [window.key.digest(), window.start, window.state.digest(), window.timing as u64];
            numbers.iter().fold(digest, |digest, number| digest.wrapping_mul(31) ^ number)
        })
    }
}

impl Digest for () {
    fn digest(&self) -> u64 {
        0
    }
}

/// A time that goes back now and then.
fn timer<A: Edge>() -> closure!(A => u64) {
    |value| A::digest(value).wrapping_mul(7) % 64
}

fn keyer<A: Edge>() -> closure!(A => u64) {
    |value| A::digest(value) % 3
}

fn adder<A: Edge>() -> closure!(A, u64 => ()) {
    |state, value| *state = state.wrapping_mul(17) ^ A::digest(value)
}

type Join = fn(&mut u64, u64);
const JOIN: Join = |state, later| *state ^= later.rotate_left(7);

type Windows<A, L, T, F, J> = ScanBy<FoldWindows<A, u64, L, T, F, J>>;

fn sliding() -> Window {
    Window::sliding(24, 16).lateness(5)
}

fn sessions_of() -> Window {
    Window::session(6).lateness(9)
}

pub(crate) fn windows<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, Windows<P::Out, OneKey, closure!(P::Out => u64), closure!(P::Out, u64 => ()), NeverJoined>> {
    p.fold_windows(sliding(), timer::<P::Out>(), 1, adder::<P::Out>())
}

pub(crate) fn windows_by<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<
    P,
    Windows<
        P::Out,
        OwnedKeys<u64, closure!(P::Out => u64)>,
        closure!(P::Out => u64),
        closure!(P::Out, u64 => ()),
        NeverJoined,
    >,
> {
    p.fold_windows_by(keyer::<P::Out>(), sliding(), timer::<P::Out>(), 1, adder::<P::Out>())
}

pub(crate) fn sessions<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, Windows<P::Out, OneKey, closure!(P::Out => u64), closure!(P::Out, u64 => ()), JoinedBy<Join>>> {
    p.fold_sessions(sessions_of(), timer::<P::Out>(), 1, adder::<P::Out>(), JOIN)
}

pub(crate) fn sessions_by<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<
    P,
    Windows<
        P::Out,
        OwnedKeys<u64, closure!(P::Out => u64)>,
        closure!(P::Out => u64),
        closure!(P::Out, u64 => ()),
        JoinedBy<Join>,
    >,
> {
    p.fold_sessions_by(keyer::<P::Out>(), sessions_of(), timer::<P::Out>(), 1, adder::<P::Out>(), JOIN)
}

/// No outputs, one or two.
fn expander<A: Edge>() -> closure!(A, u64 => Vec<u64>) {
    |state, value| {
        *state = state.wrapping_mul(31).wrapping_add(A::digest(value));
        vec![*state; (*state % 3) as usize]
    }
}

pub(crate) fn flat_scan<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, Renumber<FlatScan<P::Out, u64, closure!(P::Out, u64 => Vec<u64>), Vec<u64>>>> {
    p.flat_scan(1, expander::<P::Out>())
}

type Rest = fn(u64) -> Vec<u64>;

pub(crate) fn flat_finish<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, Renumber<FlatScanFinish<P::Out, u64, closure!(P::Out, u64 => Vec<u64>), Rest, Vec<u64>>>> {
    let rest: Rest = |state| vec![state, !state];
    p.flat_scan_finish(1, expander::<P::Out>(), rest)
}

type Why = &'static str;

/// A step without a failure: one would end the run.
fn sure<A: Edge>() -> closure!(A, u64 => Result<u64, Why>) {
    |state, value| {
        *state = state.wrapping_mul(31).wrapping_add(A::digest(value));
        Ok(*state)
    }
}

/// A step that fails at some values, after it has changed the state.
fn fallible<A: Edge>() -> closure!(A, u64 => Result<u64, Why>) {
    |state, value| {
        *state = state.wrapping_mul(31).wrapping_add(A::digest(value));
        if A::digest(value) % 3 == 1 { Err("one of three") } else { Ok(*state) }
    }
}

pub(crate) fn try_scan<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, ScanBy<TryScan<P::Out, CloneStep<u64, closure!(P::Out, u64 => Result<u64, Why>), u64, Why>, Stop>>> {
    p.try_scan(1, sure::<P::Out>())
}

pub(crate) fn or_empty<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, ScanBy<TryScan<P::Out, CloneStep<u64, closure!(P::Out, u64 => Result<u64, Why>), u64, Why>, LeaveEmpty>>> {
    p.try_scan_or_empty(1, fallible::<P::Out>())
}

type Undo = fn(&mut u64, u64);

/// As [`fallible`], with the state of before in the log.
fn logged<A: Edge>()
-> impl for<'a> Fn(&mut u64, &mut UndoLog<u64>, A::Ref<'a>) -> Result<u64, Why> + Send + Sync + 'static {
    let step = fallible::<A>();
    move |state, log, value| {
        log.record(*state);
        step(state, value)
    }
}

pub(crate) fn or_empty_undo<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<
    P,
    ScanBy<
        TryScan<
            P::Out,
            LogStep<
                u64,
                impl for<'a> Fn(&mut u64, &mut UndoLog<u64>, <P::Out as Shape>::Ref<'a>) -> Result<u64, Why>
                + Send
                + Sync
                + 'static,
                Undo,
                u64,
                Why,
                u64,
            >,
            LeaveEmpty,
        >,
    >,
> {
    let undo: Undo = |state, before| *state = before;
    p.try_scan_or_empty_undo(1, logged::<P::Out>(), undo)
}

/// A receiver of failures, which are not compared: other tests do that.
fn unread<I: Item>() -> impl for<'a> Fn(DeadLetter<'a, I, Why>) + Send + Sync + 'static {
    |_| ()
}

type Owned<P> = <<P as Arrow>::Out as ToOwnedItem>::Owned;

pub(crate) fn or_letter<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<
    P,
    TryScanOrDeadLetter<
        P::Out,
        CloneStep<u64, closure!(P::Out, u64 => Result<u64, Why>), u64, Why>,
        Why,
        impl for<'a> Fn(DeadLetter<'a, Owned<P>, Why>) + Send + Sync + 'static,
    >,
> {
    p.try_scan_or_dead_letter("failed", 1, fallible::<P::Out>(), unread::<Owned<P>>())
}

pub(crate) fn or_park<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<
    P,
    TryScanOrPark<
        P::Out,
        u64,
        closure!(P::Out => u64),
        CloneStep<u64, closure!(P::Out, u64 => Result<u64, Why>), u64, Why>,
        Why,
        impl for<'a> Fn(DeadLetter<'a, Owned<P>, Why>) + Send + Sync + 'static,
    >,
> {
    p.try_scan_or_park("parked", keyer::<P::Out>(), 1, fallible::<P::Out>(), unread::<Owned<P>>())
}

/// A step without a failure: a permanent one would end the run, and a passing one is not a function of the value.
pub(crate) fn retried<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, TryScanRetry<P::Out, CloneStep<u64, closure!(P::Out, u64 => Result<u64, Why>), u64, Why>>> {
    p.try_scan_retry(Retry::times(1), 1, sure::<P::Out>())
}

pub(crate) fn keyed<P: Arrow<Out: Edge>, Q: Arrow<In = P::Out> + Quiet>(
    p: P,
    body: impl FnOnce(Id<P::Out>) -> Q,
) -> Then<P, ShardBy<P::Out, OwnedKeys<u64, closure!(P::Out => u64)>, Q>> {
    p.shard_by(keyer::<P::Out>(), 2, body)
}

macro_rules! words {
    ($kind:ty; $([$($letter:ident)*])*) => {$(
        prove(stringify!($($letter)*), nest!(pipeline::<u64>(); $($letter)*).boxed_exact::<$kind>());
    )*};
}

/// After edges of every shape, and before stages of every kind; in a fan-out, and in the halves of a pair.
macro_rules! between_all {
    ($kind:ty; $letter:ident) => {
        words! { $kind;
            [$letter] [map $letter] [filter $letter] [filter_map $letter] [scan $letter] [finish $letter] [fold $letter]
            [delay $letter] [tuple $letter] [pair $letter] [pair filter $letter] [pair pair $letter] [three $letter]
            [lanes $letter]
            [$letter map] [$letter filter map] [$letter scan] [$letter finish] [$letter delay] [$letter fold]
            [$letter tuple] [$letter pair map] [$letter fanout map] [$letter shard filter_map] [$letter $letter]
        }
    };
}

macro_rules! in_bodies {
    ($letter:ident) => {
        words! { AnyPipe;
            [fanout $letter] [fanout filter $letter] [fanout fanout $letter] [pair fanout $letter] [pair both $letter]
        }
    };
}

/// In a lane and at a key, which allow only quiet stages.
macro_rules! in_quiet_bodies {
    ($letter:ident) => {
        words! { AnyPipe;
            [lanes choose $letter] [lanes merge $letter] [pair lanes choose $letter] [lanes choose filter $letter]
            [lanes choose fanout $letter] [keyed $letter] [filter keyed $letter] [pair keyed $letter]
            [lanes keyed $letter] [keyed filter $letter] [keyed fanout $letter] [keyed keyed $letter]
            [fanout keyed $letter]
        }
    };
}

macro_rules! prove_around {
    (
        flat: $($flat:ident)*; at_end: $($at_end:ident)*; quiet: $($quiet:ident)*;
        like_at_end: $($like_at_end:ident)*; like_quiet: $($like_quiet:ident)*;
    ) => {
        $(#[test] fn $flat() { between_all!(FreePipe; $flat); })*
        $(#[test] fn $at_end() { between_all!(AnyPipe; $at_end); in_bodies!($at_end); })*
        $(#[test] fn $quiet() { between_all!(AnyPipe; $quiet); in_bodies!($quiet); in_quiet_bodies!($quiet); })*
        $(#[test] fn $like_at_end() { in_bodies!($like_at_end); })*
        $(#[test] fn $like_quiet() { in_bodies!($like_quiet); in_quiet_bodies!($like_quiet); })*
    };
}

mod nests_around {
    use super::*;
    // The last ones are deployed like one of the others, so they are only in bodies.
    prove_around! {
        flat: flat_scan flat_finish;
        at_end: windows sessions_by;
        quiet: try_scan or_empty or_letter or_park retried;
        like_at_end: windows_by sessions;
        like_quiet: or_empty_undo;
    }
}
