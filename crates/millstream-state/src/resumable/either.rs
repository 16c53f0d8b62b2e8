//! One of two sources, chosen when the program runs.

use super::{Places, Position, Resumable};
use millstream_core::{Either, Item};
use std::io;

/// One of two sources of the same values. A job is then compiled for one kind of source, and may not resume from the
/// snapshot of the other kind: a position is the chosen source's own.
///
/// ```
/// use millstream::core::Either::{Left, Right};
/// use millstream::{io::FileSink, prelude::*, state::{Persistent, StateDir, again}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// # let all = true;
/// let numbers = if all { Left(again(|| 0..3)) } else { Right(again(|| (0..9).rev())) };
/// let lines = pipeline::<u64>().map(|n| format!("{n}\n"));
/// Persistent::new(Rings::new(), StateDir::open("state", "lines")?).run(&lines, numbers, FileSink::append("out"))?;
/// assert_eq!(std::fs::read_to_string("out")?, "0\n1\n2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: Item, A: Resumable<T>, B: Resumable<T>> Resumable<T> for Either<A, B> {
    type Mark = Either<A::Mark, B::Mark>;
    type Values = Either<A::Values, B::Values>;
    const WAITS: bool = A::WAITS || B::WAITS;

    fn waits(&self) -> bool {
        self.as_ref().either(A::waits, B::waits)
    }

    fn repeats(&self) -> bool {
        self.as_ref().either(A::repeats, B::repeats)
    }

    fn recounts(&self) -> bool {
        self.as_ref().either(A::recounts, B::recounts)
    }

    fn is_at(&self, mark: &Self::Mark, position: &Position) -> Option<bool> {
        match (self, mark) {
            (Either::Left(source), Either::Left(mark)) => source.is_at(mark, position),
            (Either::Right(source), Either::Right(mark)) => source.is_at(mark, position),
            _ => Some(false),
        }
    }

    fn between(&self, from: Option<&Position>, to: &Position) -> io::Result<Self::Values> {
        Ok(match self {
            Either::Left(source) => Either::Left(source.between(from, to)?),
            Either::Right(source) => Either::Right(source.between(from, to)?),
        })
    }

    fn expect(&self, values: u64) {
        match self {
            Either::Left(source) => source.expect(values),
            Either::Right(source) => source.expect(values),
        }
    }

    fn can_begin(&self, position: &Position) -> io::Result<()> {
        self.as_ref().either(|source| source.can_begin(position), |source| source.can_begin(position))
    }

    fn begin(&self, position: Option<&Position>) -> io::Result<Self::Values> {
        Ok(match self {
            Either::Left(source) => Either::Left(source.begin(position)?),
            Either::Right(source) => Either::Right(source.begin(position)?),
        })
    }

    fn position(&self, mark: &Self::Mark) -> io::Result<Position> {
        match (self, mark) {
            (Either::Left(source), Either::Left(mark)) => source.position(mark),
            (Either::Right(source), Either::Right(mark)) => source.position(mark),
            _ => Err(io::Error::other("the mark belongs to the other source")),
        }
    }

    fn has_passed(&self, mark: &Self::Mark, further: u64) -> bool {
        match (self, mark) {
            (Either::Left(source), Either::Left(mark)) => source.has_passed(mark, further),
            (Either::Right(source), Either::Right(mark)) => source.has_passed(mark, further),
            _ => false,
        }
    }

    fn forget(&self, oldest: &Position) {
        match self {
            Either::Left(source) => source.forget(oldest),
            Either::Right(source) => source.forget(oldest),
        }
    }

    fn let_go(&self) {
        match self {
            Either::Left(source) => source.let_go(),
            Either::Right(source) => source.let_go(),
        }
    }

    fn failure(&self) -> Option<io::Error> {
        self.as_ref().either(A::failure, B::failure)
    }
}

impl<A: Places, B: Places<Item = A::Item>> Places for Either<A, B> {
    type Mark = Either<A::Mark, B::Mark>;

    fn place(&self) -> Self::Mark {
        self.as_ref().map_either(A::place, B::place)
    }

    fn is_whole(&self) -> bool {
        self.as_ref().either(A::is_whole, B::is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::JournalOptions;
    use crate::{StateDir, again, journaled};
    use std::iter::empty;

    #[test]
    fn the_chosen_source_says_whether_all_that_it_has_recorded_has_passed() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDir::open(home.path().join("state"), "values").unwrap();
        let source = match state.is_read_only() {
            true => Either::Left(again(empty::<String>)),
            false => Either::Right(journaled(&state, JournalOptions::default(), || ["a".to_owned()])),
        };
        let mut values = Resumable::<String>::begin(&source, None).unwrap();
        let before = values.place();
        assert_eq!(values.next().as_deref(), Some("a"));
        let has_passed = |mark| Resumable::<String>::has_passed(&source, &mark, 0);
        assert!(!has_passed(before) && has_passed(values.place()));
    }
}
