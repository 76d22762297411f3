//! Differences of the clocks of two points, in windows of time.

use super::hull::{Bottom, Point};

/// The initial length of a window, as a power of two in ns.
pub(super) const FIRST_SHIFT: u32 = 20;
/// Most windows of one pair; if there are more, windows become twice as long.
const PER_PAIR: usize = 512;

/// Packets of one window.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// Its number, on the grid of all pairs.
    pub number: i64,
    /// Of packets to the second point: time there minus time at the first. Its clock is ahead by less.
    pub out: Bottom,
    /// Of packets to the first point: time there minus time at the second.
    pub back: Bottom,
}

/// All windows of a pair that have packets, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    all: Vec<Window>,
}

impl Windows {
    /// Notes a packet. Times are those of the second point's clock.
    pub(super) fn add(&mut self, shift: u32, is_out: bool, point: Point) {
        let number = point.0 >> shift;
        let place = match self.all.last() {
            Some(last) if last.number == number => self.all.len() - 1,
            _ => match self
                .all
                .binary_search_by_key(&number, |window| window.number)
            {
                Ok(place) => place,
                Err(place) => {
                    self.all.insert(
                        place,
                        Window {
                            number,
                            ..Window::default()
                        },
                    );
                    place
                }
            },
        };
        let window = &mut self.all[place];
        if is_out {
            window.out.add(point);
        } else {
            window.back.add(point);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.all.len() > PER_PAIR
    }

    /// Merges each two adjacent windows.
    pub(super) fn coarsen(&mut self) {
        let mut merged: Vec<Window> = Vec::with_capacity(self.all.len());
        for mut window in self.all.drain(..) {
            window.number >>= 1;
            match merged.last_mut() {
                Some(last) if last.number == window.number => {
                    last.out.extend(&window.out);
                    last.back.extend(&window.back);
                }
                _ => merged.push(window),
            }
        }
        self.all = merged;
    }

    pub(super) fn all(&self) -> &[Window] {
        &self.all
    }
}
