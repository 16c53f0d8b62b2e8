use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Pipeline};

struct Server {
    pipeline: Box<dyn Pipeline<u64, u64>>,
}

fn main() {
    let server = Server { pipeline: Box::new(pipeline::<u64>().map(|x| x + 1)) };
    let _ = server.pipeline.collect(0..3);
}
