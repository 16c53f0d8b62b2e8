//! Counts over time, sampled every few milliseconds while a run goes on.

use std::time::{Duration, Instant};

/// The sampling interval.
const EVERY: Duration = Duration::from_millis(20);

/// The rates of several counts over time.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) title: String,
    /// A description of the traffic: its size and batches.
    pub(crate) traffic: String,
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Seconds from the beginning, and events a second since the previous point.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Samples `counts` until it returns `None`. Each call returns the counts of `names` until then.
pub(crate) fn watched(
    title: String,
    traffic: String,
    names: Vec<String>,
    mut counts: impl FnMut() -> Option<Vec<u64>>,
) -> Timeline {
    let begun = Instant::now();
    let mut lines: Vec<_> = names.into_iter().map(|name| Line { name, points: Vec::new() }).collect();
    let mut before: Option<(f64, Vec<u64>)> = None;
    while let Some(now) = counts() {
        let at = begun.elapsed().as_secs_f64();
        if let Some((then, before)) = &before {
            for ((line, now), before) in lines.iter_mut().zip(&now).zip(before) {
                line.points.push((at, now.saturating_sub(*before) as f64 / (at - then)));
            }
        }
        before = Some((at, now));
        std::thread::sleep(EVERY);
    }
    Timeline { title, traffic, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_rates() {
        let mut looks = 0;
        let timeline = watched("t".to_owned(), String::new(), vec!["a".to_owned(), "b".to_owned()], || {
            looks += 1;
            (looks < 4).then(|| vec![looks * 1000, 5])
        });
        let [a, b] = &timeline.lines[..] else { panic!("{timeline:?}") };
        assert_eq!((a.points.len(), b.points.len()), (2, 2));
        assert!(a.points.iter().all(|(at, rate)| *at > 0.0 && *rate > 0.0), "{a:?}");
        assert!(b.points.iter().all(|(_, rate)| *rate == 0.0), "{b:?}");
    }
}
