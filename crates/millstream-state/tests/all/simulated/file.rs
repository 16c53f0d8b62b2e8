use std::collections::{BTreeMap, BTreeSet};

/// What a disk writes as a whole.
const PAGE: usize = 4096;

/// A file: what programs see, what is durable, and what is between.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    durable: Vec<u8>,
    now: Vec<u8>,
    /// The versions that each page has had since the last sync.
    pages: BTreeMap<usize, Vec<Vec<u8>>>,
    /// The lengths that the file has had since then.
    lengths: BTreeSet<usize>,
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.now
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        if bytes.is_empty() {
            return;
        }
        let (before, end) = (self.now.len(), offset + bytes.len());
        if end > before {
            self.now.resize(end, 0);
        }
        self.now[offset..end].copy_from_slice(bytes);
        self.touch(offset.min(before) / PAGE..end.div_ceil(PAGE));
        self.grown(before);
    }

    pub(super) fn set_len(&mut self, length: usize) {
        let before = self.now.len();
        self.now.resize(length, 0);
        self.touch(length.min(before) / PAGE..length.max(before).div_ceil(PAGE));
        self.grown(before);
    }

    /// Keeps the present version of these pages.
    fn touch(&mut self, pages: std::ops::Range<usize>) {
        for page in pages {
            let version = page_of(&self.now, page);
            self.pages.entry(page).or_default().push(version);
        }
    }

    /// Keeps the present length, and those between it and the one before.
    fn grown(&mut self, before: usize) {
        let now = self.now.len();
        if now != before {
            self.lengths.insert(now);
            self.lengths.extend((before.div_ceil(PAGE)..now.div_ceil(PAGE)).map(|page| page * PAGE));
        }
    }

    pub(super) fn sync(&mut self) {
        if !self.pages.is_empty() || !self.lengths.is_empty() {
            let last: Vec<usize> = self.pages.values().map(Vec::len).collect();
            self.durable = self.after(&last, Some(self.now.len()));
            self.lose_dirty();
        }
    }

    /// What was not durable never will be, though programs still see it: as Linux does after a failed sync.
    pub(super) fn lose_dirty(&mut self) {
        self.pages.clear();
        self.lengths.clear();
    }

    /// The number of choices for each dirty page, and for the length.
    pub(super) fn choices(&self) -> Vec<usize> {
        let pages = self.pages.values().map(|versions| versions.len() + 1);
        pages.chain((!self.lengths.is_empty()).then_some(self.lengths.len() + 1)).collect()
    }

    /// The file after a crash with these choices; 0 is what was durable.
    pub(super) fn crashed(&self, choices: &[usize]) -> Content {
        let length = choices.get(self.pages.len()).and_then(|choice| choice.checked_sub(1));
        let length = length.and_then(|at| self.lengths.iter().nth(at).copied());
        let bytes = self.after(&choices[..self.pages.len()], length);
        Content { durable: bytes.clone(), now: bytes, ..Content::default() }
    }

    fn after(&self, versions: &[usize], length: Option<usize>) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        bytes.resize(length.unwrap_or(bytes.len()), 0);
        for ((page, of), version) in self.pages.iter().zip(versions) {
            let Some(version) = version.checked_sub(1) else { continue };
            let begin = bytes.len().min(page * PAGE);
            let end = bytes.len().min(begin + PAGE);
            bytes[begin..end].copy_from_slice(&of[version][..end - begin]);
        }
        bytes
    }
}

fn page_of(bytes: &[u8], page: usize) -> Vec<u8> {
    let begin = bytes.len().min(page * PAGE);
    let mut of = bytes[begin..bytes.len().min(begin + PAGE)].to_vec();
    of.resize(PAGE, 0);
    of
}
