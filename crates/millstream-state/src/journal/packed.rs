//! Payloads that are compressed: 4 bytes with their length, little-endian, and one block of LZ4.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// A shorter payload stays as it is.
const LEAST: usize = 64;
/// LZ4 makes at most this many bytes of one; no written length is beyond that.
const MOST_OF_A_BYTE: usize = 255;

/// Makes a record of the compressed payload, after this room for a header. Returns `false`, with an empty record, if it
/// would be no shorter.
pub(super) fn pack(payload: &[u8], room: usize, record: &mut Vec<u8>) -> bool {
    record.clear();
    let Some(length) = u32::try_from(payload.len()).ok().filter(|_| payload.len() >= LEAST) else { return false };
    record.resize(room, 0);
    record.extend(length.to_le_bytes());
    let begin = record.len();
    record.resize(begin + get_maximum_output_size(payload.len()), 0);
    let packed = compress_into(payload, &mut record[begin..]).unwrap_or(usize::MAX);
    let shorter = packed < payload.len() - 4;
    record.truncate(if shorter { begin + packed } else { 0 });
    shorter
}

/// Puts the payload into `unpacked`. `false` if these bytes are no compressed payload.
pub(super) fn unpack(packed: &[u8], unpacked: &mut Vec<u8>) -> bool {
    let Some((length, packed)) = packed.split_first_chunk::<4>() else { return false };
    let Ok(length) = usize::try_from(u32::from_le_bytes(*length)) else { return false };
    if length > packed.len().saturating_mul(MOST_OF_A_BYTE) {
        return false;
    }
    unpacked.resize(length, 0);
    decompress_into(packed, unpacked).is_ok_and(|made| made == length)
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    #[test]
    fn bytes_that_repeat_are_shortened_and_come_back() {
        for length in [64, 100, 5000, 200_000] {
            let payload: Vec<u8> = (0..length).map(|n| (n / 40 % 9) as u8).collect();
            let (mut record, mut unpacked) = (vec![7; 30], Vec::new());
            assert!(pack(&payload, 3, &mut record) && record.len() < length, "{length}: {}", record.len());
            assert!(unpack(&record[3..], &mut unpacked) && unpacked == payload);
        }
    }

    #[test]
    fn short_bytes_and_bytes_that_do_not_repeat_stay() {
        let mut random = millstream_core::SplitMix64::new(1);
        let mixed: Vec<u8> = (0..1000).map(|_| random.draw() as u8).collect();
        for payload in [&mixed[..], &[0; 63], &[]] {
            let mut record = vec![7; 3];
            assert!(!pack(payload, 3, &mut record) && record.is_empty());
        }
    }

    #[test]
    fn other_bytes_are_refused_without_much_memory() {
        let mut unpacked = Vec::new();
        for bytes in
            [&[][..], &[1, 0, 0], &[0xff, 0xff, 0xff, 0xff, 1, 2, 3], &[9, 0, 0, 0, 0x10, 5], &[1, 0, 0, 0, 0xf0]]
        {
            assert!(!unpack(bytes, &mut unpacked), "{bytes:?}");
        }
        assert!(unpacked.capacity() < 1000);
    }
}
