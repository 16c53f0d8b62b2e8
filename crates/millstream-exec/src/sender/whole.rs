//! Values that are sent as a whole.

use super::{Route, SendError, Sender};
use millstream_core::Item;
use std::collections::VecDeque;

impl<T: Item> Sender<T> {
    /// Sends all of these values in order, as many at once as there is room for. [`send_all`](Sender::send_all)
    /// publishes 1024 at once, so that the run begins with them; here a thread of the run that waits is woken once for
    /// all of them. A producer of a fan-in sends them as `send_all` does.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (sender, receiver) = source::channel(4096);
    /// let run = Rings::new().start(pipeline().from(receiver).to_fold(0, |sum, _, x| *sum += x))?;
    /// sender.send_vec((1..=3000).collect())?;
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, 4_501_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run takes no more values: returns those that were not sent.
    pub fn send_vec(&self, values: Vec<T>) -> Result<(), SendError<Vec<T>>> {
        match &self.route {
            Route::Source(_) => {
                let mut buffer = VecDeque::from(values);
                if self.give_all(&mut buffer) { Ok(()) } else { Err(SendError(buffer.into())) }
            }
            Route::FanIn(_) => {
                let mut values = values.into_iter();
                self.send_from(&mut values).map_err(|SendError(mut unsent)| {
                    unsent.extend(values);
                    SendError(unsent)
                })
            }
        }
    }
}
