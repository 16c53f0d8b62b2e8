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
