use crate::stage::{Parameters, Reads, StageInfo, TypeOf};
use crate::{In, Literal, TextBlock, TextPipeline, TextProgram, Wrong, load, stage};
use millstream_core::pipe::{Then, ToAnyEdge};
use millstream_core::wires::{Scope, Wire, Wires};
use millstream_core::{AnyEdge, Arrow, Item, ItemShape, PartsExt, Val, ViewExt};
use millstream_exec::{AnyPipe, BoxKind, BoxStatements, Fits, FitsStatement};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// The stages, fields and types that text can name.
///
/// Names are a promise: a text stays valid as long as the program registers what the text names. If the meaning or the
/// parameters of a stage change, register a new version, `quote@2`, beside the old one.
///
/// ```
/// use millstream::{prelude::*, registry::{In, Registry}};
///
/// struct Order { user: String, qty: u64 }
///
/// let mut stages = Registry::default();
/// stages.ty::<String>("Text").ty::<Order>("Order").ty::<u64>("Number");
/// stages.stage("parse", |line: In<String>| {
///     line.try_map_or_empty(|line: &String| {
///         let (user, qty) = line.split_once(' ').ok_or("no quantity")?;
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Order { user: user.to_owned(), qty: qty.parse()? })
///     })
/// }).about("an order, of a line");
/// stages.field("qty", |order: &Order| &order.qty).field("user", |order: &Order| &order.user);
/// stages.stage_with("above", ["limit"], |n: In<u64>, limit: u64| n.filter(move |n| *n > limit));
/// stages.stage("show", |both: (In<String>, In<u64>)| both.map(|(user, n)| format!("{user}: {n}")));
///
/// let p = stages.load::<String, String>("|line| {
///     let order = parse(line);
///     show(order.user, above(order.qty, limit: 2))
/// }")?;
/// let lines = ["ann 5", "bo 1", "what"].map(String::from);
/// assert_eq!(p.model(lines.clone()), ["ann: 5"]);
/// assert_eq!(p.collect(lines)?, ["ann: 5"]);
///
/// let wrong = stages.load::<String, u64>("|line| { abve(parse(line).qty, limit: 2) }").unwrap_err();
/// assert_eq!(wrong.to_string(), "\
/// error: there is no stage `abve`
///   --> text:1:10
///    1 | |line| { abve(parse(line).qty, limit: 2) }
///      |          ^^^^ not in the registry of this program
///      = help: did you mean `above`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `Known` is the [kind](BoxKind) of the stages and the pipelines: with `OnQueues` they also run on queues, and all
/// values are `Clone`.
pub struct Registry<Known: BoxKind = AnyPipe> {
    pub(crate) types: HashMap<TypeId, &'static str>,
    /// Stages by name and version. Stages with the same name and version read different wires.
    pub(crate) stages: BTreeMap<(&'static str, u32), Vec<Entry<Known>>>,
    pub(crate) fields: BTreeMap<(&'static str, TypeId), Field<Known>>,
    /// What to write instead of names that other languages have.
    pub(crate) others: BTreeMap<&'static str, &'static str>,
    pub(crate) by_expression: Option<&'static str>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry::empty()
    }
}

/// Makes a statement from its name, the wires that it reads, and the parameters that the entry lists.
pub(crate) type Make<Known> =
    dyn Fn(Cow<'static, str>, &[usize], &[Option<Literal>]) -> Arc<<Known as BoxKind>::Statements> + Send + Sync;

/// Makes the statement of a field from the wire of the whole.
type MakeField<Known> = dyn Fn(usize) -> Arc<<Known as BoxKind>::Statements> + Send + Sync;

pub(crate) struct Entry<Known: BoxKind> {
    pub(crate) reads: Vec<TypeOf>,
    pub(crate) parameters: Vec<stage::ParameterOf>,
    pub(crate) output: TypeOf,
    about: &'static str,
    pub(crate) rules: Vec<Rule>,
    /// The parameter that becomes a part of a call's name if the text does not name the call.
    pub(crate) named_by: Option<&'static str>,
    pub(crate) make: Box<Make<Known>>,
}

pub(crate) struct Field<Known: BoxKind> {
    pub(crate) output: TypeOf,
    pub(crate) make: Box<MakeField<Known>>,
}

/// A kind of box for pipelines from text, from `A`s to `B`s. Implemented for all that fit.
pub trait Loads<A: Item, B: Item>:
    Sized
    + BoxKind
    + FitsStatement<Then<Wire<TextBlock, Val<A>>, ToAnyEdge<Val<A>>>>
    + Fits<Wires<Val<A>, TextBlock, BoxStatements<Self>, In<B>>>
{
}
impl<A: Item, B: Item, Known: BoxKind> Loads<A, B> for Known where
    Known: FitsStatement<Then<Wire<TextBlock, Val<A>>, ToAnyEdge<Val<A>>>>
        + Fits<Wires<Val<A>, TextBlock, BoxStatements<Known>, In<B>>>
{
}

/// A rule about two parameters of a stage.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Text that sets the first must set the second.
    Needs(&'static str, &'static str),
    /// Text must not set both.
    Excludes(&'static str, &'static str),
    /// A mistake that this function finds.
    Refuses(Check),
}

/// Returns what is wrong with the parameters that text sets for a stage of this name, and what to do.
pub type Check = fn(stage: &str, given: &dyn Fn(&str) -> Option<Literal>) -> Option<(String, String)>;

/// A stage that was just registered.
pub struct Registered<'a> {
    about: &'a mut &'static str,
    rules: &'a mut Vec<Rule>,
    named_by: &'a mut Option<&'static str>,
}

impl fmt::Debug for Registered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("about", &self.about).finish_non_exhaustive()
    }
}

impl Registered<'_> {
    /// What the stage does, in a line.
    pub fn about(self, about: &'static str) {
        *self.about = about;
    }

    /// In a [program](Registry::program), a call that binds no wire is named after its stage and this text: `csv
    /// big.csv`. The name then does not depend on other calls.
    #[must_use]
    pub fn named_by(self, parameter: &'static str) -> Self {
        *self.named_by = Some(parameter);
        self
    }

    /// Refuses text if `check` finds a mistake in its parameters.
    #[must_use]
    pub fn refuses(self, check: Check) -> Self {
        self.rules.push(Rule::Refuses(check));
        self
    }

    /// Refuses text that sets the first parameter without the second.
    #[must_use]
    pub fn needs(self, one: &'static str, other: &'static str) -> Self {
        self.rules.push(Rule::Needs(one, other));
        self
    }

    /// Refuses text that sets both parameters.
    #[must_use]
    pub fn excludes(self, one: &'static str, other: &'static str) -> Self {
        self.rules.push(Rule::Excludes(one, other));
        self
    }
}

impl<Known: BoxKind> fmt::Debug for Registry<Known> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("stages", &self.stages.keys()).finish_non_exhaustive()
    }
}

impl<Known: BoxKind> Registry<Known> {
    /// A registry without stages.
    #[must_use]
    pub fn empty() -> Self {
        Registry {
            types: HashMap::new(),
            stages: BTreeMap::new(),
            fields: BTreeMap::new(),
            others: BTreeMap::new(),
            by_expression: None,
        }
    }

    /// Sets the name of a type in messages. The default is Rust's name.
    pub fn ty<T: Item>(&mut self, name: &'static str) -> &mut Self {
        self.types.insert(TypeId::of::<T>(), name);
        self
    }

    /// Registers a stage: a function of one wire, or of a tuple of two or three.
    ///
    /// `name` is a name, or a name and a version, `quote@2`. Text without a version means version 1. Stages with the
    /// same name and version must read wires of different types.
    ///
    /// # Panics
    ///
    /// If `name` is not a valid name, or is registered for these wires already.
    pub fn stage<R: Reads, P>(
        &mut self,
        name: &'static str,
        f: impl Fn(R) -> P + Send + Sync + 'static,
    ) -> Registered<'_>
    where
        P: Arrow<In = Scope<TextBlock>, Out: ItemShape>,
        Known: FitsStatement<Then<P, ToAnyEdge<P::Out>>>,
    {
        self.stage_with(name, [], move |wires, ()| f(wires))
    }

    /// Registers a stage with parameters, which text sets by name: a number, a text, `true` or `false`, or a tuple of
    /// two to ten of these. Text can leave out an `Option`. Values without a name set the parameters in their order.
    /// Loading a text calls the function.
    ///
    /// # Panics
    ///
    /// If `name` or a parameter's name is not a valid name, or `name` is registered for these wires already.
    pub fn stage_with<R: Reads, const N: usize, X: Parameters<N>, P>(
        &mut self,
        name: &'static str,
        parameters: [&'static str; N],
        f: impl Fn(R, X) -> P + Send + Sync + 'static,
    ) -> Registered<'_>
    where
        P: Arrow<In = Scope<TextBlock>, Out: ItemShape>,
        Known: FitsStatement<Then<P, ToAnyEdge<P::Out>>>,
    {
        let key = versioned(name).unwrap_or_else(|| panic!("`{name}` cannot be the name of a stage"));
        for parameter in parameters {
            assert!(is_name(parameter), "`{parameter}` cannot be the name of a parameter");
        }
        let reads = R::types();
        let all = self.stages.entry(key).or_default();
        let same = |entry: &Entry<Known>| entry.reads.iter().map(|of| of.id).eq(reads.iter().map(|of| of.id));
        assert!(!all.iter().any(same), "the stage `{name}` is registered already");
        let entry = Entry {
            reads,
            parameters: X::all(parameters),
            output: TypeOf::of::<<P::Out as ItemShape>::Item>(),
            about: "",
            rules: Vec::new(),
            named_by: None,
            make: Box::new(move |name, wires, literals| {
                let parameters = X::read(literals).expect("the loader has read them");
                Known::put_statement(name, f(R::wires(wires), parameters).any_edge())
            }),
        };
        all.push(entry);
        let entry = all.last_mut().expect("it was pushed");
        Registered { about: &mut entry.about, rules: &mut entry.rules, named_by: &mut entry.named_by }
    }

    /// Sets the help for a stage that does not exist, but that users may know from another language. The message says
    /// what to write instead.
    pub fn instead_of(&mut self, name: &'static str, help: &'static str) -> &mut Self {
        self.others.insert(name, help);
        self
    }

    /// Names the stage whose first parameter is an expression that makes values of others. If a text has an expression
    /// in place of a stage, the message says to write it as the parameter of this stage.
    pub fn by_expression(&mut self, stage: &'static str) -> &mut Self {
        self.by_expression = Some(stage);
        self
    }

    /// Parses and checks a text, and returns it as a pipeline, which runs as any other pipeline in a box.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass.
    pub fn load<A: Item, B: Item>(&self, text: &str) -> Result<TextPipeline<A, B, Known>, Wrong>
    where
        Known: Loads<A, B>,
    {
        load::load(self, text)
    }

    /// Parses and checks a text as a program, which has no `|input|`. A statement binds a wire, or is an output.
    ///
    /// ```text
    /// let order = jsonl("orders.jsonl");
    /// order | where(.qty > 3) | jsonl("big.jsonl");
    /// order | sum(.qty, by: .user) | table
    /// ```
    ///
    /// A *source* is a stage whose first wire is of type `A`, the program's input; text leaves that wire out. A name
    /// alone is a call, too: `a | count`. Every statement that binds nothing is an output. The stage
    /// [`print`](Ends::print) makes a `B` of an output that is not one, and [`both`](Ends::both) joins several, two by
    /// two.
    ///
    /// `keep NAME;` has no effect when a program starts. If the program replaces a running one, the stage of this name
    /// keeps its state although it reads other wires, or has other parameters.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass.
    ///
    /// # Panics
    ///
    /// If the registry has no stage `print`, or none of the name `both` for two `B`s, and the text needs one.
    pub fn program<A: Item, B: Item>(&self, text: &str, ends: &Ends) -> Result<TextPipeline<A, B, Known>, Wrong>
    where
        Known: Loads<A, B>,
    {
        self.program_of_calls(text, ends).map(|program| program.pipeline)
    }

    /// As [`program`](Registry::program), with the calls in the text, so that a caller can check which stage reads
    /// which.
    ///
    /// # Errors
    ///
    /// All mistakes in the text, in one pass.
    ///
    /// # Panics
    ///
    /// As [`program`](Registry::program).
    pub fn program_of_calls<A: Item, B: Item>(&self, text: &str, ends: &Ends) -> Result<TextProgram<A, B, Known>, Wrong>
    where
        Known: Loads<A, B>,
    {
        load::program(self, text, ends)
    }

    /// All stages, by name and version.
    #[must_use]
    pub fn stages(&self) -> Vec<StageInfo> {
        let entries = self.stages.iter().flat_map(|(key, all)| all.iter().map(move |entry| (key, entry)));
        let info = |(&(name, version), entry): (&(&'static str, u32), &Entry<Known>)| StageInfo {
            name: name.to_owned(),
            version,
            reads: entry.reads.iter().map(|read| self.name_of(*read).to_owned()).collect(),
            parameters: entry.parameters.iter().map(stage::ParameterOf::info).collect(),
            output: self.name_of(entry.output).to_owned(),
            about: entry.about.to_owned(),
        };
        entries.map(info).collect()
    }

    pub(crate) fn name_of(&self, of: TypeOf) -> &'static str {
        self.types.get(&of.id).copied().unwrap_or(of.rust)
    }
}

impl Registry {
    /// Registers a field, `order.user` in text: a reference to a part. A field adds no stage and copies nothing.
    ///
    /// # Panics
    ///
    /// If `name` is not a valid name, or is registered for this type already.
    pub fn field<A: Item, B: Item>(
        &mut self,
        name: &'static str,
        f: impl for<'a> Fn(&'a A) -> &'a B + Clone + Send + Sync + 'static,
    ) -> &mut Self {
        assert!(is_name(name), "`{name}` cannot be the name of a field");
        let make = move |wire| {
            let whole = Wire::<TextBlock, AnyEdge<A>>::new(wire);
            AnyPipe::put_statement("".into(), whole.part(f.clone()).any_edge())
        };
        let before =
            self.fields.insert((name, TypeId::of::<A>()), Field { output: TypeOf::of::<B>(), make: Box::new(make) });
        assert!(before.is_none(), "the field `{name}` is registered already");
        self
    }
}

/// The stages that the outputs of a [program](Registry::program) go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The stage that makes an output of another value.
    pub print: &'static str,
    /// The stage that joins two outputs.
    pub both: &'static str,
}

fn is_name(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let words = ["let", "true", "false", "if", "else", "match"];
    begins && !words.contains(&text) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn versioned(name: &'static str) -> Option<(&'static str, u32)> {
    let (name, version) = match name.split_once('@') {
        Some((name, version)) => (name, version.parse().ok().filter(|version| *version > 0)?),
        None => (name, 1),
    };
    is_name(name).then_some((name, version))
}
