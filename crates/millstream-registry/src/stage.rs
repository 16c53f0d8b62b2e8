use crate::{In, Literal, Parameter, Span, WrongCode};
use millstream_core::Item;
use std::any::{TypeId, type_name};
use std::fmt;

/// A type, and Rust's name for it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TypeOf {
    pub(crate) id: TypeId,
    pub(crate) rust: &'static str,
}

impl TypeOf {
    pub(crate) fn of<T: 'static>() -> Self {
        TypeOf { id: TypeId::of::<T>(), rust: type_name::<T>() }
    }
}

/// A stage of a registry, for editors and people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StageInfo {
    /// The name of the stage in text.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// The types of the wires that it reads.
    pub reads: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<ParameterInfo>,
    /// The type of what it writes.
    pub output: String,
    /// A line that says what the stage does; may be empty.
    pub about: String,
}

/// A call in a text, or one that [`Ends`](crate::Ends) adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// The name of its stage in plans: the name of the wire that it binds, or a generated name.
    pub name: String,
    /// The stage.
    pub stage: String,
    /// Its version.
    pub version: u32,
    /// Its place in the text.
    pub at: Span,
    /// Its text on one line, without the value that is piped into it; its stage, if `Ends` added it.
    pub text: String,
    /// The numbers of the wires that it reads.
    pub reads: Vec<usize>,
    /// The number of the wire that it writes.
    pub writes: usize,
    /// The name of the type of what it writes.
    pub output: &'static str,
    /// Its parameters, with the values in the text.
    pub parameters: Vec<(&'static str, Option<Literal>)>,
}

/// The stage with its parameters, such as `count(by: .user)`: the same text for all calls that differ in nothing but
/// comments and spaces. In expressions, spaces are left out.
impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.parameters.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
        let given: Vec<String> = given.map(|(name, value)| format!("{name}: {}", value.plain())).collect();
        let version = if self.version == 1 { String::new() } else { format!("@{}", self.version) };
        write!(f, "{}{version}({})", self.stage, given.join(", "))
    }
}

impl Called {
    /// The value of a parameter in the text.
    #[must_use]
    pub fn given(&self, parameter: &str) -> Option<&Literal> {
        self.parameters.iter().find(|(name, _)| *name == parameter).and_then(|(_, given)| given.as_ref())
    }

    /// Whether it is a call of the same stage, with the same parameters.
    #[must_use]
    pub fn is_same(&self, other: &Called) -> bool {
        self.stage == other.stage && self.version == other.version && self.parameters == other.parameters
    }
}

/// A parameter of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ParameterInfo {
    /// The name of the parameter in text.
    pub name: String,
    /// The values that it accepts, such as `a whole number`.
    pub wanted: String,
    /// Whether text may leave it out.
    pub optional: bool,
}

/// A parameter's name, and what it accepts.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ParameterOf {
    pub(crate) name: &'static str,
    pub(crate) wanted: &'static str,
    pub(crate) accepts: fn(&Literal) -> bool,
    pub(crate) wrong: fn(&str) -> Vec<WrongCode>,
    pub(crate) optional: bool,
}

impl ParameterOf {
    fn of<X: Parameter>(name: &'static str) -> Self {
        ParameterOf {
            name,
            wanted: X::WANTED,
            accepts: |literal| X::read(literal).is_some(),
            wrong: X::wrong,
            optional: X::missing().is_some(),
        }
    }

    pub(crate) fn info(&self) -> ParameterInfo {
        ParameterInfo { name: self.name.to_owned(), wanted: self.wanted.to_owned(), optional: self.optional }
    }
}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// What a stage reads: a wire, or a tuple of two or three. Implemented for all that fit.
pub trait Reads: Sealed + 'static {
    #[doc(hidden)]
    fn types() -> Vec<TypeOf>;
    #[doc(hidden)]
    fn wires(ids: &[usize]) -> Self;
}

/// The parameters of a stage: none, one [`Parameter`], or a tuple of two to ten. Implemented for all that fit.
pub trait Parameters<const N: usize>: Sized + 'static {
    #[doc(hidden)]
    fn all(names: [&'static str; N]) -> Vec<ParameterOf>;
    #[doc(hidden)]
    fn read(literals: &[Option<Literal>]) -> Option<Self>;
}

impl<A: Item> Sealed for In<A> {}
impl<A: Item> Reads for In<A> {
    fn types() -> Vec<TypeOf> {
        vec![TypeOf::of::<A>()]
    }
    fn wires(ids: &[usize]) -> Self {
        In::new(ids[0])
    }
}

impl Parameters<0> for () {
    fn all([]: [&'static str; 0]) -> Vec<ParameterOf> {
        Vec::new()
    }
    fn read(_: &[Option<Literal>]) -> Option<Self> {
        Some(())
    }
}

/// The value of the parameter at `n`.
fn given<X: Parameter>(literals: &[Option<Literal>], n: usize) -> Option<X> {
    literals.get(n)?.as_ref().map_or_else(X::missing, X::read)
}

impl<X: Parameter> Parameters<1> for X {
    fn all([name]: [&'static str; 1]) -> Vec<ParameterOf> {
        vec![ParameterOf::of::<X>(name)]
    }
    fn read(literals: &[Option<Literal>]) -> Option<Self> {
        given(literals, 0)
    }
}

macro_rules! wires {
    ($($($item:ident $n:tt),+;)+) => {$(
        impl<$($item: Item),+> Sealed for ($(In<$item>,)+) {}
        impl<$($item: Item),+> Reads for ($(In<$item>,)+) {
            fn types() -> Vec<TypeOf> {
                vec![$(TypeOf::of::<$item>()),+]
            }
            fn wires(ids: &[usize]) -> Self {
                ($(In::<$item>::new(ids[$n]),)+)
            }
        }
    )+};
}
wires! {
    A 0, B 1;
    A 0, B 1, C 2;
}

macro_rules! parameters {
    ($($many:literal: $($item:ident $n:tt),+;)+) => {$(
        impl<$($item: Parameter),+> Parameters<$many> for ($($item,)+) {
            fn all(names: [&'static str; $many]) -> Vec<ParameterOf> {
                vec![$(ParameterOf::of::<$item>(names[$n])),+]
            }
            fn read(literals: &[Option<Literal>]) -> Option<Self> {
                Some(($(given::<$item>(literals, $n)?,)+))
            }
        }
    )+};
}
parameters! {
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
}
