//! A message that is being sent, and which packets it has.

use crate::decode::rdma::ahead;

/// A message of RDMA WRITE that is being sent, whose length is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing {
    pub first: u32,
    pub length: u32,
    /// Bytes of each packet but the last.
    pub packet: u32,
}

impl Writing {
    /// Returns whether the packet `number` with `payload` lies in it.
    pub(super) fn has(self, number: u32, payload: u32) -> bool {
        let before = ahead(number, self.first);
        let end = i64::from(before) * i64::from(self.packet) + i64::from(payload);
        before > 0 && end <= i64::from(self.length)
    }
}
