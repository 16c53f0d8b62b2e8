//! The command's own programs on a cluster.

use super::apply::{Numbers, apply};
use super::segment::{Reads, TextSegment};
use super::worker::{Knows, Works};
use crate::command::uppercase::uppercase;
use crate::command::wc::{Columns, pipelines};
use crate::flags::ClusterProgram;
use crate::message::Complaints;
use crate::outcome::Outcome;
use clap::ValueEnum;
use millstream_cluster::{OnRings, Text};
use millstream_core::text::Block;
use millstream_core::{Arrow, BorrowedKeysExt, ClockExt, Item, Plan, ToOwnedItem, Val, pipeline};
use millstream_exec::{Durable, Lasting, RunsOn};

/// How many keys' lanes count words.
const LANES: usize = 2;

/// A piece of text is a block.
fn block((_, text): (u64, &Text), blocks: &mut Vec<Block>, _: &Complaints) {
    if !text.0.is_empty() {
        blocks.push(Block::from(text.0.to_vec()));
    }
}

/// Each word with its count so far, by key.
fn words() -> impl Lasting<In = Val<Block>, Out = Val<Counted>> {
    pipeline::<Block>()
        .flat_map(|block: &Block| {
            let words = block.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
        })
        .named("words")
        .shard_by_ref(
            |word: &String| word.as_str(),
            LANES,
            |p| {
                p.scan(0_u64, |count, word: &String| {
                    *count += 1;
                    (word.clone(), *count)
                })
                .named("count")
            },
        )
        .named("by-word")
}

type Counted = (String, u64);

fn name(program: ClusterProgram) -> String {
    program.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn plan(program: ClusterProgram) -> Plan {
    match program {
        ClusterProgram::Wc => pipelines::whole().plan(),
        ClusterProgram::Uppercase => uppercase(1).plan(),
        ClusterProgram::Words => words().plan(),
    }
}

/// Makes an application of one of the programs.
pub(crate) fn apply_program(numbers: &Numbers, program: ClusterProgram) -> Outcome {
    apply(numbers, &name(program), &plan(program), true)
}

/// Works for the program that the application names.
pub(crate) fn work_for_program(works: Works) -> Outcome {
    let knows = match works.asks() {
        Ok(knows) => knows,
        Err(outcome) => return outcome,
    };
    match ClusterProgram::from_str(&knows.app.program, false) {
        Ok(program @ ClusterProgram::Wc) => {
            run(knows, program, pipelines::whole(), |counts| Columns::NARROW.line(*counts, None))
        }
        Ok(program @ ClusterProgram::Uppercase) => run(knows, program, uppercase(1), |text| text.to_vec()),
        Ok(program @ ClusterProgram::Words) => {
            run(knows, program, words(), |(word, count): &Counted| format!("{word} {count}\n").into_bytes())
        }
        Err(_) => {
            let program = &knows.app.program;
            let why = format!("the application runs the program {program:?}: start that program as the worker");
            knows.works().complaints.complain(&why);
            Outcome::WrongUse
        }
    }
}

fn run<P, B>(knows: Knows, program: ClusterProgram, pipeline: P, print: fn(&B) -> Vec<u8>) -> Outcome
where
    P: RunsOn<Durable, Item = Block> + Arrow<In = Val<Block>, Out: ToOwnedItem<Owned = B>>,
    B: Item,
{
    knows.works().says_no_shards(&plan(program));
    let (rings, complaints) = (knows.works().rings.clone(), knows.works().complaints.clone());
    let reads = Reads { read: block, print };
    let segment = TextSegment { on: OnRings::new(pipeline, rings), reads, complaints };
    knows.run(&name(program), &plan(program), true, &segment)
}
