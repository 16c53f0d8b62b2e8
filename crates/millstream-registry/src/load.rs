//! Checks the names and types of a parsed block against a registry, and makes its statements.

mod asked;
mod names;
mod parameters;
mod sources;

use crate::parse::{Call, Name, Statement, Step, Value, parse, parse_program};
use crate::registry::{Ends, Entry, Loads};
use crate::stage::TypeOf;
use crate::wrong::{Mistake, near};
use crate::{Called, In, Literal, Registry, Span, TextBlock, TextPipeline, TextProgram, Wrong};
use asked::Asked;
use millstream_core::wires::{Wire, Wires};
use millstream_core::{Item, PartsExt, Val};
use millstream_exec::{BoxExact, BoxKind, BoxStatements};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest text.
pub(crate) const MOST: usize = 1 << 16;

pub(crate) fn load<A: Item, B: Item, K: Loads<A, B>>(
    registry: &Registry<K>,
    text: &str,
) -> Result<TextPipeline<A, B, K>, Wrong> {
    fits(text)?;
    let (block, mistakes) = parse(text);
    let is_parsed = mistakes.is_empty();
    let Some(block) = block else { return Err(Wrong::new(text, mistakes)) };
    let (mut loader, input) = Loader::begin::<A, B>(registry, text, mistakes);
    loader.bind(&block.input, Some(input));
    for statement in &block.statements {
        let name = Cow::Owned(statement.name.text.to_owned());
        let read = statement.value.as_ref().and_then(|value| loader.value(value, name));
        loader.bind(&statement.name, read);
    }
    let result = block.result.as_ref().and_then(|value| loader.result::<B>(value));
    if is_parsed {
        loader.unread();
    }
    loader.pipeline(result)
}

pub(crate) fn program<A: Item, B: Item, K: Loads<A, B>>(
    registry: &Registry<K>,
    text: &str,
    ends: &Ends,
) -> Result<TextProgram<A, B, K>, Wrong> {
    fits(text)?;
    let (mut loader, input) = Loader::begin::<A, B>(registry, text, Vec::new());
    (loader.input, loader.output) = (Some(input), Some(TypeId::of::<B>()));
    let begins = loader.begins();
    let asked = Asked { registry, begins: begins.clone() };
    let (program, mistakes) = parse_program(text, &asked);
    let is_parsed = mistakes.is_empty();
    loader.mistakes = mistakes;
    let bound = program.steps.iter().filter_map(|step| match step {
        Step::Bind(statement) => Some(statement.name.text),
        _ => None,
    });
    // An unnamed stage takes no name from the text.
    loader.named = bound.map(|name| (Cow::Borrowed(name), 1)).collect();
    let (mut leave, mut keeps) = (Vec::new(), Vec::new());
    for step in &program.steps {
        match step {
            Step::Keep(kept) => keeps.extend(kept),
            Step::Bind(Statement { name, value }) => {
                let stage = Cow::Owned(name.text.to_owned());
                let read = value.as_ref().and_then(|value| loader.value(value, stage));
                loader.bind(name, read);
            }
            Step::Leave(value) => leave.extend(loader.leaving::<B>(value, ends.print)),
        }
    }
    if is_parsed {
        loader.unread();
        if !program.steps.iter().any(|step| matches!(step, Step::Leave(_))) {
            let what = if program.steps.is_empty() { "the text is empty" } else { "the text has no output" };
            let mistake = Mistake::new(what, text.len()..text.len(), "");
            loader.mistakes.push(mistake.help("a program is written as `SOURCE | STAGE | SINK`"));
        } else if !loader.has_source && loader.mistakes.is_empty() {
            let mistake = Mistake::new("the text has no source", 0..0, "");
            loader.mistakes.push(mistake.help(begins.clone()));
        }
    }
    let end = text.len()..text.len();
    let result = leave.into_iter().reduce(|one, other| loader.apply(ends.both, vec![one, other], end.clone()));
    if loader.mistakes.is_empty() {
        loader.are_stages(&keeps);
    }
    let calls = std::mem::take(&mut loader.called);
    let keeps = keeps.into_iter().map(|kept| kept.name.clone()).collect();
    Ok(TextProgram { pipeline: loader.pipeline(result.map(|leaving| leaving.id))?, calls, keeps })
}

/// Refuses a text that is too long.
fn fits(text: &str) -> Result<(), Wrong> {
    if text.len() <= MOST {
        return Ok(());
    }
    let at = text.floor_char_boundary(MOST);
    Err(Wrong::new(text, vec![Mistake::new(format!("the text is longer than {MOST} bytes"), at..at, "")]))
}

struct Loader<'a, K: BoxKind> {
    registry: &'a Registry<K>,
    text: &'a str,
    statements: Vec<Arc<K::Statements>>,
    called: Vec<Called>,
    wires: HashMap<&'a str, Bound>,
    mistakes: Vec<Mistake>,
    /// The input of a program, which sources read.
    input: Option<Typed>,
    /// The type of a program's outputs.
    output: Option<TypeId>,
    has_source: bool,
    /// How often each name of a wire or of an unnamed stage was used.
    named: HashMap<Cow<'a, str>, usize>,
}

/// A name that the text binds.
struct Bound {
    /// `None` after a mistake in its value.
    to: Option<Typed>,
    at: Span,
    is_read: bool,
}

/// A wire: the number of its statement, its type, and where the text binds a name to it, if it does.
#[derive(Clone)]
struct Typed {
    id: usize,
    of: TypeOf,
    from: Option<Span>,
}

impl<'a, K: BoxKind> Loader<'a, K> {
    /// A loader, and the wire of a pipeline's input.
    fn begin<A: Item, B: Item>(registry: &'a Registry<K>, text: &'a str, mistakes: Vec<Mistake>) -> (Self, Typed)
    where
        K: Loads<A, B>,
    {
        let mut loader = Loader {
            registry,
            text,
            statements: Vec::new(),
            called: Vec::new(),
            wires: HashMap::new(),
            mistakes,
            input: None,
            output: None,
            has_source: false,
            named: HashMap::new(),
        };
        let input = Wire::<TextBlock, Val<A>>::new(0).any_edge();
        let input = loader.add(K::put_statement("".into(), input), TypeOf::of::<A>());
        (loader, input)
    }

    /// The pipeline whose output is that of this statement.
    fn pipeline<A: Item, B: Item>(self, result: Option<usize>) -> Result<TextPipeline<A, B, K>, Wrong>
    where
        K: Loads<A, B>,
    {
        match result {
            Some(result) if self.mistakes.is_empty() => {
                Ok(BoxExact::of(Wires::new(BoxStatements::new(self.statements), In::<B>::new(result))))
            }
            _ => Err(Wrong::new(self.text, self.mistakes)),
        }
    }

    fn add(&mut self, statement: Arc<K::Statements>, of: TypeOf) -> Typed {
        self.statements.push(statement);
        Typed { id: self.statements.len(), of, from: None }
    }

    fn bind(&mut self, name: &Name<'a>, to: Option<Typed>) {
        let to = to.map(|typed| Typed { from: Some(name.at.clone()), ..typed });
        let bound = Bound { to, at: name.at.clone(), is_read: false };
        if let Some(before) = self.wires.insert(name.text, bound) {
            let mistake = Mistake::new(format!("`{}` is bound twice", name.text), name.at.clone(), "again here");
            let mistake = mistake.because(before.at, "it is bound here");
            self.mistakes.push(mistake.help("the name of a wire is the name of its state, so it needs one of its own"));
        }
    }

    /// The wire of a value; `None` after a mistake. A call's statement gets the name `name`.
    fn value(&mut self, value: &Value<'a>, name: Cow<'static, str>) -> Option<Typed> {
        match value {
            Value::Wire(wire) if self.is_source(wire) => self.call(&Call::of(wire.clone()), name),
            Value::Wire(wire) => self.wire(wire),
            Value::Field(whole, field) => {
                let whole = self.value(whole, "".into())?;
                self.field(whole, field)
            }
            Value::Call(call) => self.call(call, name),
        }
    }

    fn wire(&mut self, name: &Name<'a>) -> Option<Typed> {
        if let Some(bound) = self.wires.get_mut(name.text) {
            bound.is_read = true;
            return bound.to.clone();
        }
        let help = near(name.text, self.wires.keys().copied());
        let help = help.or_else(|| self.input.as_ref().and_then(|_| near(name.text, self.sources().into_iter())));
        let help = help.or_else(|| self.input.as_ref().map(|_| self.begins()));
        let what = format!("there is no wire `{}`", name.text);
        self.mistakes.push(Mistake::new(what, name.at.clone(), "no statement before this one binds it").help_if(help));
        None
    }

    fn field(&mut self, whole: Typed, name: &Name<'a>) -> Option<Typed> {
        let (registry, id) = (self.registry, whole.of.id);
        // Registered names live as long as the process.
        let field = registry.fields.iter().find(|((field, of), _)| *field == name.text && *of == id);
        if let Some((_, field)) = field {
            return Some(self.add((field.make)(whole.id), field.output));
        }
        let fields = registry.fields.keys().filter(|(_, of)| *of == id).map(|(field, _)| *field);
        let of = registry.name_of(whole.of);
        let help = near(name.text, fields.clone()).or_else(|| match fields.collect::<Vec<_>>().join("`, `") {
            fields if fields.is_empty() => None,
            fields => Some(format!("it has `{fields}`")),
        });
        let mistake = Mistake::new(format!("a `{of}` has no field `{}`", name.text), name.at.clone(), "");
        self.mistakes.push(origin(mistake, &whole).help_if(help));
        None
    }

    fn call(&mut self, call: &Call<'a>, name: Cow<'static, str>) -> Option<Typed> {
        let registry = self.registry;
        let before = self.mistakes.len();
        if let Some(name) = self.no_wire(call) {
            let what = format!("there is no wire `{}`", name.text);
            let mistake = Mistake::new(what, name.at.clone(), "no statement before this one binds it");
            let help = format!("a field is written as `.{0}`; any other expression needs brackets: `({0})`", name.text);
            self.mistakes.push(mistake.help(help));
            return None;
        }
        // Checks the arguments even if there is no such stage: they are read, and may be wrong.
        let mut reads: Vec<_> = call.reads.iter().map(|read| (self.value(read, "".into()), read.at())).collect();
        let Some(all) = registry.stages.get(&(call.stage.text, call.version)) else {
            self.mistakes.push(no_stage(registry, call));
            return None;
        };
        if let Some(input) = self.input.clone()
            && let Some(source) = all.iter().find(|entry| self.reads_input(entry))
            && source.reads.len() == reads.len() + 1
            && !all.iter().any(|entry| takes(entry, &reads))
        {
            self.has_source = true;
            reads.insert(0, (Some(input), call.at.clone()));
        }
        let fitting = all.iter().find(|entry| takes(entry, &reads));
        let as_many = || all.iter().find(|entry| entry.reads.len() == reads.len());
        let Some(entry) = fitting.or_else(as_many) else {
            let wanted: Vec<_> = all[0].reads.iter().map(|of| registry.name_of(*of)).collect();
            let (stage, many) = (call.stage.text, wanted.len());
            let what = format!("`{stage}` reads {}, but gets {}", wires(many), reads.len());
            let help = (reads.is_empty() && self.input.is_some()).then(|| self.begins());
            let label = format!("it reads `{}`", wanted.join("`, `"));
            self.mistakes.push(Mistake::new(what, call.at.clone(), label).help_if(help));
            let entry = all.first().filter(|_| all.len() == 1)?;
            self.parameters(call, entry);
            return None;
        };
        let literals = self.parameters(call, entry);
        for ((read, at), wanted) in reads.iter().zip(&entry.reads) {
            if let Some(read) = read.as_ref().filter(|read| read.of.id != wanted.id) {
                let (is, wanted) = (registry.name_of(read.of), registry.name_of(*wanted));
                let what = format!("`{}` reads a `{wanted}` here", call.stage.text);
                let mistake = Mistake::new(what, at.clone(), format!("this is a `{is}`"));
                let help = (self.output == Some(read.of.id)).then(|| self.written(call));
                self.mistakes.push(origin(mistake, read).help_if(help));
            }
        }
        if self.mistakes.len() > before || reads.iter().any(|(read, _)| read.is_none()) {
            // The output's type is known in spite of the mistake, so its readers can be checked. The pipeline is not
            // made.
            return Some(Typed { id: 0, of: entry.output, from: None });
        }
        let ids: Vec<usize> = reads.into_iter().filter_map(|(read, _)| read).map(|read| read.id).collect();
        Some(self.made((entry, call.stage.text, call.version, call.at.clone()), name, ids, literals))
    }

    /// The wire that a call writes. The call's stage gets the name `name`.
    fn made(
        &mut self,
        (entry, stage, version, at): (&Entry<K>, &'a str, u32, Span),
        name: Cow<'static, str>,
        reads: Vec<usize>,
        literals: Vec<Option<Literal>>,
    ) -> Typed {
        let name = self.named(name, stage, entry, &literals);
        let made = self.add((entry.make)(name.clone(), &reads, &literals), entry.output);
        let parameters = entry.parameters.iter().map(|parameter| parameter.name).zip(literals).collect();
        let written = self.text[at.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let text = if written.is_empty() { stage.to_owned() } else { written };
        let (name, stage, output) = (name.into_owned(), stage.to_owned(), self.registry.name_of(entry.output));
        self.called.push(Called { name, stage, version, at, text, reads, writes: made.id, output, parameters });
        made
    }

    /// The output of a value, through `print` if it is none yet. It stays none if it comes of a mistake.
    fn leaving<B: Item>(&mut self, value: &Value<'a>, print: &'static str) -> Option<Typed> {
        let leaving = self.value(value, "".into())?;
        let is_output = leaving.of.id == TypeId::of::<B>();
        if is_output || leaving.id == 0 {
            return is_output.then_some(leaving);
        }
        let printed = self.registry.stages.get(&(print, 1));
        if printed.is_some_and(|all| !all.iter().any(|entry| entry.reads.iter().map(|of| of.id).eq([leaving.of.id]))) {
            let is = self.registry.name_of(leaving.of);
            let what = format!("`{is}`s cannot be an output: `{print}` does not take them");
            self.mistakes.push(origin(Mistake::new(what, value.at(), format!("a `{is}`")), &leaving));
            return None;
        }
        let end = value.at().end;
        Some(self.apply(print, vec![leaving], end..end))
    }

    /// Adds a stage that the text does not name, such as `print`. It reads these wires, and its place in the text is
    /// `at`.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    fn apply(&mut self, stage: &'static str, reads: Vec<Typed>, at: Span) -> Typed {
        let registry = self.registry;
        let all = registry.stages.get(&(stage, 1)).unwrap_or_else(|| panic!("there is no stage `{stage}`"));
        let of: Vec<_> = reads.iter().map(|read| read.of.id).collect();
        let entry = all.iter().find(|entry| entry.reads.iter().map(|of| of.id).eq(of.iter().copied()));
        let entry = entry.unwrap_or_else(|| panic!("`{stage}` reads other wires"));
        if !self.mistakes.is_empty() {
            return Typed { id: 0, of: entry.output, from: None };
        }
        let ids: Vec<usize> = reads.iter().map(|read| read.id).collect();
        self.made((entry, stage, 1, at), "".into(), ids, vec![None; entry.parameters.len()])
    }

    /// The statement of the pipeline's output, of type `B`.
    fn result<B: Item>(&mut self, value: &Value<'a>) -> Option<usize> {
        let result = self.value(value, "".into())?;
        let (is, wanted) = (self.registry.name_of(result.of), self.registry.name_of(TypeOf::of::<B>()));
        if result.of.id == TypeId::of::<B>() {
            return Some(result.id);
        }
        let what = format!("this program outputs `{wanted}`s, but these are `{is}`s");
        self.mistakes.push(origin(Mistake::new(what, value.at(), format!("a `{is}`")), &result));
        None
    }

    /// Notes wires that nothing reads.
    fn unread(&mut self) {
        let unread = self.wires.iter().filter(|(name, bound)| !bound.is_read && !name.starts_with('_'));
        self.mistakes.extend(unread.map(|(name, bound)| {
            let mistake = Mistake::new(format!("nothing reads `{name}`"), bound.at.clone(), "");
            mistake.help(format!("name it `_{name}` if it is computed only for its effects"))
        }));
    }
}

/// Whether a stage reads wires of these types. An unknown type fits every stage.
fn takes<K: BoxKind>(entry: &Entry<K>, reads: &[(Option<Typed>, Span)]) -> bool {
    let fits = |((read, _), wanted): (&(Option<Typed>, Span), &TypeOf)| {
        read.as_ref().is_none_or(|read| read.of.id == wanted.id)
    };
    entry.reads.len() == reads.len() && reads.iter().zip(&entry.reads).all(fits)
}

fn no_stage<K: BoxKind>(registry: &Registry<K>, call: &Call<'_>) -> Mistake {
    let (name, at) = (call.stage.text, call.stage.at.clone());
    let versions = registry.stages.keys().filter(|(stage, _)| *stage == name).map(|(_, version)| *version);
    let versions: Vec<_> = versions.map(|version| format!("`{name}@{version}`")).collect();
    if versions.is_empty() {
        let help = registry.others.get(name).map(|help| (*help).to_owned());
        let help = help.or_else(|| near(name, registry.stages.keys().map(|(stage, _)| *stage)));
        return Mistake::new(format!("there is no stage `{name}`"), at, "not in the registry of this program")
            .help_if(help);
    }
    let what = format!("there is no version {} of `{name}`", call.version);
    Mistake::new(what, at, "").help(format!("there is {}", versions.join(", ")))
}

/// Adds to a mistake where the wire comes from, if it has a name.
fn origin(mistake: Mistake, read: &Typed) -> Mistake {
    match &read.from {
        Some(from) => mistake.because(from.clone(), "it comes from here"),
        None => mistake,
    }
}

fn wires(many: usize) -> String {
    if many == 1 { "1 wire".to_owned() } else { format!("{many} wires") }
}
