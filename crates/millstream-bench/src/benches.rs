//! The benches, one a file.

mod chain2;
mod copying;
mod filter_map;
mod shard2;
mod wc;

use crate::failure::Failure;
use crate::figure::Results;
use crate::setting::Setting;

/// Something that is measured.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Setting) -> Result<Results, Failure>,
}

pub(crate) const ALL: &[Bench] = &[
    Bench { name: "chain2", about: "two maps of u64 on one worker, and the same in one loop", run: chain2::run },
    Bench {
        name: "filter-map",
        about: "filter_map, then map, on one worker, and the same in one loop",
        run: filter_map::run,
    },
    Bench { name: "copying5", about: "a map of all halves of a five-way fan-out, on one worker", run: copying::five },
    Bench { name: "copying10", about: "a map of all halves of a ten-way fan-out, on one worker", run: copying::ten },
    Bench { name: "shard2", about: "two shards of a 1 us map on two workers, and one on one", run: shard2::run },
    Bench { name: "wc", about: "millstream wc on 1 GB of text, and GNU wc (with --rivals)", run: wc::run },
];

pub(crate) fn find(name: &str) -> Option<&'static Bench> {
    ALL.iter().find(|bench| bench.name == name)
}
