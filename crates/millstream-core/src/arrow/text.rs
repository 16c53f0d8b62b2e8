use crate::pipe::{
    FilterMapSlice, FilterMapText, Format, FormatAll, FormatSome, LeaveEmpty, MapSlice, MapText, Slice, Split, Stop,
    Then, ToStr,
};
use crate::text::{Cut, Fields, Lines, LinesWithEnds, Piece, Prefixed, Records, Words, Writer};
use crate::{Arrow, OfPieces, Shape};

/// Text without a copy: cut into pieces, narrowed, and written at the end of blocks. For every [`Arrow`].
///
/// An edge of [`Text`](crate::Text) carries [pieces](Piece) of shared [blocks](crate::text::Block). Cutting a piece,
/// keeping a part of one, filtering, fanning out, sharding and choosing copy no byte and allocate nothing for a piece.
/// Writing appends to a block, whose memory is used again after all of its pieces are dropped.
///
/// **Memory**: the ring of a stage that writes text keeps the blocks of the pieces in it alive. They are bounded: 4 MiB
/// and one value, and in a `shard` 4 MiB and 64 values for each tasklet. A stage therefore waits while its ring is
/// full, and also while the pieces in it are too large.
///
/// ```
/// use millstream::{prelude::*, text::Block};
/// let lines = pipeline::<Block>().lines().filter(|line| !line.is_empty());
/// let shout = lines.map_bytes(|line, out| {
///     out.extend_with(line.iter().map(u8::to_ascii_uppercase));
///     out.extend(b"!\n");
/// });
/// assert_eq!(
///     shout.model([Block::from(b"to be\n\nor not".to_vec())]),
///     ["TO BE!\n", "OR NOT!\n"]
/// );
/// ```
pub trait TextExt: Arrow {
    /// Cuts every value into lines, without their line feeds; a **new clock**.
    ///
    /// A carriage return stays. Bytes after the last line feed are a line. A line never continues from one value to
    /// the next: sources yield blocks of whole lines.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let lines = pipeline::<Block>().lines();
    /// assert_eq!(
    ///     lines.model([Block::from(b"to be\n\nor not".to_vec())]),
    ///     ["to be", "", "or not"]
    /// );
    /// ```
    fn lines(self) -> Then<Self, Split<Self::Out, Lines>>
    where
        Self::Out: OfPieces,
    {
        self.cut(Lines)
    }

    /// Cuts every value into lines, with their line feeds; a **new clock**.
    ///
    /// A line that is passed on unchanged can then be written as it came. Otherwise as [`lines`](TextExt::lines).
    fn lines_with_ends(self) -> Then<Self, Split<Self::Out, LinesWithEnds>>
    where
        Self::Out: OfPieces,
    {
        self.cut(LinesWithEnds)
    }

    /// Cuts every value into words, at the white space of C's own locale; a **new clock**.
    ///
    /// A line feed is white space, too: the words of blocks need no [`lines`](TextExt::lines) before, which would be
    /// another stage. A word never continues from one value to the next.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let words = pipeline::<Block>().words();
    /// assert_eq!(
    ///     words.model([Block::from(b"to  be\r\nor\tnot".to_vec())]),
    ///     ["to", "be", "or", "not"]
    /// );
    /// ```
    fn words(self) -> Then<Self, Split<Self::Out, Words>>
    where
        Self::Out: OfPieces,
    {
        self.cut(Words)
    }

    /// Cuts every value into fields at a separator; a **new clock**.
    ///
    /// A value with n separators has n + 1 fields, some of them possibly empty.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let fields = pipeline::<Block>().lines().fields(b',');
    /// assert_eq!(fields.model([Block::from(b"a,,b\n\n,".to_vec())]), ["a", "", "b", "", "", ""]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `separator` is not an ASCII character.
    #[doc(alias = "csv")]
    fn fields(self, separator: u8) -> Then<Self, Split<Self::Out, Fields>>
    where
        Self::Out: OfPieces,
    {
        self.cut(Fields::separated_by(separator))
    }

    /// Cuts every value into records of `bytes` bytes; a **new clock**.
    ///
    /// The last record of a value has the remaining bytes, if there are any.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let records = pipeline::<Block>().records(2);
    /// assert_eq!(records.model([Block::from(b"abcde".to_vec())]), ["ab", "cd", "e"]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `bytes` is 0.
    fn records(self, bytes: usize) -> Then<Self, Split<Self::Out, Records>>
    where
        Self::Out: OfPieces<Kind = [u8]>,
    {
        self.cut(Records::of(bytes))
    }

    /// Cuts every value into records, each after its length; a **new clock**.
    ///
    /// A value that ends in the middle of a record fails the run, at that value's number.
    fn prefixed(self, prefix: Prefixed) -> Then<Self, Split<Self::Out, Prefixed>>
    where
        Self::Out: OfPieces<Kind = [u8]>,
    {
        self.cut(prefix)
    }

    /// Cuts every value by a rule of your own, a [`Cut`]; a **new clock**.
    #[doc(alias = "split")]
    fn cut<C>(self, cut: C) -> Then<Self, Split<Self::Out, C>>
    where
        Self::Out: OfPieces,
        C: Cut<<Self::Out as OfPieces>::Kind>,
    {
        Then::new(self, Split::new(cut))
    }

    /// Keeps a part of every value's text, in the same slot.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let trimmed = pipeline::<Block>()
    ///     .lines()
    ///     .map_slice(|line| line.narrow(line.text().trim_ascii()));
    /// assert_eq!(trimmed.model([Block::from(b" to be\t\nor \n".to_vec())]), ["to be", "or"]);
    /// ```
    fn map_slice<F>(self, f: F) -> Then<Self, Slice<MapSlice<Self::Out, F>>>
    where
        Self::Out: OfPieces,
        F: for<'a> Fn(Piece<'a, <Self::Out as OfPieces>::Kind>) -> Piece<'a, <Self::Out as OfPieces>::Kind>
            + Send
            + Sync
            + 'static,
    {
        Then::new(self, Slice::new(MapSlice::new(f)))
    }

    /// Keeps the part of a value's text that `f` returns; `None` leaves the slot empty.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let values = pipeline::<Block>().lines().filter_map_slice(|line| {
    ///     let equals = line.iter().position(|byte| *byte == b'=')?;
    ///     line.part(equals + 1..line.len())
    /// });
    /// assert_eq!(values.model([Block::from(b"a=1\n# none\nb=2".to_vec())]), ["1", "2"]);
    /// ```
    fn filter_map_slice<F>(self, f: F) -> Then<Self, Slice<FilterMapSlice<Self::Out, F>>>
    where
        Self::Out: OfPieces,
        F: for<'a> Fn(Piece<'a, <Self::Out as OfPieces>::Kind>) -> Option<Piece<'a, <Self::Out as OfPieces>::Kind>>
            + Send
            + Sync
            + 'static,
    {
        Then::new(self, Slice::new(FilterMapSlice::new(f)))
    }

    /// Reads every value as UTF-8; any other bytes end the run.
    ///
    /// Every byte is checked once, and none is copied. The run's error has the number of the value and the position of
    /// the byte.
    fn utf8(self) -> Then<Self, Slice<ToStr<Self::Out, Stop>>>
    where
        Self::Out: OfPieces<Kind = [u8]>,
    {
        Then::new(self, Slice::new(ToStr::new(Stop)))
    }

    /// Reads every value as UTF-8; any other bytes leave the slot empty.
    ///
    /// ```
    /// use millstream::{prelude::*, text::Block};
    /// let chars = pipeline::<Block>().lines().utf8_or_empty().map(|line| line.chars().count());
    /// assert_eq!(
    ///     chars.model_slots([Block::from(b"\xc3\xa9t\xc3\xa9\n\xff".to_vec())]),
    ///     [Some(3), None, None]
    /// );
    /// ```
    fn utf8_or_empty(self) -> Then<Self, Slice<ToStr<Self::Out, LeaveEmpty>>>
    where
        Self::Out: OfPieces<Kind = [u8]>,
    {
        Then::new(self, Slice::new(ToStr::new(LeaveEmpty)))
    }

    /// Calls `f` at every value to write the bytes of the output.
    ///
    /// The input may be any edge.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::io::Write;
    /// let csv = pipeline::<u64>().map_bytes(|n, out| writeln!(out, "{n},{}", n * n).unwrap());
    /// assert_eq!(csv.model([2, 3]), ["2,4\n", "3,9\n"]);
    /// ```
    fn map_bytes<F>(self, f: F) -> Then<Self, MapText<Self::Out, F, [u8]>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>, &mut Writer<'_, [u8]>) + Send + Sync + 'static,
    {
        Then::new(self, Format::new(FormatAll::new(f)))
    }

    /// Calls `f` at every value to write the bytes of the output; false leaves the slot empty.
    ///
    /// Bytes that `f` wrote before it returned false are discarded.
    fn filter_map_bytes<F>(self, f: F) -> Then<Self, FilterMapText<Self::Out, F, [u8]>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>, &mut Writer<'_, [u8]>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, Format::new(FormatSome::new(f)))
    }

    /// Calls `f` at every value to write the UTF-8 of the output.
    ///
    /// Otherwise as [`map_bytes`](TextExt::map_bytes).
    fn map_str<F>(self, f: F) -> Then<Self, MapText<Self::Out, F, str>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>, &mut Writer<'_, str>) + Send + Sync + 'static,
    {
        Then::new(self, Format::new(FormatAll::new(f)))
    }

    /// Calls `f` at every value to write the UTF-8 of the output; false leaves the slot empty.
    ///
    /// Otherwise as [`filter_map_bytes`](TextExt::filter_map_bytes).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::fmt::Write;
    /// let p = pipeline::<u64>()
    ///     .filter_map_str(|x, out| x % 2 == 1 && write!(out, "{x} is odd").is_ok());
    /// assert_eq!(p.model([1, 2]), ["1 is odd"]);
    /// ```
    fn filter_map_str<F>(self, f: F) -> Then<Self, FilterMapText<Self::Out, F, str>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>, &mut Writer<'_, str>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, Format::new(FormatSome::new(f)))
    }
}

impl<P: Arrow> TextExt for P {}
