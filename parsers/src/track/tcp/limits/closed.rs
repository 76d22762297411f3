//! For how long a receiver's window was closed while its sender had data.

use crate::decode::segment::since;

/// A zero window since the sender last waited.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// Since when it is closed.
    begin: Option<i64>,
    /// How long it was closed before that.
    ns: i64,
    /// The sender probed it, which only a sender with data does (RFC 9293 3.8.6.1).
    probed: bool,
}

impl Closed {
    pub(super) fn close(&mut self, time: i64) {
        self.begin.get_or_insert(time);
    }

    /// Opens it at `time`; returns whether it was closed until then.
    pub(super) fn open(&mut self, time: i64) -> bool {
        self.count(time);
        self.begin.take().is_some()
    }

    pub(super) fn probe(&mut self) {
        self.probed |= self.begin.is_some();
    }

    /// Returns how long it was closed before a send at `time` with data waiting: probed, or sent `soon` after it
    /// opened.
    pub(super) fn take(&mut self, time: i64, soon: bool) -> i64 {
        self.count(time);
        let waited = self.probed || soon;
        self.probed &= self.begin.is_some();
        let closed = std::mem::take(&mut self.ns);
        if waited { closed } else { 0 }
    }

    fn count(&mut self, time: i64) {
        if let Some(begin) = &mut self.begin {
            self.ns = self.ns.saturating_add(since(time, *begin).max(0));
            *begin = time;
        }
    }
}
