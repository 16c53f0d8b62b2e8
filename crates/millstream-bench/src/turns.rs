//! Contestants take turns, so that whatever else the machine does meets all of them.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::load::Load;
use crate::setting::Setting;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Somebody who does the same work as the others.
pub(crate) struct Contestant<'a, C> {
    who: &'static str,
    expected: C,
    run: Box<dyn FnMut() -> Result<(C, Duration), Failure> + 'a>,
}

impl<'a, C> Contestant<'a, C> {
    /// `run` does the work once, and must come to the `expected` checksum.
    pub(crate) fn new(who: &'static str, expected: C, mut run: impl FnMut() -> Result<C, Failure> + 'a) -> Self {
        let timed = move || {
            let started = Instant::now();
            let checksum = run()?;
            Ok((checksum, started.elapsed()))
        };
        Contestant { who, expected, run: Box::new(timed) }
    }

    /// As [`new`](Contestant::new), of somebody in another process, who says himself how long it took.
    pub(crate) fn away(
        who: &'static str,
        expected: C,
        run: impl FnMut() -> Result<(C, Duration), Failure> + 'a,
    ) -> Self {
        Contestant { who, expected, run: Box::new(run) }
    }
}

/// Whom a best one is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against<'a> {
    pub(crate) who: &'static str,
    /// The fastest of these in each turn.
    pub(crate) of: &'a [&'static str],
    pub(crate) bound: Option<f64>,
}

/// The speed of each contestant in each turn.
#[derive(Debug)]
pub(crate) struct Speeds {
    case: &'static str,
    unit: Unit,
    of: Vec<(&'static str, Vec<f64>)>,
    others: Option<f64>,
}

/// What every contestant does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) case: &'static str,
    pub(crate) unit: Unit,
    /// How much is done in one go; what is shown in seconds is one.
    pub(crate) size: u64,
    /// How often in one turn. In many short goes, what else the machine does meets everybody alike.
    pub(crate) goes: u32,
}

/// Lets all contestants do the work in one unmeasured turn, then in as many as the setting says: one go each, one
/// after the other, every other time in the opposite order.
pub(crate) fn take_turns<C: PartialEq + Display>(
    setting: &Setting,
    Work { case, unit, size, goes }: Work,
    mut contestants: Vec<Contestant<'_, C>>,
) -> Result<Speeds, Failure> {
    let mut of: Vec<_> = contestants.iter().map(|contestant| (contestant.who, Vec::new())).collect();
    let before = Load::now(setting.rivals.id());
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        let mut seconds = vec![0.0; contestants.len()];
        for go in 0..goes as usize {
            let mut order: Vec<_> = (0..contestants.len()).collect();
            if (turn + go).is_multiple_of(2) {
                order.reverse();
            }
            for i in order {
                seconds[i] += timed(&mut contestants[i])?;
            }
        }
        if turn > 0 {
            let speeds = seconds.iter().map(|seconds| (size * u64::from(goes)) as f64 / seconds);
            of.iter_mut().zip(speeds).for_each(|((_, all), speed)| all.push(speed));
        }
    }
    setting.progress.done();
    let others = Load::of_others(before, setting.rivals.id());
    Ok(Speeds { case, unit, of, others })
}

fn timed<C: PartialEq + Display>(contestant: &mut Contestant<'_, C>) -> Result<f64, Failure> {
    let (got, took) = (contestant.run)()?;
    if got != contestant.expected {
        let (who, expected, got) = (contestant.who, contestant.expected.to_string(), got.to_string());
        return Err(Failure::Checksum { who, expected, got });
    }
    Ok(took.as_secs_f64())
}

impl Speeds {
    /// The first contestant's speed over that of `who`, with a bound or without.
    pub(crate) fn ratio(&self, who: &'static str, bound: Option<f64>) -> Option<Ratio> {
        self.ratio_as(who, &[who], bound)
    }

    /// The first contestant's speed over the one that is fastest in the same turn.
    pub(crate) fn ratio_as(&self, name: &'static str, whom: &[&str], bound: Option<f64>) -> Option<Ratio> {
        self.ratio_between(&[self.of.first()?.0], whom, name, bound)
    }

    /// The fastest of `ours` over the fastest of `whom` in the same turn.
    pub(crate) fn ratio_between(
        &self,
        ours: &[&str],
        whom: &[&str],
        name: &'static str,
        bound: Option<f64>,
    ) -> Option<Ratio> {
        let pairs = self.fastest(ours)?.into_iter().zip(self.fastest(whom)?);
        Some(Ratio::new(self.case, name, pairs.map(|(ours, theirs)| ours / theirs).collect(), bound))
    }

    /// The speed of the fastest of these in each turn; none if none of them took part.
    fn fastest(&self, whom: &[&str]) -> Option<Vec<f64>> {
        let taking_part = self.of.iter().filter(|(who, _)| whom.contains(who)).map(|(_, speeds)| speeds.clone());
        taking_part.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect())
    }

    /// The fastest of `ours` in each turn, as a case of its own, against the fastest of some others at a time.
    pub(crate) fn best(&self, case: &'static str, ours: &[&str], against: &[Against<'_>]) -> Results {
        let figure = self.fastest(ours).map(|speeds| Figure::new(case, "ours", speeds, self.unit));
        let ratio = |Against { who, of, bound }: &Against<'_>| {
            self.ratio_between(ours, of, who, *bound).map(|ratio| Ratio { case, ..ratio })
        };
        let ratios = against.iter().filter_map(ratio).collect();
        Results { others: self.others, figures: figure.into_iter().collect(), ratios, ..Results::default() }
    }

    /// The median speeds of everybody but these.
    pub(crate) fn without(mut self, whom: &[&str]) -> Results {
        self.of.retain(|(who, _)| !whom.contains(who));
        self.results([])
    }

    /// The median speeds, and these ratios.
    pub(crate) fn results(self, ratios: impl IntoIterator<Item = Option<Ratio>>) -> Results {
        let (case, unit, others) = (self.case, self.unit, self.others);
        let shown = |speed: f64| if unit == Unit::Seconds { 1.0 / speed } else { speed };
        let figure = |(who, speeds): (_, Vec<_>)| Figure::new(case, who, speeds.into_iter().map(shown).collect(), unit);
        let figures = self.of.into_iter().map(figure).collect();
        Results { others, figures, ratios: ratios.into_iter().flatten().collect(), ..Results::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds() -> Speeds {
        let of = vec![("ours", vec![2.0, 4.0]), ("a", vec![4.0, 1.0]), ("b", vec![1.0, 2.0])];
        Speeds { case: "speed", unit: Unit::ItemsPerSecond, of, others: None }
    }

    #[test]
    fn ratios_are_made_turn_by_turn() {
        assert_eq!(speeds().ratio("a", None).unwrap().samples, [0.5, 4.0]);
        assert_eq!(speeds().ratio_as("best", &["a", "b"], None).unwrap().samples, [0.5, 2.0]);
        assert_eq!(speeds().ratio_between(&["a", "b"], &["ours"], "best", None).unwrap().samples, [2.0, 0.5]);
        assert!(speeds().ratio("nobody", None).is_none());
    }

    #[test]
    fn a_wrong_checksum_is_a_failure() {
        let mut wrong = Contestant::new("ours", 7, || Ok(8));
        assert_eq!(timed(&mut wrong).unwrap_err().to_string(), "ours came to 8, not to 7");
    }
}
