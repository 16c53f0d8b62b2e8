//! BENCHMARKS.md: the words of `report.md`, with the figures of the newest kept runs.
//!
//! No figure in it is typed by hand. A line `{{NAME WORDS...}}` of the words becomes a table; inside a line, `{{...}}`
//! becomes a figure.

mod counted;
mod digits;
mod fill;
mod kept;
mod lost;
mod pairs;

use crate::failure::Failure;
use kept::Kept;
use std::path::Path;

/// The words, and where they go with the figures.
const WORDS: &str = "report.md";
const REPORT: &str = "../../BENCHMARKS.md";

/// Writes BENCHMARKS.md from the words and the runs below the bench's own directory.
pub(crate) fn write(home: &Path) -> Result<(), Failure> {
    let file = home.join(REPORT);
    let text = text(home)?;
    std::fs::write(&file, text).map_err(Failure::io(format!("cannot write {}", file.display())))
}

/// The text of BENCHMARKS.md.
fn text(home: &Path) -> Result<String, Failure> {
    let file = home.join(WORDS);
    let words = std::fs::read_to_string(&file).map_err(Failure::io(format!("cannot read {}", file.display())))?;
    fill::filled(&words, &Kept::all(&home.join("runs"))?).map_err(Failure::Report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_figures_of_the_newest_runs() {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let written = std::fs::read_to_string(home.join(REPORT)).unwrap();
        assert!(written == text(home).unwrap(), "`cargo xtask bench --report` writes BENCHMARKS.md again");
    }
}
