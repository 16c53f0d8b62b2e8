use super::renumber::ExpandKernel;
use crate::failure::fail;
use crate::{Shape, ToOwnedItem};
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
    pub(crate) most: usize,
    pub(crate) overflow: Overflow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowShape {
    Sliding { size: u64, every: u64 },
    Session { gap: u64 },
}

/// What becomes of values that are late: all windows that they belong to have closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// They are dropped; the next window says how many, an empty one at END if none follows.
    Drop,
    /// They are given beside the next window; beside an empty one at END, if none follows.
    Keep,
    /// The run ends with an error that tells the time, at the value's number.
    Fail,
}

/// What happens when open windows would hold more values than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The run ends with an error, at the number of the value that was one too many.
    Fail,
    /// The window that begins first is given at once, and then the next one, until there is room: as if a value of its end's
    /// time had come. What still comes for it is late. Where only late values are kept, the newest is dropped. If that
    /// leaves no window open for late values to be given beside, or counted, an **empty** window follows at END: it
    /// begins and ends where the last one did, and has no values.
    CloseFirst,
}

impl Window {
    fn new(shape: WindowShape) -> Self {
        Window { shape, lateness: 0, late: Late::Drop, most: 1 << 20, overflow: Overflow::Fail }
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

    /// How many values all open windows together may hold behind one value, and what happens with more of them. A value
    /// counts once for each window that it is in, and once if it is late and kept. Unless set, 1,048,576 and
    /// [`Overflow::Fail`]. It is looked at behind each value, which is put into all its windows first: into size / every of
    /// them where they slide.
    ///
    /// ```
    /// use millstream_core::{ClockExt, ModelExt, Overflow, Window, pipeline};
    /// let days = Window::tumbling(24).at_most(2, Overflow::CloseFirst);
    /// let p = pipeline::<u64>().windows_by(days, |hour| *hour);
    /// let given: Vec<_> = p.model([1, 2, 3, 4, 30]).into_iter().map(|day| (day.values, day.dropped)).collect();
    /// // 4 came late for a day that had to go.
    /// assert_eq!(given, [(vec![1, 2, 3], 0), (vec![30], 1)]);
    /// ```
    #[must_use]
    pub fn at_most(mut self, values: usize, overflow: Overflow) -> Self {
        (self.most, self.overflow) = (values, overflow);
        self
    }
}

/// A window of event time that has closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeWindow<T> {
    /// The first time in it.
    pub start: u64,
    /// The first time behind it; `u64::MAX` also where that is too small to tell, since the window reaches beyond it.
    pub end: u64,
    /// Its values, in the order in which they came.
    pub values: Vec<T>,
    /// The values that came too late since the window before, under [`Late::Keep`].
    pub late: Vec<T>,
    /// How many values came too late and were dropped since the window before: under [`Late::Drop`], or for want of room.
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
    greatest: u64,
    /// What ends here or before has closed.
    watermark: u128,
    came: u64,
    /// How many values are in open windows.
    held: usize,
    late: Vec<T>,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Open<T> {
    /// The first time behind it: that may be more than a time can be, and then nothing closes it but END.
    end: u128,
    /// With the count of values that came before.
    values: Vec<(u64, T)>,
}

impl<T: Clone> OpenWindows<T> {
    /// Puts a value into its windows; false if they have closed.
    fn put(&mut self, window: &Window, time: u64, value: &T) -> bool {
        self.came += 1;
        let put = match window.shape {
            WindowShape::Sliding { size, every } => self.slide(size, every, time, value),
            WindowShape::Session { gap } => self.join(gap, time, value),
        };
        self.greatest = self.greatest.max(time);
        self.watermark = self.watermark.max(u128::from(self.greatest.saturating_sub(window.lateness)));
        put
    }

    fn slide(&mut self, size: u64, every: u64, time: u64, value: &T) -> bool {
        let oldest = time.checked_sub(size).map_or(0, |before| before / every + 1);
        let mut open = false;
        for start in (oldest..=time / every).map(|n| n * every) {
            let end = u128::from(start) + u128::from(size);
            if end > self.watermark {
                let window = self.open.entry(start).or_insert_with(|| Open { end, values: Vec::new() });
                window.values.push((self.came, value.clone()));
                self.held += 1;
                open = true;
            }
        }
        open
    }

    fn join(&mut self, gap: u64, time: u64, value: &T) -> bool {
        let (mut start, mut end) = (time, u128::from(time) + u128::from(gap));
        // Sessions do not overlap, so those that this one does are the last ones that begin before its end.
        let upto = u64::try_from(end - 1).unwrap_or(u64::MAX);
        let near = self.open.range(..=upto).rev().take_while(|(_, open)| open.end > u128::from(time));
        let near: Vec<u64> = near.map(|(start, _)| *start).collect();
        if near.is_empty() && end <= self.watermark {
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
        self.held += 1;
        self.open.insert(start, Open { end, values });
        true
    }

    /// Takes the windows out that have closed.
    fn closed(&mut self) -> Vec<TimeWindow<T>> {
        let mut closed = Vec::new();
        while self.open.first_key_value().is_some_and(|(_, first)| first.end <= self.watermark) {
            closed.extend(self.close_first());
        }
        closed
    }

    /// Takes the window out that begins first.
    fn close_first(&mut self) -> Option<TimeWindow<T>> {
        let (start, Open { end, values }) = self.open.pop_first()?;
        self.held -= values.len();
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        let values = values.into_iter().map(|(_, value)| value).collect();
        let (late, dropped) = (std::mem::take(&mut self.late), std::mem::take(&mut self.dropped));
        Some(TimeWindow { start, end, values, late, dropped })
    }

    /// Makes room where more values are held than may be; gives the windows that had to go.
    fn bound(&mut self, window: &Window, time: u64) -> Vec<TimeWindow<T>> {
        let mut gone = Vec::new();
        while self.held + self.late.len() > window.most {
            if window.overflow == Overflow::Fail {
                let most = window.most;
                fail(format!(
                    "at a value of time {time}, open windows hold more than the {most} values that they may: allow more \
                     (`at_most`), or shorter windows, or less lateness"
                ));
            }
            if let Some((_, first)) = self.open.first_key_value() {
                self.watermark = self.watermark.max(first.end);
                gone.extend(self.close_first());
            } else {
                self.late.pop();
                self.dropped += 1;
            }
        }
        gone
    }
}

impl<A: ToOwnedItem<Owned: Clone>, F> ExpandKernel for WindowsBy<A, F>
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
        OpenWindows { open: BTreeMap::new(), greatest: 0, watermark: 0, came: 0, held: 0, late: Vec::new(), dropped: 0 }
    }

    fn expand(&self, windows: &mut OpenWindows<A::Owned>, value: <A as Shape>::Ref<'_>) -> Self::Values {
        let (time, value) = ((self.time)(value), A::to_owned_item(value));
        // The value goes before anything is returned: a panic of its drop on the way out would leak what is.
        match (windows.put(&self.window, time, &value), self.window.late) {
            (true, _) => drop(value),
            (false, Late::Drop) => {
                windows.dropped += 1;
                drop(value);
            }
            (false, Late::Keep) => windows.late.push(value),
            (false, Late::Fail)
                if windows.watermark + u128::from(self.window.lateness) > u128::from(windows.greatest) =>
            {
                fail(format!("a value of time {time} is late: its windows were closed to make room"))
            }
            (false, Late::Fail) => fail(format!(
                "a value of time {time} is late: its windows have closed, since there was one of time {}",
                windows.greatest,
            )),
        }
        let mut given = windows.closed();
        given.append(&mut windows.bound(&self.window, time));
        given.into_iter()
    }

    fn finish(&self, mut windows: OpenWindows<A::Owned>) -> Option<Self::Values> {
        let behind_all = u64::try_from(windows.watermark).unwrap_or(u64::MAX);
        windows.watermark = u128::MAX;
        let mut given = windows.closed();
        if !windows.late.is_empty() || windows.dropped > 0 {
            let OpenWindows { late, dropped, .. } = windows;
            given.push(TimeWindow { start: behind_all, end: behind_all, values: Vec::new(), late, dropped });
        }
        Some(given.into_iter())
    }
}
