//! Counts the TCP segments of one direction, and the other side's acknowledgements of them, in sequence space.
//!
//! Sequence numbers are unwrapped to 64 bits, so that nothing here knows about wrap-around. Every count is
//! about bytes seen at the capture point, never about causes: a segment *repeats* a byte or *fills a hole*.

mod acceptance;
mod acks;
mod fast;
pub(crate) mod limits;
pub(crate) mod messages;
mod ranges;
pub(crate) mod sender;
mod sending;
mod window;

use self::limits::LimitTimes;
use self::messages::ended::Ended;
use self::messages::evidence;
use self::ranges::Ranges;
use self::sender::Sender;
use crate::common::memory::{prefetch, prefetch_start};
use crate::decode::TcpOptions;
use crate::decode::segment::Segment;
use crate::track::rtt::Rtt;

/// Where unwrapped numbers begin: far enough from 0 that going back never reaches it.
const ORIGIN: i64 = 1 << 40;
/// A number that is not known.
const UNKNOWN: i64 = i64::MIN;

/// What one side's acknowledgement shows about the packet that carries it.
#[derive(Debug, Clone, Copy, Default)]
struct AckContext {
    /// The other side has data outstanding and this acknowledges none of it.
    repeats: bool,
    /// It acknowledges all that the other side sent.
    all: bool,
    /// Last window the other side advertised.
    peer_window: Option<u16>,
    /// MSS of the other side's SYN, where it was captured.
    peer_mss: Option<u16>,
    /// Round trip time from the capture to this side, where known.
    behind_ns: Option<i64>,
}

/// Options that a SYN announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SynOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

/// State that few directions need.
#[derive(Debug, Default)]
struct Rare {
    /// Bytes sent more than once and not yet acknowledged.
    repeated: Ranges,
    /// Number of the byte of the last window probe that had one.
    probed: Option<i64>,
    counts: RareCounts,
}

/// Counts that are 0 in most directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RareCounts {
    pub retransmitted_packets: u32,
    pub retransmitted_bytes: u64,
    /// Of these packets: those that are probes, or repeat no more than a probe's byte.
    pub retransmitted_probes: u32,
    pub out_of_order_packets: u32,
    pub keep_alives: u32,
    pub window_probes: u32,
    pub duplicate_acks: u32,
    pub zero_window_packets: u32,
    /// Segments that the receiver would not accept, by the reason.
    pub outside_window_packets: u32,
    pub stray_syn_packets: u32,
    pub stray_syn_ack_packets: u32,
    pub stray_rst_packets: u32,
}

/// State and counts of one direction's bytes.
#[derive(Debug)]
pub(crate) struct Tcp {
    /// Number after the highest byte sent, SYN and FIN included; valid once [`STARTED`].
    end: i64,
    /// The same for payload alone.
    payload_end: i64,
    /// Number of the first payload byte that can be: after the SYN, or the first seen.
    first: i64,
    /// Highest cumulative acknowledgement by the other side, or [`UNKNOWN`].
    una: i64,
    /// Greatest end of the other side's window, or [`UNKNOWN`].
    edge: i64,
    covered: Ranges,
    /// When the SYN was sent while [`WAITS`], then the time to its acknowledgement where [`MEASURED`]. Without a SYN
    /// the first acknowledgement.
    handshake: i64,
    sender: Option<Box<Sender>>,
    rare: Option<Box<Rare>>,
    pub syn_packets: u32,
    pub fin_packets: u32,
    pub rst_packets: u32,
    /// Windows as in the header: the last one, that of the SYN, the greatest of other segments.
    last_window: u16,
    syn_window: u16,
    greatest_window: u16,
    mss: u16,
    /// Flags, and from [`SHIFT`] on the window scale. In one number: reading several at once would wait for the part
    /// that the packet before wrote.
    bits: u32,
}

/// A packet of this side was seen.
const STARTED: u32 = 1;
/// `last_window` is known.
const WINDOW: u32 = 2;
/// `greatest_window` is known.
const GREATEST: u32 = 4;
/// The SYN was captured: its options are known.
const SYN: u32 = 8;
const HAS_MSS: u32 = 16;
const HAS_SHIFT: u32 = 32;
const SACK_PERMITTED: u32 = 64;
/// The SYN was sent once and is not acknowledged.
const WAITS: u32 = 128;
/// `handshake` is the SYN's round trip time, ...
const MEASURED: u32 = 256;
/// ... and the acknowledgement covers nothing after the SYN: it is a sample.
const SAMPLE: u32 = 512;
/// The SYN acknowledges nothing: it opens the connection.
const OPENS: u32 = 1024;
/// A packet of this side contains bytes whose numbers could not be read.
const UNREAD: u32 = 2048;
/// Packets of this side were seen first at another place than others of the connection.
const SCATTERED: u32 = 4096;
/// Where the window scale begins, a byte.
const SHIFT: u32 = 16;

impl Default for Tcp {
    fn default() -> Self {
        Self {
            end: 0,
            payload_end: 0,
            first: 0,
            una: UNKNOWN,
            edge: UNKNOWN,
            covered: Ranges::default(),
            handshake: 0,
            sender: None,
            rare: None,
            syn_packets: 0,
            fin_packets: 0,
            rst_packets: 0,
            last_window: 0,
            syn_window: 0,
            greatest_window: 0,
            mss: 0,
            bits: 0,
        }
    }
}

impl Tcp {
    /// Takes in `segment` of this side, on both sides. Messages that ended go to `ended`.
    #[inline(never)] // nearly all take the fast path: `goes_on`
    pub(crate) fn take(
        &mut self,
        peer: Option<&mut Self>,
        segment: &Segment,
        options: &TcpOptions,
        ended: &mut Ended<'_>,
    ) {
        if segment.is_elsewhere() {
            self.bits |= SCATTERED;
        }
        let window = self.window_bytes(segment, peer.as_deref());
        let context = peer.map_or_else(AckContext::default, |peer| {
            peer.acknowledged(segment, options, window)
        });
        self.sent(segment, context, options, ended);
    }

    #[inline]
    fn has(&self, bit: u32) -> bool {
        self.bits & bit != 0
    }

    /// Returns the window scale of this side's SYN; 0 where it had none.
    #[inline]
    fn shift(&self) -> u8 {
        (self.bits >> SHIFT) as u8
    }

    /// Prefetches what is known of a sender.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        if let Some(sender) = &self.sender {
            prefetch(&**sender);
        }
    }

    /// Prefetches the segments of the sender that are not acknowledged; the sender itself must be in the cache.
    #[inline]
    pub(crate) fn look_further(&self) {
        if let Some(sender) = &self.sender {
            prefetch_start(sender.pending.as_slices().0);
        }
    }

    /// Returns what this side's SYN announced, where it was captured.
    #[inline]
    pub(crate) fn syn(&self) -> Option<SynOptions> {
        self.has(SYN).then(|| SynOptions {
            mss: self.has(HAS_MSS).then_some(self.mss),
            window_scale: self.has(HAS_SHIFT).then_some(self.shift()),
            sack_permitted: self.has(SACK_PERMITTED),
        })
    }

    /// Returns the counts that are 0 in most directions.
    pub(crate) fn rare(&self) -> RareCounts {
        self.rare
            .as_ref()
            .map_or_else(RareCounts::default, |it| it.counts)
    }

    /// Returns all RTT samples.
    pub(crate) fn rtt(&self) -> Rtt {
        let mut rtt = self.sender.as_ref().map_or_else(Rtt::default, |it| it.rtt);
        if self.has(SAMPLE) {
            rtt.add(self.handshake);
        }
        rtt
    }

    /// Returns the RTT from the capture to the other side: of the SYN, or the shortest of the data.
    #[inline]
    fn round_trip_ns(&self) -> Option<i64> {
        if self.has(MEASURED) {
            return Some(self.handshake);
        }
        let rtt = &self.sender.as_ref()?.rtt;
        (rtt.samples > 0).then_some(rtt.min_ns)
    }

    /// Returns the time from the SYN to its acknowledgement.
    pub(crate) fn handshake_ns(&self) -> Option<i64> {
        self.has(MEASURED).then_some(self.handshake)
    }

    /// Returns whether packets of this side were seen first at another place than others of the connection.
    pub(crate) fn is_scattered(&self) -> bool {
        self.has(SCATTERED)
    }

    /// Returns what limited this side, summed up.
    pub(crate) fn limit_times(&self) -> LimitTimes {
        self.sender.as_ref().map_or_else(LimitTimes::default, |it| {
            it.limits.limit_times(self.fin_packets > 0, &it.rtt)
        })
    }

    /// Reports the message that is still being sent when the connection or the capture ends.
    pub(crate) fn unfinished(&self, reset: bool, ended: &mut Ended<'_>) {
        let why = if reset {
            evidence::CLOSE
        } else {
            evidence::OPEN
        };
        if let Some(sender) = &self.sender {
            sender.message.unfinished(why, ended);
        }
    }

    #[cold]
    fn rarely(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns what is known of this side, before a packet of the other side adds to it.
    #[inline]
    fn known(&self) -> AckContext {
        AckContext {
            repeats: false,
            all: false,
            peer_window: self.has(WINDOW).then_some(self.last_window),
            peer_mss: self.has(HAS_MSS).then_some(self.mss),
            behind_ns: self.round_trip_ns(),
        }
    }

    /// Returns the first byte that waits for its acknowledgement; before any acknowledgement, the first byte seen.
    #[inline]
    fn first_unacknowledged(&self) -> i64 {
        if self.una == UNKNOWN {
            self.first
        } else {
            self.una
        }
    }

    /// Returns the payload bytes up to `end` that were sent and are not acknowledged. Beyond the window of the other
    /// side the capture lacks an acknowledgement: the bytes below a hole may have been acknowledged, and are left out.
    #[inline]
    fn flight(&self, end: i64) -> u32 {
        let mut from = self.first_unacknowledged();
        if self.edge != UNKNOWN && end > self.edge {
            from = from.max(self.covered.behind_holes());
        }
        (end - from).clamp(0, i64::from(u32::MAX)) as u32
    }

    /// Takes in a packet whose sequence numbers are unknown: its TCP header is cut, or in another fragment.
    #[inline]
    pub(crate) fn take_unread(&mut self) {
        self.bits |= UNREAD;
    }

    /// Returns the bytes that the other side acknowledged and no captured segment has. Data before the first
    /// acknowledgement of a connection without a captured SYN may have been sent before the capture began.
    pub(crate) fn unseen_acked_bytes(&self) -> Option<i64> {
        let from = if self.has(SYN) {
            self.first
        } else {
            self.first.max(self.handshake)
        };
        let is_known = self.has(STARTED) && !self.has(UNREAD) && self.una != UNKNOWN;
        is_known.then(|| self.covered.missing(from, self.una))
    }

    /// Unwraps a number of this direction to the value nearest to what was seen last: RFC 9293 3.4 counts modulo 2^32.
    fn unwrap(&self, number: u32) -> i64 {
        let reference = if self.has(STARTED) {
            self.end.max(self.una)
        } else if self.una == UNKNOWN {
            return ORIGIN + i64::from(number);
        } else {
            self.una
        };
        reference + i64::from(number.wrapping_sub(reference as u32) as i32)
    }

    /// Returns the most payload bytes sent and not acknowledged; unknown where no acknowledgement was captured.
    pub(crate) fn max_in_flight_bytes(&self) -> Option<i64> {
        let greatest = self.sender.as_ref().map_or(0, |it| it.greatest_flight);
        (self.una != UNKNOWN).then(|| i64::from(greatest))
    }
}
