//! A deployment's stages are those of the plan, by their position in the pipeline.

use millstream_core::model::{Extent, Model};
use millstream_core::plan::{Describe, PlanMismatch, Port};
use millstream_core::{
    Arrow, ChoiceExt, Deploy, Determinate, FeedbackExt, KeepsClock, KeysExt, On, PartsExt, Quiet, Val, pipeline,
};
use millstream_exec::{
    BoxExact, BoxExt, Everywhere, Inline, JobExt, JobRefExt, QueueShape, Queues, QueuesWiring, RingBackend, RingShape,
    Rings, RunError, Runner, Wiring, source,
};

type Numbers = Val<u64>;

/// The error of a run on rings, and on queues.
fn errors<B: RingShape + QueueShape>(p: &impl Everywhere<In = Numbers, Out = B>) -> [Option<RunError>; 2] {
    let ready = || source::ready(0..3_u64);
    [
        Inline::new(Rings::new()).run(p.from(ready()).to_fold((), |(), _, _| ())).err(),
        Queues::new().run(p.from(ready()).to_fold((), |(), _, _| ())).err(),
    ]
}

/// What is wrong with a combinator.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Forgets,
    Adds,
    DoesNotAdvance,
    Repeats,
}

/// Two pipelines, one after another.
struct Pair<P, Q>(Wrong, P, Q);

impl<P, Q> Determinate for Pair<P, Q> {}
impl<P, Q> KeepsClock for Pair<P, Q> {}
impl<P, Q> Quiet for Pair<P, Q> {}

impl<P, Q> Arrow for Pair<P, Q>
where
    P: Arrow<In = Numbers, Out = Numbers>,
    Q: Arrow<In = Numbers, Out = Numbers>,
{
    type In = Numbers;
    type Out = Numbers;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let between = self.1.describe(input, plan);
        match self.0 {
            Wrong::Adds => between,
            Wrong::Forgets | Wrong::Repeats => self.2.describe(plan.advance(between), plan),
            Wrong::DoesNotAdvance => self.2.describe(between, plan),
        }
    }
}

macro_rules! deploys {
    ($backend:ty, $wiring:ty) => {
        impl<P, Q> Deploy<$backend> for Pair<P, Q>
        where
            P: Deploy<$backend> + Arrow<In = Numbers, Out = Numbers>,
            Q: Deploy<$backend> + Arrow<In = Numbers, Out = Numbers>,
        {
            fn deploy(
                &self,
                input: <Numbers as On<$backend>>::Edge,
                wiring: &mut $wiring,
            ) -> <Numbers as On<$backend>>::Edge {
                let between = self.1.deploy(input, wiring);
                match self.0 {
                    Wrong::Forgets => return between,
                    Wrong::Repeats => {}
                    Wrong::Adds | Wrong::DoesNotAdvance => wiring.advance(),
                }
                self.2.deploy(between, wiring)
            }
        }
    };
}
deploys!(RingBackend, Wiring);
deploys!(Queues, QueuesWiring);

impl<P, Q> Deploy<Model> for Pair<P, Q>
where
    P: Deploy<Model> + Arrow<In = Numbers, Out = Numbers>,
    Q: Deploy<Model> + Arrow<In = Numbers, Out = Numbers>,
{
    fn deploy(&self, input: <Numbers as On<Model>>::Edge, extent: &mut Extent) -> <Numbers as On<Model>>::Edge {
        self.2.deploy(self.1.deploy(input, extent), extent)
    }
}

/// A stage alone, without the `pipeline()` before it.
fn increment() -> impl Everywhere<In = Numbers, Out = Numbers> {
    pipeline::<u64>().map(|x| x + 1).second
}

fn sum() -> impl Everywhere<In = Numbers, Out = Numbers> {
    pipeline::<u64>().scan(0, |n, x| *n + x).second
}

#[test]
fn a_combinator_that_deploys_other_stages_than_it_describes_is_an_error_at_its_position() {
    let id = |step: &str| step.to_owned();
    for (wrong, expected) in [
        (Wrong::Forgets, PlanMismatch::Missing { id: id("2"), stage: "scan-1".into() }),
        (Wrong::Adds, PlanMismatch::Unplanned { id: id("2") }),
        (Wrong::DoesNotAdvance, PlanMismatch::SameId { id: id("1"), stages: ["map-1", "scan-1"].map(id).into() }),
        (Wrong::Repeats, PlanMismatch::Twice { id: id("1") }),
    ] {
        let p = pipeline::<u64>().then(Pair(wrong, increment(), sum()));
        let expected = Some(RunError::Plan(expected));
        assert_eq!(errors(&p), [expected.clone(), expected], "{wrong:?}");
    }
    let p = pipeline::<u64>().shard_by(|x| *x, 2, |p| p.then(Pair(Wrong::Forgets, increment(), sum())));
    let missing = PlanMismatch::Missing { id: "1.body.2".into(), stage: "shard_by-1.scan-1".into() };
    assert_eq!(errors(&p), [(); 2].map(|()| Some(RunError::Plan(missing.clone()))));
}

/// Panics at number 1.
fn fails(x: u64) -> u64 {
    if x == 1 { panic!("it fails") } else { x }
}

#[test]
fn a_stage_that_fails_has_the_name_of_the_plan_in_every_body() {
    macro_rules! check {
        ($($make:expr),+ $(,)?) => { $({
            // The one stage named `bad` fails, and no other stage.
            for error in errors(&$make) {
                let Some(RunError::Stage { stage, .. }) = error else { panic!("{}: {error:?}", stringify!($make)) };
                assert_eq!(stage, "bad", "{}", stringify!($make));
            }
        })+ };
    }
    macro_rules! good {
        ($p:expr) => {
            $p.map(|x| *x).map(|x| *x)
        };
    }
    macro_rules! bad {
        ($p:expr) => {
            good!(good!($p).map(|x| fails(*x)).named("bad"))
        };
    }
    check!(
        bad!(pipeline::<u64>()),
        pipeline::<u64>().fanout(|p| bad!(p), |p| good!(p)),
        pipeline::<u64>().fanout(|p| good!(p), |p| bad!(p)),
        pipeline::<u64>().fanout4(|p| bad!(p), |p| good!(p), |p| good!(p), |p| good!(p)),
        pipeline::<u64>().fanout4(|p| good!(p), |p| bad!(p), |p| good!(p), |p| good!(p)),
        pipeline::<u64>().fanout4(|p| good!(p), |p| good!(p), |p| bad!(p), |p| good!(p)),
        pipeline::<u64>().fanout4(|p| good!(p), |p| good!(p), |p| good!(p), |p| bad!(p)),
        pipeline::<u64>().map(|x| (*x, *x)).both(|p| bad!(p), |p| good!(p)),
        pipeline::<u64>().map(|x| (*x, *x)).both(|p| good!(p), |p| bad!(p)),
        pipeline::<u64>().partition(|x| *x == 1).choose(|p| bad!(p), |p| good!(p)),
        pipeline::<u64>().partition(|x| *x != 1).choose(|p| good!(p), |p| bad!(p)),
        pipeline::<u64>().partition(|x| *x == 1).merge(|p| bad!(p), |p| good!(p)),
        pipeline::<u64>().partition(|x| *x != 1).merge(|p| p.map(|x| *x), |p| p.map(|x| fails(*x)).named("bad")),
        pipeline::<u64>().tee(|p| bad!(p)).map(|x| *x),
        good!(pipeline::<u64>()).shard(2, |p| bad!(p)).map(|x| *x),
        pipeline::<u64>().shard_by(|x| *x, 2, |p| bad!(p)).map(|x| *x),
        pipeline::<u64>().feedback(0, |p| good!(p.map(|(x, _)| *x)).map(|x| fails(*x)).named("bad").fork()),
    );
}

/// `n` stages, as boxes in boxes.
fn many(n: usize) -> BoxExact<Numbers, Numbers> {
    if n == 1 {
        return pipeline::<u64>().map(|x| x + 1).boxed_exact();
    }
    many(n / 2).then(many(n - n / 2)).boxed_exact()
}

#[test]
fn five_thousand_stages_are_described_and_deployed() {
    let p = many(5000);
    let names: Vec<_> = p.plan().stages.into_iter().map(|stage| stage.name).collect();
    assert!(names.iter().enumerate().all(|(n, name)| *name == format!("map-{}", n + 1)));
    let job = p.from(source::ready([0_u64])).to_fold(0, |last, _, x| *last = *x);
    let (last, report) = Inline::new(Rings::new().ring(1)).start(job).expect("it starts").join().ok().expect("it ends");
    let deployed = report.stages.into_iter().map(|stage| stage.name).filter(|name| name.starts_with("map-"));
    assert_eq!((last, deployed.collect::<Vec<_>>()), (5000, names));
}
