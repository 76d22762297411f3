//! Finds the objects that have appeared between two images of the same piece of sky.
//!
//! An image is `side` by `side` values of 16 bits, row by row.

pub mod abi;

/// The most by which the second image may be displaced, in pixels each way.
pub const MOST_SHIFT: i32 = 4;

const BACKGROUND: i32 = 1000;
const NOISE: u64 = 200;
/// Brighter than noise can be, fainter than planted objects.
const THRESHOLD: i32 = 1500;
const NOVA: f64 = 6000.0;
const SPREAD: f64 = 1.3; // of light on the sensor, in pixels
const REACH: i32 = 4; // of a star, in pixels
const MARGIN: i32 = MOST_SHIFT + 2 * REACH;
/// The least side of an image: one cell in which something can be planted.
pub const LEAST_SIDE: usize = 64;
const CELL: i32 = 32;

/// A place in the first image.
pub type Place = (i32, i32);

/// Splitmix64: the same images on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn below(&mut self, limit: i32) -> i32 {
        (self.next() % limit as u64) as i32
    }
}

/// What an image pair shows; a function of its number alone.
struct Sky {
    stars: Vec<(Place, f64)>,
    novae: Vec<Place>,
    shift: Place,
}

fn sky(number: u64, side: usize) -> Sky {
    let mut random = Random(number ^ 0xACE5);
    let inner = side as i32 - 2 * MARGIN;
    let place = |random: &mut Random| (MARGIN + random.below(inner), MARGIN + random.below(inner));
    let count = side * side / 1500 + 3;
    let stars = (0..count)
        .map(|_| (place(&mut random), 1500.0 + f64::from(random.below(25_000))))
        .collect();
    // At most one in a cell, so that they do not merge.
    let cells = inner / CELL;
    let mut novae: Vec<Place> = (0..=random.below(3))
        .map(|_| {
            let (column, row) = (random.below(cells), random.below(cells));
            let middle = MARGIN + CELL / 2;
            (middle + column * CELL, middle + row * CELL)
        })
        .collect();
    novae.sort_unstable();
    novae.dedup();
    let mut shift = || random.below(2 * MOST_SHIFT + 1) - MOST_SHIFT;
    let shift = (shift(), shift());
    Sky {
        stars,
        novae,
        shift,
    }
}

/// Returns where something has appeared in the second image of this pair.
pub fn truth(number: u64, side: usize) -> Vec<Place> {
    sky(number, side).novae
}

/// Makes the first image of a pair, or the second: displaced, and with the objects that have appeared.
pub fn paint(number: u64, side: usize, second: bool, image: &mut [u16]) {
    let sky = sky(number, side);
    let mut noise = Random(number << 1 | u64::from(second));
    let mut light = vec![0.0; side * side];
    let (dx, dy) = if second { sky.shift } else { (0, 0) };
    let mut shine = |(x, y): Place, brightness: f64| {
        for row in -REACH..=REACH {
            for column in -REACH..=REACH {
                let distance = f64::from(row * row + column * column);
                let (x, y) = ((x + dx + column) as usize, (y + dy + row) as usize);
                light[y * side + x] += brightness * (-distance / (2.0 * SPREAD * SPREAD)).exp();
            }
        }
    };
    for &(place, brightness) in &sky.stars {
        shine(place, brightness);
    }
    if second {
        for &place in &sky.novae {
            shine(place, NOVA);
        }
    }
    for (pixel, light) in image.iter_mut().zip(&light) {
        let value = f64::from(BACKGROUND) + light + (noise.next() % NOISE) as f64;
        *pixel = value.min(65_535.0) as u16;
    }
}

/// Returns the displacement of the second image: where the brightest pixels of the first fit best.
fn align(first: &[u16], second: &[u16], side: usize) -> Place {
    let border = MOST_SHIFT as usize;
    let mut bright: Vec<(u16, usize)> = (border..side - border)
        .flat_map(|y| (border..side - border).map(move |x| y * side + x))
        .map(|at| (first[at], at))
        .collect();
    let kept = bright.len().min(4096);
    if kept < bright.len() {
        bright.select_nth_unstable_by(kept, |a, b| b.cmp(a));
        bright.truncate(kept);
    }
    let shifts = (-MOST_SHIFT..=MOST_SHIFT)
        .flat_map(|dy| (-MOST_SHIFT..=MOST_SHIFT).map(move |dx| (dx, dy)));
    shifts
        .min_by_key(|&(dx, dy)| {
            let step = dy as isize * side as isize + dx as isize;
            let differs = |&(value, at): &(u16, usize)| {
                let other = second[at.wrapping_add_signed(step)];
                u64::from(value.abs_diff(other))
            };
            bright.iter().map(differs).sum::<u64>()
        })
        .unwrap_or_default()
}

/// Aligns two images, subtracts the first and returns the bright places that remain, sorted.
pub fn search(first: &[u16], second: &[u16], side: usize) -> Vec<Place> {
    let (dx, dy) = align(first, second, side);
    let step = dy as isize * side as isize + dx as isize;
    let border = MOST_SHIFT as usize;
    let inside = border..side - border;
    let mut rest = vec![0_i32; side * side];
    for y in inside.clone() {
        for at in y * side + inside.start..y * side + inside.end {
            rest[at] = i32::from(second[at.wrapping_add_signed(step)]) - i32::from(first[at]);
        }
    }
    let mut found = Vec::new();
    for y in inside.clone() {
        for x in inside.clone() {
            let value = rest[y * side + x];
            if value > THRESHOLD && is_peak(&rest, side, x, y) {
                found.push((x as i32, y as i32));
            }
        }
    }
    found.sort_unstable();
    found
}

fn is_peak(rest: &[i32], side: usize, x: usize, y: usize) -> bool {
    let reach = REACH as usize;
    let at = y * side + x;
    (y - reach..=(y + reach).min(side - 1)).all(|row| {
        (x - reach..=(x + reach).min(side - 1)).all(|column| {
            let other = row * side + column;
            rest[other] < rest[at] || (rest[other] == rest[at] && other >= at)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_planted_is_found_and_nothing_else() {
        for (number, side) in (0..40).map(|number| (number, 64 + 7 * number as usize)) {
            let [first, second] = [false, true].map(|second| {
                let mut image = vec![0; side * side];
                paint(number, side, second, &mut image);
                image
            });
            // Noise may move a peak by a pixel.
            let (found, planted) = (search(&first, &second, side), truth(number, side));
            assert_eq!(found.len(), planted.len(), "pair {number}");
            for a in &planted {
                let near = |b: &Place| a.0.abs_diff(b.0) <= 1 && a.1.abs_diff(b.1) <= 1;
                assert!(found.iter().any(near), "pair {number}");
            }
            assert_eq!(align(&first, &second, side), sky(number, side).shift);
        }
    }
}
