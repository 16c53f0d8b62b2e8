//! Every nest of three combinators with complete types: no box between them hides a composite reader.
//!
//! A nest is a word of three letters. `map`, `filter`, `filter_map`, `scan`, `finish` (a scan that may speak at END),
//! `delay`, `fold`, `pair` (two rings side by side, one of them with a mask) and `tuple` (a pair in one ring) are
//! stages, and the remaining word follows them. So are `three` (a flat tuple of three rings, one of them with a mask)
//! and `lanes` (a partition), which begin words. `fanout`, `both` and `shard` take the remaining word as their bodies.
//! All words whose types allow it are here, and each is compared with its model. They have their own binary, since the
//! compiler takes long for them, and a change of another test should not wait for that.
//!
//! Around windows that aggregate, scans that fail and scans with many outputs there are fewer words: each such stage is
//! between stages and in bodies of every kind, also in the lanes of `choose` and `merge`, and at a key (`keyed`).

mod grow;
mod stages;
mod states;

/// All stages, by their letters.
mod letters {
    pub(crate) use crate::stages::*;
    pub(crate) use crate::states::*;
}

use millstream_core::{ToOwnedItem, Val};
use millstream_exec::{BoxExact, BoxKind, BoxShape};
use millstream_testkit::{Deployment, Feeding, check};
use std::sync::Arc;

const INPUTS: u64 = 11;

/// Compares a nest, boxed as a whole, with its model.
fn prove<B, Known: BoxKind>(word: &str, nest: BoxExact<Val<u64>, B, Known>)
where
    B: BoxShape + ToOwnedItem<Owned: PartialEq + std::fmt::Debug>,
{
    let nest = Arc::new(nest);
    let inputs: Vec<u64> = (0..INPUTS).collect();
    let deployments =
        [(1, 1, 1, Feeding::Inline), (4, 3, 1, Feeding::Ready), (2, 3, 2, Feeding::Ready), (4, 2, 3, Feeding::Waiting)];
    for (ring, batch, workers, feeding) in deployments {
        let deployment = Deployment { ring, batch, workers, feeding };
        assert_eq!(check(&nest, &inputs, deployment), Ok(()), "{word} on {deployment:?}");
    }
}
