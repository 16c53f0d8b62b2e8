use super::Outcome;
use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::message::{Complaints, cause};
use crate::output::Output;
use clap::ValueEnum;
use millstream_core::{Arrow, Holed, Val, pipeline};
use millstream_exec::Everywhere;
use millstream_exec::source::ready;

/// `copying`: numbers that fan out, a map that reads all halves, and a sum.
#[derive(Debug)]
pub(crate) struct Copying {
    pub(crate) fanout: Fanout,
    pub(crate) items: u64,
    pub(crate) run: RunConfig,
}

/// How many ways. Each is a type of its own, so these are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fanout {
    #[value(name = "2")]
    Two,
    #[value(name = "5")]
    Five,
    #[value(name = "10")]
    Ten,
    #[value(name = "20")]
    Twenty,
}

/// What is read of a nest of halves.
trait Halves {
    fn total(self) -> u64;
}

impl Halves for &u64 {
    fn total(self) -> u64 {
        *self
    }
}

impl<A: Halves, B: Halves> Halves for (A, B) {
    fn total(self) -> u64 {
        self.0.total().wrapping_add(self.1.total())
    }
}

/// A fan-out into so many halves, by halves.
macro_rules! fan_out {
    (1, $p:expr) => {
        $p
    };
    (2, $p:expr) => {
        fan_out!(1, 1, $p)
    };
    (3, $p:expr) => {
        fan_out!(1, 2, $p)
    };
    (5, $p:expr) => {
        fan_out!(2, 3, $p)
    };
    (10, $p:expr) => {
        fan_out!(5, 5, $p)
    };
    (20, $p:expr) => {
        fan_out!(10, 10, $p)
    };
    ($first:tt, $second:tt, $p:expr) => {
        $p.fanout(|p| fan_out!($first, p), |p| fan_out!($second, p))
    };
}

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

pub(crate) fn summed<P>(mixed: P) -> impl Everywhere<In = Val<u64>, Out = Val<u64, Holed>>
where
    P: Everywhere<In = Val<u64>, Out = Val<u64>>,
{
    mixed.fold(0_u64, |sum, x| *sum = sum.wrapping_add(*x), |sum| sum).named("sum")
}

impl Copying {
    pub(crate) fn run(self) -> Outcome {
        match self.fanout {
            Fanout::Two => self.run_through(two()),
            Fanout::Five => self.run_through(five()),
            Fanout::Ten => self.run_through(ten()),
            Fanout::Twenty => self.run_through(twenty()),
        }
    }

    fn run_through(self, mixed: impl Everywhere<In = Val<u64>, Out = Val<u64>>) -> Outcome {
        let complaints = Complaints::of("copying");
        let output = match Output::open(&complaints) {
            Ok(output) => output,
            Err(error) => {
                complaints.complain(&cause(&error));
                return Outcome::InputOrOutputFailed;
            }
        };
        let mut runs = Runs::new(self.run, complaints);
        let print = |output: &mut Output, sum: &u64| output.write(format!("{sum}\n").as_bytes());
        match runs.run(&summed(mixed), ready(0..self.items), output, print) {
            Ok(_) => runs.finish(),
            Err(error) => runs.fail(&error),
        }
    }
}
