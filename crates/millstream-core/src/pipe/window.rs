use crate::failure::fail;

/// Windows of event time, which each value carries; no clock is read. Times and lengths are in any one unit, for
/// example seconds or milliseconds.
///
/// A window closes at the first value whose time is at least the window's end plus `lateness`. Values that come for it
/// after that are late. Windows depend on the values alone, and close at the same place in every run.
///
/// An upgrade may give a stage other windows. Those that are open stay, with their values, and end no earlier than
/// before. From then on a value goes into the windows that contain it by the new rules. If one of these is there
/// already, and shorter than the new rules say, this value makes it as long as they say; if it has been output, it is
/// output again when it closes, as refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub(crate) shape: WindowShape,
    pub(crate) lateness: u64,
    pub(crate) late: Late,
    pub(crate) most: usize,
    pub(crate) overflow: Overflow,
    /// After how many values of a window its state so far is output.
    pub(crate) early: Option<u64>,
    /// How long a window that was output takes late values.
    pub(crate) refine: u64,
    /// Whether each key has a watermark of its own.
    pub(crate) by_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowShape {
    Sliding { size: u64, every: u64 },
    Session { gap: u64 },
}

/// What happens to late values, all of whose windows have closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// They are dropped. The next window has their count; if none follows, an empty window at END has it.
    Drop,
    /// They are output with the next window; if none follows, with an empty window at END. Not by windows that
    /// aggregate, which keep no values.
    Keep,
    /// The run ends with an error that contains the time, at the value's number.
    Fail,
}

/// What happens if open windows would hold more values than allowed, or if there would be more windows that aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The run ends with an error, at the number of the value that exceeds the bound.
    Fail,
    /// The earliest window closes at once, and then the next one, until there is room, as if a value with the time of
    /// the window's end had come. Values that come for it later are late. If only kept late values remain, the newest
    /// one is dropped. If no open window remains for the late values or their count, an **empty** window follows at
    /// END: it begins and ends where the last one ended.
    CloseFirst,
}

impl Window {
    fn new(shape: WindowShape) -> Self {
        Window {
            shape,
            lateness: 0,
            late: Late::Drop,
            most: 1 << 20,
            overflow: Overflow::Fail,
            early: None,
            refine: 0,
            by_key: false,
        }
    }

    /// Windows side by side: from 0, from `size`, ...
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[must_use]
    pub fn tumbling(size: u64) -> Self {
        Self::sliding(size, size)
    }

    /// Windows of length `size`, one beginning at every multiple of `every`, from 0 on. A value is in all windows that
    /// contain its time.
    ///
    /// # Panics
    ///
    /// If `every` is 0, or greater than `size`: some times would be in no window.
    #[must_use]
    pub fn sliding(size: u64, every: u64) -> Self {
        assert!(
            1 <= every && every <= size,
            "windows of {size} every {every}: every must be at least 1 and at most size"
        );
        Self::new(WindowShape::Sliding { size, every })
    }

    /// A window for each run of values that are less than `gap` apart. It ends `gap` after the last one.
    ///
    /// # Panics
    ///
    /// If `gap` is 0.
    #[must_use]
    pub fn session(gap: u64) -> Self {
        assert!(gap >= 1, "a session with a gap of 0: no two values would be in one");
        Self::new(WindowShape::Session { gap })
    }

    /// Sets how much smaller than the greatest time seen a value's time may be while its window is still open; 0
    /// unless set.
    #[must_use]
    pub fn lateness(mut self, lateness: u64) -> Self {
        self.lateness = lateness;
        self
    }

    /// Sets what happens to late values; [`Late::Drop`] unless set.
    #[must_use]
    pub fn late(mut self, late: Late) -> Self {
        self.late = late;
        self
    }

    /// Bounds what open windows hold, and sets what happens beyond the bound.
    ///
    /// In [`fold_windows`](crate::WindowsExt::fold_windows) and the methods beside it, bounds the number of windows, of
    /// all keys together. [`WindowsExt`](crate::WindowsExt) says what counts, and what happens beyond the bound.
    ///
    /// In [`windows_by`](crate::ClockExt::windows_by), bounds the number of values that all open windows together may
    /// hold after each value, and sets what happens beyond the bound. A value counts once for each window that it is
    /// in, and once if it is late and kept. The bound is checked after each value has entered all its windows: size /
    /// every of them if windows slide.
    ///
    /// Unless set, the bound is 1,048,576 with [`Overflow::Fail`].
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let days = Window::tumbling(24).at_most(2, Overflow::CloseFirst);
    /// let p = pipeline::<u64>().windows_by(days, |hour| *hour);
    /// let given: Vec<_> = p
    ///     .model([1, 2, 3, 4, 30])
    ///     .into_iter()
    ///     .map(|day| (day.values, day.dropped))
    ///     .collect();
    /// // 4 came late for a day that was closed to make room.
    /// assert_eq!(given, [(vec![1, 2, 3], 0), (vec![30], 1)]);
    /// ```
    #[must_use]
    pub fn at_most(mut self, most: usize, overflow: Overflow) -> Self {
        (self.most, self.overflow) = (most, overflow);
        self
    }

    /// Yields the state so far of a window after every `n`-th of its values, too: an early result. For
    /// [`fold_windows`](crate::WindowsExt::fold_windows) and the methods beside it.
    ///
    /// The count is of the values in the window; in a session that joins others, of all of them. The value that makes
    /// the count a multiple of `n` is the one at whose number the result is, marked [`Timing::Early`](crate::Timing).
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[must_use]
    pub fn early_every(mut self, n: u64) -> Self {
        assert!(n >= 1, "early results after every 0 values: n must be at least 1");
        self.early = Some(n);
        self
    }

    /// Keeps a window that was output for this long after its end, so that late values can refine it. For
    /// [`fold_windows`](crate::WindowsExt::fold_windows) and the methods beside it; 0 unless set.
    ///
    /// A window closes, as without this, at the first value whose time is at least its end plus `lateness`. A value
    /// that comes later is folded in, and the window is output again at that value's number, marked
    /// [`Timing::Refined`](crate::Timing), until there is a value whose time is at least the end plus `lateness` plus
    /// `allowed`. Values after that are late.
    #[must_use]
    pub fn refine_within(mut self, allowed: u64) -> Self {
        self.refine = allowed;
        self
    }

    /// Gives each key a watermark of its own: a window closes when its key's values have passed it, and not when those
    /// of the stream have. For [`fold_windows_by`](crate::WindowsExt::fold_windows_by) and
    /// [`fold_sessions_by`](crate::WindowsExt::fold_sessions_by).
    ///
    /// For keys with clocks that disagree, such as sensors that send late. A key that falls silent keeps its last
    /// window open until END. A key is remembered after its last window has closed, since its late values are late for
    /// ever.
    #[must_use]
    pub fn watermark_by_key(mut self) -> Self {
        self.by_key = true;
        self
    }

    /// Ends the run at a late value.
    pub(super) fn fail_late(&self, time: u64, watermark: u128, greatest: u64) -> ! {
        if watermark + u128::from(self.lateness) > u128::from(greatest) {
            fail(format!("a value of time {time} is late: its windows were closed to make room"))
        }
        fail(format!("a value of time {time} is late: its windows have closed, since there was one of time {greatest}"))
    }
}
