//! The tasklet that closes a loop: it carries the state from one number to the next.

use crate::tasklet::{Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use crate::{Carried, Rings};
use millstream_core::pipe::{Fed, Feedback, Looped};
use millstream_core::{Arrow, Density, Deploy, Event, Fst, Lens, On, Seen, Val};
use millstream_ring::{Producer, Reader, Wire, ring};

impl<A: Carried, S: Event + Clone, P> Deploy<Rings> for Feedback<A, S, P>
where
    P: Deploy<Rings> + Arrow<In = Looped<A, S>, Out: Carried + Fed<S>>,
    Fst: Lens<P::Out>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Seen<P::Out, Fst>> {
        // The state of a number is written while the one before it is still being read.
        let (states, reader) = ring::<S, A::Density>(wiring.slots.max(2)).expect("the options were checked");
        let clock = input.fork();
        let output = wiring.in_loop(|wiring| {
            let output = self.body.deploy(looped::<A, S>(input, reader), wiring);
            let back = output.fork();
            let closing = Closing { clock, back, states, state: Some(self.state.clone()), known: true };
            wiring.stage(Home::Workers, [Box::new(closing) as Box<dyn Tasklet>]);
            output
        });
        output.seen::<Fst>()
    }
}

fn looped<A: Carried, S: Event>(
    input: Reader<A>,
    states: Reader<Val<S, A::Density>>,
) -> <Looped<A, S> as On<Rings>>::Edge {
    input.zip(states)
}

/// Number n's state is known once the body has done number n - 1; whether n is END, only the input knows.
struct Closing<A: Wire, B: Wire, S: Event> {
    clock: Reader<A>,
    back: Reader<B>,
    states: Producer<<A::Density as Density>::Slot<S>>,
    /// The newest state that is known; none once END's is published.
    state: Option<S>,
    /// Whether that is the next number's.
    known: bool,
}

impl<A: Wire, B: Wire + Fed<S>, S: Event + Clone> Closing<A, B, S> {
    /// Takes the state from what the body gave, if it has.
    fn learn(&mut self) -> bool {
        let Some(batch) = self.back.batch(1) else { return false };
        if let Some(next) = batch.get(0).and_then(B::state) {
            self.state = Some(next);
        }
        self.known = true;
        true
    }

    /// Publishes the next number's state, or END's, if the input has got there.
    fn tell(&mut self) -> bool {
        if self.states.free() == 0 {
            return false;
        }
        if let Some(batch) = self.clock.batch(1) {
            let Ok(Some(mut claim)) = self.states.try_claim(1) else { unreachable!("there was room") };
            claim.fill(1, |_| A::Density::pack(self.state.clone()));
            claim.publish();
            drop(batch);
            self.known = false;
            return true;
        }
        if self.clock.end().is_none() {
            return false;
        }
        let last = self.state.take();
        let last = if A::Density::FULL { None } else { Some(A::Density::pack(last)) };
        match self.states.try_end(last) {
            Ok(()) => true,
            Err(_) => unreachable!("there was room"),
        }
    }
}

impl<A: Wire, B: Wire + Fed<S>, S: Event + Clone> Tasklet for Closing<A, B, S> {
    fn step(&mut self) -> Progress {
        if self.state.is_none() {
            self.states.sweep();
            return if self.back.end().is_some() { Progress::DONE } else { Progress::NONE };
        }
        let learned = !self.known && self.learn();
        let told = self.known && self.tell();
        if learned || told { Progress::moved(1) } else { Progress::NONE }
    }

    fn failed_at(&self) -> Option<u64> {
        Some(self.back.position().0)
    }

    fn backlog(&self) -> u64 {
        self.clock.backlog() + self.back.backlog()
    }
}
