//! Texts, each of which is odd in some way, for programs that write headers before lines.

/// Texts with outputs that are written here, and not computed.
pub(crate) const WRITTEN: [(&[u8], &[u8]); 6] = [
    (b"", b""),
    (b"hello world", b"[spaces: 1]hello world\n"),
    (b"a\r\n b\r\n", b"[spaces: 0]a\r\n[spaces: 1] b\r\n"),
    (b"\n\n", b"[spaces: 0]\n[spaces: 0]\n"),
    (b"      \n       \n        ", b"[spaces: 6]      \n[spaces: >6]       \n[spaces: >6]        \n"),
    (b"a\0 b\t\x0b\xc2\xa0c\n\r", b"[spaces: 1]a\0 b\t\x0b\xc2\xa0c\n[spaces: 0]\r\n"),
];

/// Texts, each with its name.
pub(crate) fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let counted: String = (0..=8).map(|n| format!("{}x\n", " ".repeat(n))).collect();
    let mut long = b"long line ".repeat(300_000);
    long.extend(b"\nshort");
    let mut state = 7_u32;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let numbered: String = (0..50_000).map(|n| format!("line {n} of many\n")).collect();
    vec![
        ("empty", vec![]),
        ("one line feed", b"\n".to_vec()),
        ("only line feeds", b"\n".repeat(10_000)),
        ("no last line end", b"to be\nor not to be".to_vec()),
        ("carriage returns", b"to be\r\nor not\r\n\r\r\n\rto be\r\n\r".to_vec()),
        ("0 to 8 spaces", counted.into()),
        ("NUL bytes", b"a\0b \0 \0\0c\n\0\n\0".to_vec()),
        ("invalid UTF-8", b"a\xff\xfe b\xc3 \xc3\x28 \xe2\x82 c\xf0\x9f\n\x80\x81".to_vec()),
        ("spaces that are none", "\u{a0}\u{2003}\t\x0b\x0c\n".into()),
        ("a long line", long),
        ("a line of a block's size", [b"x".repeat(64 * 1024 - 1), b"\n y".to_vec()].concat()),
        ("short lines", numbered.into()),
        ("random bytes", random.take(1 << 20).collect()),
    ]
}
