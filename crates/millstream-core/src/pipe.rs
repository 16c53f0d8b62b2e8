//! The combinators, one file each: what a user wrote, as plain data.

mod both;
mod choose;
mod chunks;
mod compact;
mod cut;
mod dead_letter;
mod dedup;
mod delay;
mod enumerate;
mod fanout;
mod feedback;
mod filter;
mod filter_map;
mod flat_map;
mod flatten;
mod fold;
mod fold_by;
mod id;
mod inspect;
mod machine;
mod map;
mod map_async;
mod map_blocking;
mod map_m;
mod merge;
mod named;
mod pairwise;
mod park;
mod part;
mod renumber;
mod scan;
mod see;
mod shard;
mod shard_by;
mod sieve;
mod skip;
mod skip_while;
mod take;
mod take_while;
mod tee;
mod then;
mod try_map;
mod unordered;
mod windows;
mod windows_by;
mod write;

pub use both::Both;
pub use choose::Choose;
pub use chunks::Chunks;
pub use compact::Compact;
pub use cut::Cuts;
pub use dead_letter::{Boxed, Dead, DeadLetter, Fault, Judged, Living, TryMapOrDeadLetter};
pub use dedup::Dedup;
pub use delay::Delay;
pub use enumerate::Number;
pub use fanout::Fanout;
pub use feedback::{Fed, Feedback, Looped};
pub use filter::Filter;
pub use filter_map::FilterMap;
pub use flat_map::FlatMap;
pub use flatten::Flatten;
pub use fold::Fold;
pub use fold_by::FoldBy;
pub use id::{Id, id, pipeline};
pub use inspect::{Inspect, Inspected};
pub use machine::{Beside, Machine, Stateful};
pub use map::Map;
pub use map_async::{AsIs, MapAsync, Settle};
pub use map_blocking::MapBlocking;
pub use map_m::MapM;
pub use merge::Merge;
pub use named::Named;
pub use pairwise::Before;
pub use park::{Parked, TryMapOrPark};
pub use part::{FilterMapPart, MapPart, NotUtf8, Parting, Parts, ToStr};
pub use renumber::{Expand, Renumber};
pub use scan::Scan;
pub use see::{Part, See};
pub use shard::Shard;
pub use shard_by::{Key, ShardBy, States, Usher};
pub use sieve::{Sieve, Sift};
pub use skip::Skip;
pub use skip_while::SkipWhile;
pub use take::Take;
pub use take_while::TakeWhile;
pub use tee::Tee;
pub use then::Then;
pub use try_map::{LeaveEmpty, Policy, Stop, TryMap};
pub use unordered::Unordered;
pub use windows::Windows;
pub(crate) use windows_by::WindowShape;
pub use windows_by::{Late, OpenWindows, Overflow, TimeWindow, Window, WindowsBy};
pub use write::{Always, FilterMapText, MapText, Sometimes, Write, Writing};

/// Implements `Debug` by the name.
macro_rules! debug {
    ($pipe:ident<$($parameter:ident),*>) => {
        impl<$($parameter),*> std::fmt::Debug for $pipe<$($parameter),*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($pipe))
            }
        }
    };
}

/// Implements `Debug` by the combinator's name, and the markers it has by itself or through its bodies.
macro_rules! combinator {
    ($pipe:ident<$($parameter:ident),*>: $($marker:ident)*; through $($body:ident)*: $($inherited:ident)*) => {
        $crate::pipe::debug!($pipe<$($parameter),*>);
        $crate::pipe::combinator!(@own [$($parameter),*] $pipe $($marker)*);
        $crate::pipe::combinator!(@through [$($parameter),*] [$($body)*] $pipe $($inherited)*);
    };
    (@own $parameters:tt $pipe:ident $first:ident $($rest:ident)*) => {
        $crate::pipe::combinator!(@stage $parameters $pipe $first);
        $crate::pipe::combinator!(@own $parameters $pipe $($rest)*);
    };
    (@own $parameters:tt $pipe:ident) => {};
    (@through $parameters:tt $bodies:tt $pipe:ident $first:ident $($rest:ident)*) => {
        $crate::pipe::combinator!(@impl $parameters $bodies $pipe $first);
        $crate::pipe::combinator!(@through $parameters $bodies $pipe $($rest)*);
    };
    (@through $parameters:tt $bodies:tt $pipe:ident) => {};
    // A list of all stages in an error message helps nobody, and changes with every new one.
    (@stage [$($parameter:ident),*] $pipe:ident $marker:ident) => {
        #[diagnostic::do_not_recommend]
        impl<$($parameter),*> $crate::$marker for $pipe<$($parameter),*> {}
    };
    (@impl [$($parameter:ident),*] [$($body:ident)*] $pipe:ident $marker:ident) => {
        impl<$($parameter),*> $crate::$marker for $pipe<$($parameter),*> where $($body: $crate::$marker),* {}
    };
}
use {combinator, debug};
