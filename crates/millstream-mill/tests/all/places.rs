//! Files that are read on from a place in them.

use millstream_mill::{FileBlocks, FilePlace, Program, Raw};

/// Rows that make some blocks.
fn rows(row: impl Fn(u64) -> String) -> String {
    (1..=20_000).map(row).collect()
}

/// The contents of a block.
fn told(raw: &Raw) -> (Vec<u8>, usize, u64, Option<String>) {
    (raw.block.to_vec(), raw.skip, raw.first, raw.columns.as_ref().map(ToString::to_string))
}

#[track_caller]
fn check(text: &str, input: &str) {
    let program = Program::load(text, 1, false).unwrap_or_else(|wrong| panic!("{wrong}"));
    let source = &program.sources[0];
    let from = |place: &FilePlace| {
        let rest = input.as_bytes()[place.offset as usize..].to_vec();
        let blocks = source.even_blocks(std::io::Cursor::new(rest), 1 << 20, place);
        FileBlocks::from_place(source, 0, "in", blocks, place.clone())
    };
    let mut blocks = from(&FilePlace::default());
    let mut places = vec![blocks.place()];
    let mut whole = Vec::new();
    while let Some(raw) = blocks.next() {
        whole.push(told(&raw));
        places.push(blocks.place());
    }
    assert!(whole.len() > 2, "{text}: {} blocks", whole.len());
    for (n, place) in places.iter().enumerate() {
        let rest: Vec<_> = from(place).map(|raw| told(&raw)).collect();
        assert!(rest == whole[n..], "{text}: other blocks from block {n} on");
    }
}

#[test]
fn from_every_place_on_the_same_blocks_follow() {
    let json = rows(|n| format!("{{\"a\": {n}}}\n"));
    check("jsonl", &json);
    check("jsonl", &format!("\u{feff}{json}"));
    check("jsonl(sample: 10)", &json);
    check("jsonl(schema: {a: int})", &json);
    check("lines", &rows(|n| format!("line {n}\r\n")));
    // A sample that was read again would have found other types.
    let table = rows(|n| if n < 200 { format!("{n},\n") } else { format!("{n},\"x\ny\"\n") });
    check("csv", &format!("a,b\n{table}"));
    check("csv(schema: {a: int})", &format!("\u{feff}a,b\n{table}"));
    check("csv", &format!("a\n{}7", rows(|n| format!("{n}\n"))));
}

#[test]
fn messages_count_from_the_beginning() {
    let program = Program::load("csv", 1, false).expect("a program");
    let source = &program.sources[0];
    let input = format!("a\n{}", rows(|n| if n == 15_000 { "x".repeat(300) + "\n" } else { format!("{n}\n") }));
    let failure = |place: &FilePlace| {
        let rest = input.as_bytes()[place.offset as usize..].to_vec();
        let blocks = source.even_blocks(std::io::Cursor::new(rest), 100, place);
        let mut blocks = FileBlocks::from_place(source, 0, "in", blocks, place.clone());
        let place = blocks.by_ref().nth(400).map(|_| blocks.place());
        blocks.by_ref().for_each(drop);
        (place, blocks.failure().expect("a row is too long").to_string())
    };
    let (place, whole) = failure(&FilePlace::default());
    let (_, later) = failure(&place.expect("there are more blocks"));
    assert_eq!(later, whole);
    assert!(whole.starts_with("row 15001, which begins at byte "), "{whole}");
}
