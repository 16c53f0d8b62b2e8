//! Writes pictures with few colours, in a fifth of the bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

type Error = Box<dyn std::error::Error>;
type Colour = [u8; 3];

/// Writes a picture again, with one byte for each pixel. Returns its number of bytes.
pub(super) fn shrink(from: &Path, to: &Path) -> Result<u64, Error> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(from)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("it is too large")?];
    let info = reader.next_frame(&mut bytes)?;
    let pixels: Vec<Colour> = bytes[..info.buffer_size()].chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect();
    let (palette, indices) = indexed(&pixels);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(to)?), info.width, info.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(std::fs::metadata(to)?.len())
}

/// At most 256 colours, and the colour index of each pixel. The commonest colours are kept. Each other one, at the
/// edges of letters, is replaced by the nearest.
fn indexed(pixels: &[Colour]) -> (Vec<Colour>, Vec<u8>) {
    let mut counts: HashMap<Colour, usize> = HashMap::new();
    for pixel in pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let mut palette: Vec<Colour> = counts.keys().copied().collect();
    palette.sort_unstable_by_key(|colour| (std::cmp::Reverse(counts[colour]), *colour));
    palette.truncate(256);
    let nearest =
        |colour: Colour| (0..palette.len()).min_by_key(|index| distance(palette[*index], colour)).unwrap_or(0) as u8;
    let places: HashMap<Colour, u8> = counts.keys().map(|colour| (*colour, nearest(*colour))).collect();
    let indices = pixels.iter().map(|pixel| places[pixel]).collect();
    (palette, indices)
}

fn distance(a: Colour, b: Colour) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_the_same_with_fewer_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from.png"), dir.path().join("to.png"));
        let pixel = |i: u32| if i.is_multiple_of(7) { [200, 10, (i % 5) as u8, 255] } else { [255; 4] };
        let bytes: Vec<u8> = (0..64 * 64).flat_map(pixel).collect();
        let mut encoder = png::Encoder::new(File::create(&from).unwrap(), 64, 64);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
        let written = shrink(&from, &to).unwrap();
        assert!(written < std::fs::metadata(&from).unwrap().len());
        let mut decoder = png::Decoder::new(BufReader::new(File::open(&to).unwrap()));
        decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
        let mut reader = decoder.read_info().unwrap();
        let mut back = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut back).unwrap();
        assert!(back == bytes);
    }

    #[test]
    fn colours_beyond_256_become_their_neighbours() {
        let common = (0..=255).flat_map(|red| [[red, 0, 0]; 3]);
        let pixels: Vec<Colour> = common.chain((0..=255).map(|red| [red, 1, 0])).collect();
        let (palette, indices) = indexed(&pixels);
        assert_eq!((palette.len(), indices.len()), (256, 4 * 256));
        let shown = |i: usize| palette[indices[i] as usize];
        assert!((0..256).all(|red| shown(3 * red) == pixels[3 * red] && shown(3 * 256 + red) == pixels[3 * red]));
    }
}
