//! TCP segments that network interfaces cut or merge between two captures, matched by the bytes that they carry.
//!
//! A sender's interface cuts segments of up to 64 KiB (TSO), a receiver's interface merges segments that arrive (GRO).
//! The parts of a segment keep its timestamps, RFC 7323, and have consecutive IP identifications; retransmissions have
//! new ones.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::sighting::{Numbers, Sighting};
use super::window::Side;
use crate::decode::flag;

/// Most waiting segments of the kinds that are searched one by one.
const MOST_WAITING: usize = 1 << 10;
/// Most ranges that one segment may be divided into.
const MOST_RANGES: usize = 64;
/// Payload of the smallest and of the largest part that an interface makes.
const PART_BYTES: (u64, u64) = (536, 9_000);

/// Positions of bytes in their stream; the end is exclusive.
type Range = (u64, u64);

/// A segment of one capture.
#[derive(Debug)]
struct Segment {
    /// Its place in the window.
    place: u64,
    whole: Range,
    /// Ranges of its bytes that have not been found in the other capture.
    rest: Vec<Range>,
    tsval: Option<u32>,
    ident: u16,
    /// Another segment in flight may have carried the bytes that arrived.
    is_ambiguous: bool,
    /// Some of its bytes are in the other capture, in a segment that cannot be a part of it.
    is_doubtful: bool,
    /// It arrived after all its bytes had already arrived as parts of the same sent segment.
    is_copy: bool,
}

impl Segment {
    /// Returns whether timestamps or identifications were compared, so that `part`, if this may contain it, belongs to
    /// no other segment.
    fn is_like(&self, part: &Self) -> bool {
        (self.tsval.is_some() && part.tsval.is_some()) || (self.ident != 0 && part.ident != 0)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.rest
            .iter()
            .any(|one| other.rest.iter().any(|two| one.0 < two.1 && two.0 < one.1))
    }

    /// Returns whether `part`, which shares bytes with this segment, may have been cut from it or merged with it.
    fn may_contain(&self, part: &Self) -> bool {
        if let (Some(one), Some(two)) = (self.tsval, part.tsval) {
            return one == two;
        }
        if self.ident == 0 || part.ident == 0 || self.ident == part.ident {
            return true;
        }
        let (first, last) = if self.whole.0 <= part.whole.0 {
            (self, part)
        } else {
            (part, self)
        };
        let bytes = last.whole.0 - first.whole.0;
        let count = u64::from(last.ident.wrapping_sub(first.ident));
        (bytes.div_ceil(PART_BYTES.1)..=bytes.div_ceil(PART_BYTES.0)).contains(&count)
    }

    /// Removes the bytes that both segments still lack from both.
    fn share(&mut self, other: &mut Self) {
        let mut common = Vec::new();
        for one in &self.rest {
            for two in &other.rest {
                let both = (one.0.max(two.0), one.1.min(two.1));
                if both.0 < both.1 {
                    common.push(both);
                }
            }
        }
        for range in common {
            self.subtract(range);
            other.subtract(range);
        }
    }

    fn subtract(&mut self, taken: Range) {
        if self.rest.len() >= MOST_RANGES {
            self.is_doubtful = true;
            return;
        }
        self.rest = subtract(&self.rest, taken);
    }
}

/// A sent segment and a received one that carry the same bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meeting {
    /// Places in the window.
    pub sent: u64,
    pub received: u64,
    /// Whether all bytes of the sent segment have arrived, and whether all bytes of the received one were sent.
    pub is_sent_whole: bool,
    pub is_received_whole: bool,
    /// Whether the received segment begins with the first byte of the sent one, and the sent one is the only candidate.
    pub is_first_part: bool,
}

/// The result of matching one segment, when it leaves the window.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Sequence numbers of the bytes that were not found: first and count.
    pub missing: Vec<(u32, u32)>,
    /// It is unknown whether this segment or another one arrived.
    pub is_ambiguous: bool,
    pub is_doubtful: bool,
    pub is_copy: bool,
}

/// One direction of a TCP connection.
#[derive(Debug)]
struct Direction {
    /// The position after the highest byte of either capture.
    last: u64,
    /// Sent segments whose bytes all come after those of earlier ones.
    fresh: VecDeque<Segment>,
    /// Other sent segments.
    again: VecDeque<Segment>,
    /// Received segments with bytes that have not been found.
    received: VecDeque<Segment>,
}

impl Direction {
    fn new(seq: u32) -> Self {
        Self {
            last: 1 << 40 | u64::from(seq),
            fresh: VecDeque::new(),
            again: VecDeque::new(),
            received: VecDeque::new(),
        }
    }

    fn segment(&mut self, packet: &Sighting, tcp: Numbers, place: u64) -> Segment {
        let seq = tcp.seq.wrapping_add(u32::from(tcp.has(flag::SYN)));
        let step = seq.wrapping_sub(self.last as u32) as i32;
        let begin = self.last.saturating_add_signed(i64::from(step));
        let whole = (begin, begin + u64::from(packet.payload));
        self.last = self.last.max(whole.1);
        Segment {
            place,
            whole,
            rest: vec![whole],
            tsval: packet.tsval,
            ident: packet.ident,
            is_ambiguous: false,
            is_doubtful: false,
            is_copy: false,
        }
    }

    fn send(&mut self, mut sent: Segment, meetings: &mut Vec<Meeting>) {
        for received in &mut self.received {
            if sent.overlaps(received) && sent.may_contain(received) {
                meetings.push(meet(&mut sent, received, true));
            }
        }
        self.received.retain(|received| !received.rest.is_empty());
        let is_fresh = self
            .fresh
            .back()
            .is_none_or(|last| last.whole.1 <= sent.whole.0);
        if is_fresh {
            self.fresh.push_back(sent);
        } else {
            push_bounded(&mut self.again, sent);
        }
    }

    fn receive(&mut self, mut received: Segment, meetings: &mut Vec<Meeting>) {
        let (mut candidates, others): (Vec<_>, Vec<_>) = self
            .with_bytes_of(received.whole)
            .into_iter()
            .partition(|sent| sent.may_contain(&received));
        candidates.sort_by_key(|sent| sent.place);
        mark_ambiguous(&mut candidates);
        for sent in &mut candidates {
            if sent.overlaps(&received) {
                let is_only = !sent.is_ambiguous;
                meetings.push(meet(sent, &mut received, is_only));
            }
        }
        if received.rest.is_empty() {
            return;
        }
        let are_found = |range: &Range| subtract_all(*range, &candidates).is_empty();
        if received.rest.iter().all(are_found) {
            received.is_copy = candidates.iter().all(|sent| sent.is_like(&received));
            received.is_ambiguous = !received.is_copy;
        } else {
            for sent in others {
                if sent.overlaps(&received) {
                    sent.is_doubtful = true;
                    received.is_doubtful = true;
                }
            }
        }
        push_bounded(&mut self.received, received);
    }

    /// Returns sent segments that share bytes with a range, found or not.
    fn with_bytes_of(&mut self, (begin, end): Range) -> Vec<&mut Segment> {
        let from = self.fresh.partition_point(|sent| sent.whole.1 <= begin);
        let to = self.fresh.partition_point(|sent| sent.whole.0 < end);
        let fresh = self.fresh.range_mut(from..to.max(from));
        let again = self.again.iter_mut();
        fresh
            .chain(again.filter(|sent| sent.whole.0 < end && begin < sent.whole.1))
            .collect()
    }

    fn leave(&mut self, side: Side, place: u64) -> Option<Segment> {
        match side {
            Side::Sent => {
                take_place(&mut self.fresh, place).or_else(|| take_place(&mut self.again, place))
            }
            Side::Received => take_place(&mut self.received, place),
        }
    }

    /// Returns whether another sent segment that did not arrive completely may have arrived instead of `sent`.
    fn has_rival(&self, sent: &Segment) -> bool {
        let (begin, end) = sent.whole;
        self.fresh.iter().chain(&self.again).any(|other| {
            let is_open = other.is_ambiguous && !other.rest.is_empty();
            is_open && other.whole.0 < end && begin < other.whole.1
        })
    }

    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.again.is_empty() && self.received.is_empty()
    }
}

/// All directions with segments in the window.
#[derive(Debug, Default)]
pub(super) struct Resegmented {
    directions: HashMap<u64, Direction, RandomState>,
    meetings: Vec<Meeting>,
}

impl Resegmented {
    /// Takes a segment with payload at `place` of the window; returns its meetings with segments of the other side.
    pub(super) fn take(
        &mut self,
        packet: &Sighting,
        tcp: Numbers,
        side: Side,
        place: u64,
    ) -> &[Meeting] {
        let direction = self
            .directions
            .entry(packet.direction)
            .or_insert_with(|| Direction::new(tcp.seq));
        let segment = direction.segment(packet, tcp, place);
        self.meetings.clear();
        match side {
            Side::Sent => direction.send(segment, &mut self.meetings),
            Side::Received => direction.receive(segment, &mut self.meetings),
        }
        &self.meetings
    }

    /// Removes the segment at `place`, which leaves the window; returns none if it is not stored, for example because
    /// too many waited.
    pub(super) fn leave(&mut self, direction: u64, side: Side, place: u64) -> Option<Found> {
        let all = self.directions.get_mut(&direction)?;
        let segment = all.leave(side, place);
        let found = segment.map(|segment| {
            let is_open = !segment.rest.is_empty();
            let missing = segment.rest.iter();
            Found {
                missing: missing
                    .map(|&(begin, end)| (begin as u32, (end - begin) as u32))
                    .collect(),
                is_ambiguous: segment.is_ambiguous && (is_open || all.has_rival(&segment)),
                is_doubtful: segment.is_doubtful,
                is_copy: segment.is_copy,
            }
        });
        if all.is_empty() {
            self.directions.remove(&direction);
        }
        found
    }
}

fn meet(sent: &mut Segment, received: &mut Segment, is_only: bool) -> Meeting {
    sent.share(received);
    Meeting {
        sent: sent.place,
        received: received.place,
        is_sent_whole: sent.rest.is_empty(),
        is_received_whole: received.rest.is_empty(),
        is_first_part: is_only && received.whole.0 == sent.whole.0,
    }
}

/// Marks segments that lack the same bytes: what arrives may belong to either.
fn mark_ambiguous(candidates: &mut [&mut Segment]) {
    for place in 1..candidates.len() {
        let (before, after) = candidates.split_at_mut(place);
        let Some(one) = after.first_mut() else {
            return;
        };
        for other in before {
            if one.overlaps(other) {
                one.is_ambiguous = true;
                other.is_ambiguous = true;
            }
        }
    }
}

/// Returns the parts of a range that none of the segments carries.
fn subtract_all(range: Range, segments: &[&mut Segment]) -> Vec<Range> {
    segments
        .iter()
        .fold(vec![range], |rest, segment| subtract(&rest, segment.whole))
}

fn subtract(ranges: &[Range], taken: Range) -> Vec<Range> {
    let parts = ranges.iter().flat_map(|&(begin, end)| {
        [
            (begin, end.min(taken.0.max(begin))),
            (begin.max(taken.1.min(end)), end),
        ]
    });
    parts.filter(|&(begin, end)| begin < end).collect()
}

fn push_bounded(segments: &mut VecDeque<Segment>, segment: Segment) {
    if segments.len() == MOST_WAITING {
        segments.pop_front();
    }
    segments.push_back(segment);
}

/// Removes the segment at `place`: nearly always the first, since segments leave the window in the order in which they
/// entered.
fn take_place(segments: &mut VecDeque<Segment>, place: u64) -> Option<Segment> {
    let at = segments.binary_search_by_key(&place, |segment| segment.place);
    segments.remove(at.ok()?)
}
