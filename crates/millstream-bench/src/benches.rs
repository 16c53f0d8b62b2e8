//! The benches, each in its own file.

mod boxes;
mod chain2;
mod chain3;
mod chain7;
mod cluster;
mod compile;
mod contended;
mod copying;
mod copying_queues;
mod crawler;
mod csv;
mod elastic;
mod evolve;
mod fair;
mod filter_map;
mod growth;
mod hop;
mod instructions;
mod journal;
mod jq;
mod keyed_state;
mod latency;
mod layouts;
mod libraries;
mod log;
mod merge;
mod observe;
mod oversubscribed;
mod pipe;
mod recorded;
mod rescale;
mod restore;
mod rss;
mod sensors;
mod serve;
mod service;
mod shard2;
mod shard2_ordered;
mod shard_by;
mod sleep;
mod snapshot;
mod spaces;
mod text_batch;
mod three_to_one;
mod transport;
mod upgrade;
mod uppercase;
mod wake;
mod wc;
mod wc_fast;
mod wires;
mod word_split;
mod zip10;
mod zip2;

pub(crate) use serve::asked as serving;

use crate::failure::Failure;
use crate::figure::Results;
use crate::setting::Setting;

/// A bench.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    /// A description in one line.
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Setting) -> Result<Results, Failure>,
}

pub(crate) const ALL: &[Bench] = &[
    Bench { name: "chain2", about: "two maps of u64 on one worker, and the same work in one loop", run: chain2::run },
    Bench {
        name: "filter-map",
        about: "filter_map, then map, on one worker, and the same work in one loop",
        run: filter_map::run,
    },
    Bench {
        name: "boxes",
        about: "boxes whose types name the items, and the same pipelines with complete types, on one worker",
        run: boxes::run,
    },
    Bench {
        name: "wires",
        about: "graphs as blocks of named wires, and the same graphs by hand, on one worker",
        run: wires::run,
    },
    Bench { name: "copying5", about: "a map of all halves of a five-way fan-out, on one worker", run: copying::five },
    Bench { name: "copying10", about: "a map of all halves of a ten-way fan-out, on one worker", run: copying::ten },
    Bench {
        name: "copying",
        about: "one stream that fans out two to twenty ways, on rings and on our own queues",
        run: copying_queues::run,
    },
    Bench { name: "compile", about: "the time and memory to compile a pipeline of thirty stages", run: compile::run },
    Bench {
        name: "merge",
        about: "a choice of two lanes with a map each, and the same work in one loop and on queues",
        run: merge::run,
    },
    Bench {
        name: "instructions",
        about: "instructions of an item in a dozen kernels, and those that are kept in the repository",
        run: instructions::run,
    },
    Bench {
        name: "layouts",
        about: "records of four numbers, as one ring of records, and as four rings of numbers",
        run: layouts::run,
    },
    Bench {
        name: "shard-by",
        about: "running sums of 1,000 keys, also in one loop and on queues; and two shards",
        run: shard_by::run,
    },
    Bench { name: "shard2", about: "two shards of a 1 us map on two workers, and one on one", run: shard2::run },
    Bench { name: "wc", about: "millstream wc on 1 GB of text, and GNU wc (with --rivals)", run: wc::run },
    Bench {
        name: "word-split",
        about: "a text in pieces, split by four tasklets and joined, and the same work in one loop",
        run: word_split::run,
    },
    Bench { name: "hop", about: "numbers from a source on one worker to a sink on another", run: hop::run },
    Bench {
        name: "chain3",
        about: "a source, two maps and a sink, on as many workers as improve throughput",
        run: chain3::run,
    },
    Bench { name: "zip2", about: "numbers beside their parities, from one ring", run: zip2::run },
    Bench { name: "zip10", about: "a ten-way fan-out whose sink reads all ten halves", run: zip10::read },
    Bench { name: "zip10-write", about: "ten maps of one ring, and a sink that reads them all", run: zip10::write },
    Bench { name: "shard2-ordered", about: "two shards of a 1.2 us map, in order", run: shard2_ordered::run },
    Bench { name: "chain7", about: "seven cheap stages between a source and a sink", run: chain7::run },
    Bench { name: "oversubscribed", about: "sixteen stages on sixteen workers, and on two", run: oversubscribed::run },
    Bench {
        name: "upgrade",
        about: "a pipeline with 100 MB of keyed state is replaced: pauses, p99, and the first output",
        run: upgrade::run,
    },
    Bench {
        name: "rescale",
        about: "a keyed stage under load gets four shards instead of one, and then two: the longest gap",
        run: rescale::run,
    },
    Bench {
        name: "elastic",
        about: "a square wave of load, with fixed numbers of shards and one that follows the load",
        run: elastic::run,
    },
    Bench { name: "observe", about: "two maps on one worker, observed and not", run: observe::run },
    Bench {
        name: "wake",
        about: "the wake-up time of a parked reader, and a round trip; the cost of each wait strategy",
        run: wake::run,
    },
    Bench { name: "sleep", about: "four sleeps for each item, each sleep in its own stage", run: sleep::run },
    Bench {
        name: "three-to-one",
        about: "entries of three longs from many producers to one consumer, with a ring for each producer",
        run: three_to_one::run,
    },
    Bench {
        name: "transport",
        about: "random longs to 1, 3 and 5 consumers, through rings and through a queue",
        run: transport::run,
    },
    Bench {
        name: "fair",
        about: "the share of the slowest of three producers that always have more to send",
        run: fair::run,
    },
    Bench { name: "spaces-long", about: "headers before long lines, from a file to nowhere", run: spaces::long },
    Bench { name: "spaces-short", about: "headers before short lines, from a file to nowhere", run: spaces::short },
    Bench { name: "spaces-pipe", about: "headers before long lines, between two pipes", run: spaces::pipe },
    Bench {
        name: "text-batch",
        about: "lines through a map, for sizes of blocks and batches: bytes a second, and p99",
        run: text_batch::run,
    },
    Bench { name: "wc-fast", about: "millstream wc, GNU wc, and one pass by hand", run: wc_fast::run },
    Bench {
        name: "contended",
        about: "millstream wc beside a busy loop on every core, and the same on one thread",
        run: contended::run,
    },
    Bench {
        name: "log",
        about: "windows over an access log by event time, and the same in a loop and by rayon",
        run: log::run,
    },
    Bench { name: "uppercase", about: "millstream uppercase and tr a-z A-Z", run: uppercase::run },
    Bench { name: "jq", about: "JSON lines through filters, by millstream jq, jaq and jq", run: jq::run },
    Bench {
        name: "csv",
        about: "rows that match and a sum by key, by millstream run, Miller, mawk and DuckDB",
        run: csv::run,
    },
    Bench { name: "pipe", about: "tr a-z A-Z in two processes, by millstream pipe and GNU parallel", run: pipe::run },
    Bench {
        name: "evolve",
        about: "2,000 states on 450 workers that wait, with one master thread, and with a thread for each worker",
        run: evolve::run,
    },
    Bench { name: "evolve-cores", about: "a particle filter on two workers, and on one", run: evolve::cores },
    Bench {
        name: "sensors",
        about: "alarms of 150 sensors from three stations, and the loop by hand over the same stations",
        run: sensors::run,
    },
    Bench { name: "crawler", about: "fifty futures at a time, and `buffered` of the futures crate", run: crawler::run },
    Bench {
        name: "service",
        about: "four clients and an order book that answers them, and one thread behind channels",
        run: service::run,
    },
    Bench {
        name: "latency",
        about: "from due until consumed at a fixed rate: one hop, and five stages, on rings and on channels",
        run: latency::run,
    },
    Bench {
        name: "libraries",
        about: "a hop, a chain and a map in order, in every library that can do them (with --rivals)",
        run: libraries::run,
    },
    Bench {
        name: "growth-items",
        about: "more items through two maps, on one worker and in one loop",
        run: growth::items,
    },
    Bench { name: "growth-stages", about: "more maps, in boxes and in one loop", run: growth::stages },
    Bench { name: "growth-halves", about: "more readers of one ring, and one loop", run: growth::halves },
    Bench { name: "growth-shards", about: "more shards of a map of 1 us on two workers", run: growth::shards },
    Bench { name: "growth-keys", about: "more keys with a sum each, and a map in a loop", run: growth::keys },
    Bench { name: "growth-sizes", about: "larger items, from 8 bytes to 64 KiB", run: growth::sizes },
    Bench { name: "growth-rings", about: "larger rings between a source, two maps and a sink", run: growth::rings },
    Bench { name: "growth-cores", about: "more workers, and how many of them outperform one loop", run: growth::cores },
    Bench {
        name: "snapshot",
        about: "100 MB of keyed state, with a snapshot every second, and without",
        run: snapshot::run,
    },
    Bench {
        name: "journal",
        about: "values in a journal, and in plain writes that are synced as often",
        run: journal::run,
    },
    Bench {
        name: "recorded",
        about: "an effect whose answers are in the record, and the same function without a record",
        run: recorded::run,
    },
    Bench {
        name: "restore",
        about: "the start of a job from 1 GB of keyed state, and a loop that decodes and inserts the same",
        run: restore::run,
    },
    Bench {
        name: "serve",
        about: "millstream serve over loopback, beside plain axum with a mutex; lines, idle connections, overload",
        run: serve::run,
    },
    Bench {
        name: "cluster-hop",
        about: "32 KiB batches from edge to edge of a NATS server, through a replica, and in a bare loop",
        run: cluster::hop,
    },
    Bench {
        name: "cluster-failover",
        about: "the longest silence when the replica that appends stops in the middle of its work",
        run: cluster::failover,
    },
    Bench {
        name: "cluster-words",
        about: "words counted by key by two replicas over a NATS server, and by the same pipeline on one machine",
        run: cluster::words,
    },
    Bench { name: "rss", about: "the peak memory of each program while gigabytes go through it", run: rss::run },
];

/// Runs a case of a bench in this process, which is one of its own.
pub(crate) fn alone(setting: &Setting, case: &str, who: &str, items: u64) -> Result<u64, Failure> {
    let of_a_kernel = instructions::alone(case, who, items);
    of_a_kernel.unwrap_or_else(|| copying_queues::alone(setting, case, who, items))
}

pub(crate) fn find(name: &str) -> Option<&'static Bench> {
    ALL.iter().find(|bench| bench.name == name)
}
