use crate::manifest::{self, Manifest};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The contents of a snapshot to be saved. Leave a field that the program does not need at its default.
#[derive(Clone, Debug, Default)]
pub struct Saved<'a> {
    /// The number of the mark.
    pub at: u64,
    /// The number of the output's clock at the mark.
    pub output_at: Option<u64>,
    /// The position of the source.
    pub source: Value,
    /// The claim of the sink.
    pub sink: Value,
    /// The claims of side sinks, by name.
    pub side_sinks: BTreeMap<String, Value>,
    /// The plan of the pipeline.
    pub plan: Value,
    /// The plan's fingerprint.
    pub fingerprint: &'a str,
    /// The stages, and the number that each takes next.
    pub numbers: &'a [(String, u64)],
    /// Names and bytes, each name once.
    pub parts: &'a [(&'a str, &'a [u8])],
    /// An earlier snapshot of the same directory. A part with the name, the length and the hash of one of its parts is
    /// not written again: the manifest says in which file it is, and the snapshot with that file stays as long as this
    /// one.
    ///
    /// Damage of that file then damages this snapshot too, so there should be one without a base now and then.
    pub base: Option<&'a Manifest>,
    /// The names of parts of the base that are this snapshot's as well, without a look at their bytes. None of them is
    /// among the [`parts`](Saved::parts).
    pub kept: &'a [&'a str],
}

/// A snapshot that is ready to be written.
pub(crate) struct Prepared<'a> {
    pub(crate) manifest: Manifest,
    /// The parts that must be written.
    pub(crate) parts: Vec<&'a [u8]>,
    /// The bytes after the parts: the manifest and the last line.
    pub(crate) sealed: Vec<u8>,
}

impl<'a> Saved<'a> {
    /// The bytes of this snapshot, or why there are none.
    pub(crate) fn prepare(
        &self,
        program: &str,
        (id, epoch): (u64, u64),
        written_unix_ms: u64,
    ) -> Result<Prepared<'a>, String> {
        let Saved { at, output_at, source, sink, side_sinks, plan, fingerprint, numbers, parts, base, kept } = self;
        let mut names = BTreeSet::new();
        let all = kept.iter().copied().chain(parts.iter().map(|(name, _)| *name));
        if let Some(twice) = all.into_iter().find(|name| !names.insert(*name)) {
            return Err(format!("two parts have the name `{twice}`"));
        }
        let mut entries = manifest::kept(*base, kept)?;
        let (new, written) = manifest::entries(&manifest::file_name(id, epoch), parts, *base);
        entries.extend(new);
        let manifest = Manifest {
            format: manifest::FORMAT,
            program: program.to_owned(),
            id,
            at: *at,
            output_at: *output_at,
            epoch,
            written_unix_ms,
            source: source.clone(),
            sink: sink.clone(),
            side_sinks: side_sinks.clone(),
            plan: plan.clone(),
            fingerprint: (*fingerprint).to_owned(),
            numbers: numbers.iter().cloned().collect(),
            parts: entries,
        };
        let refused = |error| format!("its manifest cannot be read back after it was written: {error}");
        let json = serde_json::to_vec(&manifest).map_err(refused)?;
        serde_json::from_slice::<Manifest>(&json).map_err(refused)?;
        let sealed = manifest::KIND.seal_json(&json);
        Ok(Prepared { manifest, parts: written, sealed })
    }
}
