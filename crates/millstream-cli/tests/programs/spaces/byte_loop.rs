//! Headers before lines, by a loop over their bytes.

/// The output for a text, by a loop over its bytes.
pub(crate) fn headed(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let spaces = line.iter().filter(|byte| **byte == b' ').count();
        let count = if spaces > 6 { ">6".to_owned() } else { spaces.to_string() };
        out.extend(format!("[spaces: {count}]").bytes());
        out.extend(line.strip_suffix(b"\n").unwrap_or(line));
        out.push(b'\n');
    }
    out
}
