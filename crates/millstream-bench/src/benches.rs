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
mod iterator;
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
mod word_count;
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
}

/// The names and descriptions of the benches are apart from their code: a test that only names them does not contain
/// the code, and builds in half of the time.
macro_rules! benches {
    ($($name:literal: $about:literal, $run:path;)*) => {
        pub(crate) const ALL: &[Bench] = &[$(Bench { name: $name, about: $about }),*];

        impl Bench {
            pub(crate) fn run(&self, setting: &Setting) -> Result<Results, Failure> {
                match self.name {
                    $($name => $run(setting),)*
                    other => unreachable!("{other} is in the list"),
                }
            }
        }
    };
}

benches! {
    "chain2": "two maps of u64 on one worker, and the same work in one loop", chain2::run;
    "filter-map": "filter_map, then map, on one worker, and the same work in one loop", filter_map::run;
    "boxes": "boxes whose types name the items, and the same pipelines with complete types, on one worker", boxes::run;
    "wires": "graphs as blocks of named wires, and the same graphs by hand, on one worker", wires::run;
    "copying5": "a map of all halves of a five-way fan-out, on one worker", copying::five;
    "copying10": "a map of all halves of a ten-way fan-out, on one worker", copying::ten;
    "copying": "one stream that fans out two to twenty ways, on rings and on our own queues", copying_queues::run;
    "compile": "the time and memory to compile a pipeline of thirty stages", compile::run;
    "merge": "a choice of two lanes with a map each, and the same work in one loop and on queues", merge::run;
    "instructions":
        "instructions of an item in a dozen kernels, and those that are kept in the repository", instructions::run;
    "layouts": "records of four numbers, as one ring of records, and as four rings of numbers", layouts::run;
    "shard-by": "running sums of 1,000 keys, also in one loop and on queues; and two shards", shard_by::run;
    "shard2": "two shards of a 1 us map on two workers, and one on one", shard2::run;
    "wc": "millstream wc on 1 GB of text, and GNU wc (with --rivals)", wc::run;
    "word-count":
        "how often each word of a text occurs, with keys that are borrowed and made, and in one loop", word_count::run;
    "word-split": "a text in pieces, split by four tasklets and joined, and the same work in one loop", word_split::run;
    "hop": "numbers from a source on one worker to a sink on another", hop::run;
    "chain3": "a source, two maps and a sink, on as many workers as improve throughput", chain3::run;
    "zip2": "numbers beside their parities, from one ring", zip2::run;
    "zip10": "a ten-way fan-out whose sink reads all ten halves", zip10::read;
    "zip10-write": "ten maps of one ring, and a sink that reads them all", zip10::write;
    "shard2-ordered": "two shards of a 1.2 us map, in order", shard2_ordered::run;
    "chain7": "seven cheap stages between a source and a sink", chain7::run;
    "oversubscribed": "sixteen stages on sixteen workers, and on two", oversubscribed::run;
    "upgrade": "a pipeline with 100 MB of keyed state is replaced: pauses, p99, and the first output", upgrade::run;
    "rescale": "a keyed stage under load gets four shards instead of one, and then two: the longest gap", rescale::run;
    "elastic": "a square wave of load, with fixed numbers of shards and one that follows the load", elastic::run;
    "observe": "two maps on one worker, observed and not", observe::run;
    "wake": "the wake-up time of a parked reader, and a round trip; the cost of each wait strategy", wake::run;
    "sleep": "four sleeps for each item, each sleep in its own stage", sleep::run;
    "three-to-one":
        "entries of three longs from many producers to one consumer, with a ring for each producer", three_to_one::run;
    "transport": "random longs to 1, 3 and 5 consumers, through rings and through a queue", transport::run;
    "fair": "the share of the slowest of three producers that always have more to send", fair::run;
    "spaces-long": "headers before long lines, from a file to nowhere", spaces::long;
    "spaces-short": "headers before short lines, from a file to nowhere", spaces::short;
    "spaces-pipe": "headers before long lines, between two pipes", spaces::pipe;
    "text-batch": "lines through a map, for sizes of blocks and batches: bytes a second, and p99", text_batch::run;
    "wc-fast": "millstream wc, GNU wc, and one pass by hand", wc_fast::run;
    "contended": "millstream wc beside a busy loop on every core, and the same on one thread", contended::run;
    "log": "windows over an access log by event time, and the same in a loop and by rayon", log::run;
    "uppercase": "millstream uppercase and tr a-z A-Z", uppercase::run;
    "jq": "JSON lines through filters, by millstream jq, jaq and jq", jq::run;
    "csv": "rows that match and a sum by key, by millstream run, Miller, mawk and DuckDB", csv::run;
    "pipe": "tr a-z A-Z in two processes, by millstream pipe and GNU parallel", pipe::run;
    "evolve":
        "2,000 states on 450 workers that wait, with one master thread, and with a thread for each worker", evolve::run;
    "evolve-cores": "a particle filter on two workers, and on one", evolve::cores;
    "iterator": "the lines of an iterator of the standard library, and the loop by hand over the same", iterator::run;
    "sensors": "alarms of 150 sensors from three stations, and the loop by hand over the same stations", sensors::run;
    "crawler": "fifty futures at a time, and `buffered` of the futures crate", crawler::run;
    "service": "four clients and an order book that answers them, and one thread behind channels", service::run;
    "latency":
        "from due until consumed at a fixed rate: one hop, and five stages, on rings and on channels", latency::run;
    "libraries": "a hop, a chain and a map in order, in every library that can do them (with --rivals)", libraries::run;
    "growth-items": "more items through two maps, on one worker and in one loop", growth::items;
    "growth-stages": "more maps, in boxes and in one loop", growth::stages;
    "growth-halves": "more readers of one ring, and one loop", growth::halves;
    "growth-shards": "more shards of a map of 1 us on two workers", growth::shards;
    "growth-keys": "more keys with a sum each, and a map in a loop", growth::keys;
    "growth-sizes": "larger items, from 8 bytes to 64 KiB", growth::sizes;
    "growth-rings": "larger rings between a source, two maps and a sink", growth::rings;
    "growth-cores": "more workers, and how many of them outperform one loop", growth::cores;
    "snapshot": "100 MB of keyed state, with a snapshot every second, and without", snapshot::run;
    "journal": "values in a journal, and in plain writes that are synced as often", journal::run;
    "recorded": "an effect whose answers are in the record, and the same function without a record", recorded::run;
    "restore":
        "the start of a job from 1 GB of keyed state, and a loop that decodes and inserts the same", restore::run;
    "serve":
        "millstream serve over loopback, beside plain axum with a mutex; lines, idle connections, overload", serve::run;
    "cluster-hop":
        "32 KiB batches from edge to edge of a NATS server, through a replica, and in a bare loop", cluster::hop;
    "cluster-failover":
        "the longest silence when the replica that appends stops in the middle of its work", cluster::failover;
    "cluster-words":
        "words counted by key by two replicas over a NATS server, and by the same pipeline on one machine",
        cluster::words;
    "rss": "the peak memory of each program while gigabytes go through it", rss::run;
}

/// Runs a case of a bench in this process, which is one of its own.
pub(crate) fn alone(setting: &Setting, case: &str, who: &str, items: u64) -> Result<u64, Failure> {
    let of_a_kernel = instructions::alone(case, who, items);
    of_a_kernel.unwrap_or_else(|| copying_queues::alone(setting, case, who, items))
}

pub(crate) fn find(name: &str) -> Option<&'static Bench> {
    ALL.iter().find(|bench| bench.name == name)
}
