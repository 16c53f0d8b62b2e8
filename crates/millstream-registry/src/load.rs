//! A parsed block against a registry: names and types, and the statements that it means.

use crate::parse::{Call, Name, Value, parse};
use crate::registry::Entry;
use crate::stage::TypeOf;
use crate::statements::TextStatements;
use crate::wrong::{Mistake, near};
use crate::{In, Registry, Span, TextBlock, TextPipeline, Wrong};
use millstream_core::wires::{Wire, Wires};
use millstream_core::{Item, PartsExt, Val};
use millstream_exec::{AnyPipe, BoxExt, ErasedStatements, FitsStatement};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The longest text.
pub(crate) const MOST: usize = 1 << 16;

pub(crate) fn load<A: Item, B: Item>(registry: &Registry, text: &str) -> Result<TextPipeline<A, B>, Wrong> {
    if text.len() > MOST {
        let at = text.floor_char_boundary(MOST);
        return Err(Wrong::new(text, vec![Mistake::new(format!("the text is longer than {MOST} bytes"), at..at, "")]));
    }
    let (block, mistakes) = parse(text);
    let is_parsed = mistakes.is_empty();
    let Some(block) = block else { return Err(Wrong::new(text, mistakes)) };
    let mut loader = Loader { registry, statements: Vec::new(), wires: HashMap::new(), mistakes };
    let input = Wire::<TextBlock, Val<A>>::new(0).any_edge();
    let input = loader.add(AnyPipe::put_statement("".into(), input), TypeOf::of::<A>());
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
    match result {
        Some(result) if loader.mistakes.is_empty() => {
            Ok(Wires::new(TextStatements(loader.statements), In::<B>::new(result)).boxed_exact())
        }
        _ => Err(Wrong::new(text, loader.mistakes)),
    }
}

struct Loader<'a> {
    registry: &'a Registry,
    statements: Vec<Arc<dyn ErasedStatements>>,
    wires: HashMap<&'a str, Bound>,
    mistakes: Vec<Mistake>,
}

/// What a name stands for.
struct Bound {
    /// `None` after a mistake in its value.
    to: Option<Typed>,
    at: Span,
    is_read: bool,
}

/// A wire: the number of its statement, its type, and where it was bound, if that was by a name.
#[derive(Clone)]
struct Typed {
    id: usize,
    of: TypeOf,
    from: Option<Span>,
}

impl<'a> Loader<'a> {
    fn add(&mut self, statement: Arc<dyn ErasedStatements>, of: TypeOf) -> Typed {
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

    /// The wire that a value is; `None` after a mistake. The statement of a call is called `name`.
    fn value(&mut self, value: &Value<'a>, name: Cow<'static, str>) -> Option<Typed> {
        match value {
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
        let what = format!("there is no wire `{}`", name.text);
        self.mistakes.push(Mistake::new(what, name.at.clone(), "no statement before this one binds it").help_if(help));
        None
    }

    fn field(&mut self, whole: Typed, name: &Name<'a>) -> Option<Typed> {
        let (registry, id) = (self.registry, whole.of.id);
        // Registered names are for the whole process.
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
        // Also if there is no such stage: what it reads is read, and may be wrong.
        let reads: Vec<_> = call.reads.iter().map(|read| self.value(read, "".into())).collect();
        let Some(entry) = entry(registry, call) else {
            self.mistakes.push(no_stage(registry, call));
            return None;
        };
        let literals = self.parameters(call, entry);
        if reads.len() != entry.reads.len() {
            let wanted: Vec<_> = entry.reads.iter().map(|of| registry.name_of(*of)).collect();
            let (stage, many) = (call.stage.text, wanted.len());
            let what = format!("`{stage}` reads {}, and here {}", wires(many), are(reads.len()));
            self.mistakes.push(Mistake::new(what, call.at.clone(), format!("it reads `{}`", wanted.join("`, `"))));
            return None;
        }
        for ((read, wanted), value) in reads.iter().zip(&entry.reads).zip(&call.reads) {
            if let Some(read) = read.as_ref().filter(|read| read.of.id != wanted.id) {
                let (is, wanted) = (registry.name_of(read.of), registry.name_of(*wanted));
                let what = format!("`{}` reads a `{wanted}` here", call.stage.text);
                let mistake = Mistake::new(what, value.at(), format!("this is a `{is}`"));
                self.mistakes.push(origin(mistake, read));
            }
        }
        let known = |output| Typed { id: 0, of: output, from: None };
        if self.mistakes.len() > before || reads.iter().any(Option::is_none) {
            // Its type is known all the same, so that what reads it can be checked; nothing is deployed.
            return Some(known(entry.output));
        }
        let ids: Vec<usize> = reads.into_iter().flatten().map(|read| read.id).collect();
        Some(self.add((entry.make)(name, &ids, &literals), entry.output))
    }

    /// The values of an entry's parameters, in its order; fewer after a mistake.
    fn parameters(&mut self, call: &Call<'a>, entry: &Entry) -> Vec<crate::Literal> {
        let stage = call.stage.text;
        for (n, given) in call.parameters.iter().enumerate() {
            let name = &given.name;
            let Some(parameter) = entry.parameters.iter().find(|parameter| parameter.name == name.text) else {
                let names = entry.parameters.iter().map(|parameter| parameter.name);
                let help = near(name.text, names.clone()).or_else(|| match names.collect::<Vec<_>>().join("`, `") {
                    names if names.is_empty() => Some("it has none".to_owned()),
                    names => Some(format!("it has `{names}`")),
                });
                let what = format!("`{stage}` has no parameter `{}`", name.text);
                self.mistakes.push(Mistake::new(what, name.at.clone(), "").help_if(help));
                continue;
            };
            if !(parameter.accepts)(&given.literal) {
                let what = format!("`{}` is {}", name.text, parameter.wanted);
                let label = format!("this is {}", given.literal.kind());
                self.mistakes.push(Mistake::new(what, given.at.clone(), label));
            }
            if call.parameters[..n].iter().any(|before| before.name.text == name.text) {
                let what = format!("`{}` is given twice", name.text);
                self.mistakes.push(Mistake::new(what, name.at.clone(), ""));
            }
        }
        let mut literals = Vec::new();
        for parameter in &entry.parameters {
            match call.parameters.iter().find(|given| given.name.text == parameter.name) {
                Some(given) => literals.push(given.literal.clone()),
                None => {
                    let what = format!("`{stage}` needs `{}`", parameter.name);
                    let mistake = Mistake::new(what, call.stage.at.clone(), "");
                    self.mistakes.push(mistake.help(format!("`{}: ..`, {}", parameter.name, parameter.wanted)));
                }
            }
        }
        literals
    }

    /// The statement whose output comes out, of type `B`.
    fn result<B: Item>(&mut self, value: &Value<'a>) -> Option<usize> {
        let result = self.value(value, "".into())?;
        let (is, wanted) = (self.registry.name_of(result.of), self.registry.name_of(TypeOf::of::<B>()));
        if result.of.id == TypeId::of::<B>() {
            return Some(result.id);
        }
        let what = format!("this program wants `{wanted}`s, and here come `{is}`s");
        self.mistakes.push(origin(Mistake::new(what, value.at(), format!("a `{is}`")), &result));
        None
    }

    /// Notes wires that nothing reads.
    fn unread(&mut self) {
        let unread = self.wires.iter().filter(|(name, bound)| !bound.is_read && !name.starts_with('_'));
        self.mistakes.extend(unread.map(|(name, bound)| {
            let mistake = Mistake::new(format!("nothing reads `{name}`"), bound.at.clone(), "");
            mistake.help(format!("`_{name}` is for what is computed for its effects"))
        }));
    }
}

fn entry<'a>(registry: &'a Registry, call: &Call<'_>) -> Option<&'a Entry> {
    let mut all = registry.stages.iter();
    all.find(|((name, version), _)| *name == call.stage.text && *version == call.version).map(|(_, entry)| entry)
}

fn no_stage(registry: &Registry, call: &Call<'_>) -> Mistake {
    let (name, at) = (call.stage.text, call.stage.at.clone());
    let versions = registry.stages.keys().filter(|(stage, _)| *stage == name).map(|(_, version)| *version);
    let versions: Vec<_> = versions.map(|version| format!("`{name}@{version}`")).collect();
    if versions.is_empty() {
        let help = near(name, registry.stages.keys().map(|(stage, _)| *stage));
        return Mistake::new(format!("there is no stage `{name}`"), at, "not in the registry of this program")
            .help_if(help);
    }
    let what = format!("there is no version {} of `{name}`", call.version);
    Mistake::new(what, at, "").help(format!("there is {}", versions.join(", ")))
}

/// Where the wire comes from, if it has a name.
fn origin(mistake: Mistake, read: &Typed) -> Mistake {
    match &read.from {
        Some(from) => mistake.because(from.clone(), "it comes from here"),
        None => mistake,
    }
}

fn wires(many: usize) -> String {
    if many == 1 { "1 wire".to_owned() } else { format!("{many} wires") }
}

fn are(many: usize) -> String {
    if many == 1 { "is 1".to_owned() } else { format!("are {many}") }
}
