//! Which bounds decide on the exit code.

use crate::failure::Failure;
use crate::figure::Ratio;

/// The bounds of `--check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judges {
    None,
    /// Every bound there is.
    All,
    /// Every bound; each bench must have one.
    Each,
    /// Those of these cases, or of single ratios as `CASE.WHO`.
    Named(Vec<String>),
}

fn is_of(name: &str, ratio: &Ratio) -> bool {
    name.strip_prefix(ratio.case).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.') == Some(ratio.who))
}

/// A bench, and its ratios.
type Measured = (&'static str, Vec<Ratio>);

impl Judges {
    /// The ratios that miss their bounds, each with its bench. A name without a bound is an error, and so is a bench
    /// that must have one: it would judge nothing.
    pub(crate) fn missed<'r>(&self, measured: &'r [Measured]) -> Result<Vec<(&'static str, &'r Ratio)>, Failure> {
        let all = measured.iter().flat_map(|(bench, ratios)| ratios.iter().map(move |ratio| (*bench, ratio)));
        let bounds: Vec<_> = all.filter(|(_, ratio)| ratio.bound.is_some()).collect();
        let judged = match self {
            Judges::None => Vec::new(),
            Judges::All => bounds,
            Judges::Each => {
                let is_judged = |bench: &str| bounds.iter().any(|(of, _)| *of == bench);
                if let Some(&(bench, _)) = measured.iter().find(|(bench, _)| !is_judged(bench)) {
                    return Err(Failure::NothingToJudge(bench));
                }
                bounds
            }
            Judges::Named(names) => {
                if let Some(name) = names.iter().find(|name| !bounds.iter().any(|(_, ratio)| is_of(name, ratio))) {
                    return Err(Failure::NoBound(name.clone()));
                }
                bounds.into_iter().filter(|(_, ratio)| names.iter().any(|name| is_of(name, ratio))).collect()
            }
        };
        Ok(judged.into_iter().filter(|(_, ratio)| ratio.misses()).collect())
    }

    /// A line for each missed bound, and why there is no more, if something failed. A bench that failed hides no missed
    /// bound of another.
    pub(crate) fn verdict(&self, measured: &[Measured], failure: Option<Failure>) -> (Vec<String>, Option<Failure>) {
        match self.missed(measured) {
            Ok(missed) => (missed.into_iter().map(|(bench, ratio)| format!("{bench}: {ratio}")).collect(), failure),
            // A bound may be missing because its bench failed.
            Err(nothing) => (Vec::new(), failure.or(Some(nothing))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(case: &'static str, who: &'static str, bound: Option<f64>) -> Ratio {
        Ratio::new(case, who, vec![0.5], bound)
    }

    fn missed(judges: &Judges, measured: &[Measured]) -> Result<Vec<String>, Failure> {
        let missed = judges.missed(measured)?;
        Ok(missed.iter().map(|(bench, ratio)| format!("{bench}.{}.{}", ratio.case, ratio.who)).collect())
    }

    #[test]
    fn a_name_is_a_case_or_a_ratio() {
        let ratios = vec![
            ratio("speed", "queue", Some(1.0)),
            ratio("speed", "share-3", Some(0.4)),
            ratio("speed-2", "queue", Some(1.0)),
            ratio("stop", "run", Some(1.0)),
            ratio("free", "queue", None),
        ];
        let missed = |judges: &Judges| missed(judges, &[("b", ratios.clone())]);
        let named = |names: &[&str]| missed(&Judges::Named(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!(missed(&Judges::None).unwrap(), [""; 0]);
        assert_eq!(missed(&Judges::All).unwrap(), ["b.speed.queue", "b.speed-2.queue", "b.stop.run"]);
        assert_eq!(named(&["speed"]).unwrap(), ["b.speed.queue"]);
        assert_eq!(named(&["stop", "speed.share-3"]).unwrap(), ["b.stop.run"]);
        assert_eq!(named(&["speed-2.queue"]).unwrap(), ["b.speed-2.queue"]);
        for wrong in ["spee", "speed.", "speed.run", "free"] {
            let message = named(&["stop", wrong]).unwrap_err().to_string();
            assert_eq!(message, format!("`{wrong}` of --check is no case and no ratio with a bound"));
        }
    }

    #[test]
    fn a_bench_that_failed_hides_no_missed_bound() {
        let measured = [("b", vec![ratio("speed", "queue", Some(1.0))])];
        let verdict = |judges: Judges| {
            let (missed, failure) = judges.verdict(&measured, Some(Failure::Benches("c".to_owned())));
            (missed, failure.map(|failure| failure.to_string()))
        };
        let failed = Some("there are no results of c: see above".to_owned());
        let missed = vec!["b: speed.ratio.queue is 0.500, its bound 1".to_owned()];
        assert_eq!(verdict(Judges::All), (missed.clone(), failed.clone()));
        assert_eq!(verdict(Judges::Each), (missed, failed.clone()));
        assert_eq!(verdict(Judges::Named(vec!["a-case-of-c".to_owned()])), (Vec::new(), failed));
        let (missed, failure) = Judges::All.verdict(&measured, None);
        assert!((missed.len(), failure.is_none()) == (1, true));
    }

    #[test]
    fn a_bench_that_must_have_a_bound_has_one() {
        let bound = || ("bound", vec![ratio("speed", "queue", Some(1.0)), ratio("free", "queue", None)]);
        let free = || ("free", vec![ratio("speed", "queue", None)]);
        assert_eq!(missed(&Judges::Each, &[bound()]).unwrap(), ["bound.speed.queue"]);
        assert_eq!(missed(&Judges::All, &[bound(), free()]).unwrap(), ["bound.speed.queue"]);
        for without in [free(), ("free", Vec::new())] {
            let message = missed(&Judges::Each, &[bound(), without]).unwrap_err().to_string();
            assert_eq!(message, "--check has nothing to judge: no ratio of free has a bound in this run");
        }
    }
}
