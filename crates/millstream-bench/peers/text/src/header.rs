/// The headers of lines with 0, 1, 2, ... spaces. The last one is for all lines with more.
const HEADERS: [&[u8]; 8] = [
    b"[spaces: 0]",
    b"[spaces: 1]",
    b"[spaces: 2]",
    b"[spaces: 3]",
    b"[spaces: 4]",
    b"[spaces: 5]",
    b"[spaces: 6]",
    b"[spaces: >6]",
];

/// The header of a line.
pub(crate) fn header(line: &[u8]) -> &'static [u8] {
    let spaces = line.iter().filter(|byte| **byte == b' ').count();
    HEADERS[spaces.min(HEADERS.len() - 1)]
}
