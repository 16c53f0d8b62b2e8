//! Successive versions of a tree.
//!
//! A stage of two versions goes on as if it had got the values of both, one after the other. A new stage begins as if
//! it had got nothing before. A state is therefore the list of the values that its stage has got, by the name of the
//! stage and the keys around it, and is not handed over.

use super::keys::key;
use super::{Slot, at, digest, edge, either, halves, in_lanes_of, joined, pair, windows};
use millstream_testkit::random::{Pipe, Statement, Stream, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Every slot of the output, from every slot of the input, with END last in both. Each version begins at its number; a
/// version after END does not begin.
pub(crate) fn changed(versions: &[(u64, &Pipe)], input: &[Slot]) -> Vec<Slot> {
    let (mut states, mut output) = (States::default(), Vec::new());
    let begun = versions.iter().filter(|(at, _)| (*at as usize) < input.len()).count();
    for n in 0..begun {
        let (first, tree) = versions[n];
        let last = if n + 1 < begun { versions[n + 1].0 as usize } else { input.len() };
        states.keep_those_of(tree);
        let slots = input[first as usize..last].to_vec();
        let given = states.given(tree, &Part { first: first as usize, slots, ends: n + 1 == begun }, Place::outer());
        assert_eq!(given.first, output.len(), "the numbers of the output jump at {first}: {tree}");
        output.extend(given.slots);
        if given.ends {
            break;
        }
    }
    output
}

/// Consecutive slots of an edge.
#[derive(Clone)]
struct Part {
    /// The number of the first slot.
    first: usize,
    slots: Vec<Slot>,
    /// Whether the last slot is END.
    ends: bool,
}

impl Part {
    fn with(&self, slots: Vec<Slot>) -> Part {
        assert_eq!(slots.len(), self.slots.len());
        Part { slots, ..*self }
    }
}

/// The keys around a stage, each with the name of the combinator that has the keys.
type Keys = Vec<(u32, Value)>;

#[derive(Clone)]
struct Place {
    keys: Keys,
    outer: bool,
}

impl Place {
    fn outer() -> Self {
        Place { keys: Keys::new(), outer: true }
    }

    fn inside(&self) -> Self {
        Place { outer: false, ..self.clone() }
    }
}

/// The values that a stage has got, or the present state of a loop or of a table of keys.
struct State {
    /// The stage as it was when the state began.
    stage: Pipe,
    values: Vec<Value>,
    /// The number of the next output, if it numbers its outputs itself.
    next: usize,
    /// The value with which the loop goes on.
    looped: Value,
    /// The known keys, the most recent one last.
    known: Vec<Value>,
}

#[derive(Default)]
struct States(BTreeMap<(Keys, u32), State>);

impl States {
    fn keep_those_of(&mut self, tree: &Pipe) {
        let mut names = BTreeSet::new();
        names_of(tree, &mut names);
        self.0.retain(|(_, name), _| names.contains(name));
    }

    fn of(&mut self, place: &Place, name: u32, stage: &Pipe, first: usize) -> &mut State {
        self.0.entry((place.keys.clone(), name)).or_insert_with(|| {
            let looped = Value::I(if let Pipe::Feedback(start, _) = stage { *start } else { 0 });
            State { stage: stage.clone(), values: Vec::new(), next: first, looped, known: Vec::new() }
        })
    }

    fn given(&mut self, tree: &Pipe, input: &Part, place: Place) -> Part {
        match tree {
            Pipe::Then(p, q) => {
                let between = self.given(p, input, place.clone());
                self.given(q, &between, place)
            }
            Pipe::Named(p) | Pipe::Boxed(p) => self.given(p, input, place),
            Pipe::Called(name, stage) => self.called(*name, stage, input, &place),
            _ => {
                let slots = self.body(tree, input, &place.inside());
                input.with(slots)
            }
        }
    }

    fn slots(&mut self, tree: &Pipe, input: &Part, slots: Vec<Slot>, place: &Place) -> Vec<Slot> {
        let given = self.given(tree, &input.with(slots), place.clone());
        given.slots
    }

    /// The output of a combinator, or of a stage without a state.
    fn body(&mut self, tree: &Pipe, input: &Part, place: &Place) -> Vec<Slot> {
        let whole = input.slots.clone();
        match tree {
            Pipe::Fanout(p, q) => {
                let first = self.slots(p, input, whole.clone(), place);
                joined(first, self.slots(q, input, whole, place))
            }
            Pipe::FanoutAll(bodies) => {
                let outputs: Vec<_> = bodies.iter().map(|body| self.slots(body, input, whole.clone(), place)).collect();
                let here = |n: usize| outputs.iter().map(|output| output[n].clone()).collect::<Option<Vec<Value>>>();
                (0..whole.len()).map(|n| here(n).map(Value::List)).collect()
            }
            Pipe::Both(p, q) => {
                let halves = |slot: &Slot| slot.as_ref().map(halves);
                let (first, second): (Vec<Slot>, Vec<Slot>) = whole.iter().map(|slot| halves(slot).unzip()).unzip();
                let first = self.slots(p, input, first, place);
                joined(first, self.slots(q, input, second, place))
            }
            Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                let [left, right] = in_lanes_of(&whole);
                let left = self.slots(p, input, left, place);
                let right = self.slots(q, input, right, place);
                let sided = |slots: Vec<Slot>, side: fn(Box<Value>) -> Value| -> Vec<Slot> {
                    let keep = |value| if matches!(tree, Pipe::Merge(..)) { value } else { side(Box::new(value)) };
                    slots.into_iter().map(|slot| slot.map(keep)).collect()
                };
                either(sided(left, Value::L), sided(right, Value::R))
            }
            Pipe::Tee(p) => {
                self.slots(p, input, whole.clone(), place);
                whole
            }
            Pipe::Shard(_, p) => self.slots(p, input, whole, place),
            Pipe::Block(block) => {
                let mut wires: Vec<Vec<Slot>> = vec![whole];
                for statement in &block.statements {
                    let wire = match statement {
                        Statement::Body(wire, body) => self.slots(body, input, wires[*wire].clone(), place),
                        Statement::If { wire, modulus, yes, no } => {
                            let mut lane = |(of, body): &(usize, Pipe), answer: bool| {
                                let here = |n: usize| {
                                    let is_so = digest(wires[*wire][n].as_ref()?).rem_euclid(*modulus) == 0;
                                    wires[*of][n].clone().filter(|_| is_so == answer)
                                };
                                self.slots(body, input, (0..wires[0].len()).map(here).collect(), place)
                            };
                            let yes = lane(yes, true);
                            either(yes, lane(no, false))
                        }
                        statement => super::bound(statement, &wires),
                    };
                    wires.push(wire);
                }
                wires.swap_remove(block.result)
            }
            stage => {
                let before = vec![None; input.first];
                ats(stage, &[before, whole].concat(), input.first, input.ends)
            }
        }
    }

    fn called(&mut self, name: u32, stage: &Pipe, input: &Part, place: &Place) -> Part {
        match stage {
            Pipe::Feedback(_, body) => input.with(self.looped((name, stage), body, input, place)),
            Pipe::ShardBy { .. } => input.with(self.by_key((name, stage), input, place)),
            _ if stage.renumbers() => self.expanded((name, stage), input, place),
            _ => {
                let state = self.of(place, name, stage, input.first);
                let (before, as_begun) = (state.values.len(), state.stage.clone());
                let seen: Vec<Slot> = state.values.iter().cloned().map(Some).chain(input.slots.clone()).collect();
                state.values.extend(input.slots.iter().flatten().cloned());
                let mut given = input.with(ats(&as_begun, &seen, before, input.ends));
                // A stage that is done ends the stream at once, in the same version: a `take` has its last value then,
                // and a `take_while` has seen the end, perhaps in a body of the version before.
                let ends =
                    |modulus: i64, slot: &Slot| slot.as_ref().is_some_and(|v| digest(v).rem_euclid(modulus) == 0);
                let is_done = |n: usize| match as_begun {
                    Pipe::Stream(Stream::Take(most)) => seen[..n].iter().flatten().count() >= most,
                    Pipe::Stream(Stream::TakeWhile(modulus)) => {
                        seen[..before].iter().chain(seen.get(n)).any(|slot| ends(modulus, slot))
                    }
                    _ => false,
                };
                let last = seen.len() + usize::from(!input.ends);
                if place.outer
                    && let Some(end) = (before..last).find(|n| is_done(*n))
                    && !(input.ends && end + 1 == seen.len())
                {
                    given.slots.truncate(end - before);
                    given.slots.push(None);
                    given.ends = true;
                }
                given
            }
        }
    }

    fn looped(&mut self, (name, stage): (u32, &Pipe), body: &Pipe, input: &Part, place: &Place) -> Vec<Slot> {
        let mut output = Vec::new();
        for (n, slot) in input.slots.iter().enumerate() {
            let looped = self.of(place, name, stage, input.first).looped.clone();
            let ends = input.ends && n + 1 == input.slots.len();
            let slots = vec![slot.clone().map(|value| pair(value, looped))];
            let given = self.given(body, &Part { first: input.first + n, slots, ends }, place.inside());
            let given = given.slots[0].as_ref().map(halves);
            if let Some((_, next)) = &given {
                self.of(place, name, stage, input.first).looped = Value::I(digest(next));
            }
            output.push(given.map(|(given, _)| given));
        }
        output
    }

    fn by_key(&mut self, (name, stage): (u32, &Pipe), input: &Part, place: &Place) -> Vec<Slot> {
        let Pipe::ShardBy { keys, most, body, .. } = stage else { unreachable!("{stage} has keys") };
        // The numbers of one key, from where it is not known.
        let mut lives: Vec<(Value, bool, Vec<usize>)> = Vec::new();
        let known = &mut self.of(place, name, stage, input.first).known;
        for (n, slot) in input.slots.iter().enumerate() {
            let Some(key) = slot.as_ref().map(|value| key(value, *keys)) else { continue };
            let is_known = known.contains(&key);
            known.retain(|other| *other != key);
            known.push(key.clone());
            if known.len() > *most {
                known.remove(0);
            }
            match lives.iter_mut().rev().find(|life| life.0 == key) {
                Some(life) if is_known => life.2.push(n),
                _ => lives.push((key, !is_known, vec![n])),
            }
        }
        let mut output = vec![None; input.slots.len()];
        for (key, begins, numbers) in lives {
            let mut of_key = place.inside();
            of_key.keys.push((name, key));
            if begins {
                self.0.retain(|(keys, _), _| !keys.starts_with(&of_key.keys));
            }
            let mut slots = vec![None; input.slots.len()];
            numbers.iter().for_each(|n| slots[*n] = input.slots[*n].clone());
            let given = self.slots(body, input, slots, &of_key);
            numbers.iter().for_each(|n| output[*n] = given[*n].clone());
        }
        output
    }

    /// A stage that numbers its outputs itself.
    fn expanded(&mut self, (name, stage): (u32, &Pipe), input: &Part, place: &Place) -> Part {
        let state = self.of(place, name, stage, input.first);
        let all = |stage: &Pipe, values: &[Value]| {
            let mut slots: Vec<Slot> = values.iter().cloned().map(Some).collect();
            slots.push(None);
            let mut outputs = edge(stage, &slots);
            outputs.pop();
            outputs
        };
        let values: Vec<Value> = input.slots.iter().flatten().cloned().collect();
        let mut slots = match state.stage {
            Pipe::FlatScan { modulus, finish } => {
                let before = all(&Pipe::FlatScan { modulus, finish: false }, &state.values).len();
                state.values.extend(values);
                all(&Pipe::FlatScan { modulus, finish: finish && input.ends }, &state.values).split_off(before)
            }
            Pipe::WindowsBy(ref of) => {
                let all = |values: &[Value], ends| {
                    let mut slots: Vec<Slot> = values.iter().cloned().map(Some).collect();
                    slots.push(None);
                    let mut outputs = windows::given_until(of, &slots, ends);
                    outputs.truncate(outputs.len() - usize::from(ends));
                    outputs
                };
                let before = all(&state.values, false).len();
                state.values.extend(values);
                all(&state.values, input.ends).split_off(before)
            }
            // The function of the present version.
            _ => all(stage, &values),
        };
        let first = state.next;
        state.next += slots.len();
        slots.extend(input.ends.then_some(None));
        Part { first, slots, ends: input.ends }
    }
}

/// A stage at each number from `from` on.
fn ats(stage: &Pipe, seen: &[Slot], from: usize, ends: bool) -> Vec<Slot> {
    match stage {
        Pipe::Row(_) | Pipe::FoldWindows(_) => {
            let below_end: &[Slot] = if ends { &[] } else { &[None] };
            let mut slots = edge(stage, &[seen, below_end].concat());
            slots.truncate(seen.len());
            slots.split_off(from)
        }
        stage => (from..seen.len()).map(|n| at(stage, &seen[..=n], ends && n + 1 == seen.len())).collect(),
    }
}

fn names_of(tree: &Pipe, names: &mut BTreeSet<u32>) {
    match tree {
        Pipe::Called(name, p) => {
            names.insert(*name);
            names_of(p, names);
        }
        Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
            names_of(p, names);
            names_of(q, names);
        }
        Pipe::FanoutAll(bodies) => bodies.iter().for_each(|body| names_of(body, names)),
        Pipe::Block(block) => block.bodies().for_each(|body| names_of(body, names)),
        Pipe::Shard(_, p) | Pipe::Tee(p) | Pipe::Feedback(_, p) | Pipe::Named(p) | Pipe::Boxed(p) => names_of(p, names),
        Pipe::ShardBy { body, .. } => names_of(body, names),
        _ => {}
    }
}
