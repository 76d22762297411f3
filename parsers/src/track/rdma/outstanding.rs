//! Requests that wait for an answer: their packet numbers, and when they were sent.

use std::collections::VecDeque;

use crate::decode::rdma::ahead;

/// Packets that are remembered; the oldest beyond that measure nothing.
const MOST: usize = 1024;

/// One packet.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u32,
    /// None where it was sent again, so that it is unknown which sending is answered (Karn).
    time: Option<i64>,
}

/// Packets in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Outstanding(VecDeque<Sent>);

impl Outstanding {
    /// Takes in a packet with a number ahead of all.
    pub(super) fn push(&mut self, number: u32, time: i64) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        let time = Some(time);
        self.0.push_back(Sent { number, time });
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn place(&self, number: u32) -> Result<usize, usize> {
        self.0
            .binary_search_by(|sent| ahead(sent.number, number).cmp(&0))
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.place(number).is_ok()
    }

    /// Notes that `number` was sent again.
    pub(super) fn note_again(&mut self, number: u32) {
        if let Ok(place) = self.place(number) {
            self.0[place].time = None;
        }
    }

    /// Notes that all up to `number` are answered; returns when that one was sent, if it was sent once.
    pub(super) fn answer(&mut self, number: u32) -> Option<i64> {
        match self.place(number) {
            Ok(place) => self.0.drain(..=place).next_back()?.time,
            Err(place) => {
                self.0.drain(..place);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_is_answered_measures_if_it_was_sent_once() {
        let mut outstanding = Outstanding::default();
        // The numbers wrap around.
        for (number, time) in [(0xff_fffe, 10), (0xff_ffff, 20), (0, 30), (1, 40)] {
            outstanding.push(number, time);
        }
        outstanding.note_again(1);
        assert_eq!(outstanding.answer(0xff_ffff), Some(20));
        assert!(!outstanding.contains(0xff_fffe) && outstanding.contains(0));
        assert_eq!(outstanding.answer(0xff_ffff), None);
        assert_eq!(outstanding.answer(1), None);
        assert!(!outstanding.contains(0));
    }

    #[test]
    fn so_many_are_remembered() {
        let mut outstanding = Outstanding::default();
        (0..2000).for_each(|number| outstanding.push(number, number.into()));
        assert!(!outstanding.contains(2000 - MOST as u32 - 1));
        assert_eq!(
            outstanding.answer(2000 - MOST as u32),
            Some(2000 - MOST as i64)
        );
    }
}
