mod answer;
mod reading;
mod variables;

pub use answer::{Answer, Said, What};

use crate::demand::Demand;
use crate::depth::{self, Levels};
use crate::evaluations::counted;
use crate::functions::{Around, Kind, Message, definitions, functions};
use crate::native::Native;
use crate::parse::FieldTree;
use crate::syntax::{self, Joined};
use crate::write::{Writer, one_line};
use crate::wrong::Advice;
use crate::{Input, Options, Wrong, left_out, operators};
use answer::Where;
use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader, import};
use jaq_core::{Compiler, Ctx, Vars};
use jaq_json::{Val, ValX};
use millstream_core::failure::{caught, into_message};
use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use variables::Variables;

/// A compiled filter. Clones are the same filter, which any number of threads may use at once.
///
/// ```
/// use millstream::jq::Filter;
///
/// let filter = Filter::new("select(.qty > 1) | {id}")?;
/// let answer = filter.answer(b"{\"id\": 7, \"qty\": 2} {\"id\": 8, \"qty\": 1}");
/// assert_eq!(answer.out, b"{\n  \"id\": 7\n}\n");
/// assert_eq!(answer.values, 2);
/// # Ok::<(), millstream::jq::Wrong>(())
/// ```
#[derive(Clone)]
pub struct Filter(Arc<Compiled>);

struct Compiled {
    filter: jaq_core::Filter<Kind>,
    input: Input,
    demand: Demand,
    /// The same filter without jaq, if it is of a simple form and writes each output on one line.
    native: Option<(Native, FieldTree)>,
    writer: Writer,
    variables: Variables,
    /// The most bytes of an answer.
    most: Option<usize>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("input", &self.0.input).field("demand", &self.0.demand).finish_non_exhaustive()
    }
}

/// Why the rest of a block is not read.
type Flow = ControlFlow<()>;

impl Filter {
    /// A filter of JSON values, which writes outputs with two spaces a level. A text without words is the filter `.`.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, with their places. A name that is [left out](crate::LEFT_OUT) is a mistake.
    pub fn new(filter: &str) -> Result<Self, Wrong> {
        Self::with(filter, &Options::default())
    }

    /// A filter with options.
    ///
    /// # Errors
    ///
    /// As [`new`](Filter::new).
    pub fn with(filter: &str, options: &Options) -> Result<Self, Wrong> {
        Self::within(0, filter, options)
    }

    /// The same, with `around` levels more than a text may have.
    pub(crate) fn within(around: usize, filter: &str, options: &Options) -> Result<Self, Wrong> {
        let levels = Levels::of(filter, around)?;
        levels.on_a_stack(filter, || {
            levels.check(filter, around)?;
            Self::compiled(filter, options, &levels)
        })
    }

    fn compiled(filter: &str, options: &Options, levels: &Levels) -> Result<Self, Wrong> {
        let variables = Variables::of(options).map_err(|why| Wrong::whole(filter, why))?;
        let without = if options.for_rows { left_out::without_for_rows } else { left_out::without };
        let joined = Joined::of(filter);
        let text = joined.as_ref().map_or(filter, |joined| joined.text.as_str());
        let text = if !options.for_rows && syntax::is_empty(text) { "." } else { text };
        let compiled = compile(text, &variables.names(), without, levels);
        let compiled = compiled.map_err(|wrong| wrong.of_text(filter, joined.as_ref()))?;
        let demand = match options.input {
            Input::Values => Demand::of(text),
            _ => Demand::All,
        };
        let style = &options.style;
        let on_lines = style.indent.is_none() && !style.sort_keys && !style.colours && !style.join && !style.raw;
        let native = if on_lines && options.input == Input::Values { Native::of(text) } else { None };
        let native = native.map(|native| {
            let tree = FieldTree::of(native.paths());
            (native, tree)
        });
        let (writer, input, most) = (Writer::new(style.clone()), options.input, options.most);
        Ok(Filter(Arc::new(Compiled { filter: compiled, input, demand, native, writer, variables, most })))
    }

    /// The filter's answer to a block.
    ///
    /// If the filter fails for a value, the answer says so, and goes on with the next value, as jq does. Bytes that
    /// are not JSON end the answer; so does `halt`.
    #[must_use]
    pub fn answer(&self, block: &[u8]) -> Answer {
        self.answer_of("", block)
    }

    /// The same, with a name for `input_filename`.
    #[must_use]
    pub fn answer_of(&self, name: &str, block: &[u8]) -> Answer {
        self.answer_to_all(&[(name, block)])
    }

    /// The filter's answer to several blocks, each with the name of its input: one answer, as if the blocks were one.
    #[must_use]
    pub fn answer_to_all(&self, blocks: &[(&str, &[u8])]) -> Answer {
        let compiled = &*self.0;
        let around = Around { lut: &compiled.filter.lut, said: RefCell::default() };
        let (variables, answer) = (Vars::default(), Answer::default());
        let mut run = Run { compiled, around: &around, variables, block: 0, answer };
        match compiled.input {
            Input::Values => run.values(blocks),
            Input::Lines => run.lines(blocks),
            Input::AllValues => run.all_values(blocks),
            Input::AllText => run.all_text(blocks),
            Input::Null => {
                run.begin(blocks.first().map_or("", |(name, _)| name));
                let _ = run.evaluate(Val::Null, Where::default());
            }
        }
        run.answer
    }
}

fn compile(
    filter: &str,
    variables: &[String],
    without: Advice,
    levels: &Levels,
) -> Result<jaq_core::Filter<Kind>, Wrong> {
    let parsed = syntax::parse(filter);
    // Whether only a changed tree is certainly not too deep.
    let mut is_long = parsed.is_none() && !levels.are_few();
    if let Some((mut term, has_chains)) = parsed {
        let is_replaced = operators::replace(&mut term);
        is_long = has_chains | depth::spread(&mut term);
        if is_replaced || is_long {
            // The filter whose text has changed, as a name that is not in it.
            let mut whole = "__whole".to_owned();
            while filter.contains(&whole) {
                whole.push('_');
            }
            let own = Def { name: whole.as_str(), args: Vec::new(), body: term };
            if let Ok(compiled) = compile_behind([own], &whole, variables, without) {
                return Ok(compiled);
            }
        }
    }
    // Also to find the places of mistakes.
    let compiled = compile_behind([], filter, variables, without)?;
    if is_long { Err(levels.too_deep(filter)) } else { Ok(compiled) }
}

/// Compiles a filter that can use these definitions.
fn compile_behind<'a>(
    own: impl IntoIterator<Item = Def<&'a str>>,
    filter: &'a str,
    variables: &[String],
    without: Advice,
) -> Result<jaq_core::Filter<Kind>, Wrong> {
    let arena = Arena::default();
    let shared: Vec<Def<&'a str>> = definitions(without).collect();
    let loader = Loader::new(shared.into_iter().chain(own));
    let file = File { code: filter, path: () };
    let modules = loader.load(&arena, file).map_err(|errors| Wrong::loading(filter, errors))?;
    import(&modules, |_| Err(String::new())).map_err(|errors| Wrong::loading(filter, errors))?;
    let compiler = Compiler::default().with_funs(functions());
    let compiler = compiler.with_global_vars(variables.iter().map(String::as_str));
    compiler.compile(modules).map_err(|errors| Wrong::compiling(filter, errors, without))
}

/// One call of a filter.
struct Run<'a> {
    compiled: &'a Compiled,
    around: &'a Around<'a>,
    variables: Vars<Val>,
    /// The index of the block that is read.
    block: usize,
    answer: Answer,
}

impl Run<'_> {
    /// Sets the file name of the next inputs.
    fn begin(&mut self, name: &str) {
        self.variables = self.compiled.variables.values(name);
    }

    /// Runs the filter on one input, and writes its outputs. Breaks if the filter halts.
    fn evaluate(&mut self, input: Val, place: Where) -> Flow {
        counted(|| self.outputs(input, place))
    }

    fn outputs(&mut self, input: Val, place: Where) -> Flow {
        let context = Ctx::<Kind>::new(self.around, self.variables.clone());
        // jaq panics at some values, and fails at others.
        let compiled = self.compiled;
        let Some(mut outputs) = self.unless_it_panics(place, || compiled.filter.id.run((context, input))) else {
            return Flow::Continue(());
        };
        while let Some(output) = self.unless_it_panics(place, || outputs.next()).flatten() {
            self.hear(place);
            match self.output(output, place) {
                Ok(()) => {}
                Err(flow) => return flow,
            }
        }
        self.hear(place);
        Flow::Continue(())
    }

    fn unless_it_panics<R>(&mut self, place: Where, f: impl FnOnce() -> R) -> Option<R> {
        match caught(f) {
            Ok(made) => Some(made),
            Err(payload) => {
                self.hear(place);
                self.say(place, What::Failed(into_message(payload)));
                None
            }
        }
    }

    /// Writes an output, and returns what comes next. No output follows an error.
    fn output(&mut self, output: ValX<'_>, place: Where) -> Result<(), Flow> {
        use jaq_core::ValT;
        let exception = match output {
            Ok(value) => {
                self.answer.last = Some(value.as_bool());
                self.compiled.writer.write(&value, &mut self.answer.out);
                if let Some(most) = self.compiled.most.filter(|most| self.answer.out.len() > *most) {
                    let why = format!("the outputs for one input are more than {most} bytes: does the filter end?");
                    self.say(place, What::Failed(why));
                    return Err(Flow::Continue(()));
                }
                return Ok(());
            }
            Err(exception) => exception,
        };
        match exception.get_err() {
            Ok(error) => {
                let what = match error.into_val() {
                    Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
                    value => format!("{value} (not a string)"),
                };
                self.say(place, What::Failed(what));
                Err(Flow::Continue(()))
            }
            Err(exception) => {
                // Outside of a filter only an error or a `halt` is left to handle.
                let code = exception.get_halt().unwrap_or(5);
                self.say(place, What::Halted(code));
                Err(Flow::Break(()))
            }
        }
    }

    /// Moves what the filter has said to the answer.
    fn hear(&mut self, place: Where) {
        for message in self.around.said.take() {
            let what = match message {
                Message::Debug(value) => {
                    let value = one_line(&value);
                    What::Debug(format!("[\"DEBUG:\",{}]", String::from_utf8_lossy(&value)))
                }
                Message::Stderr(Val::TStr(text)) => What::Stderr(text.to_vec()),
                Message::Stderr(value) => What::Stderr(one_line(&value)),
            };
            self.say(place, what);
        }
    }

    fn say(&mut self, Where { line, number }: Where, what: What) {
        self.answer.said.push(Said { at: self.answer.out.len(), block: self.block, line, number, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_whose_outputs_have_no_end_fails_at_the_limit() {
        let options = Options { most: Some(10), ..Options::default() };
        let answer = Filter::with("repeat(1)", &options).expect("a filter").answer(b"1");
        assert_eq!(answer.out, b"1\n".repeat(6));
        let said: Vec<_> = answer.said.into_iter().map(|said| said.what).collect();
        let why = "the outputs for one input are more than 10 bytes: does the filter end?";
        assert_eq!(said, [What::Failed(why.to_owned())]);
    }
}
