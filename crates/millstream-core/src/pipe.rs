//! The combinators as plain data, one file each.

mod answer;
mod any_edge;
mod both;
mod choose;
mod chunks;
mod compact;
mod dead_letter;
mod dedup;
mod delay;
mod enumerate;
mod fallible_step;
mod fanout;
mod fanout_all;
mod feedback;
mod filter;
mod filter_kernel;
mod filter_map;
mod flat_map;
mod flat_scan;
mod flat_scan_finish;
mod flatten;
mod fold;
mod fold_by;
mod fold_windows;
mod format;
mod id;
mod inspect;
mod key_fn;
mod known;
mod map;
mod map_async;
mod map_async_dead_letter;
mod map_blocking;
mod map_m;
mod map_windows;
mod maybe;
mod merge;
mod named;
mod owned;
mod pairwise;
mod park;
mod part;
mod partition;
mod project;
mod renumber;
mod scan;
mod scan_finish;
mod scan_kernel;
mod shard;
mod shard_by;
mod skip;
mod skip_while;
mod slice;
mod split;
mod stage_fn;
mod take;
mod take_while;
mod tee;
mod tee_to;
mod then;
mod try_map;
mod try_scan;
mod try_scan_dead_letter;
mod try_scan_or_error;
mod try_scan_park;
mod try_scan_retry;
mod unordered;
mod window;
mod windows;
mod windows_by;

pub use crate::keys::Key;
pub use answer::{
    Answer, AnswerBy, AnswerKernel, Count, EVERY, Extreme, ExtremeBy, ExtremeByKey, Find, GREATEST, Group, LEAST, Last,
    Quantifier, SOME, Sum, Top, TopN, TopNBy, TopNByKey,
};
pub use any_edge::ToAnyEdge;
pub use both::Both;
pub use choose::Choose;
pub use chunks::Chunks;
pub use compact::Compact;
pub use dead_letter::{Boxed, DeadLetter, DeadLetters, FailedItem, Fault, Outcome, SuccessLane, TryMapOrDeadLetter};
pub use dedup::Dedup;
pub use delay::Delay;
pub use enumerate::Enumerate;
pub(crate) use fallible_step::after;
pub use fallible_step::{CloneStep, FallibleStep, LogStep, UndoLog};
pub use fanout::Fanout;
pub use fanout_all::FanoutAll;
pub use feedback::{Fed, Feedback, Looped};
pub use filter::Filter;
pub use filter_kernel::{FilterBy, FilterKernel};
pub use filter_map::FilterMap;
pub use flat_map::FlatMap;
pub use flat_scan::FlatScan;
pub use flat_scan_finish::FlatScanFinish;
pub use flatten::Flatten;
pub use fold::Fold;
pub use fold_by::FoldBy;
pub use fold_windows::{
    FoldWindows, FoldedWindow, JoinStates, JoinedBy, NeverJoined, OneKey, OpenFolds, Timing, WindowKey,
};
pub use format::{FilterMapText, Format, FormatAll, FormatKernel, FormatSome, MapText};
pub use id::{Id, id, pipeline};
pub use inspect::{Inspect, Inspected};
pub use key_fn::{BorrowedKeys, Borrows, KeyFn, OwnedKeys};
pub use known::{
    After, ClonesItems, Holds, IsPipeline, KeepsState, MakesItems, NeverHolds, OfClones, OfItems, OfState,
};
pub use map::Map;
pub use map_async::{AsIs, MapAsync, Settle};
pub use map_async_dead_letter::TryMapAsyncOrDeadLetter;
pub use map_blocking::MapBlocking;
pub use map_m::MapM;
pub use map_windows::MapWindows;
pub use maybe::ToMaybe;
pub use merge::Merge;
pub use named::Named;
pub use owned::{Cloned, MapOwned, OwnedBy, OwnedKernel};
pub use pairwise::Pairwise;
pub use park::{Parked, ParkedKeys, TryMapOrPark};
pub use part::ShowPart;
pub use partition::{InLanes, Partition, WithVerdict};
pub use project::{Project, Projection};
pub use renumber::{ExpandKernel, Renumber};
pub use scan::Scan;
pub use scan_finish::ScanFinish;
pub use scan_kernel::{Annotate, ScanBy, ScanKernel};
pub use shard::Shard;
pub use shard_by::{KeyRouter, ShardBy, States};
pub use skip::Skip;
pub use skip_while::SkipWhile;
pub use slice::{FilterMapSlice, MapSlice, NotUtf8, Slice, SliceKernel, ToStr};
pub use split::Split;
pub use stage_fn::{AnyLifetime, Made, NoFunction, StageFn, Takes, Threaded};
pub use take::Take;
pub use take_while::TakeWhile;
pub use tee::Tee;
pub use tee_to::TeeTo;
pub use then::{Follows, Then};
pub use try_map::{GiveFault, LeaveEmpty, Policy, Stop, TryMap};
pub use try_scan::{ScanPolicy, TryScan};
pub use try_scan_dead_letter::TryScanOrDeadLetter;
pub use try_scan_or_error::TryScanOrError;
pub use try_scan_park::{TryScanOrPark, WithParked};
pub use try_scan_retry::TryScanRetry;
pub use unordered::Unordered;
pub(crate) use window::WindowShape;
pub use window::{Late, Overflow, Window};
pub use windows::Windows;
pub use windows_by::{OpenWindows, TimeWindow, WindowsBy};

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
    // A list of all stages in an error message does not help, and changes with every new stage.
    (@stage [$($parameter:ident),*] $pipe:ident $marker:ident) => {
        #[diagnostic::do_not_recommend]
        impl<$($parameter),*> $crate::$marker for $pipe<$($parameter),*> {}
    };
    (@impl [$($parameter:ident),*] [$($body:ident)*] $pipe:ident $marker:ident) => {
        impl<$($parameter),*> $crate::$marker for $pipe<$($parameter),*> where $($body: $crate::$marker),* {}
    };
}
pub(crate) use {combinator, debug};
