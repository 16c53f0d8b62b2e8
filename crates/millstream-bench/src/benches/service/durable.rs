//! The order book with its requests in a journal, each group synced before a stage gets it: at least a million orders a
//! second, by four clients with 4096 open requests each. `fdatasync` is the time that the disk takes for 64 KiB more of
//! a file, in the same turns.

use super::{Book, CLIENTS, Order, asked, ids};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit, median};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{Cadence, Persistent, StateDir, recorded};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

recorded!(Order);

const WINDOW: usize = 4096;
/// The bound, in orders a second.
const LEAST: f64 = 1e6;

pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    let home = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let n = setting.items(4_000_000, 1_000_000) / CLIENTS * CLIENTS;
    let syncs = RefCell::new(Vec::new());
    let contestants = vec![Contestant::new("ours", ids(n), || {
        let sum = served(&setting.rings, n, home.path())?;
        syncs.borrow_mut().push(synced(home.path())?);
        Ok(sum)
    })];
    let work = Work { case: "journal", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let mut results = take_turns(setting, work, contestants)?.results([]);
    let over = results.figures[0].samples.iter().map(|speed| speed / LEAST).collect();
    results.ratios.push(Ratio::new("journal", "limit", over, Some(1.0)));
    results.figures.push(Figure::new("journal", "limit", vec![LEAST], Unit::ItemsPerSecond));
    results.figures.push(Figure::new("journal-fdatasync", "bare", syncs.into_inner(), Unit::Nanoseconds));
    Ok(results)
}

fn served(rings: &Rings, n: u64, home: &Path) -> Result<u64, Failure> {
    let state = home.join("state");
    if state.exists() {
        std::fs::remove_dir_all(&state).map_err(Failure::io("the last run"))?;
    }
    let job = Persistent::new(rings.clone(), StateDir::open(&state, "book")?).snapshot_every(Cadence::OnCall);
    let book = pipeline::<Order>().scan(Book::default(), Book::take).named("book");
    let (client, running) = job.serve(book, JournalOptions::default())?;
    let sum = asked(client, n, WINDOW)?;
    running.wait()?;
    Ok(sum)
}

/// The median time of a sync after another 64 KiB of a file, in nanoseconds.
fn synced(home: &Path) -> Result<f64, Failure> {
    let (file, bytes) = (File::create(home.join("bare")).map_err(Failure::io("create"))?, vec![7; 1 << 16]);
    let sync = |nth: u64| {
        file.write_all_at(&bytes, nth << 16).map_err(Failure::io("write"))?;
        let began = Instant::now();
        file.sync_data().map_err(Failure::io("sync"))?;
        Ok(began.elapsed().as_nanos() as f64)
    };
    Ok(median(&(0..50).map(sync).collect::<Result<Vec<_>, Failure>>()?))
}
