use millstream_core::ClockExt;
use millstream_exec::{requests, service};

fn main() {
    let _ = service(requests::<u64>().flat_map(|x| 0..*x));
}
