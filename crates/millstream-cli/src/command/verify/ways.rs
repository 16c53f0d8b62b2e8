use millstream_exec::{Inline, Queues, Rings};
use std::fmt;

/// One way to run a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) place: Deployment,
    pub(crate) shards: usize,
}

/// A deployment with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deployment {
    Model,
    Inline { ring: usize, batch: usize },
    Queues { ring: usize },
    Rings { workers: usize, ring: usize, batch: usize },
}

pub(crate) const MOST_SHARDS: usize = 3;

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Deployment::Model => write!(f, "--deploy model")?,
            Deployment::Inline { ring, batch } => write!(f, "--deploy inline --ring {ring} --batch {batch}")?,
            Deployment::Queues { ring } => write!(f, "--deploy queues --ring {ring}")?,
            Deployment::Rings { workers, ring, batch } => {
                write!(f, "--deploy rings --workers {workers} --ring {ring} --batch {batch}")?;
            }
        }
        if self.shards > 1 { write!(f, " --shards {}", self.shards) } else { Ok(()) }
    }
}

impl Deployment {
    pub(crate) fn inline(ring: usize, batch: usize) -> Inline {
        Inline::new(Rings::new().ring(ring).batch(batch))
    }

    pub(crate) fn queues(ring: usize) -> Queues {
        Queues::new().capacity(ring)
    }

    pub(crate) fn rings(workers: usize, ring: usize, batch: usize) -> Rings {
        Rings::new().workers(workers).ring(ring).batch(batch)
    }
}

/// Every deployment, with the sizes at which deployments have been wrong: rings of one slot, batches that do and do not
/// divide the ring, more workers than cores, shards that do not divide anything. The model without shards comes first.
pub(crate) fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for shards in 1..=MOST_SHARDS {
        let mut places = vec![
            Deployment::Model,
            Deployment::Inline { ring: 1, batch: 1 },
            Deployment::Inline { ring: 64, batch: 7 },
            Deployment::Queues { ring: 1 },
            Deployment::Queues { ring: 64 },
        ];
        for workers in 1..=3 {
            let sizes = [(1, 1), (16, 3), (4096, 2048)];
            places.extend(sizes.map(|(ring, batch)| Deployment::Rings { workers, ring, batch }));
        }
        ways.extend(places.into_iter().map(|place| Way { place, shards }));
    }
    ways
}
