//! Assigns fragments to the packets that they are parts of.
//!
//! Only the first part has ports. A later part goes to the connection of the first one, by addresses and
//! identification, until all parts are there: then the identification is free for another packet (RFC 8200 4.5, RFC
//! 4963).

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::decode::segment::Segment;
use crate::decode::{Key, Part, TCP};

/// How long a fragment may come after the first one of its packet, RFC 8200 4.5.
const REASSEMBLY_NS: i64 = 60_000_000_000;
/// How long copies of a packet's parts may come after all of them are there: a mirror repeats them at once.
const COPIES_NS: i64 = 10_000_000;
/// Packets whose parts are remembered, and early parts, at most: a bound on memory.
const MOST: usize = 1 << 16;
/// Runs of bytes that are remembered of each packet.
const RUNS: usize = 4;

/// The connection that a part belongs to, and the side that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    pub connection: u32,
    pub from_high: bool,
}

/// A fragment that came before the first one, with the key of that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Early {
    pub key: Key,
    pub vlan: u16,
    pub from_high: bool,
}

/// Early parts by the packet they belong to and their time.
pub(crate) type EarlyParts = HashMap<(u64, i64), Early, RandomState>;

/// What is known of the packet that a fragment is a part of.
#[derive(Debug, Default)]
struct Datagram {
    /// Where its first part went; none before that.
    first: Option<(Joined, Key)>,
    /// Time of the first part, or of the earliest one before it.
    since: i64,
    /// Length of all parts, once the last one is there.
    end: Option<u32>,
    /// The bytes that were captured, in runs.
    runs: [(u32, u32); RUNS],
    /// When the last missing part came.
    whole_since: Option<i64>,
    /// Times of the parts before the first one.
    early: Vec<i64>,
}

/// Packets whose parts are remembered.
pub(crate) struct Fragments {
    datagrams: HashMap<u64, Datagram, RandomState>,
    /// Early parts whose first one came, for a second reading.
    pub early: EarlyParts,
    /// The same of an earlier reading.
    known: EarlyParts,
}

impl Datagram {
    fn begin(time: i64) -> Self {
        Self {
            since: time,
            ..Self::default()
        }
    }

    fn is_recent(&self, time: i64) -> bool {
        time.abs_diff(self.since) <= REASSEMBLY_NS as u64
    }

    /// Returns whether a part that comes at `time` may be one of this packet.
    fn may_have(&self, part: Part, time: i64) -> bool {
        let (begin, end) = part.range();
        let copied = self.whole_since.is_none_or(|since| {
            let again = self.runs.iter().any(|run| run.0 <= begin && end <= run.1);
            again && time.abs_diff(since) <= COPIES_NS as u64
        });
        let fits = self
            .end
            .is_none_or(|all| if part.more() { end <= all } else { end == all });
        self.is_recent(time) && copied && fits
    }

    /// Takes in a part.
    fn take(&mut self, part: Part, time: i64) {
        let (mut begin, mut end) = part.range();
        if !part.more() {
            self.end.get_or_insert(end);
        }
        let mut runs = self.runs.into_iter().filter(|run| run.0 < run.1);
        let mut kept = [(0, 0); RUNS];
        let mut count = 0;
        for run in runs.by_ref() {
            if run.0 <= end && begin <= run.1 {
                (begin, end) = (begin.min(run.0), end.max(run.1));
            } else if count < RUNS - 1 {
                kept[count] = run;
                count += 1;
            }
        }
        kept[count] = (begin, end);
        self.runs = kept;
        if self.end.is_some_and(|all| begin == 0 && end >= all) {
            self.whole_since.get_or_insert(time);
        }
    }
}

impl Fragments {
    /// `known`: early parts of an earlier reading.
    pub(super) fn new(hashing: &RandomState, known: EarlyParts) -> Self {
        Self {
            datagrams: HashMap::with_hasher(hashing.clone()),
            early: HashMap::with_hasher(hashing.clone()),
            known,
        }
    }

    /// Notes a first part of the packet `datagram`, which went to a connection.
    pub(super) fn begin(
        &mut self,
        (datagram, part): (u64, Part),
        (joined, key, vlan): (Joined, Key, u16),
        time: i64,
    ) {
        self.make_room(time);
        let entry = self.datagrams.entry(datagram).or_default();
        let is_same_packet = match &entry.first {
            // A copy of the first part.
            Some((before, _)) => *before == joined && entry.may_have(part, time),
            None => entry.may_have(part, time) && !entry.early.is_empty(),
        };
        if !is_same_packet {
            *entry = Datagram::begin(time);
        }
        for time in std::mem::take(&mut entry.early) {
            if self.early.len() < MOST {
                let from_high = joined.from_high;
                let early = Early {
                    key,
                    vlan,
                    from_high,
                };
                self.early.insert((datagram, time), early);
            }
        }
        entry.first.get_or_insert((joined, key));
        entry.take(part, time);
    }

    /// Notes a later part of the packet `datagram`; returns where the first one went, if that is known.
    pub(super) fn join(
        &mut self,
        datagram: u64,
        part: Part,
        segment: &mut Segment,
    ) -> Option<Joined> {
        let time = segment.time;
        if let Some(entry) = self.datagrams.get_mut(&datagram)
            && entry.may_have(part, time)
        {
            entry.take(part, time);
            let Some((joined, key)) = entry.first else {
                entry.note_early(time);
                return None;
            };
            segment.join_fragment(key.protocol == TCP, joined.from_high);
            return Some(joined);
        }
        self.make_room(time);
        let mut entry = Datagram::begin(time);
        entry.take(part, time);
        entry.note_early(time);
        self.datagrams.insert(datagram, entry);
        None
    }

    /// Returns what an earlier reading found of an early part.
    pub(super) fn known(&self, datagram: u64, time: i64) -> Option<Early> {
        self.known.get(&(datagram, time)).copied()
    }

    fn make_room(&mut self, time: i64) {
        if self.datagrams.len() < MOST {
            return;
        }
        self.datagrams
            .retain(|_, it| it.is_recent(time) && it.whole_since.is_none());
        // At least half of the room: otherwise the next packets would scan all of them again.
        if self.datagrams.len() > MOST / 2 {
            self.datagrams.clear();
        }
    }
}

impl Datagram {
    /// Parts before the first one that are remembered: those of the longest packet over the smallest usual MTU.
    const MOST_EARLY: usize = 64;

    fn note_early(&mut self, time: i64) {
        if self.early.len() < Self::MOST_EARLY {
            self.early.push(time);
        }
    }
}
