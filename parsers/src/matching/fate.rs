//! Fates of packets, and the evidence for each.

use super::sighting::Sighting;

/// What became of a packet between two hosts with captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fate {
    /// Both hosts captured it.
    Delivered,
    /// Its sender captured it, and nothing shows that its receiver got it.
    Lost,
    /// It crossed the path, and the capture of one of its hosts lacks it.
    NotCaptured,
    /// It is a copy of another packet.
    Duplicated,
    /// The captures do not show it.
    Unknown,
    /// One of its endpoints is not a host with a capture, or both are the same host.
    Outside,
}

impl Fate {
    /// All fates, in the order of their numbers.
    pub(crate) const ALL: [Self; 6] = [
        Self::Delivered,
        Self::Lost,
        Self::NotCaptured,
        Self::Duplicated,
        Self::Unknown,
        Self::Outside,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Lost => "lost",
            Self::NotCaptured => "not_captured",
            Self::Duplicated => "duplicated",
            Self::Unknown => "unknown",
            Self::Outside => "outside",
        }
    }
}

/// Why a packet has its fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Both captures have it.
    Matched,
    /// The receiver's capture is complete and lacks it.
    Absent,
    /// The receiver acknowledged the data before it, and no more, although it had later data.
    Reported,
    /// The receiver acknowledged it, and its capture lacks it.
    Acknowledged,
    /// The receiver captured it, and the sender's capture lacks it.
    Arrived,
    /// The packet is in a capture twice.
    Copy,
    /// Packets that look the same were in flight at once, and not all of them arrived.
    Alike,
    /// The receiver's capture lacks packets, perhaps including this one.
    Incomplete,
    /// The other capture had not begun, or had ended.
    Edge,
    /// Its bytes are in the other capture, in a segment that cannot have been cut from it or merged with it.
    Merged,
    /// No packet of the path was found at both ends.
    Unmatched,
    /// More packets were in flight than the window can contain.
    Window,
    /// There is no capture of the other endpoint.
    NoCapture,
}

impl Evidence {
    /// All kinds of evidence, in the order of their numbers.
    pub(crate) const ALL: [Self; 13] = [
        Self::Matched,
        Self::Absent,
        Self::Reported,
        Self::Acknowledged,
        Self::Arrived,
        Self::Copy,
        Self::Alike,
        Self::Incomplete,
        Self::Edge,
        Self::Merged,
        Self::Unmatched,
        Self::Window,
        Self::NoCapture,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Absent => "absent",
            Self::Reported => "reported",
            Self::Acknowledged => "acknowledged",
            Self::Arrived => "arrived",
            Self::Copy => "copy",
            Self::Alike => "alike",
            Self::Incomplete => "incomplete",
            Self::Edge => "edge",
            Self::Merged => "merged",
            Self::Unmatched => "unmatched",
            Self::Window => "window",
            Self::NoCapture => "no_capture",
        }
    }
}

/// One row of the table `fates`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FateRow {
    /// Numbers of the hosts with its addresses.
    pub sender: Option<u16>,
    pub receiver: Option<u16>,
    /// Its headers, as captured by one of them.
    pub packet: Sighting,
    /// Time and number in the sender's capture.
    pub sent: Option<(i64, u64)>,
    /// Time and number in the receiver's capture.
    pub received: Option<(i64, u64)>,
    /// Some of its sequence numbers were sent before; none if unknown.
    pub is_retransmission: Option<bool>,
    pub fate: Fate,
    pub evidence: Evidence,
    /// Payload bytes of a lost packet that did not arrive.
    pub lost_bytes: Option<u32>,
    /// Packets that overtook it; none if it was not matched.
    pub reordered_by: Option<u64>,
    /// The time of one of its sightings is wrong: no delay follows from it.
    pub has_wrong_time: bool,
}
