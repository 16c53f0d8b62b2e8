use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::fan_out;
use crate::flags::Fanout;
use crate::halves::Halves;
use crate::message::{Complaints, say, say_no_shards};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::{Arrow, AtEnd, Val, pipeline};
use millstream_exec::source::ready;
use millstream_exec::{BoxExact, BoxExt, Everywhere, FreePipe, OnQueues};

/// `copying`: numbers that fan out, a map that reads all halves, and a sum.
#[derive(Debug)]
pub(crate) struct Copying {
    pub(crate) fanout: Fanout,
    pub(crate) items: u64,
    /// The value of `--shards`, which has no effect.
    pub(crate) shards: usize,
    pub(crate) quiet: bool,
    pub(crate) run: RunConfig,
}

/// A boxed fan-out, so that the code that runs one is compiled once. A box costs nothing per item.
type Mixed = BoxExact<Val<u64>, Val<u64>, OnQueues<FreePipe>>;

macro_rules! mixed {
    ($($name:ident: $ways:tt),*) => {$(
        pub(crate) fn $name() -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
            fan_out!($ways, pipeline::<u64>()).map(|halves| mix(halves.total())).named("mix")
        }
    )*};
}
mixed!(two: 2, five: 5, ten: 10, twenty: 20);

fn mix(total: u64) -> u64 {
    total ^ (total >> 7)
}

pub(crate) fn summed<P>(mixed: P) -> impl Everywhere<In = Val<u64>, Out = Val<u64, AtEnd>>
where
    P: Everywhere<In = Val<u64>, Out = Val<u64>>,
{
    mixed.fold(0_u64, |sum, x| *sum = sum.wrapping_add(*x), |sum| sum).named("sum")
}

impl Copying {
    pub(crate) fn run(self) -> Outcome {
        match self.fanout {
            Fanout::Two => self.run_through(two().boxed_exact()),
            Fanout::Five => self.run_through(five().boxed_exact()),
            Fanout::Ten => self.run_through(ten().boxed_exact()),
            Fanout::Twenty => self.run_through(twenty().boxed_exact()),
        }
    }

    fn run_through(self, mixed: Mixed) -> Outcome {
        let (complaints, pipeline) = (Complaints::of("copying"), summed(mixed));
        if self.shards > 1 && !self.quiet {
            say_no_shards("copying", &pipeline.plan());
        }
        Output::opened(&complaints, |output| {
            let mut runs = Runs::new(self.run, complaints.clone());
            let print = |output: &mut Output, sum: &u64| output.write(format!("{sum}\n").as_bytes());
            match runs.run(&pipeline, ready(0..self.items), output, print) {
                Ok(_) => {
                    if runs.interrupted() {
                        say("millstream copying: interrupted: the sum is that of the numbers that were sent");
                    }
                    runs.finish()
                }
                Err(error) => runs.fail(&error),
            }
        })
    }
}
