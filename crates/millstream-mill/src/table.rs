//! Tables as RFC 4180 has them: where rows and cells end.

use memchr::{memchr, memchr_iter, memchr2_iter, memrchr};
use millstream_io::Framing;
use millstream_io::text::line_ends;

/// The rows of a table, with this byte between cells, as `WholeBlocks` cuts a stream between them. A line end in quotes
/// ends no row.
#[derive(Clone, Copy, Debug)]
pub struct TableRows(pub u8);

impl Framing for TableRows {
    const RECORD: &'static str = "row";
    const REST_IS_ONE: bool = true;

    fn end(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        if memchr(b'"', bytes).is_none() {
            return memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1);
        }
        row_ends(bytes, self.0).last()
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        if memchr(b'"', bytes).is_none() {
            return line_ends(bytes) + u64::from(!bytes.is_empty() && bytes.last() != Some(&b'\n'));
        }
        let (ends, last) = row_ends(bytes, self.0).fold((0, 0), |(ends, _), end| (ends + 1, end));
        // The last row may have a line end in quotes that are not closed.
        ends + u64::from(last < bytes.len())
    }
}

/// After the line end of each row. A quote means something at the begin of a cell alone.
pub(crate) fn row_ends(bytes: &[u8], separator: u8) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let begins_cell = at == 0 || matches!(bytes[at - 1], b'\n') || bytes[at - 1] == separator;
            if begins_cell && bytes.get(at) == Some(&b'"') {
                at = end_of_quotes(bytes, at + 1)?;
                continue;
            }
            let rest = bytes.get(at..)?;
            let next = memchr::memchr2(b'\n', separator, rest)?;
            at += next + 1;
            if rest[next] == b'\n' {
                return Some(at);
            }
        }
    })
}

/// Whether quotes are open where these bytes end, which begin with a row.
pub(crate) fn is_open(bytes: &[u8], separator: u8) -> bool {
    if memchr(b'"', bytes).is_none() {
        return false;
    }
    let mut at = row_ends(bytes, separator).last().unwrap_or(0);
    loop {
        if bytes.get(at) == Some(&b'"') {
            match end_of_quotes(bytes, at + 1) {
                None => return true,
                Some(end) => at = end,
            }
        }
        // What follows quotes up to the next separator belongs to their cell.
        match bytes.get(at..).and_then(|rest| memchr(separator, rest)) {
            None => return false,
            Some(next) => at += next + 1,
        }
    }
}

/// After the quote that ends a cell, whose first byte is at `at`; two quotes are one that is meant.
fn end_of_quotes(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr(b'"', bytes.get(at..)?)? + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// The cells of all rows of a block.
#[derive(Debug, Default)]
pub(crate) struct Split {
    /// Where each row is, without its line end, and how many cells there are before it.
    pub(crate) rows: Vec<(u32, u32, u32)>,
    /// Where each cell is. What is beyond the block is in `unquoted`.
    pub(crate) cells: Vec<(u32, u32)>,
    /// The text of cells with quotes.
    pub(crate) unquoted: Vec<u8>,
    /// Whether quotes of the last row have no end.
    pub(crate) is_open: bool,
}

impl Split {
    /// The rows and cells of whole rows, which begin at `skip`.
    pub(crate) fn of(bytes: &[u8], skip: usize, separator: u8) -> Self {
        let mut split = Split::default();
        if memchr(b'"', &bytes[skip..]).is_none() {
            split.plain(bytes, skip, separator);
            return split;
        }
        let mut from = skip;
        for to in row_ends(&bytes[skip..], separator).map(|end| skip + end) {
            split.row(bytes, (from, to), true, separator);
            from = to;
        }
        if from < bytes.len() {
            split.row(bytes, (from, bytes.len()), false, separator);
            split.is_open = is_open(&bytes[from..], separator);
        }
        split
    }

    /// Without any quote.
    fn plain(&mut self, bytes: &[u8], skip: usize, separator: u8) {
        let (mut row, mut cell, mut cells) = (skip, skip, 0);
        let mut end_row = |split: &mut Self, row: usize, cell: usize, at: usize| {
            let to = if at > cell && bytes[at - 1] == b'\r' { at - 1 } else { at };
            split.cells.push((cell as u32, to as u32));
            split.rows.push((row as u32, to as u32, cells));
            cells = split.cells.len() as u32;
        };
        for at in memchr2_iter(b'\n', separator, &bytes[skip..]) {
            let at = skip + at;
            if bytes[at] == b'\n' {
                end_row(self, row, cell, at);
                row = at + 1;
            } else {
                self.cells.push((cell as u32, at as u32));
            }
            cell = at + 1;
        }
        if row < bytes.len() {
            end_row(self, row, cell, bytes.len());
        }
    }

    /// A row, up to and with its line end if it has one.
    fn row(&mut self, bytes: &[u8], (from, to): (usize, usize), is_ended: bool, separator: u8) {
        let line = &bytes[from..to];
        // The last row may have no end: then a line end in it is in quotes.
        let line = match line.strip_suffix(b"\n") {
            Some(line) if is_ended => line.strip_suffix(b"\r").unwrap_or(line),
            _ if memchr(b'"', line).is_none() => line.strip_suffix(b"\r").unwrap_or(line),
            _ => line,
        };
        let cells = self.cells.len() as u32;
        self.rows.push((from as u32, (from + line.len()) as u32, cells));
        let mut begin = from;
        if memchr(b'"', line).is_none() {
            for at in memchr_iter(separator, line) {
                self.cells.push((begin as u32, (from + at) as u32));
                begin = from + at + 1;
            }
            self.cells.push((begin as u32, (from + line.len()) as u32));
            return;
        }
        for cell in cells_of(line, separator) {
            let from = (bytes.len() + self.unquoted.len()) as u32;
            self.unquoted.extend_from_slice(&cell);
            self.cells.push((from, from + cell.len() as u32));
        }
    }
}

/// A row without its line end. What else is at its end belongs to its last cell, or is the separator before it.
pub(crate) fn without_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// The cells of a row without its line end, without their quotes.
pub(crate) fn cells_of(line: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(separator).build();
    let (mut cells, mut input, mut out) = (Vec::new(), line, vec![0; line.len() + 1]);
    let mut cell = Vec::new();
    loop {
        // The second call, without input, tells of the end.
        let (result, read, written) = reader.read_field(input, &mut out);
        input = &input[read..];
        cell.extend_from_slice(&out[..written]);
        match result {
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
            csv_core::ReadFieldResult::Field { record_end } => {
                cells.push(std::mem::take(&mut cell));
                if record_end {
                    return cells;
                }
            }
            csv_core::ReadFieldResult::End => return cells,
        }
    }
}

/// Writes a row with its line end.
pub(crate) fn write_row(cells: &[&[u8]], separator: u8, out: &mut Vec<u8>) {
    if let [b""] = cells {
        // An empty line is no row.
        out.extend_from_slice(b"\"\"");
    }
    for (n, cell) in cells.iter().enumerate() {
        if n > 0 {
            out.push(separator);
        }
        write_cell(cell, separator, out);
    }
    out.push(b'\n');
}

/// Writes a cell, in quotes if it needs some.
fn write_cell(cell: &[u8], separator: u8, out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == separator;
    if !cell.iter().any(special) {
        return out.extend_from_slice(cell);
    }
    out.push(b'"');
    for byte in cell {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ours(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let split = Split::of(bytes, 0, b',');
        let all = [bytes, &split.unquoted].concat();
        let ends = split.rows.iter().skip(1).map(|row| row.2).chain([split.cells.len() as u32]);
        let cells = |(from, to): &(u32, u32)| all[*from as usize..*to as usize].to_vec();
        split
            .rows
            .iter()
            .zip(ends)
            .map(|(row, end)| split.cells[row.2 as usize..end as usize].iter().map(cells).collect())
            // The csv crate passes over empty lines.
            .filter(|row: &Vec<Vec<u8>>| row != &[Vec::<u8>::new()])
            .collect()
    }

    fn theirs(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let rows = reader.byte_records().map(|row| row.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
        rows.filter(|row| row != &[Vec::<u8>::new()]).collect()
    }

    #[test]
    fn quotes_without_an_end_are_known() {
        for (text, open) in [
            ("a,\"b", true),
            ("a,\"b\n1,2\n", true),
            ("\"a\",\"b\"\"", true),
            ("\"a\nb\",\"", true),
            ("1,2\n\"a\"x,\"", true),
            ("a,\"b\"", false),
            ("a\"b,c", false),
            ("\"a\"\"\",b", false),
            ("\"a\"\"b\"c", false),
            ("", false),
        ] {
            assert_eq!(Split::of(text.as_bytes(), 0, b',').is_open, open, "{text}");
        }
    }

    proptest! {
        #[test]
        fn rows_and_cells_are_those_of_the_csv_crate(
            pieces in prop::collection::vec(prop::sample::select(&["a", "1", ",", "\n", "\r\n", "\"", "\"\"", " "][..]), 0..25),
            cut in 0..40_usize,
        ) {
            let text = pieces.concat();
            let bytes = text.as_bytes();
            prop_assert_eq!(ours(bytes), theirs(bytes), "{:?}", text);
            prop_assert_eq!(TableRows(b',').count(bytes), Split::of(bytes, 0, b',').rows.len() as u64, "{:?}", text);
            // Cut where the framing says, the rows are the same.
            let some = &bytes[..cut.min(bytes.len())];
            if let Some(end) = TableRows(b',').end(some, 0) {
                let (one, other) = bytes.split_at(end);
                prop_assert_eq!([ours(one), ours(other)].concat(), ours(bytes), "{:?} {}", text, end);
                prop_assert_eq!(TableRows(b',').count(one), Split::of(one, 0, b',').rows.len() as u64);
            }
        }

        #[test]
        fn written_cells_are_read_again(row in prop::collection::vec("[a,\" \n]{0,5}", 1..4)) {
            let (mut out, cells) = (Vec::new(), row.iter().map(String::as_bytes).collect::<Vec<_>>());
            write_row(&cells, b',', &mut out);
            let split = Split::of(&out, 0, b',');
            let (all, (from, to, _)) = ([&out[..], &split.unquoted].concat(), split.rows[0]);
            prop_assert_eq!(split.rows.len(), 1);
            prop_assert!(from < to, "it would be an empty line");
            let read: Vec<&[u8]> = split.cells.iter().map(|(from, to)| &all[*from as usize..*to as usize]).collect();
            prop_assert_eq!(read, cells);
        }
    }
}
