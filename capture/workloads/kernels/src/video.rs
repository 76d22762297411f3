//! Film frames: generated, colour-corrected, compressed to JPEG.
//!
//! A frame is 48 bits per pixel: red, green, blue as `u16` in little-endian order, row by row.

pub mod abi;

use jpeg_encoder::{ColorType, Encoder, EncodingError};

/// Bytes of a pixel.
pub const PIXEL_BYTES: usize = 6;

/// Colour correction: what each input colour adds to each output colour, in 1/1024. A little
/// warmer and with more contrast between the colours.
const MATRIX: [[i32; 3]; 3] = [[1120, -64, 0], [-32, 1072, -16], [0, -48, 1000]];

fn pixels(frame: &mut [u8]) -> &mut [[u8; PIXEL_BYTES]] {
    frame.as_chunks_mut().0
}

/// Paints a picture that differs for every `number`: colour ramps, and a bright square that moves.
pub fn paint(width: usize, height: usize, number: usize, frame: &mut [u8]) {
    let side = (height / 4).max(1);
    let (left, top) = (7 * number % width, 5 * number % height);
    for (index, pixel) in pixels(frame).iter_mut().enumerate() {
        let (x, y) = (index % width, index / width);
        let inside = x.wrapping_sub(left) < side && y.wrapping_sub(top) < side;
        // Film has grain.
        let grain = (index ^ number).wrapping_mul(0x9E37_79B1) >> 16 & 0x3FF;
        let colours = if inside {
            [0xF000, 0xE000, 0xC000]
        } else {
            [x * 0xC000 / width, y * 0xC000 / height, number % 64 * 0x200]
        };
        for (bytes, colour) in pixel.as_chunks_mut().0.iter_mut().zip(colours) {
            *bytes = ((colour + grain) as u16).to_le_bytes();
        }
    }
}

/// Adjusts the colour of each pixel in place.
pub fn correct(frame: &mut [u8]) {
    for pixel in pixels(frame) {
        let [r0, r1, g0, g1, b0, b1] = *pixel;
        let colours = [[r0, r1], [g0, g1], [b0, b1]].map(|c| i32::from(u16::from_le_bytes(c)));
        for (row, bytes) in MATRIX.iter().zip(pixel.as_chunks_mut::<2>().0) {
            let sum: i32 = row.iter().zip(colours).map(|(m, c)| m * (c >> 1)).sum();
            *bytes = ((sum >> 9).clamp(0, 0xFFFF) as u16).to_le_bytes();
        }
    }
}

/// Returns the frame as JPEG (8 bits per colour); `quality` is 1 to 100.
pub fn compress(
    frame: &[u8],
    width: u16,
    height: u16,
    quality: u8,
) -> Result<Vec<u8>, EncodingError> {
    let high_bytes: Vec<u8> = frame.iter().skip(1).step_by(2).copied().collect();
    let mut out = Vec::new();
    Encoder::new(&mut out, quality).encode(&high_bytes, width, height, ColorType::Rgb)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_differ_and_compress_to_a_jpeg_of_their_size() {
        let (width, height) = (64, 48);
        let [first, second] = [3, 4].map(|number| {
            let mut frame = vec![0; width * height * PIXEL_BYTES];
            paint(width, height, number, &mut frame);
            correct(&mut frame);
            compress(&frame, width as u16, height as u16, 90).unwrap()
        });
        assert_ne!(first, second);
        assert_eq!(first[..2], [0xFF, 0xD8]);
        assert_eq!(first[first.len() - 2..], [0xFF, 0xD9]);
        // Start of frame: length 17, 8 bits, height, width, 3 colours.
        let start = [0xFF, 0xC0, 0, 17, 8, 0, 48, 0, 64, 3];
        assert!(first.windows(start.len()).any(|part| part == start));
        assert!(first.len() < width * height * PIXEL_BYTES / 4);
    }

    #[test]
    fn correction_keeps_black_and_turns_red_warmer() {
        let mut frame = [0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0];
        correct(&mut frame);
        assert_eq!(frame[..6], [0; 6]);
        let red = u16::from_le_bytes([frame[6], frame[7]]);
        assert_eq!(u32::from(red), 0x8000 * 1120 / 1024);
        assert_eq!(frame[8..], [0; 4]);
    }

    #[test]
    fn a_frame_of_the_wrong_size_is_refused() {
        assert!(compress(&[0; 600], 64, 48, 90).is_err());
    }
}
