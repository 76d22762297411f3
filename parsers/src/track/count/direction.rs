//! What is counted for one direction of one connection, whatever its protocol.

use super::gaps::Gaps;
use super::marks::Marks;
use crate::decode::segment::Segment;
use crate::track::tcp::Tcp;

/// Counts of one direction.
#[derive(Debug)]
pub(crate) struct Direction {
    /// Time of the last packet in the order of the capture, which need not be the latest.
    last_time: i64,
    pub earliest: i64,
    /// Length of the longest IP packet.
    pub largest_packet: u32,
    pub packets: u64,
    pub wire_bytes: u64,
    pub ip_bytes: u64,
    pub payload_bytes: u64,
    pub gaps: Gaps,
    /// Counts that are zero in most directions: no memory is taken for them there.
    rare: Option<Box<Rare>>,
    pub tcp: Tcp,
}

#[derive(Debug)]
struct Rare {
    /// How often time went back.
    regressions: u64,
    /// Latest time before it went back.
    latest: i64,
    marks: Marks,
    /// Packets that the capturing host sent, according to the file.
    outgoing: u64,
}

/// Returns the nanoseconds from `earlier` to `later`. Unlike with [`since`](crate::decode::segment::since), the sign
/// shows whether time went back even over centuries.
#[inline]
fn signed_since(later: i64, earlier: i64) -> i64 {
    #[cold]
    fn centuries(forward: bool) -> i64 {
        if forward { i64::MAX } else { i64::MIN }
    }
    later
        .checked_sub(earlier)
        .unwrap_or_else(|| centuries(later > earlier))
}

impl Direction {
    /// Returns a direction of which no packet was seen; perhaps acknowledgements of it were.
    pub(crate) fn unheard() -> Self {
        Self {
            last_time: 0,
            earliest: i64::MAX,
            largest_packet: 0,
            packets: 0,
            wire_bytes: 0,
            ip_bytes: 0,
            payload_bytes: 0,
            gaps: Gaps::default(),
            rare: None,
            tcp: Tcp::default(),
        }
    }

    /// Counts `segment`; returns the gap to the one before it.
    #[inline]
    pub(crate) fn count(&mut self, segment: &Segment, count_gaps: bool) -> Option<i64> {
        let gap = (self.packets > 0).then(|| signed_since(segment.time, self.last_time));
        if let Some(gap) = gap {
            if count_gaps {
                self.gaps.count(gap);
            }
            if gap < 0 {
                self.went_back(segment.time);
            }
        } else {
            self.earliest = segment.time;
        }
        self.last_time = segment.time;
        self.packets += 1;
        // A branch, because few packets are longer than all before them.
        let ip_bytes = segment.ip_bytes();
        if ip_bytes > self.largest_packet {
            self.largest_packet = ip_bytes;
        }
        self.wire_bytes += u64::from(segment.wire);
        self.ip_bytes += u64::from(ip_bytes);
        self.payload_bytes += u64::from(segment.payload);
        if segment.tells_of_marks() {
            let rare = self.rarely();
            rare.marks.count(segment);
            rare.outgoing += u64::from(segment.is_outgoing());
        }
        gap
    }

    fn rarely(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| {
            Box::new(Rare {
                regressions: 0,
                latest: i64::MIN,
                marks: Marks::default(),
                outgoing: 0,
            })
        })
    }

    #[cold]
    fn went_back(&mut self, time: i64) {
        self.earliest = self.earliest.min(time);
        let last = self.last_time;
        let rare = self.rarely();
        rare.regressions += 1;
        rare.latest = rare.latest.max(last);
    }

    /// Prefetches what this points to; this itself must be in the cache.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        self.gaps.look_ahead();
        self.tcp.look_ahead();
    }

    pub(crate) fn latest(&self) -> i64 {
        let before = self.rare.as_ref().map_or(i64::MIN, |it| it.latest);
        before.max(self.last_time)
    }

    pub(crate) fn time_regressions(&self) -> u64 {
        self.rare.as_ref().map_or(0, |it| it.regressions)
    }

    pub(crate) fn outgoing_packets(&self) -> u64 {
        self.rare.as_ref().map_or(0, |it| it.outgoing)
    }

    pub(crate) fn marks(&self) -> Marks {
        self.rare
            .as_ref()
            .map_or_else(Marks::default, |it| it.marks)
    }
}
