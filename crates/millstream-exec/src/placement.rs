//! Placement: which worker runs what, as contiguous groups of stages with balanced load.
//!
//! The load of a stage is measured: the numbers that it has moved since the pipeline was last changed, times what a
//! number costs. How many workers there are is tried out by the [`Controller`], unless it is set. What was decided, and
//! by which figures, is in the run's report; `Rings::explain` says beforehand what a run would decide.

mod controller;

pub(crate) use controller::{Controller, Verdict, Wanted};

/// Buffers of a placement, kept so that placing does not allocate.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) loads: Vec<f64>,
    pub(crate) cuts: Vec<usize>,
}

/// Groups of equal count. Of more workers than entries, the first ones have one each, as with [`cut`].
pub(crate) fn cut_evenly(count: usize, workers: usize, cuts: &mut Vec<usize>) {
    cuts.clear();
    cuts.extend((0..=workers).map(|worker| if count < workers { worker.min(count) } else { worker * count / workers }));
}

/// Cuts the loads into at most `workers` contiguous groups so that the greatest group is as small as possible.
pub(crate) fn cut(loads: &[f64], workers: usize, cuts: &mut Vec<usize>) {
    let total: f64 = loads.iter().sum();
    if total <= 0.0 {
        return cut_evenly(loads.len(), workers, cuts);
    }
    cuts.clear();
    cuts.push(0);
    fill_groups(loads, least_greatest(loads, workers) * (1.0 + 1e-9), |cut| cuts.push(cut));
    cuts.resize(workers + 1, loads.len());
}

/// The smallest possible load of the greatest of at most `workers` contiguous groups.
pub(crate) fn least_greatest(loads: &[f64], workers: usize) -> f64 {
    let total: f64 = loads.iter().sum();
    let (mut low, mut high) = (loads.iter().copied().fold(total / workers as f64, f64::max), total);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let mut groups = 1;
        fill_groups(loads, middle, |_| groups += 1);
        if groups <= workers { high = middle } else { low = middle }
    }
    high
}

/// Fills groups up to `limit`, one after another. Calls `cut` with the index at which each next group begins.
fn fill_groups(loads: &[f64], limit: f64, mut cut: impl FnMut(usize)) {
    let (mut group, mut empty) = (0.0, true);
    for (i, load) in loads.iter().enumerate() {
        if group + load > limit && !empty {
            cut(i);
            group = 0.0;
        }
        group += load;
        empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn groups_are_contiguous_and_balanced() {
        let cuts = |loads: &[f64], workers: usize| {
            let mut cuts = vec![7];
            cut(loads, workers, &mut cuts);
            cuts
        };
        assert_eq!(cuts(&[0.0; 5], 2), [0, 2, 5]);
        assert_eq!(cuts(&[0.0; 2], 4), [0, 1, 2, 2, 2]);
        assert_eq!(cuts(&[0.0; 1], 2), [0, 1, 1]);
        assert_eq!(cuts(&[1.0, 1.0, 1.0, 9.0], 2), [0, 3, 4]);
        assert_eq!(cuts(&[9.0, 1.0, 1.0, 1.0], 2), [0, 1, 4]);
        assert_eq!(cuts(&[1.0; 6], 3), [0, 2, 4, 6]);
        assert_eq!(cuts(&[5.0], 3), [0, 1, 1, 1]);
    }
}
