//! Counts one direction's bytes in a slow and simple way, for comparison with the parser's counts.

/// A set of bytes as disjoint ranges in any order.
#[derive(Default)]
struct ByteSet(Vec<(i64, i64)>);

impl ByteSet {
    /// Counts the bytes of the set in `from..to`.
    fn count(&self, from: i64, to: i64) -> i64 {
        let shared = |range: &(i64, i64)| (range.1.min(to) - range.0.max(from)).max(0);
        self.0.iter().map(shared).sum()
    }

    fn add(&mut self, from: i64, to: i64) {
        let (mut from, mut to) = (from, to);
        self.0.retain(|range| {
            let apart = range.1 < from || to < range.0;
            if !apart {
                (from, to) = (from.min(range.0), to.max(range.1));
            }
            apart
        });
        if from < to {
            self.0.push((from, to));
        }
    }
}

/// A segment, with its sequence number unwrapped.
#[derive(Clone, Copy)]
pub struct Segment {
    /// Number of the first byte.
    pub seq: i64,
    /// Bytes of payload.
    pub payload: i64,
    /// Flag bits of the header.
    pub flags: u8,
}

impl Segment {
    /// Returns whether the segment has the flag.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the number after the last byte; SYN and FIN take one each.
    pub fn end(&self) -> i64 {
        self.seq + self.payload + i64::from(self.has(SYN)) + i64::from(self.has(FIN))
    }
}

/// The flag bits.
pub const FIN: u8 = 1;
/// As above.
pub const SYN: u8 = 2;
/// As above.
pub const RST: u8 = 4;
/// As above.
pub const ACK: u8 = 16;

/// The counts of one direction.
#[derive(Default)]
pub struct Side {
    bytes: ByteSet,
    highest_payload: Option<i64>,
    /// Payload came after a FIN or RST, a SYN after other bytes, or a FIN into a hole: which segments are late is
    /// then undefined.
    pub odd: bool,
    /// Counts, named after their columns in `flows`.
    pub packets: i64,
    /// As above.
    pub payload_bytes: i64,
    /// As above.
    pub rst_packets: i64,
    /// As above.
    pub syn_packets: i64,
    /// As above.
    pub fin_packets: i64,
    /// As above.
    pub retransmitted_packets: i64,
    /// As above.
    pub retransmitted_bytes: i64,
    /// As above.
    pub out_of_order_packets: i64,
}

impl Side {
    /// Counts `segment`. Bytes of a RST are no data.
    pub fn count(&mut self, segment: Segment) {
        self.packets += 1;
        self.payload_bytes += segment.payload;
        let from = segment.seq + i64::from(segment.has(SYN));
        // The first payload is not late, whatever empty segments came before it.
        let highest = self.highest_payload.unwrap_or(from);
        let ended = self.fin_packets + self.rst_packets > 0;
        self.odd |= segment.payload > 0 && ended || segment.has(SYN) && !self.bytes.0.is_empty();
        let behind = self.bytes.0.iter().map(|range| range.1).max();
        self.odd |= segment.has(FIN) && behind.is_some_and(|behind| segment.end() < behind);
        if segment.has(RST) {
            self.rst_packets += 1;
            return;
        }
        self.syn_packets += i64::from(segment.has(SYN));
        self.fin_packets += i64::from(segment.has(FIN));
        let repeated = self.bytes.count(segment.seq, segment.end());
        self.retransmitted_packets += i64::from(repeated > 0);
        self.retransmitted_bytes += repeated;
        let to = from + segment.payload;
        if segment.payload > 0 {
            // Late bytes are below the highest byte and the highest payload byte, because a FIN may overtake data.
            let below = to.min(highest).min(behind.unwrap_or(from));
            let late = (below - from) - self.bytes.count(from, below);
            self.out_of_order_packets += i64::from(below > from && late > 0);
            self.highest_payload = Some(highest.max(to));
        }
        self.bytes.add(segment.seq, segment.end());
    }
}
