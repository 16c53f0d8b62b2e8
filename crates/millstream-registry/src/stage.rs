use crate::{In, Literal, Parameter};
use millstream_core::Item;
use std::any::{TypeId, type_name};

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
    /// What text calls it.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// The types of the wires that it reads.
    pub reads: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<ParameterInfo>,
    /// The type of what it writes.
    pub output: String,
    /// What it does, in a line; it may be empty.
    pub about: String,
}

/// A parameter of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ParameterInfo {
    /// What text calls it.
    pub name: String,
    /// What it can be, as `a whole number`.
    pub wanted: String,
}

/// A parameter's name, and what it accepts.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ParameterOf {
    pub(crate) name: &'static str,
    pub(crate) wanted: &'static str,
    pub(crate) accepts: fn(&Literal) -> bool,
}

impl ParameterOf {
    fn of<X: Parameter>(name: &'static str) -> Self {
        ParameterOf { name, wanted: X::WANTED, accepts: |literal| X::read(literal).is_some() }
    }

    pub(crate) fn info(&self) -> ParameterInfo {
        ParameterInfo { name: self.name.to_owned(), wanted: self.wanted.to_owned() }
    }
}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// What a stage reads: a wire, or a tuple of two or three. Nothing to implement.
pub trait Reads: Sealed + 'static {
    #[doc(hidden)]
    fn types() -> Vec<TypeOf>;
    #[doc(hidden)]
    fn wires(ids: &[usize]) -> Self;
}

/// The parameters of a stage: none, one [`Parameter`], or a tuple of two or three. Nothing to implement.
pub trait Parameters<const N: usize>: Sized + 'static {
    #[doc(hidden)]
    fn all(names: [&'static str; N]) -> Vec<ParameterOf>;
    #[doc(hidden)]
    fn read(literals: &[Literal]) -> Option<Self>;
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
    fn read(_: &[Literal]) -> Option<Self> {
        Some(())
    }
}

impl<X: Parameter> Parameters<1> for X {
    fn all([name]: [&'static str; 1]) -> Vec<ParameterOf> {
        vec![ParameterOf::of::<X>(name)]
    }
    fn read(literals: &[Literal]) -> Option<Self> {
        X::read(literals.first()?)
    }
}

macro_rules! tuples {
    ($($many:literal: $($item:ident $n:tt),+;)+) => {$(
        impl<$($item: Item),+> Sealed for ($(In<$item>,)+) {}
        impl<$($item: Item),+> Reads for ($(In<$item>,)+) {
            fn types() -> Vec<TypeOf> {
                vec![$(TypeOf::of::<$item>()),+]
            }
            fn wires(ids: &[usize]) -> Self {
                ($(In::<$item>::new(ids[$n]),)+)
            }
        }

        impl<$($item: Parameter),+> Parameters<$many> for ($($item,)+) {
            fn all(names: [&'static str; $many]) -> Vec<ParameterOf> {
                vec![$(ParameterOf::of::<$item>(names[$n])),+]
            }
            fn read(literals: &[Literal]) -> Option<Self> {
                Some(($($item::read(literals.get($n)?)?,)+))
            }
        }
    )+};
}
tuples! {
    2: A 0, B 1;
    3: A 0, B 1, C 2;
}
