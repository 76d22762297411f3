//! Reads the TCP options that the flow's state needs.

/// First byte of a SACK block, and the byte after its last.
pub(crate) type Sack = (u32, u32);

/// Options of one segment. At most four SACK blocks fit into a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TcpOptions {
    /// Their length in bytes.
    pub bytes: u8,
    /// Maximum segment size, RFC 9293 3.7.1.
    pub mss: Option<u16>,
    /// Window shift, RFC 7323 2.3; values above 14 are stored as 14.
    pub window_scale: Option<u8>,
    /// SACK permitted, RFC 2018 2.
    pub sack_permitted: bool,
    /// Timestamps, RFC 7323 3, among other options; if they are the only option, this is not set.
    pub stamped: bool,
    /// How many blocks of `sacks` are valid.
    pub sack_count: u8,
    /// SACK blocks, RFC 2018 3.
    pub sacks: [Sack; 4],
}

impl TcpOptions {
    /// Returns options of `bytes` bytes without any value that is counted.
    pub(crate) fn silent(bytes: u8) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// Returns whether the options have a value that is counted.
    pub(crate) fn tell(&self) -> bool {
        self.mss.is_some()
            || self.window_scale.is_some()
            || self.sack_permitted
            || self.sack_count > 0
    }

    /// Resets the values for new options of `bytes` bytes.
    #[inline]
    pub(super) fn begin(&mut self, bytes: u8) {
        self.bytes = bytes;
        self.mss = None;
        self.window_scale = None;
        self.sack_permitted = false;
        self.stamped = false;
        self.sack_count = 0;
    }

    /// Reads `bytes` up to the end mark, the end, or the first option that does not fit.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) {
        // Nearly every segment with options has exactly these: two pads and the timestamps.
        if bytes.len() == 12 && bytes.starts_with(&[1, 1, 8, 10]) {
            return;
        }
        self.read_all(bytes);
    }

    fn read_all(&mut self, mut bytes: &[u8]) {
        while let [kind, rest @ ..] = bytes {
            if *kind == 0 {
                return;
            }
            if *kind == 1 {
                bytes = rest;
                continue;
            }
            let Some(length) = rest.first().map(|&length| usize::from(length)) else {
                return;
            };
            let Some(value) = bytes.get(2..length) else {
                return;
            };
            match (kind, value) {
                (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
                (3, &[shift]) => self.window_scale = Some(shift.min(14)),
                (4, []) => self.sack_permitted = true,
                (5, blocks) => self.read_sacks(blocks),
                (8, [_, _, _, _, _, _, _, _]) => self.stamped = true,
                _ => {}
            }
            bytes = bytes.get(length..).unwrap_or_default();
        }
    }

    fn read_sacks(&mut self, blocks: &[u8]) {
        self.sack_count = 0;
        for (slot, block) in self.sacks.iter_mut().zip(blocks.chunks_exact(8)) {
            let edge = |at: usize| {
                u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
            };
            *slot = (edge(0), edge(4));
            self.sack_count += 1;
        }
    }
}
