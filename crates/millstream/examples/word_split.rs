//! Guy Steele's word split: a text is cut anywhere, any free worker splits a piece, and the results are joined in
//! order.
//!
//! It is parallel because pieces can be joined without a second look at the text: a piece either has no blank, or it is
//! the part before its first blank, whole words, and the part after its last blank. (Steele, "Organizing functions for
//! parallel execution; or, foldl and foldr considered slightly harmful", ICFP 2009.)
//!
//! `cargo run --release -p millstream --features queues --example word_split < FILE` counts the words of a text.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::prelude::*;
use std::io::Read;

/// A piece of a text, split.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// It has no blank.
    Chunk(String),
    /// It has at least one blank.
    Segment { before: String, words: Vec<String>, after: String },
}

fn split(text: &str) -> Piece {
    let Some((before, rest)) = text.split_once(char::is_whitespace) else { return Piece::Chunk(text.to_owned()) };
    let (middle, after) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
    let words = middle.split_whitespace().map(str::to_owned).collect();
    Piece::Segment { before: before.to_owned(), words, after: after.to_owned() }
}

/// The words that this piece completes. `open` is the unfinished word before the piece, and after the call the one
/// after it.
fn complete(open: &mut String, piece: &Piece) -> Vec<String> {
    match piece {
        Piece::Chunk(letters) => {
            open.push_str(letters);
            Vec::new()
        }
        Piece::Segment { before, words, after } => {
            open.push_str(before);
            let first = Some(std::mem::replace(open, after.clone())).filter(|word| !word.is_empty());
            first.into_iter().chain(words.iter().cloned()).collect()
        }
    }
}

/// From pieces of a text to its words, with this many tasklets. The text ends with a blank.
pub(crate) fn words(tasklets: usize) -> impl Everywhere<In = Val<String>, Out = Val<String>> {
    pipeline!(
        pipeline::<String>()
            >>> .shard(tasklets, |p| p.map(|text| split(text)))
            >>> .scan(String::new(), complete)
            >>> .flatten()
    )
}

/// A text in pieces of `length` characters, and a blank after it.
fn pieces(text: &str, length: usize) -> impl Iterator<Item = String> + Send + use<> {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(length).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter().chain([" ".to_owned()])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let split = Rings::new().collect(words(4).from(pieces(&text, 4096)))?;
    println!("{} words", split.len());
    assert!(split.iter().map(String::as_str).eq(text.split_whitespace()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 7] = [
        "",
        " ",
        "This is a sample",
        "  Here is another sample ",
        "JustOneWord",
        " \t\n\u{2003}",
        "Grüße an Łódź,\nund   zurück",
    ];

    #[test]
    fn pieces_of_every_length_have_the_same_words_on_every_deployment() {
        for text in TEXTS {
            let brute: Vec<&str> = text.split_whitespace().collect();
            for length in 1..=text.len() + 1 {
                for tasklets in 1..=3 {
                    let (p, pieces) = (words(tasklets), || pieces(text, length));
                    assert_eq!(p.model(pieces()), brute, "{text:?} in pieces of {length}");
                    assert_eq!(Inline::default().collect((&p).from(pieces())).unwrap(), brute);
                    let rings = Rings::new().ring(2).workers(tasklets);
                    assert_eq!(rings.collect((&p).from(pieces())).unwrap(), brute);
                    assert_eq!(Queues::new().capacity(2).collect((&p).from(pieces())).unwrap(), brute);
                }
            }
        }
    }
}
