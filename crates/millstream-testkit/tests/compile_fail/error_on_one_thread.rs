use millstream_core::{TryMapExt, pipeline};
use std::error::Error;

fn parse(line: &String) -> Result<u64, Box<dyn Error>> {
    Ok(line.parse()?)
}

fn main() {
    let _ = pipeline::<String>().try_map(parse);
}
