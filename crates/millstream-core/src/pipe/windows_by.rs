use super::renumber::ExpandKernel;
use super::window::{Late, Overflow, Window, WindowShape};
use crate::failure::fail;
use crate::{Shape, ToOwnedItem};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::marker::PhantomData;

/// A window of event time that has closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeWindow<T> {
    /// The first time in it.
    pub start: u64,
    /// The first time after it; `u64::MAX` also if the window reaches beyond that.
    pub end: u64,
    /// Its values, in the order in which they came.
    pub values: Vec<T>,
    /// The values that came late since the window before, under [`Late::Keep`].
    pub late: Vec<T>,
    /// The number of values dropped since the window before: late under [`Late::Drop`], or without room.
    pub dropped: u64,
}

/// Windows of event time.
pub struct WindowsBy<A, F> {
    /// The kind of windows.
    pub window: Window,
    /// The time of a value.
    pub time: F,
    shape: PhantomData<fn() -> A>,
}
super::debug!(WindowsBy<A, F>);

impl<A, F> WindowsBy<A, F> {
    pub(crate) fn new(window: Window, time: F) -> Self {
        assert!(
            window.early.is_none() && window.refine == 0 && !window.by_key,
            "windows_by yields each window once, and has no keys: `early_every`, `refine_within` and \
             `watermark_by_key` are for `fold_windows` and the methods beside it"
        );
        WindowsBy { window, time, shape: PhantomData }
    }
}

/// The windows that are open.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OpenWindows<T> {
    /// The windows by start, and therefore by end, unless an upgrade has changed how long they are.
    open: BTreeMap<u64, Open<T>>,
    greatest: u64,
    /// Windows that end here or before have closed.
    watermark: u128,
    came: u64,
    /// The number of values in open windows.
    held: usize,
    late: Vec<T>,
    dropped: u64,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Open<T> {
    /// The first time after it. It may exceed every time; then only END closes the window.
    end: u128,
    /// Each with the count of values before it.
    values: Vec<(u64, T)>,
}

impl<T: Clone> OpenWindows<T> {
    /// Puts a value into its windows; returns false if all of them have closed.
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
            let (entry, end) = (self.open.entry(start), u128::from(start) + u128::from(size));
            let end = match &entry {
                // Under earlier rules it may have got another length.
                Entry::Occupied(open) => open.get().end.max(end),
                Entry::Vacant(_) => end,
            };
            if end > self.watermark {
                let window = entry.or_insert_with(|| Open { end, values: Vec::new() });
                window.end = end;
                window.values.push((self.came, value.clone()));
                self.held += 1;
                open = true;
            }
        }
        open
    }

    fn join(&mut self, gap: u64, time: u64, value: &T) -> bool {
        let (mut start, mut end) = (time, u128::from(time) + u128::from(gap));
        // Sessions do not overlap. Those that overlap this one are therefore the last ones that begin before its end.
        let near = self.open.range(..=clamped(end - 1)).rev().take_while(|(_, open)| open.end > u128::from(time));
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

    /// Removes and returns the windows that have closed, in the order of their ends.
    fn closed(&mut self) -> Vec<TimeWindow<T>> {
        let over = self.open.range(..=clamped(self.watermark)).filter(|(_, open)| open.end <= self.watermark);
        let mut over: Vec<(u128, u64)> = over.map(|(start, open)| (open.end, *start)).collect();
        over.sort_unstable();
        over.into_iter().map(|(_, start)| self.close(start)).collect()
    }

    /// Removes and returns the window that begins here.
    fn close(&mut self, start: u64) -> TimeWindow<T> {
        let Open { end, values } = self.open.remove(&start).expect("it was found");
        self.held -= values.len();
        let values = values.into_iter().map(|(_, value)| value).collect();
        let (late, dropped) = (std::mem::take(&mut self.late), std::mem::take(&mut self.dropped));
        TimeWindow { start, end: clamped(end), values, late, dropped }
    }

    /// The earliest end of a window.
    fn earliest_end(&self) -> Option<u128> {
        let (_, first) = self.open.first_key_value()?;
        // A window that is shorter, of other rules, may begin later and end earlier.
        self.open.range(..=clamped(first.end)).map(|(_, open)| open.end).min()
    }

    /// Makes room if more values are held than allowed; returns the windows that were closed for it.
    fn bound(&mut self, window: &Window, time: u64) -> Vec<TimeWindow<T>> {
        let mut gone = Vec::new();
        while self.held + self.late.len() > window.most {
            if window.overflow == Overflow::Fail {
                let most = window.most;
                fail(format!(
                    "at a value of time {time}, open windows would hold more than {most} values: \
                     allow more with `Window::at_most`, or set shorter windows or less lateness"
                ));
            }
            if let Some(end) = self.earliest_end() {
                self.watermark = self.watermark.max(end);
                gone.append(&mut self.closed());
            } else {
                self.late.pop();
                self.dropped += 1;
            }
        }
        gone
    }
}

fn clamped(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
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

    fn start(&self) -> OpenWindows<A::Owned> {
        OpenWindows { open: BTreeMap::new(), greatest: 0, watermark: 0, came: 0, held: 0, late: Vec::new(), dropped: 0 }
    }

    fn expand(&self, windows: &mut OpenWindows<A::Owned>, value: <A as Shape>::Ref<'_>) -> Self::Values {
        let (time, value) = ((self.time)(value), A::to_owned_item(value));
        // The value is dropped before the output is made: a panic of its drop would leak the output.
        match (windows.put(&self.window, time, &value), self.window.late) {
            (true, _) => drop(value),
            (false, Late::Drop) => {
                windows.dropped += 1;
                drop(value);
            }
            (false, Late::Keep) => windows.late.push(value),
            (false, Late::Fail) => self.window.fail_late(time, windows.watermark, windows.greatest),
        }
        let mut given = windows.closed();
        given.append(&mut windows.bound(&self.window, time));
        given.into_iter()
    }

    fn finish(&self, mut windows: OpenWindows<A::Owned>) -> Option<Self::Values> {
        let after_all = clamped(windows.watermark);
        windows.watermark = u128::MAX;
        let mut given = windows.closed();
        if !windows.late.is_empty() || windows.dropped > 0 {
            let OpenWindows { late, dropped, .. } = windows;
            given.push(TimeWindow { start: after_all, end: after_all, values: Vec::new(), late, dropped });
        }
        Some(given.into_iter())
    }

    fn model(&self, values: Vec<A::Ref<'_>>, all: bool) -> Vec<TimeWindow<A::Owned>> {
        crate::model::windows::<A>(self.window, &self.time, values, all)
    }
}
