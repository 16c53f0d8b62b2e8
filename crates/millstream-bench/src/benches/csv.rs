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
    let file = Text::table(setting.items(usual, 50_000_000))?;
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
        contestants.extend(mawk(case, file)?);
        if let Some(program) = peers::installed_by_pip(&setting.progress, "duckdb-cli", DUCKDB, "duckdb_cli/duckdb")? {
            contestants.push(duckdb("duckdb", case, &program, 1, file)?);
            contestants.push(duckdb("duckdb-two", case, &program, 2, file)?);
        }
    }
    let speeds = take_turns(setting, work, contestants)?;
    let by_two = speeds.best(case.two, &["two"], &[Against { who: "duckdb", of: &["duckdb-two"], bound: None }]);
    let against = [("miller", Some(3.0)), ("mawk", None), ("duckdb", None), ("two", None)];
    let ratios = against.map(|(who, bound)| speeds.ratio(who, bound));
    let by_one = speeds.results(ratios);
    Ok(Results::joined([by_one, by_two]))
}

/// DuckDB. It writes some numbers differently, so the bench compares it with its own output.
fn duckdb<'a>(
    name: &'static str,
    case: &Case,
    program: &Path,
    threads: u32,
    file: &Path,
) -> Result<Contestant<'a, u64>, Failure> {
    let [what, which] = case.duckdb;
    let types = "{id: 'BIGINT', user: 'VARCHAR', qty: 'BIGINT', price: 'DOUBLE', 'at': 'BIGINT'}";
    let table = format!("read_csv('{}', header = true, columns = {types})", file.display());
    let query = format!("SET threads = {threads}; SELECT {what} FROM {table} {which}");
    let words = ["-csv".into(), "-c".into(), OsString::from(query)];
    let chain = Chain::of_nothing().then(program, words);
    let expected = chain.hash()?;
    chain.contestant(name, expected)
}

fn miller<'a>(case: &Case, file: &Path, expected: u64) -> Result<Option<Contestant<'a, u64>>, Failure> {
    if !is_here("mlr", "miller")? {
        return Ok(None);
    }
    let words = ["--icsv", "--ocsv"].into_iter().chain(case.miller.iter().copied()).map(OsString::from);
    Chain::of_nothing().then("mlr", words.chain([file.into()])).contestant("miller", expected).map(Some)
}

/// mawk. Its answers have another order, so the bench compares it with its own output.
fn mawk<'a>(case: &Case, file: &Path) -> Result<Option<Contestant<'a, u64>>, Failure> {
    if !is_here("mawk", "mawk")? {
        return Ok(None);
    }
    let words: [OsString; 4] = ["-F".into(), ",".into(), case.mawk.into(), file.into()];
    let chain = Chain::of_nothing().then("mawk", words);
    let expected = chain.hash()?;
    chain.contestant("mawk", expected).map(Some)
}
