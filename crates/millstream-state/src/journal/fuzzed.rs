//! Records that a fuzzer makes, with checksums that are right.

use super::packed;
use super::record::{self, HEADER, Header, PACKED, PLAIN, Place};

/// A record whose header a fuzzer makes: its first byte says what is wrong with it.
pub(crate) fn record(header: &[u8; 20], payload: &[u8], offset: u64, next: &mut u64) -> Vec<u8> {
    let number = |from: usize| {
        let small = u64::from(header[from]);
        // Mostly small numbers, and some near the greatest.
        if header[from + 1] == 0xff { u64::MAX - small } else { small }
    };
    let values = || {
        let mut values = Vec::new();
        payload.iter().for_each(|byte| record::push(&mut values, &vec![*byte; usize::from(*byte % 16)]));
        values
    };
    let well_formed = header[0] % 4 != 1;
    let plain = if well_formed { values() } else { payload.to_vec() };
    let mut packed = Vec::new();
    let is_packed = match header[0] % 16 {
        // With a length that a fuzzer makes.
        13 => {
            packed.extend_from_slice(payload);
            true
        }
        4..8 => packed::pack(&plain, 0, &mut packed),
        _ => false,
    };
    let behind = if is_packed { packed } else { plain };
    let format = match header[0] % 8 {
        2 => u32::from(header[1]),
        _ if is_packed => PACKED,
        _ => PLAIN,
    };
    let epoch = if header[0] % 8 == 3 { number(2) } else { 1 };
    let count = if well_formed { payload.len() as u32 } else { u32::from(header[8]) };
    let first = if header[4].is_multiple_of(4) { *next } else { number(4) };
    let durable = if header[6].is_multiple_of(4) { *next } else { number(6) };
    *next = first.saturating_add(u64::from(count));
    let header = Header { format, epoch, first, durable, count, length: behind.len() as u32 };
    let mut bytes = vec![0; HEADER];
    bytes.extend(behind);
    header.write(&mut bytes, Place { base: 0, offset });
    bytes
}
