//! The fast paths for the most frequent segments. They have no rules of their own: they skip what cannot matter and call
//! the same functions as the general path.
//!
//! The first is for a segment with ACK, without SYN, FIN and RST, with the next bytes in order or none, and an
//! acknowledgement of data that the other side sent. The second is for bursts: full segments one after the other, as a
//! large write leaves a host, of which only time and number change.

use super::messages::ended::Ended;
use super::sender::{Pending, Sender};
use super::sending::Data;
use super::{AckContext, STARTED, Tcp, UNKNOWN};
use crate::decode::segment::Segment;

/// With more bytes outstanding, a number could be an earlier one.
const LONGEST_FLIGHT: u64 = 1 << 31;

impl Tcp {
    /// Takes in `segment` of this side, on both sides, if it is of the first kind; returns whether it is.
    #[inline]
    pub(crate) fn goes_on(
        &mut self,
        peer: &mut Self,
        segment: &Segment,
        ended: &mut Ended<'_>,
    ) -> bool {
        let payload = i64::from(segment.payload);
        let outstanding = peer.end.wrapping_sub(peer.una) as u64;
        let acknowledges = u64::from(segment.ack.wrapping_sub(peer.una as u32));
        let usual = segment.only_acknowledges()
            && segment.window != 0
            && self.bits & peer.bits & STARTED != 0
            && segment.seq == self.end as u32
            && self.una <= self.end
            && peer.una != UNKNOWN
            && outstanding < LONGEST_FLIGHT
            && acknowledges <= outstanding;
        // A single byte may be a window probe.
        let fits = payload == 0 || payload > 1 && self.sender.is_some();
        let (from, to) = (self.end, self.end + payload);
        if !usual || !fits || payload > 0 && !self.covered.extend(from, to) {
            return false;
        }
        let ack = peer.una + acknowledges as i64;
        let all = acknowledges == outstanding;
        if acknowledges > 0 {
            let sent = peer.advance(segment, ack);
            peer.measure(sent, segment.time);
        }
        peer.heard(segment, ack, self.window_bytes(segment, Some(peer)), all);
        self.note_window(segment, acknowledges == 0 && outstanding > 0);
        if payload > 0 {
            (self.end, self.payload_end) = (to, to);
            self.in_order(peer, segment, from, all, ended);
        }
        true
    }

    /// Takes in the payload of `segment`, which begins at `from`, after all earlier payload.
    #[inline]
    fn in_order(
        &mut self,
        peer: &Self,
        segment: &Segment,
        from: i64,
        all: bool,
        ended: &mut Ended<'_>,
    ) {
        let (una, to, time) = (self.una, self.end, segment.time);
        if let Some(sender) = &mut self.sender {
            sender.wait(una, Pending { from, to, time });
        }
        let context = AckContext {
            all,
            ..peer.known()
        };
        let data = Data {
            probe: false,
            repeated: 0,
            late: false,
            idle: una >= from,
            options_bytes: segment.options_bytes(),
        };
        self.data(segment, &context, &data, ended);
    }

    /// Takes in the first of the segments at `following` as long as they only continue the burst of `before`, which
    /// [`Self::goes_on`] took in just now; returns how many.
    #[inline(never)] // so that the fast path stays short
    pub(crate) fn take_burst(
        &mut self,
        peer: &mut Self,
        before: &Segment,
        segments: &[Segment],
        following: &[u32],
    ) -> usize {
        let idle = self.una == UNKNOWN || self.una >= self.end;
        let edge = (self.edge != UNKNOWN).then_some(self.edge);
        let Some(sender) = &mut self.sender else {
            return 0;
        };
        let Sender {
            message, limits, ..
        } = &mut **sender;
        if idle || !message.is_full(before.payload, before.options_bytes().into()) {
            return 0;
        }
        let following = following
            .iter()
            .map(|&position| &segments[position as usize]);
        let payload = i64::from(before.payload);
        let begin = self.end;
        let mut end = begin;
        let mut count = 0;
        for segment in following.clone() {
            let time = segment.time;
            if !segment.goes_on(before, end as u32) || limits.waits(time) {
                break;
            }
            message.go_on(time, before.payload);
            end += payload;
            let room = edge.map(|edge| edge.wrapping_sub(end));
            limits.send(time, room, before.payload);
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        self.covered.extend(begin, end);
        (self.end, self.payload_end) = (end, end);
        let (flight, room) = (self.flight(end), self.room(end));
        let burst = following.take(count);
        if peer.una == peer.end
            && let Some(other) = &mut peer.sender
        {
            // Each segment answers all that the other side sent.
            burst
                .clone()
                .for_each(|segment| other.limits.answered(segment.time));
        }
        let Some(sender) = &mut self.sender else {
            return count;
        };
        sender.greatest_flight = sender.greatest_flight.max(flight);
        sender.limits.add((end - begin) as u32, flight, room, end);
        sender.message.add(count as u32, (end - begin) as u64);
        let mut from = begin;
        let sent = burst.map(|segment| {
            let to = from + payload;
            Pending {
                from: std::mem::replace(&mut from, to),
                to,
                time: segment.time,
            }
        });
        let room = sender.room(self.una);
        sender.pending.extend(sent.take(room));
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::{Packet, TcpOptions, flag};
    use crate::records::Record;
    use crate::track::tcp::messages::ended::EndedRows;

    /// A segment of one of two sides: mostly the next bytes, mostly all acknowledged.
    #[derive(Debug, Clone)]
    struct Step {
        high: bool,
        flags: u16,
        payload: u32,
        /// Added to the next number, and to the number that is acknowledged.
        off: (i32, i32),
        window: u16,
        sacked: bool,
        wait_ns: i64,
        /// Length of options without information.
        options: u8,
        /// How often it is sent.
        times: u8,
    }

    fn step() -> impl Strategy<Value = Step> {
        let payload = prop_oneof![2 => Just(0), 3 => Just(1448), 1 => 0_u32..3000, 1 => Just(1)];
        let off =
            || prop_oneof![12 => Just(0), 1 => Just(-1448), 1 => Just(1448), 2 => -3000_i32..3000];
        let flags = prop_oneof![
            14 => Just(flag::ACK),
            6 => Just(flag::ACK | flag::PSH),
            1 => Just(flag::FIN | flag::ACK),
            1 => 0_u16..0x200,
        ];
        let window = prop_oneof![6 => Just(500), 1 => Just(0), 2 => any::<u16>()];
        let wait = prop_oneof![4 => 0_i64..50_000, 2 => 0_i64..40_000_000, 1 => -5_000_i64..0];
        let options = prop_oneof![1 => Just(0), 3 => Just(12), 1 => Just(8)];
        let times = prop_oneof![4 => Just(1), 1 => 2_u8..12];
        (
            any::<bool>(),
            flags,
            payload,
            (off(), off()),
            window,
            prop::bool::weighted(0.1),
            wait,
            options,
            times,
        )
            .prop_map(
                |(high, flags, payload, off, window, sacked, wait_ns, options, times)| Step {
                    high,
                    flags,
                    payload,
                    off,
                    window,
                    sacked,
                    wait_ns,
                    options,
                    times,
                },
            )
    }

    /// Returns the segments of steps, with their options, after a handshake or without one.
    fn segments(steps: &[Step], handshake: bool, isn: u32) -> Vec<(Segment, TcpOptions)> {
        let mut next = [isn, isn.wrapping_mul(7)];
        let mut time = 1_000_000_000;
        let syn = |high: bool| Step {
            high,
            flags: flag::SYN | if high { flag::ACK } else { 0 },
            payload: 0,
            off: (0, 0),
            window: 65_000,
            sacked: false,
            wait_ns: 1000,
            options: 0,
            times: 1,
        };
        let opening = [syn(false), syn(true)];
        let opening = if handshake { &opening[..] } else { &[] };
        let mut found = Vec::new();
        let steps = opening.iter().chain(steps);
        let steps = steps.flat_map(|step| std::iter::repeat_n(step, usize::from(step.times)));
        for step in steps {
            let (own, peer) = (usize::from(step.high), usize::from(!step.high));
            time += step.wait_ns;
            let seq = next[own].wrapping_add_signed(step.off.0);
            let ack = next[peer].wrapping_add_signed(step.off.1);
            let takes = step.payload + u32::from(step.flags & (flag::SYN | flag::FIN) != 0);
            let behind = seq.wrapping_add(takes);
            if behind.wrapping_sub(next[own]) < 1 << 31 {
                next[own] = behind;
            }
            let opens = step.flags & flag::SYN != 0;
            let sacks = [(ack.wrapping_add(1448), next[peer]), (0, 0), (0, 0), (0, 0)];
            let packet = Packet {
                tcp: true,
                from_high: step.high,
                tcp_flags: step.flags,
                seq,
                ack,
                window: step.window,
                payload: step.payload,
                options: TcpOptions {
                    bytes: if opens || step.sacked {
                        20
                    } else {
                        step.options
                    },
                    mss: opens.then_some(1460),
                    window_scale: opens.then_some(7),
                    sack_permitted: opens,
                    stamped: false,
                    sack_count: u8::from(step.sacked),
                    sacks,
                },
                ..Packet::default()
            };
            let record = Record {
                time,
                is_timed: true,
                is_outgoing: false,
                wire: 1500,
                captured: 96,
                interface: 0,
                at: 0,
                data: 0,
            };
            found.push((Segment::new(&record, &packet), packet.options));
        }
        found
    }

    proptest! {
        #[test]
        fn the_short_ways_count_as_the_long_one(
            steps in prop::collection::vec(step(), 1..120),
            handshake in any::<bool>(),
            isn in any::<u32>(),
        ) {
            let mut sides = [[Tcp::default(), Tcp::default()], [Tcp::default(), Tcp::default()]];
            let mut rows = [EndedRows::default(), EndedRows::default()];
            let (segments, options): (Vec<_>, Vec<_>) = segments(&steps, handshake, isn).into_iter().unzip();
            let positions: Vec<u32> = (0..segments.len() as u32).collect();
            for (long, sides) in sides.iter_mut().enumerate() {
                let mut next = 0;
                while let Some(segment) = segments.get(next) {
                    let [low, high] = &mut *sides;
                    let (own, peer) = if segment.is_from_high() { (high, low) } else { (low, high) };
                    let rows = Some(&mut rows[long]);
                    let mut ended = Ended { connection: 0, position: 0, backward: segment.is_from_high(), rows };
                    let options = &options[next];
                    next += 1;
                    if long == 1 || !own.goes_on(peer, segment, &mut ended) {
                        own.take(Some(peer), segment, options, &mut ended);
                    } else if segment.payload > 0 {
                        next += own.take_burst(peer, segment, &segments, &positions[next..]);
                    }
                }
            }
            prop_assert_eq!(format!("{:?}", sides[0]), format!("{:?}", sides[1]));
            let [short, long] = rows;
            prop_assert_eq!(short, long);
        }
    }
}
