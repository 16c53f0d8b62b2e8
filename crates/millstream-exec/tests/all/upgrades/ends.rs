//! Versions that end the stream by a kernel of the program.

use millstream_core::{Arrow, FilterKernel, KernelsExt, PartsExt, Val, pipeline};
use millstream_exec::{JobExt, Rings, Runner, Upgrade, UpgradeError, sink, source};
use millstream_testkit::within;
use std::time::Duration;

/// The values before the first one of at least this number, as of a `take_while`.
struct Below(u64);

impl FilterKernel for Below {
    type In = Val<u64>;
    type State = bool;
    const NAME: &'static str = "below";
    const ENDS: bool = true;

    fn start(&self) -> bool {
        false
    }

    fn keeps(&self, over: &mut bool, value: &u64) -> bool {
        *over |= *value >= self.0;
        !*over
    }

    fn over(&self, over: &bool) -> bool {
        *over
    }

    fn model(&self, values: Vec<&u64>) -> Vec<bool> {
        let wanted = values.iter().take_while(|value| ***value < self.0).count();
        (0..values.len()).map(|n| n < wanted).collect()
    }

    fn model_over(&self, values: Vec<&u64>) -> Option<usize> {
        values.iter().position(|value| **value >= self.0).map(|refused| refused + 1)
    }
}

/// It would end the source's ring before the other version has read it.
#[test]
fn a_kernel_that_ends_the_stream_has_no_shadow_and_is_none() {
    within(Duration::from_secs(60), || {
        let below = || pipeline::<u64>().filter_with(Below(15)).named("below").any_edge();
        let plain = || pipeline::<u64>().map(|x| *x).any_edge();
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().start(below().from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let refused = run.shadow(Upgrade::to(plain()).dropping("below")).unwrap_err();
        assert!(matches!(refused, UpgradeError::NoShadow(_)), "{refused}");
        sender.send_all(10..16).unwrap();
        assert_eq!(run.wait().unwrap().0, (0..15).collect::<Vec<_>>());

        let (sender, receiver) = source::channel(16);
        let run = Rings::new().start(plain().from(receiver).to(sink::collect())).unwrap();
        let refused = run.shadow(below()).unwrap_err();
        assert!(matches!(refused, UpgradeError::NoShadow(_)), "{refused}");
        sender.send_all(0..20).unwrap();
        drop(sender);
        assert_eq!(run.wait().unwrap().0.len(), 20);
    })
    .unwrap();
}
