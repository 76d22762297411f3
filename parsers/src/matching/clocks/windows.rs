//! Differences of the clocks of two points, window of time by window of time.

use super::hull::{Bottom, Point};

/// The first length of a window, as a power of two in ns.
pub(super) const FIRST_SHIFT: u32 = 20;
/// Windows of one pair; where there are more, they become twice as long.
const PER_PAIR: usize = 512;

/// Packets of one window.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    /// Its number, on the grid of all pairs.
    pub number: i64,
    /// Time at the second point less time at the first, of packets to the second: its clock is ahead by less.
    pub out: Bottom,
    /// Time at the first less time at the second, of packets to the first.
    pub back: Bottom,
}

/// All windows of a pair that have a packet, in order.
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

    /// Makes one window of each two that lie side by side.
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
