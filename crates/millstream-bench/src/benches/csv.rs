//! `millstream run`, Miller, mawk and DuckDB over a table in CSV, from a file in memory to nowhere: rows that match,
//! and a sum for each key.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::peers;
use crate::programs::{Chain, is_here};
use crate::setting::{Effort, Setting};
use crate::text::Text;
use crate::turns::{Against, Contestant, Work, take_turns};
use std::ffi::OsString;
use std::path::Path;

const DUCKDB: &str = "1.5.6";

struct Case {
    name: &'static str,
    /// The name of the case on two workers.
    two: &'static str,
    ours: &'static str,
    /// The arguments of Miller, whose output is ours byte for byte.
    miller: &'static [&'static str],
    mawk: &'static str,
    /// The selection of DuckDB, whose table has the same types as ours.
    duckdb: [&'static str; 2],
}

const CASES: [Case; 2] = [
    Case {
        name: "filter",
        two: "filter-two",
        ours: "csv(schema: {id: int, qty: int, price: float, at: int}) | where(.price > 90) | csv",
        miller: &["filter", "$price > 90"],
        mawk: "NR == 1 || $4 > 90",
        duckdb: ["*", "WHERE price > 90"],
    },
    Case {
        name: "sum",
        two: "sum-two",
        ours: "csv(schema: {id: int, qty: int, price: float, at: int}) | sum(.qty, by: .user, as: \"qty_sum\") | csv",
        miller: &["stats1", "-a", "sum", "-f", "qty", "-g", "user", "then", "sort", "-f", "user"],
        mawk: "NR > 1 { sum[$2] += $3 } END { for (user in sum) print user \",\" sum[user] }",
        duckdb: ["user, sum(qty)", "GROUP BY user ORDER BY user"],
    },
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream_with(&setting.progress, "run")?;
    setting.progress.say("table");
    let usual = if setting.effort == Effort::Full { 1_000_000_000 } else { 200_000_000 };
    let file = Text::table(setting.items(usual, 20_000_000))?;
    let bytes = std::fs::metadata(&file).map_err(Failure::io("the table"))?.len();
    let cases = CASES.iter().map(|case| of_case(setting, case, &millstream, &file, bytes));
    Ok(Results::joined(cases.collect::<Result<Vec<_>, _>>()?))
}

fn of_case(setting: &Setting, case: &Case, ours: &Path, file: &Path, bytes: u64) -> Result<Results, Failure> {
    let work = Work { case: case.name, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let by = |workers: &str| {
        let words = ["run", "--quiet", "--workers", workers, "-e", case.ours].map(OsString::from);
        Chain::of_nothing().then(ours, words.into_iter().chain([file.into()]))
    };
    let expected = by("1").hash()?;
    let mut contestants = vec![by("1").contestant("ours", expected)?, by("2").contestant("two", expected)?];
    if setting.rivals.wanted() {
        contestants.extend(miller(case, file, expected)?);
        let rows = rows(&by("1").output()?);
        contestants.extend(mawk(case, file, rows)?);
        if let Some(program) = peers::installed_by_pip(&setting.progress, "duckdb-cli", DUCKDB, "duckdb_cli/duckdb")? {
            contestants.push(duckdb("duckdb", case, &program, 1, file, rows)?);
            contestants.push(duckdb("duckdb-two", case, &program, 2, file, rows)?);
        }
    }
    let speeds = take_turns(setting, work, contestants)?;
    let by_two = speeds.best(case.two, &["two"], &[Against { who: "duckdb", of: &["duckdb-two"], bound: None }]);
    let against = [("miller", Some(3.0)), ("mawk", None), ("duckdb", None), ("two", None)];
    let ratios = against.map(|(who, bound)| speeds.ratio(who, bound));
    let by_one = speeds.results(ratios);
    Ok(Results::joined([by_one, by_two]))
}

fn rows(output: &[u8]) -> u64 {
    output.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A contestant whose output differs from ours in its form or its order. It must have as many rows as ours, with a
/// header or without, and is compared with its own output.
fn of_as_many_rows<'a>(who: &'static str, chain: Chain, ours: u64) -> Result<Contestant<'a, u64>, Failure> {
    let got = rows(&chain.output()?);
    if got != ours && got + 1 != ours {
        return Err(Failure::Checksum { who, expected: format!("{ours} rows"), got: format!("{got} rows") });
    }
    let expected = chain.hash()?;
    chain.contestant(who, expected)
}

/// DuckDB. It writes some numbers differently.
fn duckdb<'a>(
    name: &'static str,
    case: &Case,
    program: &Path,
    threads: u32,
    file: &Path,
    rows: u64,
) -> Result<Contestant<'a, u64>, Failure> {
    let [what, which] = case.duckdb;
    let types = "{id: 'BIGINT', user: 'VARCHAR', qty: 'BIGINT', price: 'DOUBLE', 'at': 'BIGINT'}";
    let table = format!("read_csv('{}', header = true, columns = {types})", file.display());
    let query = format!("SET threads = {threads}; SELECT {what} FROM {table} {which}");
    let words = ["-csv".into(), "-c".into(), OsString::from(query)];
    of_as_many_rows(name, Chain::of_nothing().then(program, words), rows)
}

fn miller<'a>(case: &Case, file: &Path, expected: u64) -> Result<Option<Contestant<'a, u64>>, Failure> {
    if !is_here("mlr", "miller")? {
        return Ok(None);
    }
    let words = ["--icsv", "--ocsv"].into_iter().chain(case.miller.iter().copied()).map(OsString::from);
    Chain::of_nothing().then("mlr", words.chain([file.into()])).contestant("miller", expected).map(Some)
}

/// mawk. Its sums have another order, and no header.
fn mawk<'a>(case: &Case, file: &Path, rows: u64) -> Result<Option<Contestant<'a, u64>>, Failure> {
    if !is_here("mawk", "mawk")? {
        return Ok(None);
    }
    let words: [OsString; 4] = ["-F".into(), ",".into(), case.mawk.into(), file.into()];
    of_as_many_rows("mawk", Chain::of_nothing().then("mawk", words), rows).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_with_other_rows_is_a_failure() {
        let printing = |text| of_as_many_rows("mawk", Chain::of_nothing().then("printf", [text]), 3).map(drop);
        printing("user,sum\nann,3\nbob,4\n").unwrap();
        printing("bob,4\nann,3\n").unwrap();
        for (wrong, rows) in [("", 0), ("ann,3\n", 1), ("user,sum\nann,3\nbob,4\ncy,5\n", 4)] {
            let message = printing(wrong).unwrap_err().to_string();
            assert_eq!(message, format!("mawk computed {rows} rows instead of 3 rows"));
        }
    }
}
