//! What a runner can keep of its stages' states.
//!
//! A state outlives a number, and with a snapshot it outlives its run. [`Rings`] keep it as a clone, so any state that
//! is `Clone` will do. `Durable` rings write it down, so they ask for `serde` as well. A combinator asks for neither:
//! it says which state it has, and the runner says whether it can keep it. One `Deploy` a combinator serves both.

use crate::in_place::HandOver;
use crate::keeper::{Keeper, StateKeepers, adopt_start, adopt_starts};
use crate::{Rings, RunError, Wiring};
use millstream_core::pipe::{Key, KeyRouter, Parked, States};
use millstream_core::{Backend, Density, Item, Plan, Val};
use millstream_ring::Reader;
use std::marker::PhantomData;

/// Rings, as stages are deployed on them by the runner `R`: the backend of their [`Deploy`](millstream_core::Deploy)
/// impls.
#[derive(Debug)]
pub struct RingBackend<R = Rings>(PhantomData<fn() -> R>);

impl<R: RingRunner> Backend for RingBackend<R> {
    type Wiring = Wiring;
    type Keeper<S> = Keeper<S>;
    type Ring<T: Item, D: Density> = Reader<Val<T, D>>;

    fn fuses(wiring: &Wiring) -> bool {
        wiring.fuses()
    }

    fn advance(wiring: &mut Wiring) {
        wiring.advance();
    }
}

/// A runner on rings: [`Rings`], or `Durable` with the feature of that name. Nothing to implement.
pub trait RingRunner: sealed::Sealed + 'static {
    /// Checks that the states of a plan can be found again.
    #[doc(hidden)]
    fn check_names(_: &Plan) -> Result<(), RunError> {
        Ok(())
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Rings {}
impl RingRunner for Rings {}

/// A runner that can keep states of type `S`. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` rings cannot keep a state of type `{S}`",
    label = "a stage of this pipeline has the state `{S}`",
    note = "durable rings write states down: write `#[derive(Clone, serde::Serialize, serde::Deserialize)]` at the type",
    note = "a state or a key that borrows, or is of another crate's type, is wrapped or owned: a `String` for a `&str`"
)]
pub trait Keeps<S>: RingRunner {
    #[doc(hidden)]
    fn state() -> StateKeepers<S>;
    #[doc(hidden)]
    fn states_in_a_loop() -> Keeper<Vec<States<S>>>;
    #[doc(hidden)]
    fn keys() -> Keeper<KeyRouter<S>>
    where
        S: Key;
    #[doc(hidden)]
    fn parked_keys() -> StateKeepers<Parked<S>>
    where
        S: Key;
}

/// What a runner keeps of each kind of state, by keepers that are made by `Keeper::$kept`, and by `Keeper::$shared`
/// where there is a state for each key.
macro_rules! keeps_by {
    ($kept:ident, $shared:ident) => {
        fn state() -> StateKeepers<S> {
            StateKeepers {
                alone: Keeper::$kept(),
                by_key: Keeper::$shared().adopting(adopt_start).handing_over(HandOver::of_lane()),
            }
            .unless_nothing()
        }

        fn states_in_a_loop() -> Keeper<Vec<States<S>>> {
            Keeper::$shared().adopting(adopt_starts).handing_over(HandOver::of_lanes())
        }

        fn keys() -> Keeper<KeyRouter<S>>
        where
            S: Key,
        {
            Keeper::$shared().adopting(KeyRouter::adopt).handing_over(HandOver::of_keys())
        }

        fn parked_keys() -> StateKeepers<Parked<S>>
        where
            S: Key,
        {
            StateKeepers {
                alone: Keeper::$kept(),
                by_key: Keeper::$shared().adopting(adopt_start).handing_over(HandOver::of_lane()),
            }
        }
    };
}
#[cfg(feature = "durable")]
pub(crate) use keeps_by;

impl<S: Item + Clone> Keeps<S> for Rings {
    keeps_by!(clones, clones_shared);
}
