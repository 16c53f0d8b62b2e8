//! A second reading of the equations: the content of slot n depends only on slots 0 to n of the input.
//!
//! It shares only the syntax tree with the model. A stage is a function of the prefix that ends at its number, and gets
//! the whole prefix again at every number: nothing here has a state.

mod answer;
pub(crate) mod fan_in;
pub(crate) mod fold_windows;
mod keys;
mod stream;
pub(crate) mod versions;
pub(crate) mod windows;

use millstream_testkit::random::{Pipe, Statement, TryScanBy, Value};

pub(crate) type Slot = Option<Value>;

/// Every slot of the output, from every slot of the input, with END last in both.
pub(crate) fn outer(tree: &Pipe, input: &[Slot]) -> Vec<Slot> {
    match tree {
        Pipe::Then(p, q) => outer(q, &outer(p, input)),
        Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => outer(p, input),
        Pipe::Stream(stage) => {
            let end = (0..input.len()).find(|n| stream::ends(*stage, input, *n)).unwrap_or(input.len() - 1);
            let mut slots = edge(tree, input);
            // If it ends before the source does, its END is empty.
            slots[end..].iter_mut().filter(|_| end + 1 < input.len()).for_each(|slot| *slot = None);
            slots.truncate(end + 1);
            slots
        }
        _ => edge(tree, input),
    }
}

/// As [`outer`], for a body.
fn edge(tree: &Pipe, input: &[Slot]) -> Vec<Slot> {
    match tree {
        Pipe::Then(p, q) => edge(q, &edge(p, input)),
        Pipe::Fanout(p, q) => joined(edge(p, input), edge(q, input)),
        Pipe::FanoutAll(bodies) => {
            let outputs: Vec<Vec<Slot>> = bodies.iter().map(|body| edge(body, input)).collect();
            let here = |n: usize| outputs.iter().map(|output| output[n].clone()).collect::<Option<Vec<Value>>>();
            (0..input.len()).map(|n| here(n).map(Value::List)).collect()
        }
        Pipe::Both(p, q) => {
            let halves = |slot: &Slot| slot.as_ref().map(halves);
            let (first, second): (Vec<Slot>, Vec<Slot>) = input.iter().map(|slot| halves(slot).unzip()).unzip();
            joined(edge(p, &first), edge(q, &second))
        }
        Pipe::Choose(p, q) => {
            let (left, right) = in_lanes(p, q, input);
            let left = left.into_iter().map(|slot| slot.map(|value| Value::L(Box::new(value))));
            let right = right.into_iter().map(|slot| slot.map(|value| Value::R(Box::new(value))));
            either(left.collect(), right.collect())
        }
        Pipe::Merge(p, q) => {
            let (left, right) = in_lanes(p, q, input);
            either(left, right)
        }
        Pipe::Feedback(start, p) => {
            let mut states = vec![Value::I(*start)];
            for n in 0..input.len() {
                let looped: Vec<Slot> = (0..=n).map(|i| Some(pair(input[i].clone()?, states[i].clone()))).collect();
                let given = if n + 1 == input.len() { edge(p, &looped) } else { edge_below_end(p, &looped) };
                let next =
                    given[n].as_ref().map_or_else(|| states[n].clone(), |given| Value::I(digest(&halves(given).1)));
                states.push(next);
            }
            let looped: Vec<Slot> = input.iter().zip(states).map(|(a, s)| Some(pair(a.clone()?, s))).collect();
            edge(p, &looped).iter().map(|given| given.as_ref().map(|given| halves(given).0)).collect()
        }
        Pipe::Row(row) => edge(&row.apart(), input),
        Pipe::Tee(_) => input.to_vec(),
        Pipe::Block(block) => {
            let mut wires: Vec<Vec<Slot>> = vec![input.to_vec()];
            for statement in &block.statements {
                wires.push(bound(statement, &wires));
            }
            wires[block.result].clone()
        }
        Pipe::ShardBy { keys, most, body, .. } => keys::by_key(*keys, *most, body, input),
        Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => edge(p, input),
        Pipe::WindowsBy(windows) => windows::given(windows, input),
        Pipe::FoldWindows(windows) => fold_windows::given(windows, input),
        Pipe::FlatScan { modulus, finish } => {
            let states: Vec<i64> =
                (0..=input.iter().flatten().count()).map(|n| polynomial(*modulus, input, n)).collect();
            let outputs = |state: i64, modulus: i64| {
                (0..state.rem_euclid(modulus)).map(move |i| Some(Value::I(state.wrapping_mul(31).wrapping_add(i))))
            };
            let mut slots: Vec<Slot> = states[1..].iter().flat_map(|state| outputs(*state, *modulus)).collect();
            slots.extend(states.last().filter(|_| *finish).into_iter().flat_map(|state| outputs(*state, modulus + 2)));
            slots.push(None);
            slots
        }
        Pipe::FlatMap { .. } | Pipe::Words { .. } | Pipe::Flatten | Pipe::Compact | Pipe::Unordered { .. } => {
            let mut outputs: Vec<Slot> = Vec::new();
            for value in input.iter().flatten() {
                outputs.extend(expanded(tree, value).into_iter().map(Some));
            }
            outputs.push(None);
            outputs
        }
        stage => (0..input.len()).map(|n| at(stage, &input[..=n], n + 1 == input.len())).collect(),
    }
}

/// The slots of a wire, from those of the wires before it.
fn bound(statement: &Statement, wires: &[Vec<Slot>]) -> Vec<Slot> {
    match statement {
        Statement::Body(wire, body) => edge(body, &wires[*wire]),
        Statement::Join(of) => (0..wires[0].len())
            .map(|n| {
                let mut values = of.iter().map(|wire| wires[*wire][n].clone()).collect::<Option<Vec<Value>>>()?;
                let two = values.len() == 2;
                Some(if two { pair(values.remove(0), values.remove(0)) } else { Value::List(values) })
            })
            .collect(),
        Statement::Or(first, second) => {
            wires[*first].iter().zip(&wires[*second]).map(|(a, b)| a.clone().or(b.clone())).collect()
        }
        Statement::If { wire, modulus, yes, no } => {
            let lane = |(of, body): &(usize, Pipe), answer: bool| {
                let here = |n: usize| {
                    let judged = wires[*wire][n].as_ref()?;
                    if (digest(judged).rem_euclid(*modulus) == 0) == answer { wires[*of][n].clone() } else { None }
                };
                edge(body, &(0..wires[0].len()).map(here).collect::<Vec<Slot>>())
            };
            either(lane(yes, true), lane(no, false))
        }
    }
}

/// The outputs of a renumbering stage for one value.
fn expanded(stage: &Pipe, value: &Value) -> Vec<Value> {
    match (stage, value) {
        (Pipe::FlatMap { modulus }, _) => {
            let digest = digest(value);
            (0..digest.rem_euclid(*modulus)).map(|i| Value::I(digest.wrapping_mul(31).wrapping_add(i))).collect()
        }
        (Pipe::Words { modulus }, _) => {
            let digest = digest(value);
            (0..digest.rem_euclid(*modulus)).map(|i| Value::I(of_text(&format!("{digest}.{i}")))).collect()
        }
        (Pipe::Unordered { plus, .. }, _) => vec![Value::I(digest(value).wrapping_mul(31).wrapping_add(*plus))],
        (Pipe::Flatten, Value::List(list)) => list.clone(),
        (Pipe::Flatten, Value::Pair(pair)) => vec![pair.0.clone(), pair.1.clone()],
        _ => vec![value.clone()],
    }
}

/// The number of a text.
fn of_text(text: &str) -> i64 {
    let mut number: i64 = 3;
    for byte in text.as_bytes() {
        number = number.wrapping_mul(7).wrapping_add(i64::from(*byte));
    }
    number
}

/// The output slots below END, while END is not known yet.
fn edge_below_end(tree: &Pipe, input: &[Slot]) -> Vec<Slot> {
    edge(tree, &[input, &[None]].concat())
}

/// A pair is one slot: filled if both halves are.
fn joined(first: Vec<Slot>, second: Vec<Slot>) -> Vec<Slot> {
    first.into_iter().zip(second).map(|(a, b)| Some(Value::Pair(Box::new((a?, b?))))).collect()
}

/// The output of each lane.
fn in_lanes(p: &Pipe, q: &Pipe, input: &[Slot]) -> (Vec<Slot>, Vec<Slot>) {
    let [left, right] = in_lanes_of(input);
    (edge(p, &left), edge(q, &right))
}

/// A lane sees its own values, and the other lane's numbers as empty.
fn in_lanes_of(input: &[Slot]) -> [Vec<Slot>; 2] {
    let own = |slot: &Slot, left: bool| slot.as_ref().filter(|value| is_left(value) == left).map(inner);
    [true, false].map(|left| input.iter().map(|slot| own(slot, left)).collect())
}

/// The value of one of the two; never both are filled.
fn either(left: Vec<Slot>, right: Vec<Slot>) -> Vec<Slot> {
    let one = |(a, b): (Slot, Slot)| match (a, b) {
        (Some(_), Some(_)) => panic!("two values for one number"),
        (a, None) => a,
        (None, b) => b,
    };
    left.into_iter().zip(right).map(one).collect()
}

fn is_left(value: &Value) -> bool {
    match value {
        Value::L(_) => true,
        Value::R(_) => false,
        other => digest(other) % 2 == 0,
    }
}

fn inner(value: &Value) -> Value {
    match value {
        Value::L(value) | Value::R(value) => (**value).clone(),
        other => other.clone(),
    }
}

/// One stage at one number: `seen` ends with the number's own slot.
fn at(stage: &Pipe, seen: &[Slot], is_end: bool) -> Slot {
    let here = seen.last().and_then(Option::as_ref);
    let digests = || seen.iter().flatten().map(digest);
    let polynomial = |start: i64| polynomial(start, seen, usize::MAX);
    let mapped = |value: &Value, plus: i64| Value::I(digest(value).wrapping_mul(31).wrapping_add(plus));
    let divides = |modulus: i64, value: &Value| digest(value).rem_euclid(modulus) == 0;
    match *stage {
        Pipe::Id => here.cloned(),
        Pipe::Map { plus } | Pipe::MapOwned { plus } | Pipe::MapBlocking { plus } | Pipe::MapAsync { plus, .. } => {
            Some(mapped(here?, plus))
        }
        Pipe::Cloned | Pipe::TeeTo => here.cloned(),
        Pipe::Partition { modulus } => here
            .cloned()
            .map(Box::new)
            .map(|value| if divides(modulus, &value) { Value::R(value) } else { Value::L(value) }),
        Pipe::Tuple => Some(halves(here?)).map(|pair| Value::Pair(Box::new(pair))),
        Pipe::Firsts => Some(halves(here?).0),
        Pipe::Seconds => Some(halves(here?).1),
        Pipe::Swap => here.map(halves).map(|(a, b)| Value::Pair(Box::new((b, a)))),
        Pipe::Fork => here.map(|value| Value::Pair(Box::new((value.clone(), value.clone())))),
        Pipe::Distribute => here.map(halves).map(|(a, b)| {
            let pair = Box::new(Value::Pair(Box::new((a, inner(&b)))));
            if is_left(&b) { Value::L(pair) } else { Value::R(pair) }
        }),
        Pipe::DeadEnd => None,
        Pipe::Part => here.map(within),
        Pipe::Maybe if is_end => here.cloned(),
        Pipe::Maybe => Some(here.cloned().unwrap_or(Value::I(-7))),
        Pipe::Filter { modulus } => here.filter(|value| !divides(modulus, value)).cloned(),
        Pipe::FilterMap { modulus, plus }
        | Pipe::TryMap { modulus, plus }
        | Pipe::TryMapOrError(modulus, plus)
        | Pipe::DeadLetter { modulus, plus }
        | Pipe::DeadLetterAsync(_, modulus, plus) => {
            here.filter(|value| !divides(modulus, value)).map(|value| mapped(value, plus))
        }
        Pipe::Text { modulus, plus } => {
            let text = format!("{} {plus}", digest(here.filter(|value| !divides(modulus, value))?));
            let part = |text: &str| Value::I(of_text(text));
            (text.len() > 4).then(|| Value::Pair(Box::new((part(&text[..1]), part(&text)))))
        }
        Pipe::Scan { start } => here.map(|_| Value::I(polynomial(start))),
        Pipe::ScanFinish { start } => match polynomial(start) {
            state if is_end && state.rem_euclid(3) != 0 => Some(Value::I(state.wrapping_mul(17).wrapping_add(1))),
            state => here.map(|_| Value::I(state)),
        },
        Pipe::TryScan { start, modulus, by } => {
            let fits = |n: &usize| match by {
                TryScanBy::Retry | TryScanBy::RetryUndo => true,
                TryScanBy::Park(keys) => keys::failed(keys, modulus, &seen[..=*n]).is_none(),
                _ => seen[*n].as_ref().is_some_and(|value| !divides(modulus, value)),
            };
            here.filter(|_| fits(&(seen.len() - 1))).map(|_| {
                let tried = (0..seen.len()).filter(fits).filter_map(|n| seen[n].as_ref()).map(digest);
                Value::I(tried.fold(start, |sum, d| sum.wrapping_mul(31).wrapping_add(d)))
            })
        }
        Pipe::Answer(of) => {
            let values: Vec<&Value> = seen.iter().flatten().collect();
            if is_end { answer::of(of, &values) } else { None }
        }
        Pipe::Delay { first } => {
            here?;
            let (_, before) = seen.split_last()?;
            let before = before.iter().flatten().last().cloned();
            Some(before.unwrap_or_else(|| Value::Pair(Box::new(halves(&Value::I(first))))))
        }
        Pipe::Fold { start } => is_end.then(|| Value::I(digests().fold(start, |state, d| state.wrapping_mul(17) ^ d))),
        Pipe::FoldBy { keys, start } => is_end.then(|| keys::folded(keys, start, seen)),
        Pipe::Park { keys, modulus, plus } => {
            keys::failed(keys, modulus, seen).is_none().then(|| here.map(|value| mapped(value, plus)))?
        }
        Pipe::Stream(stage) => stream::at(stage, seen, is_end),
        _ => unreachable!("{stage} is not one stage"),
    }
}

/// The state of a scan that starts here, after the first `count` values.
fn polynomial(start: i64, slots: &[Slot], count: usize) -> i64 {
    let digests = slots.iter().flatten().map(digest).take(count);
    digests.fold(start, |sum, d| sum.wrapping_mul(31).wrapping_add(d))
}

/// The content of a value.
fn within(value: &Value) -> Value {
    match value {
        Value::L(value) | Value::R(value) => (**value).clone(),
        Value::Pair(pair) => pair.0.clone(),
        Value::List(list) if !list.is_empty() => list[0].clone(),
        other => other.clone(),
    }
}

fn pair(a: Value, b: Value) -> Value {
    Value::Pair(Box::new((a, b)))
}

fn halves(value: &Value) -> (Value, Value) {
    match value {
        Value::Pair(pair) => (pair.0.clone(), pair.1.clone()),
        other => (Value::I(digest(other)), Value::I(!digest(other))),
    }
}

fn digest(value: &Value) -> i64 {
    match value {
        Value::I(i) => *i,
        Value::Pair(pair) => digest(&pair.0).wrapping_mul(31) ^ digest(&pair.1),
        Value::L(value) => digest(value).wrapping_mul(3),
        Value::R(value) => digest(value).wrapping_mul(5).wrapping_add(1),
        Value::List(list) => {
            let mut sum = 7_i64;
            for value in list {
                sum = sum.wrapping_mul(13).wrapping_add(digest(value));
            }
            sum
        }
        Value::Sabotaged(value) => value.number(),
    }
}
