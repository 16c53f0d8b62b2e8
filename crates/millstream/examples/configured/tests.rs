use super::*;
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;

/// A slot of the interpreter: a station and its value, or nothing.
type Slot = Option<(String, i64)>;

/// What steps mean, read from the JSON itself, on lists: nothing here is the program's.
fn interpret(steps: &Value, slots: Vec<Slot>) -> Vec<Slot> {
    steps.as_array().expect("a list of steps").iter().fold(slots, interpret_step)
}

fn interpret_step(slots: Vec<Slot>, step: &Value) -> Vec<Slot> {
    let step = step.as_object().expect("a step is an object");
    let (does, with) = step.iter().next().expect("a step has a key");
    let each = |f: &dyn Fn(i64) -> Option<i64>| -> Vec<Slot> {
        slots.iter().map(|slot| slot.as_ref().and_then(|(of, value)| Some((of.clone(), f(*value)?)))).collect()
    };
    match does.as_str() {
        "add" => each(&|value| Some(value.wrapping_add(with.as_i64().unwrap()))),
        "multiply" => each(&|value| Some(value.wrapping_mul(with.as_i64().unwrap()))),
        "keep" => {
            let (test, limit) = with.as_object().unwrap().iter().next().unwrap();
            let limit = limit.as_i64().unwrap();
            each(&|value| {
                let passes = match test.as_str() {
                    "at_least" => value >= limit,
                    "below" => value < limit,
                    "divisible_by" => value.checked_rem(limit) == Some(0),
                    test => panic!("no test {test}"),
                };
                passes.then_some(value)
            })
        }
        "average" => {
            let of = with.as_u64().unwrap() as usize;
            let values = |upto: usize| slots[..=upto].iter().rev().flatten().take(of).map(|(_, value)| *value);
            let mean = |upto: usize| {
                let (sum, count) = values(upto).fold((0_i128, 0), |(sum, n), value| (sum + i128::from(value), n + 1));
                i64::try_from(sum / count).unwrap()
            };
            slots.iter().enumerate().map(|(n, slot)| slot.as_ref().map(|(of, _)| (of.clone(), mean(n)))).collect()
        }
        "each_station" => {
            let mut stations: Vec<&String> = slots.iter().flatten().map(|(of, _)| of).collect();
            stations.sort();
            stations.dedup();
            let mut all = vec![None; slots.len()];
            for station in stations {
                let own = slots.iter().map(|slot| slot.clone().filter(|(of, _)| of == station)).collect();
                let made = interpret(with, own);
                all.iter_mut().zip(made).filter(|(_, made)| made.is_some()).for_each(|(all, made)| *all = made);
            }
            all
        }
        "sum" => {
            let [left, right] = [0, 1].map(|side| interpret(&with[side], slots.clone()));
            let sum = |(a, b): (Slot, Slot)| a.zip(b).map(|((of, a), (_, b))| (of, a.wrapping_add(b)));
            left.into_iter().zip(right).map(sum).collect()
        }
        "named" => interpret_step(slots, &with[1]),
        does => panic!("no step {does}"),
    }
}

fn configuration(json: &Value) -> Configuration {
    Configuration::parse(&json.to_string()).unwrap()
}

fn readings(count: u64) -> Vec<String> {
    let mut text = Vec::new();
    generate(count, &mut text).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

/// The lines of the interpreter.
fn expected(json: &Value, lines: &[String]) -> Vec<String> {
    let slots = lines.iter().map(|line| line.split_once(' ').map(|(of, value)| (of.into(), value.parse().unwrap())));
    interpret(&json["steps"], slots.collect()).into_iter().flatten().map(|(of, n)| format!("{of} {n}")).collect()
}

/// The model, the calling thread, and rings large and small have the lines of the interpreter.
fn agrees(json: &Value, lines: &[String]) {
    let (built, expected) = (built(&configuration(json)), expected(json, lines));
    assert_eq!(built.model(lines.to_vec()), expected, "the model, {json}");
    assert_eq!(Inline::default().collect((&built).from(lines.to_vec())).unwrap(), expected, "inline, {json}");
    for (workers, slots) in [(1, 1), (1, 64), (2, 2), (2, 1024)] {
        let made = Rings::new().workers(workers).ring(slots).collect((&built).from(lines.to_vec())).unwrap();
        assert_eq!(made, expected, "{workers} workers, rings of {slots}, {json}");
    }
}

fn warm() -> Value {
    serde_json::from_str(include_str!("warm.json")).unwrap()
}

#[test]
fn the_file_of_the_example_has_the_lines_of_the_interpreter() {
    let lines = readings(2000);
    let some = expected(&warm(), &lines).len();
    assert!((100..1900).contains(&some), "{some} lines are left");
    agrees(&warm(), &lines);
    agrees(&warm(), &[]);
}

/// Steps by chance. Inside a `sum` or at each station there are fewer of them.
fn steps(random: &mut SplitMix64, most: u64) -> Value {
    let count = random.below(most + 1);
    (0..count).map(|_| step(random, most / 2)).collect()
}

fn step(random: &mut SplitMix64, most: u64) -> Value {
    match random.below(if most > 0 { 9 } else { 6 }) {
        0 => json!({ "add": random.below(100) as i64 - 50 }),
        1 => json!({ "multiply": random.below(7) as i64 - 3 }),
        2 => json!({ "keep": { "at_least": random.below(200) as i64 - 100 } }),
        3 => json!({ "keep": { "below": random.below(400) } }),
        4 => json!({ "keep": { "divisible_by": 1 + random.below(3) } }),
        5 => json!({ "average": 1 + random.below(5) }),
        6 => json!({ "each_station": steps(random, most) }),
        7 => json!({ "sum": [steps(random, most), steps(random, most)] }),
        _ => json!({ "named": [format!("step {}", random.below(1000)), step(random, most)] }),
    }
}

#[test]
fn random_configurations_have_the_lines_of_the_interpreter() {
    let (mut random, lines) = (SplitMix64::new(5), readings(60));
    let mut left = 0;
    for _ in 0..60 {
        let json = json!({ "steps": steps(&mut random, 8) });
        left += usize::from(!expected(&json, &lines).is_empty());
        agrees(&json, &lines);
    }
    assert!(left > 20, "only {left} configurations leave any line");
}

#[test]
fn three_hundred_steps_are_built_and_run() {
    let three = [json!({ "add": 1 }), json!({ "keep": { "below": 1_000_000 } }), json!({ "average": 3 })];
    let steps: Vec<Value> = three.into_iter().cycle().take(300).collect();
    agrees(&json!({ "steps": steps }), &readings(200));
}

#[test]
fn plan_graph_and_page_have_the_names_of_the_configuration() {
    let built = built(&configuration(&warm()));
    let plan = built.plan();
    let graph = Graph::of(&plan);
    let svg = graph.svg(&graph.layout(), None);
    // A stage of an unnamed step has the name of its place.
    for name in ["parse", "plausible", "tenths", "stations.scan-1", "format"] {
        assert!(plan.stages.iter().any(|stage| stage.name == name), "{name} in {plan}");
        assert!(svg.contains(&format!("<title>{name}: ")), "{name} in {svg}");
    }
    let run = Rings::new().start((&built).from(readings(100)).to_each(|_, _| ())).unwrap();
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(Arc::new(Watch::attach(run.observer()).unwrap()));
    run.wait().unwrap();
    let mut stream = TcpStream::connect(page.address()).unwrap();
    write!(stream, "GET /plan.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_to_string(&mut answer).unwrap();
    for name in ["plausible", "tenths", "stations.scan-1"] {
        assert!(answer.contains(&format!("\"name\":\"{name}\"")), "{name} in {answer}");
    }
}

#[test]
fn a_wrong_configuration_is_refused_with_its_place() {
    let wrong = |text: &str| Configuration::parse(text).unwrap_err().to_string();
    let unknown = wrong("{ \"steps\": [\n { \"ad\": 3 } ] }");
    assert!(unknown.starts_with("unknown variant `ad`, expected one of `add`, `multiply`"), "{unknown}");
    assert!(unknown.contains("at line 2 column"), "{unknown}");
    let zero = wrong("{ \"steps\": [ { \"average\": 0 } ] }");
    assert!(zero.contains("nonzero"), "{zero}");
    assert!(wrong("{ \"stages\": [] }").contains("unknown field `stages`"));
}

#[test]
fn a_line_that_is_no_reading_ends_the_run_with_its_number() {
    let lines = ["north 1", "north x", "north 3"].map(str::to_owned);
    let error = built(&configuration(&warm())).collect(lines).unwrap_err();
    let expected = "stage \"parse\", number 1: \"north x\" is no reading: \
                    write a station and a whole number, as in `north 12`";
    assert_eq!(error.to_string(), expected);
}
