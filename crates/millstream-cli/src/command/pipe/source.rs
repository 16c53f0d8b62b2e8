use super::admission::Admission;
use millstream_io::Block;
use std::sync::Arc;

/// A block, or a line, with its number.
pub(crate) type Numbered = (u64, Block);

/// The blocks of an input with their numbers, until no more are needed.
#[derive(Debug)]
pub(crate) struct Numbers<I> {
    blocks: I,
    next: u64,
    admission: Arc<Admission>,
}

impl<I> Numbers<I> {
    pub(super) fn of(blocks: I, admission: Arc<Admission>) -> Self {
        Numbers { blocks, next: 0, admission }
    }
}

impl<I: Iterator<Item = Block>> Iterator for Numbers<I> {
    type Item = Numbered;

    fn next(&mut self) -> Option<Numbered> {
        if self.admission.is_closed() {
            return None;
        }
        let block = self.blocks.next()?;
        let number = self.next;
        self.next += 1;
        self.admission.has_read(number);
        Some((number, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::pipe::processes::Processes;

    /// The numbers of three lines that were read with one read, if a signal comes after the first one.
    fn numbers_around_a_signal(after_all: bool) -> Vec<u64> {
        let admission = Arc::new(Admission::of(Arc::new(Processes::default())));
        if after_all {
            admission.runs_after_all();
        }
        let lines = ["first\n", "second\n", "third\n"].map(|line| Block::from(line.as_bytes().to_vec()));
        let mut numbers = Numbers::of(lines.into_iter(), admission.clone()).map(|(number, _)| number);
        let first = numbers.next();
        admission.drain();
        first.into_iter().chain(numbers).collect()
    }

    #[test]
    fn lines_that_were_read_are_numbers_after_a_signal_only_if_all_wait_for_the_end() {
        assert_eq!(numbers_around_a_signal(true), [0, 1, 2]);
        assert_eq!(numbers_around_a_signal(false), [0]);
    }
}
