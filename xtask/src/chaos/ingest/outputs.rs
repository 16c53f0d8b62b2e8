//! The text of the run, and what its outputs must be.

use super::super::processes::{Place, io, violation};
use crate::cmd::{Failure, Result, failure};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files that a text writes beside standard output. The last two say the number of the text.
const FILES: [&str; 5] = ["all.jsonl", "bad.jsonl", "counts.csv", "texts.jsonl", "out"];

/// A program over the rows of a source. It differs from the one of another number in two places.
pub(super) fn text(source: &str, number: u64) -> String {
    format!(
        "let row = jsonl({source}, dead: \"bad.jsonl\");
row | jsonl(\"all.jsonl\");
row | count(by: .k) | csv(\"counts.csv\");
row | map({{id, sent, text: {number}}}) | jsonl(\"texts.jsonl\");
row | distinct(.id, most: 10000000) | map({{k, id, text: {number}}})
"
    )
}

/// The outputs of the run.
pub(super) struct Outputs<'p> {
    place: &'p Place,
    files: HashMap<&'static str, String>,
}

impl<'p> Outputs<'p> {
    pub(super) fn of(place: &'p Place) -> Result<Self> {
        Ok(Outputs { place, files: read(&place.home)? })
    }

    /// All rows in the order in which the run took them. A row that is not JSON is at the place that its dead letter
    /// says.
    pub(super) fn in_order(&self) -> Result<Vec<String>> {
        let mut letters = self.files["bad.jsonl"].lines().map(letter).peekable();
        let mut rows: Vec<String> = Vec::new();
        let mut good = self.files["all.jsonl"].lines();
        loop {
            let place = rows.len() + 1;
            match letters.peek() {
                Some(Some((number, row))) if *number == place => {
                    rows.push(row.clone());
                    letters.next();
                }
                Some(None) => return Err(failure("a dead letter has no number, or no row")),
                next => match (good.next(), next) {
                    (Some(row), _) => rows.push(row.to_owned()),
                    (None, None) => return Ok(rows),
                    (None, _) => return Err(violation(format!("no row has the number of a dead letter: {next:?}"))),
                },
            }
        }
    }

    /// Compares each byte with the outputs of one run over the same rows. Returns the number of texts that have written
    /// them: the rows go through one after the other.
    pub(super) fn compared(&self) -> Result<usize> {
        let home = self.place.home.join("one");
        fs::create_dir_all(&home).map_err(io("make a directory"))?;
        fs::write(home.join("rows"), self.in_order()?.join("\n") + "\n").map_err(io("write the rows"))?;
        fs::write(home.join("p.mill"), text("\"rows\"", 0)).map_err(io("write a text"))?;
        let out = File::create(home.join("out")).map_err(io("open the output"))?;
        let mut command = Command::new(&self.place.program);
        command.args(["run", "--quiet", "p.mill"]).current_dir(&home).stdin(Stdio::null()).stdout(out);
        let status = command.status().map_err(io("start one run over the rows"))?;
        if !status.success() {
            return Err(failure(format!("one run over the rows ended with {status}")));
        }
        let mut one = read(&home)?;
        let address = format!("\"file\":\"127.0.0.1:{}\"", self.place.port);
        one.insert("bad.jsonl", one["bad.jsonl"].replace("\"file\":\"rows\"", &address));
        let texts = Texts::of(&self.files["texts.jsonl"])?;
        for name in ["texts.jsonl", "out"] {
            let said = texts.said(&one[name])?;
            one.insert(name, said);
        }
        let differs = |name: &&&str| self.files[**name] != one[**name];
        match FILES.iter().find(differs) {
            Some(name) => Err(differ(name, &self.place.home, &one[name], &self.files[name])),
            None => Ok(texts.numbers.len()),
        }
    }
}

fn read(home: &Path) -> Result<HashMap<&'static str, String>> {
    let read = |name: &&'static str| {
        let text = fs::read_to_string(home.join(name)).map_err(io("read an output"))?;
        Ok((*name, text))
    };
    FILES.iter().map(read).collect()
}

fn differ(name: &str, home: &Path, one: &str, run: &str) -> Failure {
    let line = one.lines().zip(run.lines()).take_while(|(one, run)| one == run).count();
    let of = |text: &str| text.lines().nth(line).unwrap_or("nothing").to_owned();
    let (expected, there): (PathBuf, PathBuf) = (home.join("one").join(name), home.join(name));
    violation(format!(
        "{} is not {}: line {} is\n{}\nand not\n{}",
        there.display(),
        expected.display(),
        line + 1,
        of(run),
        of(one)
    ))
}

/// The number of a dead letter's row, and the row.
fn letter(text: &str) -> Option<(usize, String)> {
    let (_, number) = text.split_once("\"number\":")?;
    let (_, row) = text.split_once("\"row\":\"")?;
    let number = &number[..number.find(|c: char| !c.is_ascii_digit())?];
    Some((number.parse().ok()?, row[..row.find('"')?].to_owned()))
}

/// Which text a row went through.
struct Texts<'o> {
    /// The lines of the rows, in their order, without the number of the text; and that number.
    lines: HashMap<&'o str, u64>,
    /// The text of the first row with an id.
    ids: HashMap<&'o str, u64>,
    numbers: BTreeSet<u64>,
}

const TEXT: &str = ",\"text\":";

/// The line without the number of the text, and that number.
fn split(line: &str) -> Option<(&str, u64)> {
    let (line, number) = line.split_once(TEXT)?;
    Some((line, number.strip_suffix('}')?.parse().ok()?))
}

fn id(line: &str) -> Option<&str> {
    line.split_once("\"id\":\"")?.1.split_once('"').map(|(id, _)| id)
}

impl<'o> Texts<'o> {
    /// No row may go through an earlier text than the row before it.
    fn of(output: &'o str) -> Result<Self> {
        let mut texts = Texts { lines: HashMap::new(), ids: HashMap::new(), numbers: BTreeSet::new() };
        for line in output.lines() {
            let unknown = || violation(format!("a row has no id, or no number of a text: {line}"));
            let (row, number) = split(line).ok_or_else(unknown)?;
            if let Some(last) = texts.numbers.last().filter(|last| **last > number) {
                return Err(violation(format!(
                    "after rows of text {last} this one went through text {number}: {line}"
                )));
            }
            texts.numbers.insert(number);
            texts.lines.insert(row, number);
            texts.ids.entry(id(row).ok_or_else(unknown)?).or_insert(number);
        }
        Ok(texts)
    }

    /// The output of text 0 as the texts of the rows would write it.
    fn said(&self, one: &str) -> Result<String> {
        let mut said = String::new();
        for line in one.lines() {
            let found =
                split(line).and_then(|(line, _)| Some((line, self.lines.get(line).or(self.ids.get(id(line)?))?)));
            let (line, number) = found.ok_or_else(|| violation(format!("no text has written this row: {line}")))?;
            said += &format!("{line}{TEXT}{number}}}\n");
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_where_they_were() {
        let written = "{\"id\":\"a\",\"sent\":0,\"text\":3}\n{\"id\":\"a\",\"sent\":1,\"text\":6}\n";
        let texts = Texts::of(written).unwrap();
        assert_eq!(texts.said(&written.replace(['3', '6'], "0")).unwrap(), written);
        let distinct = "{\"k\":1,\"id\":\"a\",\"text\":0}\n";
        assert_eq!(texts.said(distinct).unwrap(), distinct.replace("text\":0", "text\":3"));
        assert!(texts.said("{\"k\":1,\"id\":\"b\",\"text\":0}\n").is_err());
        assert!(Texts::of(&written.replace('3', "9")).is_err());
    }

    #[test]
    fn dead_letters_have_a_number_and_a_row() {
        let said = "{\"file\":\"f\",\"number\":12,\"error\":\"it\",\"row\":\"bad a-1 0\"}";
        assert_eq!(letter(said), Some((12, "bad a-1 0".to_owned())));
        assert_eq!(letter("{}"), None);
    }
}
