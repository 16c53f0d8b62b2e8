//! Log lines with a country and a count, or with a mark if a bot sent them, as a block of named wires over pieces of
//! text: nothing is copied before an output line is written.
//!
//! ```console
//! $ printf '10.0.0.1 curl\n10.0.0.1 Googlebot\n' | cargo run --release -p millstream --example enrich
//! ```

use millstream::core::model::ModelShape;
use millstream::exec::RingShape;
use millstream::io::WholeBlocks;
use millstream::prelude::*;
use millstream::text::{Block, Piece};
use std::io::{self, Write};

/// The `n`-th word of a line.
fn word(line: Piece<'_>, n: usize) -> Option<Piece<'_>> {
    let text = line.text();
    let start: usize = text.split(|byte| *byte == b' ').take(n).map(|word| word.len() + 1).sum();
    let rest = text.get(start..)?;
    let length = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    line.part(start..start + length).filter(|word| !word.is_empty())
}

fn country(address: &[u8]) -> &'static str {
    if address.starts_with(b"10.0.") { "here" } else { "there" }
}

fn is_bot(agent: &[u8]) -> bool {
    agent.to_ascii_lowercase().ends_with(b"bot")
}

/// Edges of pieces of text.
trait Texts: RingShape + ModelShape + ToOwnedItem + for<'a> Shape<Ref<'a> = Piece<'a>> {}
impl<E: RingShape + ModelShape + ToOwnedItem + for<'a> Shape<Ref<'a> = Piece<'a>>> Texts for E {}

/// Blocks of lines, `ADDRESS AGENT`, to lines with a mark or with more columns. A line without both words is left out.
fn enriched() -> impl Deployable<In = Val<Block>, Out: Texts> {
    pipeline::<Block>().lines().then(wires!(|line: Text| {
        let address = line.filter_map_slice(|line| word(line, 0));
        let agent = line.filter_map_slice(|line| word(line, 1));
        let place = address.shard(2, |address| address.map(|address| country(&address)));
        let seen = address.scan(0_u64, |seen, _| {
            *seen += 1;
            *seen
        });
        if |agent| is_bot(&agent) {
            line.map_bytes(|line, out| {
                out.extend(b"bot ");
                out.extend(line.text());
                out.extend(b"\n");
            })
        } else {
            (line, place, seen).map_bytes(|(line, place, seen), out| {
                out.extend(line.text());
                let columns = format!(" {place} {seen}\n");
                out.extend(columns.as_bytes());
            })
        }
    }))
}

fn main() -> Result<(), RunError> {
    let blocks = WholeBlocks::lines(io::stdin());
    let mut out = io::stdout();
    // An error of standard output ends the run, with its cause.
    let written = move |_, line: Piece<'_>| out.write_all(line.text());
    Rings::new().for_each(enriched().from(blocks), written)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, by hand.
    fn expected(text: &str) -> String {
        let (mut seen, mut out) = (0, String::new());
        for line in text.lines() {
            let mut words = line.split(' ');
            let address = words.next().filter(|word| !word.is_empty());
            seen += u64::from(address.is_some());
            let agent = words.next().filter(|word| !word.is_empty());
            let (Some(address), Some(agent)) = (address, agent) else { continue };
            out += &if is_bot(agent.as_bytes()) {
                format!("bot {line}\n")
            } else {
                format!("{line} {} {seen}\n", country(address.as_bytes()))
            };
        }
        out
    }

    #[test]
    fn lines_are_those_of_a_loop() {
        let text: String = (0..500)
            .map(|n| match n % 7 {
                0 => format!("10.{}.0.{n} GoogleBot\n", n % 3),
                1 => format!("10.0.0.{n}\n"),
                2 => "\n".to_owned(),
                _ => format!("10.{}.0.{n} Firefox/{n} and more\n", n % 2),
            })
            .collect();
        let expected = expected(&text);
        assert!(expected.contains("bot ") && expected.contains("there"));
        for workers in 1..=3 {
            let (kept, output) = sink::with_output(sink::fold(Vec::new(), |out: &mut Vec<u8>, _, line: Piece<'_>| {
                out.extend(line.text());
            }));
            let blocks = WholeBlocks::lines(io::Cursor::new(text.clone().into_bytes()));
            Rings::new().ring(4).workers(workers).run(enriched().from(blocks).to(kept)).unwrap();
            assert_eq!(String::from_utf8(output.take().unwrap()).unwrap(), expected);
        }
    }
}
