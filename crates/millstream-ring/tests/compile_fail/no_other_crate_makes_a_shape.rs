use millstream_core::{Shape, Dense};
use millstream_ring::{Leaf, RingLayout};

struct Mine;

impl Shape for Mine {
    type Ref<'a> = ();
    type Density = Dense;
    const BYTES: usize = 0;

    fn shorten<'s, 'l: 's>((): ()) {}
}

impl RingLayout for Mine {
    type View = Leaf<u64>;
    type Chunk<'a> = ();

    unsafe fn is_filled(_: &Self::Chunk<'_>, _: usize) -> bool {
        false
    }

    unsafe fn value_at<'a>(_: &Self::Chunk<'a>, _: usize) -> Self::Ref<'a> {}

    unsafe fn at<'a>(_: &Self::Chunk<'a>, _: usize) -> Option<Self::Ref<'a>> {
        None
    }
}

fn main() {}
