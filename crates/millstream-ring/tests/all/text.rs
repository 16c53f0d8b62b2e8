//! Rings of text: the written and split pieces are read, once each and in order, whatever the schedule; and blocks are
//! kept as long as some reader needs them, and no longer.

use millstream_core::pipe::SliceKernel;
use millstream_core::text::{Block, Cut, Lines, Piece, Words, Writer};
use millstream_core::{Dense, Density, OfPieces, SequenceNumber, Shape, Sparse, Text, Val};
use millstream_ring::{Pen, Producer, Reader, RunWriter, Span, ring, text_ring, text_run_writers};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Texts in one ring, and the texts written from them in another.
struct Written<D: Density> {
    texts: Producer<Vec<u8>>,
    input: Reader<Val<Vec<u8>>>,
    pen: Pen,
    output: Producer<D::Slot<Span<[u8]>>>,
}

impl<D: Density> Written<D> {
    fn new(slots: usize) -> (Self, Reader<Text<[u8], D>>) {
        let (texts, input) = ring::<Vec<u8>, Dense>(slots).unwrap();
        let (output, reader) = text_ring::<[u8], D>(SequenceNumber(0), slots).unwrap();
        (Written { texts, input, pen: Pen::new(), output }, reader)
    }

    fn feed(&mut self, text: &[u8]) -> bool {
        let Ok(Some(mut claim)) = self.texts.try_claim(1) else { return false };
        claim.write(text.to_vec());
        claim.publish();
        true
    }

    /// Writes with `f`, from at most `n` texts. Returns from how many.
    fn step(&mut self, n: usize, mut f: impl FnMut(&[u8], &mut Writer<'_, [u8]>) -> bool) -> usize {
        let Some(mut batch) = self.input.batch(n) else { return 0 };
        let Ok(Some(mut claim)) = self.output.try_claim(batch.len()) else {
            batch.truncate(0);
            return 0;
        };
        let written = claim.write_text::<_, [u8], D>(&batch, &mut self.pen, |text, out| f(text.unwrap(), out));
        claim.publish();
        batch.truncate(written);
        written
    }
}

/// Texts that begin with a letter after m stay empty.
fn copy_some(text: &[u8], out: &mut Writer<'_, [u8]>) -> bool {
    out.extend(text);
    text.first().is_none_or(|first| *first <= b'm')
}

fn copy(text: &[u8], out: &mut Writer<'_, [u8]>) -> bool {
    out.extend(text);
    true
}

fn read<D: Density>(reader: &mut Reader<Text<[u8], D>>, n: usize) -> Vec<Option<Vec<u8>>> {
    let Some(batch) = reader.batch(n) else { return Vec::new() };
    batch.iter().map(|piece| piece.map(|piece| piece.to_vec())).collect()
}

/// The words of a ring's lines, in another ring.
struct WordsOf {
    input: Reader<Text>,
    from: usize,
    pen: Pen,
    output: Producer<Span<[u8]>>,
}

impl WordsOf {
    fn step(&mut self, n: usize) -> usize {
        let Some(mut batch) = self.input.batch(n) else { return 0 };
        let Ok(Some(mut claim)) = self.output.try_claim(n) else {
            batch.truncate(0);
            return 0;
        };
        let (mut taken, from) = (0, &mut self.from);
        let written = claim.pass_on::<[u8], Dense>(&mut self.pen, |slots| {
            for line in batch.iter().flatten() {
                if slots.is_full() || !slots.cut(line, &mut Words.pieces(line.text(), *from), from) {
                    break;
                }
                *from = 0;
                taken += 1;
            }
        });
        claim.publish();
        batch.truncate(taken);
        taken.max(written)
    }
}

const CASES: u32 = if cfg!(miri) { 1 } else { 256 };
/// The greatest number of texts, and how many steps are taken in turn after the random ones, so that all texts pass.
const TEXTS: usize = if cfg!(miri) { 6 } else { 50 };
const TURNS: u16 = if cfg!(miri) { 250 } else { 1200 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_pieces_are_read(
        log in 0_u32..5, texts in vec("[a-z]{0,4}", 0..TEXTS), ops in vec(any::<[u8; 2]>(), 0..6 * TEXTS),
    ) {
        let (mut stage, mut reader) = Written::<Sparse>::new(1 << log);
        let mut other = reader.fork();
        let (mut fed, mut seen, mut seen_by_other) = (texts.iter(), Vec::new(), Vec::new());
        let mut next = fed.next();
        for [op, n] in ops.iter().copied().chain((0..TURNS).map(|op| [op as u8, 255])) {
            let n = usize::from(n) % 9 + 1;
            match op % 4 {
                0 => if next.is_some_and(|text| stage.feed(text.as_bytes())) { next = fed.next() },
                1 => { stage.step(n, copy_some); }
                2 => seen.extend(read(&mut reader, n)),
                _ => seen_by_other.extend(read(&mut other, n)),
            }
        }
        let some = |text: &String| {
            copy_some(text.as_bytes(), &mut Writer::new(&mut Vec::new())).then(|| text.clone().into_bytes())
        };
        let expected: Vec<_> = texts.iter().map(some).collect();
        assert_eq!((seen, seen_by_other), (expected.clone(), expected));
    }

    #[test]
    fn pieces_outlive_the_ring_that_they_were_split_from(
        logs in [0_u32..5, 0..5], texts in vec("[a-c ]{0,9}", 0..TEXTS), ops in vec(any::<[u8; 2]>(), 0..6 * TEXTS),
    ) {
        let (mut stage, lines) = Written::<Dense>::new(1 << logs[0]);
        let (output, mut reader) = text_ring::<[u8], Dense>(SequenceNumber(0), 1 << logs[1]).unwrap();
        let mut words = WordsOf { input: lines, from: 0, pen: Pen::new(), output };
        let (mut fed, mut seen) = (texts.iter(), Vec::new());
        let mut next = fed.next();
        for [op, n] in ops.iter().copied().chain((0..TURNS).map(|op| [op as u8, 255])) {
            let n = usize::from(n) % 9 + 1;
            match op % 4 {
                0 => if next.is_some_and(|text| stage.feed(text.as_bytes())) { next = fed.next() },
                1 => { stage.step(n, copy); }
                2 => { words.step(n); }
                _ => seen.extend(read(&mut reader, n).into_iter().flatten()),
            }
        }
        let words = texts.iter().flat_map(|text| text.split_ascii_whitespace());
        let expected: Vec<_> = words.map(|word| word.as_bytes().to_vec()).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn run_writers_fill_their_runs(
        k in 1_usize..4, logs in [0_u32..5, 0..5], texts in vec("[a-z]{0,9}", 0..TEXTS),
        ops in vec(any::<[u8; 2]>(), 0..6 * TEXTS),
    ) {
        let (mut texts_in, input) = ring::<Vec<u8>, Dense>(1 << logs[0]).unwrap();
        let (mut writers, mut reader) = text_run_writers::<_, [u8], Sparse>(input, k, 1 << logs[1]).unwrap();
        let mut pens: Vec<Pen> = (0..k).map(|_| Pen::new()).collect();
        let (mut fed, mut seen) = (texts.iter(), Vec::new());
        let mut next = fed.next();
        for [op, n] in ops.iter().copied().chain((0..TURNS).map(|op| [op as u8, op as u8])) {
            let (n, writer) = (usize::from(n) % 9 + 1, usize::from(n) % k);
            match (op % 3, next) {
                (0, Some(text)) => if let Some(mut claim) = texts_in.try_claim(1).unwrap() {
                    claim.write(text.clone().into_bytes());
                    claim.publish();
                    next = fed.next();
                },
                (0, None) => {}
                (1, _) => { fill(&mut writers[writer], &mut pens[writer], n); }
                _ => seen.extend(read(&mut reader, n)),
            }
        }
        let some = |text: &String| {
            copy_some(text.as_bytes(), &mut Writer::new(&mut Vec::new())).then(|| text.clone().into_bytes())
        };
        assert_eq!(seen, texts.iter().map(some).collect::<Vec<_>>());
    }
}

fn fill(writer: &mut RunWriter<Val<Vec<u8>>, Option<Span<[u8]>>>, pen: &mut Pen, n: usize) -> usize {
    writer.write_text::<[u8], Sparse>(n, pen, || (), |text, out| copy_some(text.unwrap(), out))
}

#[test]
fn a_panic_publishes_nothing_of_its_run() {
    let (mut stage, mut reader) = Written::<Dense>::new(16);
    // A pen that knows the size of a value writes more than one at a time.
    (0..3).for_each(|_| assert!(stage.feed(b"ok") && stage.step(9, copy) == 1));
    assert_eq!(read(&mut reader, 9).len(), 3);
    [&b"a"[..], b"b", b"bad", b"c"].iter().for_each(|text| assert!(stage.feed(text)));
    let failing = catch_unwind(AssertUnwindSafe(|| {
        stage.step(9, |text, out| {
            assert_ne!(text, b"bad");
            copy(text, out)
        })
    }));
    assert!(failing.is_err());
    assert!(reader.batch(9).is_none());
    assert_eq!(stage.output.abandoned_at().unwrap().0, 5);
}

#[test]
fn a_panic_of_a_run_writer_publishes_nothing_of_its_run() {
    let (mut texts, input) = ring::<Vec<u8>, Dense>(8).unwrap();
    let (mut writers, mut reader) = text_run_writers::<_, [u8], Sparse>(input, 2, 8).unwrap();
    let mut claim = texts.try_claim(6).unwrap().unwrap();
    (0..6).for_each(|n| claim.write(vec![n]));
    claim.publish();
    let mut pen = Pen::new();
    assert_eq!(fill(&mut writers[0], &mut pen, 9), 1);
    let failing = catch_unwind(AssertUnwindSafe(|| {
        writers[0].write_text::<[u8], Sparse>(
            9,
            &mut pen,
            || (),
            |text, out| {
                assert_ne!(text.unwrap(), &[2]);
                copy(text.unwrap(), out)
            },
        )
    }));
    assert!(failing.is_err());
    assert_eq!(writers[0].abandoned_at().unwrap().0, 2);
    assert_eq!(fill(&mut writers[0], &mut pen, 9), 0, "it is broken");
    fill(&mut writers[1], &mut Pen::new(), 9);
    assert_eq!(read(&mut reader, 9), [Some(vec![0])]);
    // Values that the other writer wrote after the gap are dropped with the ring.
}

/// However many slots there are, the unread bytes have a limit; and one value always passes.
#[test]
fn long_values_wait_for_readers() {
    let long = vec![b'x'; Pen::<[u8]>::LIMIT / 4];
    let (mut stage, mut reader) = Written::<Dense>::new(64);
    for round in 1..=3 {
        let mut written = 0;
        while stage.feed(&long) && stage.step(64, copy) == 1 {
            written += 1;
        }
        assert!((3..=4).contains(&written), "round {round}: {written}");
        assert_eq!(stage.step(64, copy), 0);
        let lent: usize = read(&mut reader, 64).iter().flatten().map(Vec::len).sum();
        assert_eq!(lent, written * long.len());
        assert_eq!(stage.step(64, copy), 1, "there is room again");
        assert_eq!(read(&mut reader, 64).len(), 1);
    }
    let giant = vec![b'y'; 2 * Pen::<[u8]>::LIMIT];
    assert!(stage.feed(&giant));
    assert_eq!(stage.step(64, copy), 1);
}

/// A slice of a piece, of the same block.
struct Trimmed;

impl SliceKernel for Trimmed {
    type In = Text;
    type Kind = [u8];
    type Density = Dense;
    const NAME: &'static str = "trimmed";

    fn part<'a>(&self, value: <Text as Shape>::Ref<'a>) -> Option<Piece<'a>> {
        Some(value.narrow(value.text().trim_ascii()))
    }
}

#[test]
fn nothing_is_copied_from_the_first_ring_to_the_last() {
    let block = Block::from(b" to be \nor not\n".to_vec());
    let (mut blocks, mut input) = ring::<Block, Dense>(2).unwrap();
    let mut claim = blocks.try_claim(1).unwrap().unwrap();
    claim.write(block.clone());
    claim.publish();
    let (mut lines, mut lines_reader) = text_ring::<[u8], Dense>(SequenceNumber(0), 8).unwrap();
    let (mut trimmed, mut reader) = text_ring::<[u8], Dense>(SequenceNumber(0), 8).unwrap();
    let (mut pen, mut second) = (Pen::new(), Pen::new());
    let mut claim = lines.try_claim(8).unwrap().unwrap();
    // The first run of a pen is short.
    let batch = input.batch(1).unwrap();
    let mut from = 0;
    let mut cut = |claim: &mut millstream_ring::Claim<'_, Span<[u8]>>| {
        claim.pass_on::<[u8], Dense>(&mut pen, |slots| {
            let whole = <Val<Block> as OfPieces>::piece(batch.iter().next().flatten().unwrap());
            slots.cut(whole, &mut Lines.pieces(whole.text(), from), &mut from);
        })
    };
    assert_eq!(cut(&mut claim) + cut(&mut claim), 2);
    claim.publish();
    drop(batch);
    drop((input, blocks));
    while lines_reader.backlog() > 0 {
        let mut batch = lines_reader.batch(8).unwrap();
        let mut claim = trimmed.try_claim(8).unwrap().unwrap();
        let written = claim.pass_on_parts::<_, [u8], Dense>(&batch, &mut second, &Trimmed);
        claim.publish();
        batch.truncate(written);
    }
    drop((lines_reader, lines));
    let range = block.as_ptr_range();
    let batch = reader.batch(8).unwrap();
    let pieces: Vec<Piece<'_>> = batch.iter().flatten().collect();
    assert_eq!(pieces.iter().map(|piece| piece.text()).collect::<Vec<_>>(), [&b"to be"[..], b"or not"]);
    assert!(pieces.iter().all(|piece| range.contains(&piece.as_ptr()) && piece.block().is_same(&block)));
}

/// Splits lines off a block as long as the pen has room. Returns how many.
fn cut_lines(pen: &mut Pen, output: &mut Producer<Span<[u8]>>, block: &Block, from: &mut usize) -> usize {
    let mut all = 0;
    loop {
        let Ok(Some(mut claim)) = output.try_claim(64) else { return all };
        let whole = Piece::whole(block);
        let written = claim.pass_on::<[u8], Dense>(pen, |slots| {
            slots.cut(whole, &mut Lines.pieces(whole.text(), *from), from);
        });
        claim.publish();
        if written == 0 {
            return all;
        }
        all += written;
    }
}

/// A block is counted once, and not for each of its runs; a large block therefore does not pass line by line.
#[test]
fn pieces_of_a_large_block_do_not_wait_for_each_other() {
    let block = Block::from(b"line\n".repeat(2 * Pen::<[u8]>::LIMIT / 5));
    let (mut output, mut reader) = text_ring::<[u8], Dense>(SequenceNumber(0), 64).unwrap();
    let (mut pen, mut from) = (Pen::new(), 0);
    assert_eq!(cut_lines(&mut pen, &mut output, &block, &mut from), 64, "all slots");
    assert_eq!(read(&mut reader, 30).len(), 30);
    assert!(cut_lines(&mut pen, &mut output, &block, &mut from) >= 29);
}

/// The memory that a block keeps counts, however little of it is filled.
#[test]
fn short_pieces_of_large_memory_wait_for_readers() {
    let (mut output, _reader) = text_ring::<[u8], Dense>(SequenceNumber(0), 4096).unwrap();
    let mut pen = Pen::new();
    let mut cut = 0;
    for _ in 0..100 {
        let mut bytes = Vec::with_capacity(64 * 1024);
        bytes.extend(b"x\n");
        cut += cut_lines(&mut pen, &mut output, &Block::from(bytes), &mut 0);
    }
    assert!((50..=80).contains(&cut), "{cut}");
}
