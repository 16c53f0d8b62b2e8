use super::{is_graphic, is_space};

/// Counts words across blocks. A word is a run without [white space](is_space) that contains at least one
/// [graphic](is_graphic) byte. The count does not depend on the cuts between blocks.
///
/// # Algorithm
///
/// If each run without white space begins with a graphic byte, all of them are words. Then it suffices to count the
/// bytes after which one ends, as many at a time as a vector holds.
///
/// Otherwise it reads eight bytes at a time, without a branch, by one addition. Each byte of the text becomes a byte of
/// two numbers: in N it is 0xff if the byte is no white space and 0 if it is, and in P it is 1 if the byte is graphic.
/// In N + P, a graphic byte carries out of its own byte, the carry runs to the end of its run of 0xff, and there it
/// turns the 0 of the white space into a 1. That is exactly one for each run that contains a graphic byte, which is one
/// for each word. The carry out of the eight bytes is the only state: the text is within a word.
///
/// # In parallel
///
/// Parts of a text can be read apart, in any order and on any thread, and then be [appended](Words::append).
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Words {
    ended: u64,
    inside: bool,
    first: FirstRun,
}

/// The contents of the first run without white space, which may end a word of the text before.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct FirstRun {
    graphic: bool,
    ended: bool,
}

impl Words {
    /// Reads the next bytes of the text.
    pub fn read(&mut self, bytes: &[u8]) {
        if !self.first.ended {
            self.first.read(bytes);
        }
        let [first, others @ ..] = bytes else { return };
        self.read_byte(*first);
        let (befores, _) = bytes[..others.len()].as_chunks();
        let (heres, rest) = others.as_chunks();
        for (before, here) in befores.iter().zip(heres) {
            self.read_stretch(before, here);
        }
        self.read_apart(rest);
    }

    /// Continues with a text that `next` has read from its beginning.
    pub fn append(&mut self, next: &Words) {
        if self.inside && next.first.ended && !next.first.graphic {
            self.ended += 1; // a word that began before `next`
        }
        self.ended += next.ended;
        self.inside = next.inside || (self.inside && !next.first.ended);
        if !self.first.ended {
            self.first.graphic |= next.first.graphic;
            self.first.ended = next.first.ended;
        }
    }

    /// The number of words if the text ends here.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ended + u64::from(self.inside)
    }

    fn read_byte(&mut self, byte: u8) {
        if is_space(byte) {
            self.ended += u64::from(self.inside);
            self.inside = false;
        } else {
            self.inside |= is_graphic(byte);
        }
    }

    /// Reads `here`; `before` has the predecessor of each byte.
    #[inline(always)]
    fn read_stretch(&mut self, before: &[u8; STRETCH], here: &[u8; STRETCH]) {
        let (mut ends, mut odd) = (0u8, 0);
        for (&before, &byte) in before.iter().zip(here) {
            let (after_space, space) = (mask(is_space(before)), mask(is_space(byte)));
            ends = ends.wrapping_sub(!after_space & space);
            odd |= after_space & !space & !mask(is_graphic(byte));
        }
        if odd == 0 && (self.inside || is_space(before[0])) {
            self.ended += u64::from(ends);
            self.inside = !is_space(here[STRETCH - 1]);
        } else {
            self.read_apart(here);
        }
    }

    fn read_apart(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks();
        for chunk in chunks {
            self.read_chunk(chunk);
        }
        if !rest.is_empty() {
            let mut chunk = [NEITHER; CHUNK];
            chunk[..rest.len()].copy_from_slice(rest);
            self.read_chunk(&chunk);
        }
    }

    #[inline(always)]
    fn read_chunk(&mut self, chunk: &[u8; CHUNK]) {
        let wordlike = chunk.map(|byte| if is_space(byte) { 0 } else { 0xff });
        let graphic = chunk.map(|byte| u8::from(is_graphic(byte)));
        let mut ends = 0;
        for (n, p) in wordlike.as_chunks().0.iter().zip(graphic.as_chunks().0) {
            // The first byte of the text is the lowest of the number, so the carry runs in the order of the text.
            let (n, p) = (u64::from_le_bytes(*n), u64::from_le_bytes(*p));
            let (sum, carry) = n.overflowing_add(p);
            let (sum, carry_again) = sum.overflowing_add(u64::from(self.inside));
            self.inside = carry | carry_again;
            ends += sum & !n & LOW_BITS;
        }
        // Each byte is at most CHUNK / 8 and their sum at most CHUNK, so it fits into the highest byte.
        self.ended += ends.wrapping_mul(LOW_BITS) >> 56;
    }
}

impl FirstRun {
    fn read(&mut self, bytes: &[u8]) {
        let end = bytes.iter().position(|&byte| is_space(byte));
        self.graphic |= bytes[..end.unwrap_or(bytes.len())].iter().any(|&byte| is_graphic(byte));
        self.ended = end.is_some();
    }
}

/// All bits of a byte, or none. All bits are the number -1.
fn mask(yes: bool) -> u8 {
    if yes { 0xff } else { 0 }
}

/// Fewer words than a byte can count.
const STRETCH: usize = 128;

const CHUNK: usize = 64;

/// The lowest bit of each of eight bytes.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;

/// A byte that is neither white space nor graphic. It changes no count.
const NEITHER: u8 = 0;
