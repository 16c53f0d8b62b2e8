//! A program over text as a segment: both edges carry text, and the stages between them any types.

use crate::message::Complaints;
use bytes::Bytes;
use millstream_cluster::{Batch, OnRings, RingsRun, Segment, SegmentError, SegmentRun, SegmentRunner, Text};
use millstream_core::{Arrow, Item, ToOwnedItem};
use millstream_exec::{RunsOn, SourceShape};

/// How values are read from a piece of text, which is whole lines and begins at this byte of the input, and how they
/// are printed.
pub(crate) struct Reads<T, B> {
    pub(crate) read: fn((u64, &Text), &mut Vec<T>, &Complaints),
    pub(crate) print: fn(&B) -> Vec<u8>,
}

impl<T, B> Clone for Reads<T, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, B> Copy for Reads<T, B> {}

/// A pipeline between two edges of text.
pub(crate) struct TextSegment<P, R, T, B> {
    pub(crate) on: OnRings<P, R>,
    pub(crate) reads: Reads<T, B>,
    pub(crate) complaints: Complaints,
}

impl<P, R, T, B> Clone for TextSegment<P, R, T, B> {
    fn clone(&self) -> Self {
        TextSegment { on: self.on.clone(), reads: self.reads, complaints: self.complaints.clone() }
    }
}

pub(crate) struct TextRun<R: SegmentRunner, T: Item, B> {
    run: RingsRun<T, B, R>,
    reads: Reads<T, B>,
    complaints: Complaints,
}

impl<P, R, T, B> Segment for TextSegment<P, R, T, B>
where
    T: Item,
    R: SegmentRunner,
    P: RunsOn<R, Item = T> + Arrow<In: SourceShape<Item = T>, Out: ToOwnedItem<Owned = B>>,
{
    type In = Text;
    type Out = Text;
    type Run = TextRun<R, T, B>;

    fn start(&self, state: Option<&[u8]>) -> Result<Self::Run, SegmentError> {
        Ok(TextRun { run: self.on.run(state)?, reads: self.reads, complaints: self.complaints.clone() })
    }
}

impl<R: SegmentRunner, T: Item, B> TextRun<R, T, B> {
    /// The values of these pieces of text, whose own numbers are of no use to the pipeline.
    fn read(&self, pieces: &[(u64, Text)]) -> Vec<(u64, T)> {
        let mut read = Vec::new();
        pieces.iter().for_each(|(begins, text)| (self.reads.read)((*begins, text), &mut read, &self.complaints));
        read.into_iter().map(|value| (0, value)).collect()
    }

    fn print(&self, output: Batch<B>) -> Batch<Text> {
        let Batch { first, next, end, generation, values } = output;
        let print = |(number, value): (u64, B)| (number, Text(Bytes::from((self.reads.print)(&value))));
        Batch { first, next, end, generation, values: values.into_iter().map(print).collect() }
    }
}

impl<R: SegmentRunner, T: Item, B> SegmentRun for TextRun<R, T, B> {
    type In = Text;
    type Out = Text;

    fn batch(&mut self, values: Vec<Text>, end: bool) -> Result<Batch<Text>, SegmentError> {
        self.numbered_batch(values.into_iter().map(|text| (0, text)).collect(), end)
    }

    fn numbered_batch(&mut self, values: Vec<(u64, Text)>, end: bool) -> Result<Batch<Text>, SegmentError> {
        let read = self.read(&values);
        self.run.numbered_batch(read, end).map(|output| self.print(output))
    }

    fn begin_batch(&mut self, values: Vec<(u64, Text)>, end: bool) -> Result<Option<Batch<Text>>, SegmentError> {
        let read = self.read(&values);
        Ok(self.run.begin_batch(read, end)?.map(|output| self.print(output)))
    }

    fn finish_batch(&mut self) -> Result<Option<Batch<Text>>, SegmentError> {
        Ok(self.run.finish_batch()?.map(|output| self.print(output)))
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        self.run.state()
    }
}
