use millstream_core::{Arrow, ModelExt, TryMapExt, pipeline};

fn main() {
    pipeline::<String>().try_map(|line: &str| line.parse::<u64>()).map(|x| x + 1).model(["1".to_owned()]);
}
