//! Recordings of runs, and their pictures.

use millstream_core::{Arrow, PartsExt, SequenceNumber, StreamsExt, pipeline};
use millstream_exec::{JobExt, Rings, Runner, source};
use millstream_observe::{Elements, Graph, Recorder, Recording};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// A fan-out with a branch that sleeps now and then.
fn recording(numbers: u64) -> Recording {
    let slowly = |x: &u64| {
        if x.is_multiple_of(1000) {
            sleep(Duration::from_millis(1));
        }
        x * 2
    };
    let p = pipeline::<u64>()
        .fanout(|p| p.map(|x| x + 1).named("one"), |p| p.map(slowly).named("other"))
        .map(|(x, y)| x ^ y)
        .named("joined");
    let run = Rings::new().ring(256).start(p.from(source::ready(0..numbers)).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    run.wait().unwrap();
    recorder.finish()
}

/// A moment's time in microseconds, its places and its states.
type Read = (u64, Vec<i64>, Vec<u64>);

/// The data of a picture, read as its script reads it.
fn read(svg: &str) -> (Value, Vec<Read>) {
    let data = svg.split_once("const D=").unwrap().1.split_once(";\n").unwrap().0;
    // JSON has neither unquoted names nor trailing commas.
    let mut json = data.replace(",]", "]").replace('\n', "");
    for name in ["rings", "nodes", "moments", "elements"] {
        json = json.replace(&format!("{name}:"), &format!("\"{name}\":"));
    }
    let data: Value = serde_json::from_str(&json).unwrap();
    let readers = |ring: &Value| ring[1].as_array().unwrap().len();
    let places: usize = data["rings"].as_array().unwrap().iter().map(|ring| 1 + readers(ring)).sum();
    let mut now = (0, vec![0; places], vec![1; data["nodes"].as_u64().unwrap() as usize]);
    let pairs = |list: &Value| -> Vec<(usize, i64)> {
        let numbers: Vec<i64> = list.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
        numbers.chunks(2).map(|pair| (pair[0] as usize, pair[1])).collect()
    };
    let moments = data["moments"].as_array().unwrap().iter().map(|moment| {
        now.0 += moment[0].as_u64().unwrap();
        pairs(&moment[1]).into_iter().for_each(|(place, more)| now.1[place] += more);
        pairs(&moment[2]).into_iter().for_each(|(node, state)| now.2[node] = state as u64);
        now.clone()
    });
    let moments = moments.collect();
    (data, moments)
}

#[test]
fn the_picture_has_what_was_recorded() {
    let recording = recording(20_000);
    let (data, moments) = read(&recording.svg());
    assert_eq!(data["rings"].as_array().unwrap().len(), recording.graph.wires.len());
    assert_eq!(moments.len(), recording.moments.len());
    for ((at, places, states), moment) in moments.iter().zip(&recording.moments) {
        let expected: Vec<i64> = moment
            .rings
            .iter()
            .flat_map(|ring| [ring.produced].into_iter().chain(ring.consumed.iter().copied()))
            .map(|n| n as i64)
            .collect();
        assert_eq!(*places, expected);
        assert_eq!(*states, moment.states.iter().map(|state| *state as u64).collect::<Vec<_>>());
        assert!(at.abs_diff(moment.at.as_micros() as u64) <= moments.len() as u64, "rounded once a moment");
    }
}

#[test]
fn numbers_only_grow_and_end_where_the_run_does() {
    let recording = recording(20_000);
    assert!(recording.moments.len() > 5, "twenty sleeps take longer than five looks");
    let end = recording.moments.len() - 1;
    for (index, pair) in recording.moments.windows(2).enumerate() {
        let [before, after] = pair else { unreachable!() };
        assert!(before.at <= after.at);
        let same = (&before.rings, &before.states) == (&after.rings, &after.states);
        assert!(!same || index + 1 == end, "only what changed is kept, and the end");
        for (before, after) in before.rings.iter().zip(&after.rings) {
            assert!(before.produced <= after.produced);
            assert!(before.consumed.iter().zip(&after.consumed).all(|(before, after)| before <= after));
            assert!(after.consumed.iter().all(|consumed| *consumed <= after.produced));
        }
    }
    let last = recording.moments.last().unwrap();
    assert!(last.rings.iter().all(|ring| ring.produced == 20_001 && ring.consumed.iter().all(|n| *n == 20_001)));
    let reached: Vec<_> = (0..recording.graph.nodes.len()).map(|node| recording.reached(last, node)).collect();
    assert_eq!(reached, vec![20_001; 5]);
}

/// A look at the end of a run may be later than the time at which the run notes that it has ended.
#[test]
fn a_moment_may_be_earlier_than_the_one_before() {
    let mut recording = recording(1000);
    let mut last = recording.moments.last().unwrap().clone();
    last.at -= Duration::from_nanos(30);
    recording.moments.push(last);
    assert_eq!(read(&recording.svg()).1.len(), recording.moments.len());
}

#[test]
fn a_long_run_is_thinned() {
    // At least three seconds, in which every millisecond is a new moment.
    let recording = recording(3_000_000);
    assert!((100..=2000).contains(&recording.moments.len()), "{} moments", recording.moments.len());
    let svg = recording.svg();
    assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
    // The moments cover the whole time, and no part of it has many more moments than another.
    let end = recording.moments.last().unwrap().at;
    let quarter = |moment: &Duration| moment.as_nanos() * 4 / (end.as_nanos() + 1);
    let mut counts = [0; 4];
    recording.moments.iter().for_each(|moment| counts[quarter(&moment.at) as usize] += 1);
    assert!(counts.iter().all(|count| *count > recording.moments.len() / 20), "{counts:?}");
}

#[test]
fn each_version_of_the_pipeline_has_a_graph_and_moments_of_its_own() {
    let (sender, receiver) = source::channel(64);
    let one = pipeline::<u64>().map(|x| x + 1).named("one");
    let run = Rings::new().ring(64).start(one.from(receiver).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    sender.send_all(0..100).unwrap();
    let two = || pipeline::<u64>().map(|x| x + 1).named("two").map(|x| x * 2).named("three");
    assert_eq!(run.upgrade(two()), Ok(SequenceNumber(100)));
    sender.send_all(100..150).unwrap();
    drop(sender);
    run.wait().unwrap();
    let recording = recorder.finish();

    let names = |graph: &Graph| graph.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    let [old] = &recording.before[..] else { panic!("{} versions before", recording.before.len()) };
    assert_eq!(
        (names(&old.graph), old.change.is_none()),
        (["source", "one", "sink"].map(str::to_owned).to_vec(), true)
    );
    assert_eq!(names(&recording.graph), ["source", "two", "three", "sink"]);
    let change = recording.change.as_ref().unwrap();
    assert_eq!((change.version, change.at), (2, 100));
    assert_eq!(old.reached(old.moments.last().unwrap(), 1), 100);
    let last = recording.moments.last().unwrap();
    assert_eq!((1..4).map(|node| recording.reached(last, node)).collect::<Vec<_>>(), [151; 3]);
    assert!(old.moments.last().unwrap().at <= recording.moments[0].at);

    let svg = recording.svg();
    let mark = "<g class=\"change\"><title>version 2 from number 100 on</title>";
    assert_eq!(svg.matches(mark).count(), 1, "{svg}");
    for part in ["<g id=\"p0\" style=\"display:none\">", "<g id=\"p1\">", "id=\"v0n1\"", "id=\"v0r0\"", "id=\"n3\""] {
        assert_eq!(svg.matches(part).count(), 1, "{part} in {svg}");
    }
    let (data, moments) = read(&svg);
    assert_eq!(moments.len(), recording.moments.len());
    assert_eq!(data["begins"], "version 2 from number 100 on");
    assert_eq!(data["before"][0]["moments"].as_array().unwrap().len(), old.moments.len());
}

/// However often a pipeline is replaced, the picture is bounded.
#[test]
fn of_many_versions_the_last_ones_are_kept() {
    let (sender, receiver) = source::channel(64);
    let more = || pipeline::<u64>().map(|x| x + 1).named("more");
    let run = Rings::new().ring(64).start(more().from(receiver).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    for n in 0..40 {
        sender.send(n).unwrap();
        run.upgrade(more()).unwrap();
        // The recorder sees most of them, however slow it is.
        sleep(Duration::from_millis(3));
    }
    let recording = recorder.finish();
    drop(sender);
    run.wait().unwrap();
    assert!(recording.before.len() < 16, "{}", recording.before.len());
    assert_eq!(recording.change.as_ref().map(|change| (change.version, change.at)), Some((41, 40)));
    let versions: Vec<_> = recording.before.iter().filter_map(|old| Some(old.change.as_ref()?.version)).collect();
    assert!(versions.is_sorted() && versions.iter().all(|version| *version < 41), "{versions:?}");
}

#[test]
fn a_picture_needs_nothing_else() {
    let svg = recording(1000).svg();
    assert_eq!(svg.matches("http").count(), 1, "it refers to nothing but its own name space");
    assert_eq!(svg.matches("]]>").count(), 1, "the script ends where it should");
    for id in ["id=\"play\"", "id=\"back\"", "id=\"on\"", "id=\"slider\"", "role=\"slider\"", "id=\"n4\"", "id=\"r3\""]
    {
        assert!(svg.contains(id), "no {id}");
    }
}

#[test]
fn elements_are_kept_at_the_selected_places() {
    let elements = Elements::new(10);
    let p = pipeline::<u64>()
        .filter(|x| x % 2 == 1)
        .map(|x| format!("<{x}> \"]]>{}", "é".repeat(*x as usize)))
        .named("text")
        .tee(|p| p.enumerate().map(elements.of("text")));
    let run = Rings::new().start(p.from(source::ready(0..50)).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let recording = recorder.finish();
    assert!(recording.elements.is_empty());
    let recording = recording.with(&elements);
    let kept = &recording.elements["text"];
    assert_eq!(kept.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (31..50).step_by(2).collect::<Vec<_>>());
    let last = &kept[9].1;
    assert!(last.starts_with("\"<49> \\\"]]>é") && last.ends_with('…') && last.chars().count() == 41, "{last}");
    let svg = recording.svg();
    assert!(svg.contains("elements:{\n2:[31,"), "{svg}");
    assert_eq!(svg.matches("]]>").count(), 1, "the script ends where it should");
    assert!(svg.contains("49,\"\\u0022\\u003c49\\u003e \\u005c\\u0022]]\\u003eé"), "{svg}");
}

#[test]
fn elements_are_kept_only_while_they_are_wanted() {
    let elements = Elements::new(100);
    let (switch, at) = (elements.clone(), |x: &u64| (10..20).contains(x));
    // All stages run on the worker for each number, so that the switch comes between two elements.
    let p = pipeline::<u64>().inspect(move |x| switch.keep(at(x))).tee(|p| p.enumerate().map(elements.of("source")));
    let rings = Rings::new().ring(1).batch(1).workers(1);
    let run = rings.start(p.from(source::ready(0..30)).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let recording = recorder.finish().with(&elements);
    let kept: Vec<u64> = recording.elements["source"].iter().map(|(number, _)| *number).collect();
    assert_eq!(kept, (10..20).collect::<Vec<_>>());
}
