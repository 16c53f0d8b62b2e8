//! The instructions of an item in a dozen kernels, as callgrind counts them, beside the counts that are kept in
//! `kept.json`, and beside the loop by hand.
//!
//! Times on a shared machine are noisy, but counts are not: they show even one additional instruction an item. A kernel
//! runs with a number of items and with three times as many, and the difference counts, so the costs before the first
//! item and after the last one cancel out. `--keep` writes the counts of this run into `kept.json`, for an intended
//! change.
//!
//! Another compiler makes other code, so the bench shows its counts beside the kept ones without judging them.

mod kept;
mod kernels;

use crate::alone::{self, Alone};
use crate::counters::Counters;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::programs::is_here;
use crate::setting::Setting;
use kept::Kept;
use kernels::Kernel;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) use kernels::alone;

/// A kernel's costs of an item.
#[derive(Clone, Copy, Debug)]
struct Costs {
    instructions: f64,
    /// Bytes.
    allocated: f64,
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    if !is_here("valgrind", "instructions")? {
        return Ok(Results::default());
    }
    let kept = Kept::read()?;
    let judged = kept.is_of_this_compiler();
    let (mut results, mut now) = (Results::default(), Kept::of_this_compiler());
    for (done, kernel) in kernels::ALL.iter().enumerate() {
        setting.progress.turn(done, kernels::ALL.len());
        let ours = costs(kernel, "ours")?;
        let fused = costs(kernel, "fused")?;
        let name = kernel.name;
        results.counters.extend([("ours", ours), ("fused", fused)].map(|(who, costs)| Counters {
            case: name,
            who,
            events: BTreeMap::from([("instructions", costs.instructions)]),
        }));
        let ratio = |who, theirs: f64, bound| Ratio::new(name, who, vec![theirs / ours.instructions], bound);
        results.ratios.push(ratio("fused", fused.instructions, None));
        if let Some(before) = kept.instructions(name) {
            results.ratios.push(ratio("kept", before, judged.then_some(1.0)));
        }
        // A run allocates its rings and its plan at the start, so a byte for each item would be a stage's.
        let allocated = Figure::new(kernel.allocated, "ours", vec![ours.allocated], Unit::Bytes);
        results.figures.push(allocated);
        let within = 1.0 / (1.0 + (ours.allocated - kernel.bytes).max(0.0));
        results.ratios.push(Ratio::new(kernel.allocated, "limit", vec![within], Some(1.0)));
        now.put(name, ours.instructions);
    }
    setting.progress.done();
    if setting.keep {
        now.write()?;
    } else if !judged {
        results.notes.push(format!("{} was kept by {}: its counts are not judged", kept::FILE, kept.compiler()));
    }
    Ok(results)
}

/// The costs of an item, by the difference of two runs.
fn costs(kernel: &Kernel, who: &str) -> Result<Costs, Failure> {
    let dir = tempfile::tempdir().map_err(Failure::io("a directory for counts"))?;
    let of = |items| counted(kernel.name, who, items, &dir.path().join("counts"));
    let (few, many) = (of(kernel.items)?, of(3 * kernel.items)?);
    let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / (2 * kernel.items) as f64;
    let expected = (kernel.fused)(3 * kernel.items);
    if many.1.checksum != expected {
        return Err(Failure::Checksum {
            who: "ours",
            expected: expected.to_string(),
            got: many.1.checksum.to_string(),
        });
    }
    Ok(Costs { instructions: each(few.0, many.0), allocated: each(few.1.allocated, many.1.allocated) })
}

fn counted(case: &str, who: &str, items: u64, counts: &Path) -> Result<(u64, Alone), Failure> {
    let to = format!("--callgrind-out-file={}", counts.display());
    let alone = alone::run_by(&["valgrind", "--quiet", "--tool=callgrind", &to], case, who, items)?;
    let text = std::fs::read_to_string(counts).map_err(Failure::io(counts.display().to_string()))?;
    let total =
        total(&text).ok_or_else(|| Failure::Program("valgrind".to_owned(), "no total in its file".to_owned()))?;
    Ok((total, alone))
}

/// The instructions of all threads, from callgrind's file.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_of_all_threads() {
        assert_eq!(total("events: Ir\nsummary: 7\n\nfn=(1)\n1 2\n\ntotals: 1234\n"), Some(1234));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn every_kernel_computes_what_its_loop_does() {
        for kernel in kernels::ALL {
            assert_eq!((kernel.ours)(kernel.items).unwrap(), (kernel.fused)(kernel.items), "{}", kernel.name);
        }
    }

    #[test]
    fn every_kernel_has_a_count() {
        let kept = Kept::read().unwrap();
        for kernel in kernels::ALL {
            assert!(kept.instructions(kernel.name).is_some(), "{}", kernel.name);
        }
    }
}
