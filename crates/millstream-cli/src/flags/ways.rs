use clap::ValueEnum;

/// The number of ways. Each is a type of its own, so there are only these.
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
