//! Decodes one record: on the fast path if it is a plain packet, otherwise on the general path.

use foldhash::fast::RandomState;

use super::ChunkOptions;
use crate::capture::counts::CaptureRow;
use crate::decode::fast::{Recent, plain};
use crate::decode::links::Link;
use crate::decode::notice::Notice;
use crate::decode::segment::{Owner, Segment};
use crate::decode::{Outcome, Packet, decode, flag};
use crate::records::Record;
use crate::sift::identity::Identity;

/// The file and interface that records come from.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// The bytes of the file that the offsets in the records refer to.
    pub bytes: &'a [u8],
    pub link: Option<&'a Link>,
    /// The number of the capture point; the sifter needs it to recognise copies.
    pub place: u32,
}

/// The owner and the segment that a record becomes.
type Slot<'a> = (&'a mut Owner, &'a mut Segment);

pub(super) struct Decoder {
    pub settings: ChunkOptions,
    hashing: RandomState,
    /// Connections of recent packets.
    recent: Recent,
    /// The latest packet that is not plain.
    pub packet: Packet,
}

impl Decoder {
    pub(super) fn new(hashing: RandomState, settings: ChunkOptions) -> Self {
        Self {
            settings,
            hashing,
            recent: Recent::new(),
            packet: Packet::default(),
        }
    }

    /// Forgets the packets so far.
    pub(super) fn begin(&mut self) {
        self.recent = Recent::new();
    }

    /// Returns whether packets of this link may be plain and nothing is wanted that only the general path finds.
    pub(super) fn takes_plain(&self, link: Option<&Link>) -> bool {
        let wants_more = self.settings.verify
            || self.settings.without_fast_frames
            || self.settings.with_identities;
        link.is_some_and(Link::is_ethernet) && !wants_more
    }

    /// Decodes `record` and counts it in `row` if it is a plain packet; returns whether it is.
    #[inline]
    pub(super) fn decode_plain(
        &mut self,
        record: &Record,
        bytes: &[u8],
        row: &mut CaptureRow,
        notice: &mut Notice,
        (owner, segment): Slot<'_>,
    ) -> bool {
        let slot = (owner, &mut *segment);
        let is_plain =
            record.is_timed && plain(record, bytes, &self.hashing, &mut self.recent, notice, slot);
        if is_plain {
            segment.set_outgoing(record.is_outgoing);
            row.count_plain(record.bytes(bytes), segment.ip_bytes(), segment.payload);
            if self.settings.with_owners {
                self.recent.forget_latest();
            }
        }
        is_plain
    }

    /// Decodes any record into `packet` and counts it in `row`.
    #[inline(never)] // most packets are plain
    pub(super) fn decode_any(
        &mut self,
        record: &Record,
        origin: Origin<'_>,
        row: &mut CaptureRow,
        notice: &mut Notice,
        (owner, segment): Slot<'_>,
    ) {
        let packet = &mut self.packet;
        decode(
            record,
            origin.link,
            origin.bytes,
            self.settings.verify,
            packet,
        );
        if self.settings.by_network {
            packet.key.network = packet.network();
        }
        *owner = Owner::new(packet, &self.hashing);
        *segment = Segment::new(record, packet);
        row.count_decoded(packet);
        if packet.length_conflict {
            row.count_conflict(record, packet);
        }
        if packet.outcome == Outcome::Flow && notice.copies {
            notice.packet(owner, packet, record.bytes(origin.bytes), record.time);
        }
        self.recent.interrupted();
        if packet.tcp && packet.tcp_flags & flag::SYN != 0 {
            self.recent.forget(&packet.key);
        }
    }

    /// Returns what distinguishes the latest packet, which is that of `record`, from its copies.
    pub(super) fn identify(&self, record: &Record, origin: Origin<'_>) -> Identity {
        let link = origin.link.map_or(0, Link::number);
        let seen_at = (link, record.interface ^ origin.place);
        let frame = record.bytes(origin.bytes);
        Identity::new(&self.packet, frame, seen_at, &self.hashing)
    }
}
