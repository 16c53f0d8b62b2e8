use millstream_core::{Flow, Full};
use millstream_ring::{Leaf, Wire};

struct Mine;

impl Flow for Mine {
    type Ref<'a> = ();
    type Density = Full;
    const BYTES: usize = 0;
}

impl Wire for Mine {
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
