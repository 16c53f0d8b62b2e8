//! Which bounds decide on the exit code.

use crate::failure::Failure;
use crate::figure::Ratio;

/// The bounds of `--check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judges {
    None,
    All,
    /// Those of these cases, or of single ratios as `CASE.WHO`.
    Named(Vec<String>),
}

fn is_of(name: &str, ratio: &Ratio) -> bool {
    name.strip_prefix(ratio.case).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.') == Some(ratio.who))
}

impl Judges {
    /// Those of these ratios, each with its bench, that miss their bounds. A name without a bound is an error: it would
    /// judge nothing.
    pub(crate) fn missed<'r, B: Copy>(
        &self,
        ratios: impl Iterator<Item = (B, &'r Ratio)>,
    ) -> Result<Vec<(B, &'r Ratio)>, Failure> {
        let bounds: Vec<_> = ratios.filter(|(_, ratio)| ratio.bound.is_some()).collect();
        let judged = match self {
            Judges::None => Vec::new(),
            Judges::All => bounds,
            Judges::Named(names) => {
                if let Some(name) = names.iter().find(|name| !bounds.iter().any(|(_, ratio)| is_of(name, ratio))) {
                    return Err(Failure::NoBound(name.clone()));
                }
                bounds.into_iter().filter(|(_, ratio)| names.iter().any(|name| is_of(name, ratio))).collect()
            }
        };
        Ok(judged.into_iter().filter(|(_, ratio)| ratio.misses()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(judges: &Judges) -> Result<Vec<String>, Failure> {
        let ratio = |case, who, bound| Ratio::new(case, who, vec![0.5], bound);
        let ratios = [
            ratio("speed", "queue", Some(1.0)),
            ratio("speed", "share-3", Some(0.4)),
            ratio("speed-2", "queue", Some(1.0)),
            ratio("stop", "run", Some(1.0)),
            ratio("free", "queue", None),
        ];
        let missed = judges.missed(ratios.iter().map(|ratio| ((), ratio)))?;
        Ok(missed.iter().map(|((), ratio)| format!("{}.{}", ratio.case, ratio.who)).collect())
    }

    #[test]
    fn a_name_is_a_case_or_a_ratio() {
        let named = |names: &[&str]| missed(&Judges::Named(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!(missed(&Judges::None).unwrap(), [""; 0]);
        assert_eq!(missed(&Judges::All).unwrap(), ["speed.queue", "speed-2.queue", "stop.run"]);
        assert_eq!(named(&["speed"]).unwrap(), ["speed.queue"]);
        assert_eq!(named(&["stop", "speed.share-3"]).unwrap(), ["stop.run"]);
        assert_eq!(named(&["speed-2.queue"]).unwrap(), ["speed-2.queue"]);
        for wrong in ["spee", "speed.", "speed.run", "free"] {
            let message = named(&["stop", wrong]).unwrap_err().to_string();
            assert_eq!(message, format!("`{wrong}` of --check is no case and no ratio with a bound"));
        }
    }
}
