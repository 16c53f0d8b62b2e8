use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::input::{Joined, Names};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
use millstream_core::text::Block;
use millstream_core::{Arrow, Text, TextExt, Val, pipeline};
use millstream_exec::{Everywhere, Lasting};

/// `uppercase`: all files as one stream.
#[derive(Debug)]
pub(crate) struct Uppercase {
    pub(crate) files: Names,
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

/// Each block with a to z as A to Z. No other byte changes, in any encoding.
pub(crate) fn uppercase(shards: usize) -> impl Everywhere<In = Val<Block>, Out = Text> + Lasting {
    pipeline::<Block>().shard(shards, |p| {
        p.map_bytes(|block, out| out.extend_with(block.iter().map(u8::to_ascii_uppercase))).named("uppercase")
    })
}

impl Uppercase {
    pub(crate) fn run(self) -> Outcome {
        let complaints = self.run.complaints("uppercase");
        if let Some(keep) = self.run.keep.clone() {
            progress::begin_without_length("uppercase", &self.files.files, self.run.quiet, Writes::AllTheTime);
            return Runs::kept_text(self.run, &keep, self.files, None, &complaints, &uppercase(self.shards));
        }
        progress::begin("uppercase", &self.files.files, self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| {
            let mut runs = Runs::new(self.run, complaints.clone());
            let opening = runs.opening(self.files.decompress);
            let input = Joined::new(self.files.files, opening, complaints.clone());
            match runs.write(&uppercase(self.shards), input, output) {
                Ok(_) => runs.finish(),
                Err(error) => runs.fail(&error),
            }
        })
    }
}
