use super::{Dir, World};

/// Up to this number, all states after a crash are tried.
const ALL: usize = 256;
/// Otherwise this number of random ones, beside the plain ones.
const SOME: usize = 40;

impl World {
    /// The disks that a crash now may leave.
    pub(crate) fn crashes(&self) -> Vec<World> {
        let radices = self.radices();
        let product = radices.iter().try_fold(1_usize, |product, radix| product.checked_mul(*radix));
        let choices = match product.filter(|product| *product <= ALL) {
            Some(product) => (0..product).map(|number| digits(number, &radices)).collect(),
            None => some(&radices),
        };
        choices.iter().map(|choices| self.crashed(choices)).collect()
    }

    /// One of them, at random.
    pub(crate) fn crash(&self, seed: u64) -> World {
        let choices: Vec<usize> = self.radices().iter().map(random(seed)).collect();
        self.crashed(&choices)
    }

    /// The number of choices for each change that is not durable.
    fn radices(&self) -> Vec<usize> {
        let names = self.dirs.values().flat_map(|dir| dir.pending.iter().map(|_| 2));
        names.chain(self.files.iter().flat_map(|file| file.choices())).collect()
    }

    fn crashed(&self, mut choices: &[usize]) -> World {
        let mut take = |count| {
            let (taken, rest) = choices.split_at(count);
            choices = rest;
            taken
        };
        let mut world = World { notes: self.notes.clone(), last: self.last.clone(), ..World::default() };
        for (path, dir) in &self.dirs {
            let mut names = dir.durable.clone();
            for (change, kept) in dir.pending.iter().zip(take(dir.pending.len())) {
                if *kept == 1 {
                    change.apply(&mut names);
                }
            }
            world.dirs.insert(path.clone(), Dir { durable: names.clone(), now: names, pending: Vec::new() });
        }
        for file in &self.files {
            world.files.push(file.crashed(take(file.choices().len())));
        }
        // What is in a directory whose name is lost is lost with it.
        let lost = |path: &std::path::Path| {
            path.parent().is_some_and(|above| !world.dirs[above].now.contains_key(&super::name(path)))
        };
        let gone: Vec<_> = self.dirs.keys().filter(|path| lost(path)).cloned().collect();
        world.dirs.retain(|path, _| !gone.iter().any(|gone| path.starts_with(gone)));
        world
    }
}

/// The digits of a number with these radices.
fn digits(mut number: usize, radices: &[usize]) -> Vec<usize> {
    let digit = |radix: &usize| {
        let digit = number % radix;
        number /= radix;
        digit
    };
    radices.iter().map(digit).collect()
}

/// All lost, all kept, each one alone lost or kept, and random ones.
fn some(radices: &[usize]) -> Vec<Vec<usize>> {
    let (lost, kept) = (vec![0; radices.len()], radices.iter().map(|radix| radix - 1).collect::<Vec<_>>());
    let mut all = vec![lost.clone(), kept.clone()];
    for at in 0..radices.len() {
        for from in [&lost, &kept] {
            let mut other = from.clone();
            other[at] = kept[at] - from[at];
            all.push(other);
        }
    }
    let mut random = random(radices.len() as u64);
    all.extend((0..SOME).map(|_| radices.iter().map(&mut random).collect()));
    all
}

/// SplitMix64, below each radix.
fn random(mut seed: u64) -> impl FnMut(&usize) -> usize {
    move |radix| {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 29)) % *radix as u64) as usize
    }
}
