//! All words of three letters, and the nest of each word.

use crate::prove;
use millstream_core::{Arrow, PartsExt, pipeline};
use millstream_exec::{AnyPipe, BoxExt};

/// The pipeline of a word, after the edge `$p`.
macro_rules! nest {
    ($p:expr;) => { $p };
    ($p:expr; pair $($rest:ident)*) => { nest!($p.fanout(|p| p, |p| $crate::letters::filter(p)); $($rest)*) };
    ($p:expr; three $($rest:ident)*) => {
        nest!($p.fanout3(|p| p, |p| $crate::letters::filter(p), |p| $crate::letters::map(p)); $($rest)*)
    };
    ($p:expr; lanes $($rest:ident)*) => { nest!($crate::letters::lanes($p); $($rest)*) };
    ($p:expr; fanout $($rest:ident)*) => { $p.fanout(|p| nest!(p; $($rest)*), |p| nest!(p; $($rest)*)) };
    ($p:expr; both $($rest:ident)*) => { $p.both(|p| nest!(p; $($rest)*), |p| nest!(p; $($rest)*)) };
    ($p:expr; shard $($rest:ident)*) => { $p.shard(2, |p| nest!(p; $($rest)*)) };
    ($p:expr; choose $($rest:ident)*) => { $p.choose(|p| nest!(p; $($rest)*), |p| nest!(p; $($rest)*)) };
    ($p:expr; merge $($rest:ident)*) => { $p.merge(|p| nest!(p; $($rest)*), |p| nest!(p; $($rest)*)) };
    ($p:expr; keyed $($rest:ident)*) => { $crate::letters::keyed($p, |p| nest!(p; $($rest)*)) };
    ($p:expr; $stage:ident $($rest:ident)*) => { nest!($crate::letters::$stage($p); $($rest)*) };
}
pub(crate) use nest;

/// Proves every word that begins with these letters. An edge is `single`, a `pair`, a pair of pairs (`deep`), or a
/// `wide` one: a flat tuple, or a choice. Inside a shard there are only `pure` stages.
macro_rules! grow {
    ($edge:ident $what:ident $a:ident $b:ident $c:ident) => {
        prove(concat!(stringify!($a), " ", stringify!($b), " ", stringify!($c)),
            nest!(pipeline::<u64>(); $a $b $c).boxed_exact::<AnyPipe>());
    };
    (single any $($word:ident)*) => { each!(
        [single any: map filter_map scan finish fold filter delay fanout] [single pure: shard] [pair any: pair tuple]
        $($word)*); };
    (pair any $($word:ident)*) => { each!(
        [single any: map filter_map scan finish fold both] [pair any: filter delay fanout tuple] [pair pure: shard]
        [deep any: pair] $($word)*); };
    (deep any $($word:ident)*) => { each!(
        [single any: map filter_map scan finish fold] [deep any: filter delay fanout pair] [pair any: both tuple]
        [deep pure: shard] $($word)*); };
    (wide any $($word:ident)*) => { each!(
        [single any: map filter_map scan finish fold] [wide any: filter] [wide pure: shard] $($word)*); };
    (wide pure $($word:ident)*) => { each!(
        [single pure: map filter_map] [wide pure: filter shard] $($word)*); };
    (single pure $($word:ident)*) => { each!(
        [single pure: map filter_map filter fanout shard] [pair pure: pair tuple] $($word)*); };
    (pair pure $($word:ident)*) => { each!(
        [single pure: map filter_map both] [pair pure: filter fanout tuple shard] [deep pure: pair] $($word)*); };
    (deep pure $($word:ident)*) => { each!(
        [single pure: map filter_map] [deep pure: filter fanout pair shard] [pair pure: both tuple] $($word)*); };
}

macro_rules! each {
    ($([$edge:ident $what:ident: $($letter:ident)*])* $a:ident $b:ident) => {
        $($(grow!($edge $what $a $b $letter);)*)*
    };
    ($([$edge:ident $what:ident: $($letter:ident)*])* $a:ident) => {
        $($(grow!($edge $what $a $letter);)*)*
    };
}

macro_rules! prove_all {
    ($($edge:ident $what:ident $letter:ident;)*) => {$(
        #[test]
        fn $letter() {
            grow!($edge $what $letter);
        }
    )*};
}

mod nests_that_begin_with {
    use super::*;
    prove_all! {
        single any map;
        single any filter;
        single any filter_map;
        single any scan;
        single any finish;
        single any delay;
        single any fold;
        pair any pair;
        pair any tuple;
        wide any three;
        wide any lanes;
        single any fanout;
        single pure shard;
    }
}
