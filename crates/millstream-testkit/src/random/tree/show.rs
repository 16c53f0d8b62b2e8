//! Trees as text.

use super::Pipe;
use std::fmt;

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pipe::Id => write!(f, "id"),
            Pipe::Map { plus } => write!(f, "map({plus})"),
            Pipe::DeadLetter { modulus, plus } => write!(f, "dead_letter({modulus}, {plus})"),
            Pipe::DeadLetterAsync(limit, modulus, plus) => write!(f, "dead_letter_async({limit}, {modulus}, {plus})"),
            Pipe::MapAsync { limit, plus } => write!(f, "map_async({limit}, {plus})"),
            Pipe::MapOwned { plus } => write!(f, "map_owned({plus})"),
            Pipe::Cloned => write!(f, "cloned"),
            Pipe::Partition { modulus } => write!(f, "partition({modulus})"),
            Pipe::Tuple => write!(f, "tuple"),
            Pipe::Firsts => write!(f, "firsts"),
            Pipe::Seconds => write!(f, "seconds"),
            Pipe::Swap => write!(f, "swap"),
            Pipe::Fork => write!(f, "fork"),
            Pipe::Distribute => write!(f, "distribute"),
            Pipe::DeadEnd => write!(f, "dead_end"),
            Pipe::Part => write!(f, "part"),
            Pipe::Maybe => write!(f, "maybe"),
            Pipe::Block(block) => write!(f, "{block}"),
            Pipe::Filter { modulus } => write!(f, "filter({modulus})"),
            Pipe::FilterMap { modulus, plus } => write!(f, "filter_map({modulus}, {plus})"),
            Pipe::MapBlocking { plus } => write!(f, "map_blocking({plus})"),
            Pipe::TryMapOrError(modulus, plus) => write!(f, "try_map_or_error({modulus}, {plus})"),
            Pipe::TryMap { modulus, plus } => write!(f, "try_map({modulus}, {plus})"),
            Pipe::Scan { start } => write!(f, "scan({start})"),
            Pipe::ScanFinish { start } => write!(f, "scan_finish({start})"),
            Pipe::FoldWindows(windows) => write!(f, "{windows}"),
            Pipe::TryScan { start, modulus, by } => write!(f, "{by}({start}, {modulus})"),
            Pipe::Row(row) => write!(f, "{row}"),
            Pipe::Answer(answer) => write!(f, "{answer}"),
            Pipe::Fold { start } => write!(f, "fold({start})"),
            Pipe::FoldBy { keys, start } => write!(f, "fold_by({keys}, {start})"),
            Pipe::Park { keys, modulus, plus } => write!(f, "park({keys}, {modulus}, {plus})"),
            Pipe::Delay { first } => write!(f, "delay({first})"),
            Pipe::Stream(stage) => write!(f, "{stage}"),
            Pipe::FlatMap { modulus } => write!(f, "flat_map({modulus})"),
            Pipe::FlatScan { modulus, finish } => write!(f, "flat_scan({modulus}, {finish})"),
            Pipe::Text { modulus, plus } => write!(f, "text({modulus}, {plus})"),
            Pipe::Words { modulus } => write!(f, "words({modulus})"),
            Pipe::Flatten => write!(f, "flatten"),
            Pipe::Compact => write!(f, "compact"),
            Pipe::Unordered { limit, plus } => write!(f, "unordered({limit}, {plus})"),
            Pipe::WindowsBy(windows) => write!(f, "{windows}"),
            Pipe::Fail { modulus } => write!(f, "fail({modulus})"),
            Pipe::Then(p, q) => write!(f, "{p}.{q}"),
            Pipe::Fanout(p, q) => write!(f, "fanout({p}, {q})"),
            Pipe::FanoutAll(bodies) => {
                let bodies: Vec<_> = bodies.iter().map(Pipe::to_string).collect();
                write!(f, "fanout{}({})", bodies.len(), bodies.join(", "))
            }
            Pipe::Both(p, q) => write!(f, "both({p}, {q})"),
            Pipe::Choose(p, q) => write!(f, "choose({p}, {q})"),
            Pipe::Merge(p, q) => write!(f, "merge({p}, {q})"),
            Pipe::Feedback(start, p) => write!(f, "feedback({start}, {p})"),
            Pipe::TeeTo => write!(f, "tee_to"),
            Pipe::Tee(p) => write!(f, "tee({p})"),
            Pipe::Shard(k, p) => write!(f, "shard({k}, {p})"),
            Pipe::ShardBy { keys, most, k, body } => write!(f, "shard_by({keys}, {most}, {k}, {body})"),
            Pipe::Named(p) => write!(f, "named({p})"),
            Pipe::Called(name, p) => write!(f, "s{name}={p}"),
            Pipe::Boxed(p) => write!(f, "boxed({p})"),
        }
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
