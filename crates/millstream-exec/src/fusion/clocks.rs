//! The clocks of the stages that a loop goes past.

/// The clocks of the stages. That of the source is clock 0.
#[derive(Default)]
pub(super) struct Clocks {
    /// The first end of each later clock, among the ends after the first stage's reader.
    pub(super) ends: Vec<usize>,
    /// How many numbers have passed on each in a step.
    pub(super) moved: Vec<usize>,
}

impl Clocks {
    /// The clocks of stages, of which those with `true` renumber.
    pub(super) fn of(renumbers: impl Iterator<Item = bool>) -> Self {
        let mut clocks = Clocks { moved: vec![0], ..Clocks::default() };
        for (stage, renumbers) in renumbers.enumerate() {
            if renumbers {
                // The producer of its output.
                clocks.ends.push(2 * stage);
                clocks.moved.push(0);
            }
        }
        clocks
    }
}

/// The clock of a stage's input.
pub(super) fn clock_before(ends: &[usize], stage: usize) -> usize {
    ends.iter().filter(|end| **end < 2 * stage).count()
}
