//! A metric with a sample for each of several sets of labels, which are written in the order in which they were made.
//! The client library's own families are hash maps, whose order differs from one scrape to the next.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) type Labels = Vec<(&'static str, String)>;

#[derive(Debug)]
pub(super) struct Family<M>(Arc<Mutex<Samples<M>>>);

#[derive(Debug)]
struct Samples<M> {
    ordered: Vec<(Labels, M)>,
    /// The index of each set of labels. A set with two samples would make a scraper refuse the whole text.
    places: HashMap<Labels, usize>,
}

impl<M> Default for Family<M> {
    fn default() -> Self {
        Family(Arc::new(Mutex::new(Samples { ordered: Vec::new(), places: HashMap::new() })))
    }
}

impl<M> Clone for Family<M> {
    fn clone(&self) -> Self {
        Family(self.0.clone())
    }
}

impl<M> Family<M> {
    fn samples(&self) -> MutexGuard<'_, Samples<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Clone + Default> Family<M> {
    /// The sample with these labels. A new one is written after all that exist.
    pub(super) fn with(&self, labels: Labels) -> M {
        let Samples { ordered, places } = &mut *self.samples();
        let place = *places.entry(labels.clone()).or_insert(ordered.len());
        if place == ordered.len() {
            ordered.push((labels, M::default()));
        }
        ordered[place].1.clone()
    }
}

impl<M: TypedMetric> TypedMetric for Family<M> {
    const TYPE: MetricType = M::TYPE;
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Family<M> {
    fn encode(&self, mut encoder: MetricEncoder) -> fmt::Result {
        self.samples().ordered.iter().try_for_each(|(labels, sample)| sample.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.samples().ordered.is_empty()
    }
}
