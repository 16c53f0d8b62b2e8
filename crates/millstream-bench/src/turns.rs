//! Contestants take turns, so that other activity of the machine affects all of them. A turn may have several goes, and
//! its ratio is the median of theirs: if the cores of the machine move apart meanwhile, only those goes notice.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit, median};
use crate::load::{Load, Use};
use crate::round_trip;
use crate::setting::Setting;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::time::{Duration, Instant};

/// A contestant, which does the same work as the others.
pub(crate) struct Contestant<'a, C> {
    who: &'static str,
    expected: C,
    run: Box<dyn FnMut() -> Result<(C, Duration), Failure> + 'a>,
}

impl<'a, C> Contestant<'a, C> {
    /// `run` does the work once, and must return the `expected` checksum.
    pub(crate) fn new(who: &'static str, expected: C, mut run: impl FnMut() -> Result<C, Failure> + 'a) -> Self {
        let timed = move || {
            let started = Instant::now();
            let checksum = run()?;
            Ok((checksum, started.elapsed()))
        };
        Contestant { who, expected, run: Box::new(timed) }
    }

    /// As [`new`](Contestant::new), for a contestant in another process, which measures its own time.
    pub(crate) fn away(
        who: &'static str,
        expected: C,
        run: impl FnMut() -> Result<(C, Duration), Failure> + 'a,
    ) -> Self {
        Contestant { who, expected, run: Box::new(run) }
    }
}

/// The rivals that the best of ours is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Against<'a> {
    pub(crate) who: &'static str,
    /// Their names. The fastest of them in each turn counts.
    pub(crate) of: &'a [&'static str],
    pub(crate) bound: Option<f64>,
}

/// The speed of a contestant in each go of a turn.
type Goes = Vec<f64>;

/// The speed of a whole turn.
fn of_turn(goes: &Goes) -> f64 {
    goes.len() as f64 / goes.iter().map(|speed| 1.0 / speed).sum::<f64>()
}

/// Those of two whose median is the greater one.
fn faster<'g>(one: &'g Goes, other: &'g Goes) -> &'g Goes {
    if median(one) >= median(other) { one } else { other }
}

/// The speeds of each contestant in each turn.
#[derive(Debug)]
pub(crate) struct Speeds {
    case: &'static str,
    unit: Unit,
    of: Vec<(&'static str, Vec<Goes>)>,
    /// The first results of these turns have it: others would count it again.
    others: Cell<Option<Use>>,
    round_trips: Vec<f64>,
    /// The contestants of bounds that were left out, since the last results.
    left_out: RefCell<Vec<&'static str>>,
}

/// The work of every contestant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) case: &'static str,
    pub(crate) unit: Unit,
    /// The amount of work in one go; for units of time it is 1.
    pub(crate) size: u64,
    /// The goes of one turn. With many short goes, other activity of the machine affects all contestants alike, and
    /// does not decide on their ratio.
    pub(crate) goes: u32,
}

/// Runs all contestants in one unmeasured turn of one go, then in the setting's number of turns. They take their goes
/// one after the other, in every second round in the opposite order.
pub(crate) fn take_turns<C: PartialEq + Display>(
    setting: &Setting,
    Work { case, unit, size, goes }: Work,
    mut contestants: Vec<Contestant<'_, C>>,
) -> Result<Speeds, Failure> {
    let mut of: Vec<_> = contestants.iter().map(|contestant| (contestant.who, Vec::new())).collect();
    let (before, mut round_trips) = (Load::now(), Vec::new());
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        round_trips.extend(round_trip::measure());
        let mut speeds = vec![Goes::new(); contestants.len()];
        for go in 0..if turn == 0 { 1 } else { goes as usize } {
            let mut order: Vec<_> = (0..contestants.len()).collect();
            if (turn + go).is_multiple_of(2) {
                order.reverse();
            }
            for i in order {
                speeds[i].push(size as f64 / timed(&mut contestants[i])?);
            }
        }
        if turn > 0 {
            of.iter_mut().zip(speeds).for_each(|((_, all), speed)| all.push(speed));
        }
    }
    setting.progress.done();
    let others = Cell::new(Load::of_others(before));
    Ok(Speeds { case, unit, of, others, round_trips, left_out: RefCell::default() })
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

    /// The first contestant's speed over the fastest of `names` in the same turn.
    pub(crate) fn ratio_as(&self, name: &'static str, names: &[&str], bound: Option<f64>) -> Option<Ratio> {
        self.ratio_between(&[self.of.first()?.0], names, name, bound)
    }

    /// The fastest of `ours` over the fastest of `names` in the same turn: those whose median go is the fastest. The
    /// ratio of a turn is the median over its goes.
    pub(crate) fn ratio_between(
        &self,
        ours: &[&str],
        names: &[&str],
        name: &'static str,
        bound: Option<f64>,
    ) -> Option<Ratio> {
        let of_goes = |(ours, theirs): (&Goes, &Goes)| {
            median(&ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect::<Goes>())
        };
        let (Some(ours), Some(theirs)) = (self.fastest(ours), self.fastest(names)) else {
            self.left_out.borrow_mut().extend(bound.map(|_| name));
            return None;
        };
        let ratios = ours.into_iter().zip(theirs).map(of_goes).collect();
        Some(Ratio::new(self.case, name, ratios, bound))
    }

    /// The bounds of a case that were not judged since the last call.
    fn unjudged(&self, case: &str) -> Vec<String> {
        self.left_out.take().into_iter().map(|who| format!("{case}.{who}")).collect()
    }

    /// The first of two contestants' speed over the second one's.
    pub(crate) fn pair(&self, pair: [&'static str; 2], name: &'static str, bound: Option<f64>) -> Option<Ratio> {
        let ratio = self.ratio_between(&[pair[0]], &[pair[1]], name, bound)?;
        Some(Ratio { pair: Some(pair), ..ratio })
    }

    /// The goes of the fastest of these in each turn; `None` if none of them took part.
    fn fastest(&self, names: &[&str]) -> Option<Vec<&Goes>> {
        let taking_part = self.of.iter().filter(|(who, _)| names.contains(who));
        taking_part
            .map(|(_, turns)| turns.iter().collect())
            .reduce(|a: Vec<_>, b| a.into_iter().zip(b).map(|(a, b)| faster(a, b)).collect())
    }

    /// The nanoseconds by which an item of `who` takes longer than one of `other`, by turn, divided by `parts`.
    pub(crate) fn longer(&self, who: &str, other: &str, parts: f64) -> Vec<f64> {
        let (Some(one), Some(other)) = (self.fastest(&[who]), self.fastest(&[other])) else { return Vec::new() };
        let time = |goes: &Goes| 1e9 / of_turn(goes) / parts;
        one.into_iter().zip(other).map(|(one, other)| time(one) - time(other)).collect()
    }

    /// The fastest of `ours` in each turn, as its own case, with its ratios to other contestants.
    pub(crate) fn best(&self, case: &'static str, ours: &[&str], against: &[Against<'_>]) -> Results {
        let of_turns = |turns: Vec<&Goes>| turns.into_iter().map(of_turn).collect();
        let figure = self.fastest(ours).map(|turns| Figure::new(case, "ours", of_turns(turns), self.unit));
        let ratio = |Against { who, of, bound }: &Against<'_>| {
            self.ratio_between(ours, of, who, *bound).map(|ratio| Ratio { case, ..ratio })
        };
        let ratios = against.iter().filter_map(ratio).collect();
        let (others, round_trips, unjudged) = (self.others.take(), self.round_trips.clone(), self.unjudged(case));
        Results { others, round_trips, figures: figure.into_iter().collect(), ratios, unjudged, ..Results::default() }
    }

    /// The median speeds without these contestants.
    pub(crate) fn without(mut self, names: &[&str]) -> Results {
        self.of.retain(|(who, _)| !names.contains(who));
        self.results([])
    }

    /// The median speeds, and these ratios.
    pub(crate) fn results(self, ratios: impl IntoIterator<Item = Option<Ratio>>) -> Results {
        let (case, unit, others, unjudged) = (self.case, self.unit, self.others.take(), self.unjudged(self.case));
        let shown = |speed: f64| if unit == Unit::Seconds { 1.0 / speed } else { speed };
        let figure = |(who, turns): (_, Vec<Goes>)| {
            Figure::new(case, who, turns.iter().map(|goes| shown(of_turn(goes))).collect(), unit)
        };
        let figures = self.of.into_iter().map(figure).collect();
        let (round_trips, ratios) = (self.round_trips, ratios.into_iter().flatten().collect());
        Results { others, round_trips, figures, ratios, unjudged, ..Results::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds() -> Speeds {
        let of = [("ours", [2.0, 4.0]), ("a", [4.0, 1.0]), ("b", [1.0, 2.0])];
        let of = of.map(|(who, turns)| (who, turns.map(|speed| vec![speed]).into())).into();
        let (others, left_out) = (Cell::default(), RefCell::default());
        Speeds { case: "speed", unit: Unit::ItemsPerSecond, of, others, round_trips: Vec::new(), left_out }
    }

    #[test]
    fn ratios_are_made_turn_by_turn() {
        assert_eq!(speeds().ratio("a", None).unwrap().samples, [0.5, 4.0]);
        assert_eq!(speeds().ratio_as("best", &["a", "b"], None).unwrap().samples, [0.5, 2.0]);
        assert_eq!(speeds().ratio_between(&["a", "b"], &["ours"], "best", None).unwrap().samples, [2.0, 0.5]);
        assert!(speeds().ratio("absent", None).is_none());
        let pair = speeds().pair(["a", "b"], "a-over-b", None).unwrap();
        assert_eq!((pair.samples, pair.pair), (vec![4.0, 0.5], Some(["a", "b"])));
    }

    #[test]
    fn a_bound_beside_a_contestant_that_is_absent_is_not_judged() {
        let speeds = speeds();
        let against = |who, bound| Against { who, of: if who == "a" { &["a"] } else { &["absent"] }, bound };
        let best =
            speeds.best("best", &["ours"], &[against("a", Some(1.0)), against("c", Some(1.0)), against("d", None)]);
        assert_eq!(best.unjudged, ["best.c"]);
        let ratios = [speeds.ratio("a", Some(1.0)), speeds.ratio("absent", Some(1.0)), speeds.ratio("e", None)];
        assert_eq!(speeds.results(ratios).unjudged, ["speed.absent"]);
    }

    /// In two of three goes both have cores far apart, where they are as fast as each other.
    #[test]
    fn goes_are_compared_one_by_one() {
        let of = vec![("ours", vec![vec![9.0, 1.0, 1.0]]), ("a", vec![vec![1.0, 1.0, 1.0]]), ("b", vec![vec![3.0; 3]])];
        let speeds = Speeds { of, ..speeds() };
        assert_eq!(speeds.ratio("a", None).unwrap().samples, [1.0]);
        assert_eq!(speeds.ratio_as("best", &["a", "b"], None).unwrap().samples, [0.333_333_3]);
        let figures = speeds.results([]).figures;
        assert_eq!(figures.iter().map(|figure| figure.value).collect::<Vec<_>>(), [1.421_053, 1.0, 3.0]);
    }

    #[test]
    fn a_wrong_checksum_is_a_failure() {
        let mut wrong = Contestant::new("ours", 7, || Ok(8));
        assert_eq!(timed(&mut wrong).unwrap_err().to_string(), "ours computed 8 instead of 7");
    }
}
