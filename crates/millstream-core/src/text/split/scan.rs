//! Bytes of a class, found 64 at a time.

/// A set of bytes.
pub(super) trait Class: Copy {
    /// A bit for each byte that is in the set, the lowest for the first byte. `N` is 16 or 64.
    fn mask<const N: usize>(self, bytes: &[u8; N]) -> u64;
}

/// One byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Byte(pub(super) u8);

/// The white space of C's own locale: a space, and 9 to 13.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space;

impl Class for Byte {
    #[inline(always)]
    fn mask<const N: usize>(self, bytes: &[u8; N]) -> u64 {
        mask_of(bytes, |byte| byte == self.0)
    }
}

impl Class for Space {
    #[inline(always)]
    fn mask<const N: usize>(self, bytes: &[u8; N]) -> u64 {
        mask_of(bytes, |byte| (byte == b' ') | (byte.wrapping_sub(9) < 5))
    }
}

/// Finds bytes of a class, or bytes outside of it.
#[derive(Clone, Debug)]
pub(super) struct Scan<'a, C> {
    bytes: &'a [u8],
    class: C,
    /// The position of the 64 bytes whose mask is known; none at first.
    base: usize,
    mask: u64,
}

impl<'a, C: Class> Scan<'a, C> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], class: C) -> Self {
        Scan { bytes, class, base: usize::MAX, mask: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes to search.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The position, from `from` on, of the first byte in the class, or outside of it if not `wanted`; the length if
    /// there is none.
    #[inline(always)]
    pub(super) fn find(&mut self, mut from: usize, wanted: bool) -> usize {
        while from < self.bytes.len() {
            let base = from & !63;
            if base != self.base {
                self.base = base;
                self.mask = self.mask_at(base);
            }
            let hits = if wanted { self.mask } else { !self.mask } & (!0 << (from - base));
            if hits != 0 {
                return (base + hits.trailing_zeros() as usize).min(self.bytes.len());
            }
            from = base + 64;
        }
        self.bytes.len()
    }

    #[inline(always)]
    fn mask_at(&self, base: usize) -> u64 {
        match self.bytes[base..].first_chunk() {
            Some(chunk) => self.class.mask::<64>(chunk),
            None => tail(self.class, &self.bytes[base..]),
        }
    }
}

/// The mask of fewer than 64 bytes, 16 at a time. What `find` does with the bits after the last byte is of no account:
/// it returns none of them.
// Separate from the scan, which then stays in registers.
#[cold]
fn tail(class: impl Class, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<16>();
    let mask = chunks.iter().rev().fold(0, |mask, chunk| mask << 16 | class.mask(chunk));
    if rest.is_empty() {
        return mask;
    }
    let bits = match bytes.last_chunk::<16>() {
        // They overlap those before them, which costs less than a copy.
        Some(last) => class.mask(last) >> (16 - rest.len()),
        None => {
            let mut chunk = [0; 16];
            chunk[..rest.len()].copy_from_slice(rest);
            class.mask(&chunk)
        }
    };
    mask | bits << (16 * chunks.len())
}

/// A bit for each byte that is in the set. The bytes are compared side by side, to 0x80 or 0 each. A product then
/// gathers the highest bits of eight bytes at a time.
#[inline(always)]
fn mask_of<const N: usize>(bytes: &[u8; N], is_in: impl Fn(u8) -> bool) -> u64 {
    let hits = bytes.map(|byte| if is_in(byte) { 0x80 } else { 0 });
    let (eights, _) = hits.as_chunks::<8>();
    let bits = |eight: &[u8; 8]| (u64::from_le_bytes(*eight) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |mask, eight| mask << 8 | bits(eight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(bytes: &[u8], from: usize, is_in: impl Fn(u8) -> bool, wanted: bool) -> usize {
        (from..bytes.len()).find(|at| is_in(bytes[*at]) == wanted).unwrap_or(bytes.len())
    }

    #[test]
    fn every_byte_is_found_at_its_position() {
        for len in (0..=130).chain([200]) {
            let bytes: Vec<u8> = (0..len).map(|i: u32| (i * 37 % 256) as u8).collect();
            for from in 0..=bytes.len() {
                for wanted in [true, false] {
                    for byte in [0, 9, 37, 200] {
                        let found = Scan::new(&bytes, Byte(byte)).find(from, wanted);
                        assert_eq!(found, by_hand(&bytes, from, |b| b == byte, wanted), "{byte} from {from} of {len}");
                    }
                    let space = |b| matches!(b, b' ' | 9..=13);
                    let found = Scan::new(&bytes, Space).find(from, wanted);
                    assert_eq!(found, by_hand(&bytes, from, space, wanted), "space from {from} of {len}");
                }
            }
        }
    }
}
