//! Entries for other ranks, collected until a message of them is worth sending.

/// One buffer per destination; every entry has the same number of bytes.
#[derive(Debug)]
pub struct Outbox {
    entry_bytes: usize,
    buffers: Vec<Vec<u8>>,
    pending: usize,
}

impl Outbox {
    /// Creates empty buffers for `ranks` destinations.
    pub fn new(ranks: usize, entry_bytes: usize) -> Self {
        Self {
            entry_bytes,
            buffers: vec![Vec::new(); ranks],
            pending: 0,
        }
    }

    /// Adds an entry for `rank`.
    pub fn push(&mut self, rank: usize, entry: &[u8]) {
        debug_assert_eq!(entry.len(), self.entry_bytes);
        self.buffers[rank].extend_from_slice(entry);
        self.pending += 1;
    }

    /// Returns the number of entries that wait for `rank`.
    pub fn waiting(&self, rank: usize) -> usize {
        self.buffers
            .get(rank)
            .map_or(0, |buffer| buffer.len() / self.entry_bytes)
    }

    /// Returns the number of entries that wait for any rank.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Moves entries for `rank` into `out`, as many as fit; returns the bytes written. The newest come first: no user
    /// depends on their order.
    pub fn take(&mut self, rank: usize, out: &mut [u8]) -> usize {
        let Some(buffer) = self.buffers.get_mut(rank) else {
            return 0;
        };
        let room = out.len() / self.entry_bytes * self.entry_bytes;
        let bytes = buffer.len().min(room);
        let kept = buffer.len() - bytes;
        out[..bytes].copy_from_slice(&buffer[kept..]);
        buffer.truncate(kept);
        self.pending -= bytes / self.entry_bytes;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Outbox;

    #[test]
    fn what_is_pushed_is_taken_in_whole_entries() {
        let mut outbox = Outbox::new(2, 4);
        for value in 0_u32..5 {
            outbox.push(1, &value.to_le_bytes());
        }
        assert_eq!((outbox.waiting(0), outbox.waiting(1)), (0, 5));
        let mut out = [0; 11];
        assert_eq!(outbox.take(1, &mut out), 8);
        assert_eq!(outbox.take(0, &mut out), 0);
        assert_eq!(outbox.take(7, &mut out), 0);
        assert_eq!(outbox.pending(), 3);
    }
}
