//! All combinators, by what they are for.
//!
//! They are methods of [`Arrow`] and of the traits beside it, which every `Arrow` has; several traits only group the
//! docs. The list has the first sentence of each method.
//!
//! Several streams are joined at the source, by `zip`, `chain`, `round_robin`, `by_timestamp`, `join_by_number` and
//! `join_by_time` of `millstream::exec::source`. What looks at a clock is a source as well: `throttle`, `debounce` and
//! `timeout` there. The functions of [`model::sources`](crate::model::sources) say what each means. `for_each` and
//! `collect` are methods of jobs and runners.
//!
//! # One value
//!
//! A function at every value. None of these keeps a state, so all of them can be in a `shard`.
//!
//! - [`map`](crate::Arrow::map): Applies `f` to a reference to every value.
//! - [`map_owned`](crate::Arrow::map_owned): Applies `f` to every value, which `f` then owns.
//! - [`cloned`](crate::Arrow::cloned): Clones every value into a ring of its own.
//! - [`filter`](crate::Arrow::filter): Keeps the values for which `keep` returns true, and leaves the other slots
//!   empty.
//! - [`filter_map`](crate::Arrow::filter_map): Applies `f` to every value; `None` leaves the slot empty.
//! - [`part`](crate::ViewExt::part): Reads a part of every value by reference: a field, an element, anything that a
//!   value lends.
//! - [`map_blocking`](crate::Arrow::map_blocking): Applies a function that may wait, for a disk, a server or a lock, to
//!   every value.
//!
//! # State
//!
//! Stages that remember something from one value to the next. None of them can be in a `shard`.
//!
//! - [`scan`](crate::Arrow::scan): Applies `f` to a state and every value; `f` may change the state and returns the
//!   output.
//! - [`delay`](crate::Arrow::delay): Yields, at every value, the value before it, and at the first value `first`.
//! - [`take`](crate::StreamsExt::take): Keeps the first `n` values; at the outer level it also ends the stream after
//!   them.
//! - [`take_while`](crate::StreamsExt::take_while): Keeps the values before the first one that `wanted` refuses; at the
//!   outer level it also ends the stream there.
//! - [`skip`](crate::StreamsExt::skip): Leaves the first `n` values out.
//! - [`skip_while`](crate::StreamsExt::skip_while): Leaves values out up to the first one for which `unwanted` returns
//!   false.
//! - [`dedup`](crate::StreamsExt::dedup): Leaves a value out if it is equal to the value before it.
//! - [`scan_finish`](crate::StreamsExt::scan_finish): Runs a `scan` whose state may also make END's output.
//! - [`chunks`](crate::StreamsExt::chunks): Collects every `n` values into a `Vec`, which is the output at the last of
//!   them.
//! - [`windows`](crate::StreamsExt::windows): Yields the last `n` values, the oldest first, at every value from the
//!   `n`-th on.
//! - [`map_windows`](crate::StreamsExt::map_windows): Applies `f` to the last `n` values, the oldest first, at every
//!   value from the `n`-th on.
//! - [`pairwise`](crate::StreamsExt::pairwise): Pairs every value with the value before it; the slot of the first value
//!   is empty.
//! - [`enumerate`](crate::StreamsExt::enumerate): Pairs every value with its number.
//! - [`inspect`](crate::StreamsExt::inspect): Calls `f` with every value, and passes the value on.
//! - [`map_m`](crate::StreamsExt::map_m): Applies a function that has effects to every value, in order: Haskell's
//!   `mapM`.
//! - [`feedback`](crate::FeedbackExt::feedback): Runs a body that reads its input and a state, and yields an output and
//!   the next state: Haskell's `loop`.
//!
//! # One answer at END
//!
//! Folds: the output is empty below END.
//!
//! - [`fold`](crate::Arrow::fold): Folds all values into a state, and yields one value at END: `finish` of the state.
//! - [`count`](crate::FoldExt::count): Counts the values.
//! - [`sum`](crate::FoldExt::sum): Adds up all values, from the first to the last.
//! - [`last`](crate::FoldExt::last): Yields the last value; nothing if there is none.
//! - [`min`](crate::FoldExt::min): Yields the least value, and of equal ones the first; nothing if there is none.
//! - [`max`](crate::FoldExt::max): Yields the greatest value, and of equal ones the last; nothing if there is none.
//! - [`min_by_key`](crate::FoldExt::min_by_key): Yields the value with the least key, and of equal ones the first;
//!   nothing if there is none.
//! - [`max_by_key`](crate::FoldExt::max_by_key): Yields the value with the greatest key, and of equal ones the last;
//!   nothing if there is none.
//! - [`min_by`](crate::FoldExt::min_by): Yields the least value in an order of your own, and of equal ones the first;
//!   nothing if there is none.
//! - [`max_by`](crate::FoldExt::max_by): Yields the greatest value in an order of your own, and of equal ones the last;
//!   nothing if there is none.
//! - [`top_n`](crate::FoldExt::top_n): Yields a `Vec` of the `n` greatest values, the greatest first; of equal ones the
//!   first that came.
//! - [`top_n_by_key`](crate::FoldExt::top_n_by_key): Yields a `Vec` of the `n` values with the greatest keys, the
//!   greatest first; of equal ones the first that came.
//! - [`top_n_by`](crate::FoldExt::top_n_by): Yields a `Vec` of the `n` greatest values in an order of your own, the
//!   greatest first; of equal ones the first that came.
//! - [`find`](crate::FoldExt::find): Yields the first value for which `wanted` returns true; nothing if there is none.
//! - [`any`](crate::FoldExt::any): Yields whether `is_so` returns true for some value; false if there are no values.
//! - [`all`](crate::FoldExt::all): Yields whether `is_so` returns true for every value; true if there are no values.
//!
//! # Several outputs
//!
//! The same values go through several bodies. If stages read each other's outputs crosswise, [`wires!`](crate::wires!)
//! names the edges.
//!
//! - [`fanout`](crate::Arrow::fanout): Runs the same values through two bodies, and joins their outputs by number:
//!   Haskell's `&&&`.
//! - [`fanout3`](crate::PartsExt::fanout3): Runs the same values through three bodies, and joins their outputs by
//!   number, as one flat tuple.
//! - [`fanout4`](crate::PartsExt::fanout4): Runs the same values through four bodies, as `fanout3` does through three.
//! - [`fanout5`](crate::PartsExt::fanout5): Runs the same values through five bodies, as `fanout3` does through three.
//! - [`fanout6`](crate::PartsExt::fanout6): Runs the same values through six bodies, as `fanout3` does through three.
//! - [`fanout7`](crate::PartsExt::fanout7): Runs the same values through seven bodies, as `fanout3` does through three.
//! - [`fanout8`](crate::PartsExt::fanout8): Runs the same values through eight bodies, as `fanout3` does through three.
//! - [`fork`](crate::PartsExt::fork): Pairs every value with itself: a becomes (a, a).
//! - [`tee`](crate::PartsExt::tee): Passes every value on, and runs a body on the side that reads the same values.
//! - [`tee_to`](crate::PartsExt::tee_to): Passes every value on, and puts it into a named sink as well.
//! - [`maybe`](crate::ViewExt::maybe): Turns every slot below END into an `Option`: `None` where it is empty.
//! - [`dead_end`](crate::PartsExt::dead_end): Leaves every slot empty.
//!
//! # Pairs
//!
//! An edge of pairs: tuples in one ring, or two rings side by side.
//!
//! - [`both`](crate::Arrow::both): Runs the two halves of a pair, each through its own body: Haskell's `***`.
//! - [`first`](crate::PartsExt::first): Runs the first halves of pairs through a body, and leaves the second halves as
//!   they are: Haskell's `first`.
//! - [`second`](crate::PartsExt::second): Runs the second halves of pairs through a body, and leaves the first halves
//!   as they are: Haskell's `second`.
//! - [`firsts`](crate::PartsExt::firsts): Keeps the first half of every pair: Haskell's `arr fst`.
//! - [`seconds`](crate::PartsExt::seconds): Keeps the second half of every pair: Haskell's `arr snd`.
//! - [`swap`](crate::PartsExt::swap): Exchanges the halves of every pair: (a, b) becomes (b, a).
//!
//! # Choices
//!
//! An edge of `Either`: in one ring, or in two lanes.
//!
//! - [`partition`](crate::ChoiceExt::partition): Puts every value into one of two lanes: left where `is_left` returns
//!   true, and right where it returns false.
//! - [`choose`](crate::ChoiceExt::choose): Runs left values through one body and right values through another:
//!   Haskell's `+++`.
//! - [`merge`](crate::ChoiceExt::merge): Runs left and right values through two bodies with outputs of one type, which
//!   become one edge: Haskell's `|||`.
//! - [`left`](crate::PartsExt::left): Runs the left values of a choice through a body, and leaves right values as they
//!   are: Haskell's `left`.
//! - [`right`](crate::PartsExt::right): Runs the right values of a choice through a body, and leaves left values as
//!   they are: Haskell's `right`.
//! - [`lefts`](crate::PartsExt::lefts): Keeps the left values of a choice, and leaves the slots of right values empty.
//! - [`rights`](crate::PartsExt::rights): Keeps the right values of a choice, and leaves the slots of left values
//!   empty.
//! - [`distribute`](crate::PartsExt::distribute): Turns a pair whose second half is a choice into a choice of two
//!   pairs.
//!
//! # Keys
//!
//! A state for every key.
//!
//! - [`shard_by`](crate::KeysExt::shard_by): Runs a body with a state of its own for every key, each stage on `k`
//!   tasklets.
//! - [`shard_by_within`](crate::KeysExt::shard_by_within): Runs a body with a state of its own for every key, within a
//!   bound on the number of keys.
//! - [`fold_by`](crate::KeysExt::fold_by): Folds the values of every key, and yields one value at END: every key's
//!   answer, in the order of the keys.
//! - [`fold_by_within`](crate::KeysExt::fold_by_within): Folds the values of at most `most` keys, and yields every
//!   key's answer at END.
//! - [`count_by`](crate::KeysExt::count_by): Counts the values of each key, and yields at END one vector of keys and
//!   counts, in the order of the keys.
//! - [`count_by_within`](crate::KeysExt::count_by_within): Counts the values of at most `most` keys, and yields at END
//!   one vector of keys and counts.
//! - [`group_by`](crate::KeysExt::group_by): Collects the values of every key, and yields all of them at END, in the
//!   order of the keys.
//! - [`group_by_within`](crate::KeysExt::group_by_within): Collects the values of at most `most` keys, and yields all
//!   of them at END, in the order of the keys.
//! - [`shard_by_ref`](crate::BorrowedKeysExt::shard_by_ref): Runs a body with a state of its own for every key, which
//!   is a part of the value, each stage on `k` tasklets.
//! - [`shard_by_ref_within`](crate::BorrowedKeysExt::shard_by_ref_within): Runs a body with a state of its own for
//!   every key, which is a part of the value, within a bound on the number of keys.
//! - [`fold_by_ref`](crate::BorrowedKeysExt::fold_by_ref): Folds the values of every key, which is a part of the value,
//!   and yields every key's answer at END, in the order of the keys.
//! - [`fold_by_ref_within`](crate::BorrowedKeysExt::fold_by_ref_within): Folds the values of at most `most` keys, which
//!   are parts of the values, and yields every key's answer at END.
//! - [`count_by_ref`](crate::BorrowedKeysExt::count_by_ref): Counts the values of each key, which is a part of the
//!   value, and yields at END one vector of keys and counts, in the order of the keys.
//! - [`count_by_ref_within`](crate::BorrowedKeysExt::count_by_ref_within): Counts the values of at most `most` keys,
//!   which are parts of the values, and yields at END one vector of keys and counts.
//! - [`group_by_ref`](crate::BorrowedKeysExt::group_by_ref): Collects the values of every key, which is a part of the
//!   value, and yields all of them at END, in the order of the keys.
//! - [`group_by_ref_within`](crate::BorrowedKeysExt::group_by_ref_within): Collects the values of at most `most` keys,
//!   which are parts of the values, and yields all of them at END.
//!
//! # New numbers
//!
//! The output is numbered from 0 again, so none of these can be in a body that is joined by number.
//!
//! - [`flat_map`](crate::ClockExt::flat_map): Yields every item of the iterator that `f` returns for a value: Haskell's
//!   `concatMap`.
//! - [`flat_scan`](crate::ClockExt::flat_scan): Applies `f` to a state and every value, and yields every item of the
//!   iterator that `f` returns.
//! - [`flat_scan_finish`](crate::ClockExt::flat_scan_finish): Runs a `flat_scan` whose state has outputs after the last
//!   value, too.
//! - [`flatten`](crate::ClockExt::flatten): Yields every item of every value, one after another.
//! - [`compact`](crate::ClockExt::compact): Removes empty slots: the output is dense again.
//!
//! # Windows of event time
//!
//! Each value has a time, and a window closes when the values have passed it. A fold keeps one state a window.
//!
//! - [`fold_windows`](crate::WindowsExt::fold_windows): Folds the values of each tumbling or sliding window of event
//!   time into a state, and yields it when the window closes.
//! - [`fold_windows_by`](crate::WindowsExt::fold_windows_by): Folds the values of each key and each tumbling or sliding
//!   window of event time into a state, and yields it when the window closes.
//! - [`fold_sessions`](crate::WindowsExt::fold_sessions): Folds the values of each session of event time into a state,
//!   and yields it when the session ends.
//! - [`fold_sessions_by`](crate::WindowsExt::fold_sessions_by): Folds the values of each key's sessions of event time
//!   into a state, and yields it when the session ends.
//! - [`fold_windows_by_ref`](crate::BorrowedKeysExt::fold_windows_by_ref): Folds the values of each key, which is a
//!   part of the value, and each tumbling or sliding window of event time, and yields the state when the window closes.
//! - [`fold_sessions_by_ref`](crate::BorrowedKeysExt::fold_sessions_by_ref): Folds the values of the sessions of each
//!   key, which is a part of the value, and yields the state when the session ends.
//! - [`windows_by`](crate::ClockExt::windows_by): Groups values into windows of event time, and yields each window
//!   after it has closed; a **new clock**.
//!
//! # Text
//!
//! Pieces of shared blocks of text, and text that is written.
//!
//! - [`lines`](crate::TextExt::lines): Cuts every value into lines, without their line feeds; a **new clock**.
//! - [`lines_with_ends`](crate::TextExt::lines_with_ends): Cuts every value into lines, with their line feeds; a **new
//!   clock**.
//! - [`words`](crate::TextExt::words): Cuts every value into words, at the white space of C's own locale; a **new
//!   clock**.
//! - [`fields`](crate::TextExt::fields): Cuts every value into fields at a separator; a **new clock**.
//! - [`records`](crate::TextExt::records): Cuts every value into records of `bytes` bytes; a **new clock**.
//! - [`prefixed`](crate::TextExt::prefixed): Cuts every value into records, each after its length; a **new clock**.
//! - [`cut`](crate::TextExt::cut): Cuts every value by a rule of your own, a `Cut`; a **new clock**.
//! - [`map_slice`](crate::TextExt::map_slice): Keeps a part of every value's text, in the same slot.
//! - [`filter_map_slice`](crate::TextExt::filter_map_slice): Keeps the part of a value's text that `f` returns; `None`
//!   leaves the slot empty.
//! - [`utf8`](crate::TextExt::utf8): Reads every value as UTF-8; any other bytes end the run.
//! - [`utf8_or_empty`](crate::TextExt::utf8_or_empty): Reads every value as UTF-8; any other bytes leave the slot
//!   empty.
//! - [`map_bytes`](crate::TextExt::map_bytes): Calls `f` at every value to write the bytes of the output.
//! - [`filter_map_bytes`](crate::TextExt::filter_map_bytes): Calls `f` at every value to write the bytes of the output;
//!   false leaves the slot empty.
//! - [`map_str`](crate::TextExt::map_str): Calls `f` at every value to write the UTF-8 of the output.
//! - [`filter_map_str`](crate::TextExt::filter_map_str): Calls `f` at every value to write the UTF-8 of the output;
//!   false leaves the slot empty.
//!
//! # Stages of your own
//!
//! For what no combinator does: a step with a state, and beside it what the step means. All deployments run it.
//!
//! - [`scan_with`](crate::KernelsExt::scan_with): Runs a stage of your own that keeps its clock: a Mealy machine.
//! - [`filter_with`](crate::KernelsExt::filter_with): Runs a filter of your own, with a state.
//! - [`expand_with`](crate::KernelsExt::expand_with): Runs a stage of your own that returns any number of outputs for
//!   each value, on a new clock.
//!
//! # Async functions
//!
//! Stages with futures: at most as many in flight as the limit says.
//!
//! - [`map_async`](crate::AsyncExt::map_async): Applies an async function to every value, and keeps the order.
//! - [`try_map_async`](crate::AsyncExt::try_map_async): Applies an async function that can fail to every value; an
//!   error ends the run.
//! - [`try_map_async_or_empty`](crate::AsyncExt::try_map_async_or_empty): Applies an async function that can fail to
//!   every value; an error or a panic leaves the slot empty.
//! - [`try_map_async_or_dead_letter`](crate::AsyncExt::try_map_async_or_dead_letter): Applies an async function that
//!   can fail to every value; an error or a panic leaves the slot empty, and `dead` receives it.
//! - [`unordered`](crate::AsyncExt::unordered): Applies an async function to every value, and yields results in the
//!   order in which they finish.
//!
//! # Failures
//!
//! Functions that can fail; the method decides what becomes of a failure.
//!
//! - [`try_map`](crate::TryMapExt::try_map): Applies a function that can fail to every value; an error ends the run.
//! - [`try_map_or_error`](crate::TryMapExt::try_map_or_error): Applies a function that can fail to every value; a
//!   failure is the output.
//! - [`try_map_or_empty`](crate::TryMapExt::try_map_or_empty): Applies a function that can fail to every value; an
//!   error or a panic leaves the slot empty.
//! - [`try_map_retry`](crate::TryMapExt::try_map_retry): Applies a function that can fail to every value, and tries
//!   again after an error.
//! - [`try_map_or_dead_letter`](crate::TryMapExt::try_map_or_dead_letter): Applies a function that can fail to every
//!   value; a failure leaves the slot empty and goes to `dead`.
//! - [`try_map_or_park`](crate::KeysExt::try_map_or_park): Applies a function that can fail to every value, and parks a
//!   key after its first failure.
//! - [`try_map_or_park_within`](crate::KeysExt::try_map_or_park_within): Applies a function that can fail to every
//!   value, and parks at most `most` keys after a failure.
//! - [`try_scan`](crate::TryScanExt::try_scan): Runs a `scan` whose function can fail; an error ends the run.
//! - [`try_scan_or_empty`](crate::TryScanExt::try_scan_or_empty): Runs a `scan` whose function can fail; a failure
//!   leaves the slot empty and changes no state.
//! - [`try_scan_or_error`](crate::TryScanExt::try_scan_or_error): Runs a `scan` whose function can fail; a failure is
//!   the output, and changes no state.
//! - [`try_scan_or_error_undo`](crate::TryScanExt::try_scan_or_error_undo): Runs a `scan` whose function can fail and
//!   undo what it did; a failure is the output.
//! - [`try_scan_or_empty_undo`](crate::TryScanExt::try_scan_or_empty_undo): Runs a `scan` whose function can fail and
//!   undo what it did; a failure leaves the slot empty.
//! - [`try_scan_retry`](crate::TryScanExt::try_scan_retry): Runs a `scan` whose function can fail, and tries again
//!   after an error, from the state before the value.
//! - [`try_scan_retry_undo`](crate::TryScanExt::try_scan_retry_undo): Runs a `scan` whose function can fail and undo
//!   what it did, and tries again after an error.
//! - [`try_scan_or_dead_letter`](crate::TryScanExt::try_scan_or_dead_letter): Runs a `scan` whose function can fail; a
//!   failure changes no state and goes to `dead`.
//! - [`try_scan_or_dead_letter_undo`](crate::TryScanExt::try_scan_or_dead_letter_undo): Runs a `scan` whose function
//!   can fail and undo what it did; a failure goes to `dead`.
//! - [`try_scan_or_park`](crate::KeysExt::try_scan_or_park): Runs a `scan` whose function can fail, and parks a key
//!   after its first failure.
//! - [`try_scan_or_park_within`](crate::KeysExt::try_scan_or_park_within): Runs a `scan` whose function can fail, and
//!   parks at most `most` keys after a failure.
//!
//! # The shape of the run
//!
//! How pipelines are put together, run and called.
//!
//! - [`then`](crate::Arrow::then): Runs `next` on the output of `self`: Haskell's `>>>`.
//! - [`shard`](crate::Arrow::shard): Runs each stage of `body` on `k` tasklets; the output is the same for every `k`,
//!   in order.
//! - [`any_edge`](crate::PartsExt::any_edge): Hides the shape of the edge from its type: the edge is then an `AnyEdge`
//!   of the same items.
//! - [`named`](crate::Arrow::named): Names the last stage of this pipeline, in plans, reports and errors.

#[doc(no_inline)]
pub use crate::arrow::{
    Arrow, AsyncExt, BorrowedKeysExt, ChoiceExt, ClockExt, FeedbackExt, FoldExt, KernelsExt, KeysExt, PartsExt,
    StreamsExt, TextExt, TryMapExt, TryScanExt, ViewExt, WindowsExt,
};
