use super::renumber::Expand;
use crate::failure::fail;
use crate::{Flow, Own};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Windows of event time: what a value's own time says, and no clock. Times and lengths are in any one unit, seconds or
/// milliseconds say.
///
/// A window closes at the first value whose time is at least its end and `lateness` more: what comes for it behind that
/// is late. So all windows depend on the values alone, and close at the same place in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub(crate) shape: WindowShape,
    pub(crate) lateness: u64,
    pub(crate) late: Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowShape {
    Sliding { size: u64, every: u64 },
    Session { gap: u64 },
}

/// What becomes of values that are late: all windows that they belong to have closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// They are dropped; the next window says how many.
    Drop,
    /// They are given beside the next window.
    Keep,
    /// The run ends with an error that tells the time, at the value's number.
    Fail,
}

impl Window {
    fn new(shape: WindowShape) -> Self {
        Window { shape, lateness: 0, late: Late::Drop }
    }

    /// Windows one behind the other: from 0, from `size`, ...
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[must_use]
    pub fn tumbling(size: u64) -> Self {
        Self::sliding(size, size)
    }

    /// Windows of `size`, one beginning `every` so much, from 0 on: a value is in all those that it lies in.
    ///
    /// # Panics
    ///
    /// If `every` is 0, or greater than `size`: then there would be times between the windows.
    #[must_use]
    pub fn sliding(size: u64, every: u64) -> Self {
        assert!(
            1 <= every && every <= size,
            "windows of {size} every {every}: every must be at least 1 and at most size"
        );
        Self::new(WindowShape::Sliding { size, every })
    }

    /// A window for each run of values that are less than `gap` apart, up to `gap` behind the last one.
    ///
    /// # Panics
    ///
    /// If `gap` is 0.
    #[must_use]
    pub fn session(gap: u64) -> Self {
        assert!(gap >= 1, "a session with a gap of 0: no two values would be in one");
        Self::new(WindowShape::Session { gap })
    }

    /// How far behind the greatest time seen a value may be, and its window still be open; 0 unless set.
    #[must_use]
    pub fn lateness(mut self, lateness: u64) -> Self {
        self.lateness = lateness;
        self
    }

    /// What becomes of values that come too late; [`Late::Drop`] unless set.
    #[must_use]
    pub fn late(mut self, late: Late) -> Self {
        self.late = late;
        self
    }
}

/// A window of event time that has closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeWindow<T> {
    /// The first time in it.
    pub start: u64,
    /// The first time behind it.
    pub end: u64,
    /// Its values, in the order in which they came.
    pub values: Vec<T>,
    /// The values that came too late since the window before, under [`Late::Keep`].
    pub late: Vec<T>,
    /// How many values came too late and were dropped since the window before, under [`Late::Drop`].
    pub dropped: u64,
}

/// Windows of event time.
pub struct WindowsBy<A, F> {
    /// Which windows.
    pub window: Window,
    /// The time of a value.
    pub time: F,
    shape: PhantomData<fn() -> A>,
}
super::debug!(WindowsBy<A, F>);

impl<A, F> WindowsBy<A, F> {
    pub(crate) fn new(window: Window, time: F) -> Self {
        WindowsBy { window, time, shape: PhantomData }
    }
}

/// The windows that are open.
#[derive(Clone, Debug)]
pub struct OpenWindows<T> {
    /// By start, and so by end.
    open: BTreeMap<u64, Open<T>>,
    greatest: Option<u64>,
    came: u64,
    late: Vec<T>,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Open<T> {
    end: u64,
    /// With the count of values that came before.
    values: Vec<(u64, T)>,
}

impl<T: Clone> OpenWindows<T> {
    /// Puts a value into its windows; false if they have closed.
    fn put(&mut self, window: &Window, time: u64, value: &T) -> bool {
        let watermark = self.greatest.map_or(0, |greatest| greatest.saturating_sub(window.lateness));
        self.greatest = self.greatest.max(Some(time));
        self.came += 1;
        match window.shape {
            WindowShape::Sliding { size, every } => self.slide(size, every, watermark, time, value),
            WindowShape::Session { gap } => self.join(gap, watermark, time, value),
        }
    }

    fn slide(&mut self, size: u64, every: u64, watermark: u64, time: u64, value: &T) -> bool {
        let oldest = time.checked_sub(size).map_or(0, |before| before / every + 1);
        let starts = (oldest..=time / every).map(|n| n * every);
        let mut open = false;
        for start in starts.filter(|start| start.saturating_add(size) > watermark) {
            let end = start.saturating_add(size);
            let window = self.open.entry(start).or_insert_with(|| Open { end, values: Vec::new() });
            window.values.push((self.came, value.clone()));
            open = true;
        }
        open
    }

    fn join(&mut self, gap: u64, watermark: u64, time: u64, value: &T) -> bool {
        let (mut start, mut end) = (time, time.saturating_add(gap));
        // Sessions do not overlap, so those that this one does are the last ones that begin before its end.
        let near = self.open.range(..end).rev().take_while(|(_, open)| open.end > time);
        let near: Vec<u64> = near.map(|(start, _)| *start).collect();
        if near.is_empty() && end <= watermark {
            return false;
        }
        let mut values = Vec::new();
        for joined in near {
            let open = self.open.remove(&joined).expect("it was found");
            (start, end) = (start.min(joined), end.max(open.end));
            // Of two sessions the older one is found last; it has most of the values.
            let newer = std::mem::replace(&mut values, open.values);
            if !newer.is_empty() {
                values.extend(newer);
                values.sort_by_key(|(came, _)| *came);
            }
        }
        values.push((self.came, value.clone()));
        self.open.insert(start, Open { end, values });
        true
    }

    /// Takes the windows out that end at the watermark or before, or all of them.
    fn close(&mut self, upto: Option<u64>) -> Vec<TimeWindow<T>> {
        let mut closed = Vec::new();
        while let Some(first) = self.open.first_entry() {
            if upto.is_some_and(|upto| first.get().end > upto) {
                break;
            }
            let (start, Open { end, values }) = first.remove_entry();
            let values = values.into_iter().map(|(_, value)| value).collect();
            let (late, dropped) = (std::mem::take(&mut self.late), std::mem::take(&mut self.dropped));
            closed.push(TimeWindow { start, end, values, late, dropped });
        }
        closed
    }
}

impl<A: Own<Owned: Clone>, F> Expand for WindowsBy<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> u64 + Send + Sync + 'static,
{
    type In = A;
    type Item = TimeWindow<A::Owned>;
    type Values = std::vec::IntoIter<TimeWindow<A::Owned>>;
    type State = OpenWindows<A::Owned>;
    const NAME: &'static str = "windows_by";
    const STATEFUL: bool = true;

    fn start(&self) -> OpenWindows<A::Owned> {
        OpenWindows { open: BTreeMap::new(), greatest: None, came: 0, late: Vec::new(), dropped: 0 }
    }

    fn expand(&self, windows: &mut OpenWindows<A::Owned>, value: <A as Flow>::Ref<'_>) -> Self::Values {
        let (time, value) = ((self.time)(value), A::own(value));
        if windows.put(&self.window, time, &value) {
            let greatest = windows.greatest.unwrap_or(time);
            return windows.close(Some(greatest.saturating_sub(self.window.lateness))).into_iter();
        }
        match self.window.late {
            Late::Drop => windows.dropped += 1,
            Late::Keep => windows.late.push(value),
            Late::Fail => fail(format!(
                "a value of time {time} is late: its windows have closed, since there was one of time {}",
                windows.greatest.unwrap_or(time),
            )),
        }
        Vec::new().into_iter()
    }

    fn finish(&self, mut windows: OpenWindows<A::Owned>) -> Option<Self::Values> {
        Some(windows.close(None).into_iter())
    }
}
