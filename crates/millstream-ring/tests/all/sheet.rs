use millstream_core::text::{Block, OwnedPiece};
use millstream_ring::{Pen, Sheet};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn write(sheet: &mut Sheet<str>, text: &str) {
    sheet.write(|out| {
        out.push_str(text);
        true
    });
}

fn read(sheet: &mut Sheet<str>) -> Vec<Option<OwnedPiece<str>>> {
    let mut all = Vec::new();
    sheet.read(|piece| all.push(piece.map(OwnedPiece::from)));
    all
}

#[test]
fn kept_text_is_not_written_over_and_shares_a_block() {
    let (mut sheet, mut kept) = (Sheet::new(), Vec::new());
    for round in 0..5 {
        write(&mut sheet, &format!("ü{round}"));
        sheet.skip();
        write(&mut sheet, "");
        sheet.write(|out| {
            out.push_str("nothing");
            false
        });
        write(&mut sheet, "last");
        assert_eq!((sheet.len(), sheet.is_empty()), (5, false));
        let mut blocks = Vec::new();
        sheet.read(|piece| {
            blocks.extend(piece.map(|piece| piece.block().identity()));
            kept.push(piece.map(OwnedPiece::from));
        });
        assert!(sheet.is_empty() && blocks.iter().all(|block| *block == blocks[0]));
    }
    for (round, slots) in kept.chunks(5).enumerate() {
        let slots: Vec<_> = slots.iter().map(|piece| piece.as_ref().map(|piece| &**piece)).collect();
        assert_eq!(slots, [Some(&*format!("ü{round}")), None, Some(""), None, Some("last")]);
    }
}

#[test]
fn a_writer_that_panics_leaves_nothing_and_a_reader_that_panics_the_rest() {
    let mut sheet = Sheet::<str>::new();
    write(&mut sheet, "one");
    let writes = AssertUnwindSafe(|| {
        sheet.write(|out| {
            out.push_str("half of");
            panic!("at two");
        });
    });
    assert!(catch_unwind(writes).is_err());
    write(&mut sheet, "three");
    let slots = read(&mut sheet);
    assert_eq!(slots.iter().flatten().map(|piece| &**piece).collect::<Vec<_>>(), ["one", "three"]);

    write(&mut sheet, "four");
    assert!(catch_unwind(AssertUnwindSafe(|| sheet.read(|_| panic!("at four")))).is_err());
    assert!(sheet.is_empty());
    write(&mut sheet, "five");
    assert_eq!(read(&mut sheet).into_iter().flatten().map(|piece| piece.to_owned()).collect::<Vec<_>>(), ["five"]);
}

#[test]
fn a_sheet_is_full_at_a_block_and_takes_longer_values_whole() {
    let mut sheet = Sheet::<[u8]>::new();
    let long = vec![b'x'; Pen::<[u8]>::BLOCK - 1];
    let write = |sheet: &mut Sheet, text: &[u8]| {
        sheet.write(|out| {
            out.extend(text);
            true
        });
    };
    write(&mut sheet, &long);
    assert!(!sheet.is_full());
    write(&mut sheet, &long);
    assert!(sheet.is_full());
    let mut lengths = Vec::new();
    sheet.read(|piece| lengths.extend(piece.map(|piece| (piece.len(), piece.block().len()))));
    assert_eq!(lengths, [(long.len(), 2 * long.len()); 2]);
    assert!(2 * long.len() < Block::MOST && !sheet.is_full());
}
