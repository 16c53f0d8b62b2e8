//! `--decompress`; without it a compressed file is a file like any other.

use crate::scene::{Input, Scene, gnu_is_here, prose};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 0).unwrap()
}

#[test]
fn compressed_files_are_read_as_they_are() {
    if !gnu_is_here("compressed_files_are_read_as_they_are") {
        return;
    }
    let scene = Scene::new().file("x.gz", gzipped(&prose(100_000)));
    for args in ["x.gz", "x.gz x.gz"] {
        let theirs = scene.run(scene.command("wc", args), Input::Nothing);
        assert_eq!(scene.millstream(&format!("wc {args}"), Input::Nothing), theirs);
    }
}

#[test]
fn the_flag_decompresses_files_and_pipes() {
    let text = prose(300_000);
    let scene = Scene::new().file("a.gz", gzipped(&text)).file("b.zst", zstd(b"to be\n")).file("c", "or not\n");
    let expected = [&text[..], b"to be\n", b"or not\n"].concat().to_ascii_uppercase();
    for way in ["", "--shards 2", "--deploy inline"] {
        let seen = scene.millstream(&format!("uppercase --decompress {way} a.gz b.zst c"), Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
        assert!(seen.stdout == expected, "{way}: other bytes");
    }
    let seen = scene.millstream("wc --decompress b.zst c", Input::Nothing);
    let counts: Vec<_> =
        seen.text().lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(counts, ["1 2 6 b.zst", "1 2 7 c", "2 4 13 total"]);
    // The same through a pipe, and by any name.
    for text in [gzipped(&text), zstd(&text)] {
        let scene = Scene::new().file("UP.GZ", &text).file("no name", &text);
        for (args, input) in [("-", Input::Pipe(&text, 1)), ("UP.GZ", Input::Nothing), ("-", Input::File("no name"))] {
            let seen = scene.millstream(&format!("wc --decompress {args}"), input);
            assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{args}");
            assert!(seen.text().contains(&prose(300_000).len().to_string()), "{args}: {}", seen.text());
        }
    }
    let seen = scene.millstream("uppercase --decompress -", Input::Pipe(b"plain\n", 6));
    assert_eq!((seen.text().as_str(), seen.code), ("PLAIN\n", Some(0)));
}

#[test]
fn broken_files_are_reported_and_left_out() {
    let mut cut = gzipped(b"to be\n");
    cut.truncate(cut.len() - 4);
    let scene = Scene::new().file("cut.gz", cut).file("no.zst", "no such thing").file("c", "or not\n");
    let seen = scene.millstream("uppercase --decompress nosuch.gz cut.gz no.zst c", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("TO BE\nOR NOT\n", Some(1)));
    let lines: Vec<_> = seen.stderr.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "millstream uppercase: nosuch.gz: No such file or directory",
            "millstream uppercase: cut.gz: it is truncated: it ends inside a member",
        ]
    );
    assert!(lines[2].starts_with("millstream uppercase: no.zst: ") && lines.len() == 3, "{lines:?}");
}

#[test]
fn other_formats_are_refused() {
    let scene = Scene::new().file("a.bz2", b"BZh91AY&SY rest").file("b", b"\xfd7zXZ\0\0 rest").file("c", "to be\n");
    let seen = scene.millstream("uppercase --decompress a.bz2 b c", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("TO BE\n", Some(1)));
    let of = |name, format, program| {
        format!(
            "millstream uppercase: {name}: it is compressed by {format}, and only gzip and zstd can be decompressed \
             here: use `{program} FILE |`\n"
        )
    };
    assert_eq!(seen.stderr, of("a.bz2", "bzip2", "bzcat") + &of("b", "xz", "xzcat"));
}
