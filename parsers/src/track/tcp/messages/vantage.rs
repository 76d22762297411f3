//! Finds from round trip times which end of one direction a capture lies beside.

/// A capture is beside one end if the RTT to the other end is more than this many times as long.
const BESIDE: i64 = 4;

/// Which end of a direction is beside the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Vantage {
    /// No end, or the round trip times are not known.
    #[default]
    Unknown,
    AtSender,
    Far,
}

impl Vantage {
    /// Compares the round trip times from the capture to the receiver and back, and to the sender and back.
    pub(crate) fn between(ahead_ns: Option<i64>, behind_ns: Option<i64>) -> Self {
        match (ahead_ns, behind_ns) {
            (Some(ahead), Some(behind)) if ahead / BESIDE > behind => Self::AtSender,
            (Some(ahead), Some(behind)) if behind / BESIDE > ahead => Self::Far,
            _ => Self::Unknown,
        }
    }
}
