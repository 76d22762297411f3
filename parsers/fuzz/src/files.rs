//! Writes records as files of the container formats.

/// Start time of the captures, in nanoseconds since 1970.
pub const START_NS: i64 = 1_700_000_000_000_000_000;

/// One record: time in nanoseconds, wire length, captured bytes.
pub type Record = (i64, u32, Vec<u8>);

/// Returns a little-endian nanosecond pcap.
pub fn pcap(link_type: u16, records: &[Record]) -> Vec<u8> {
    let mut file = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(0x0004_0000_u32.to_le_bytes());
    file.extend(u32::from(link_type).to_le_bytes());
    for (time, wire, captured) in records {
        file.extend((time.div_euclid(1_000_000_000) as u32).to_le_bytes());
        file.extend((time.rem_euclid(1_000_000_000) as u32).to_le_bytes());
        file.extend((captured.len() as u32).to_le_bytes());
        file.extend(wire.to_le_bytes());
        file.extend(captured);
    }
    file
}

/// Writes pcapng blocks in either byte order.
#[derive(Default)]
pub struct Blocks {
    /// The file so far.
    pub bytes: Vec<u8>,
    /// Whether numbers are written big-endian.
    pub big: bool,
}

impl Blocks {
    /// Writes two bytes in the file's order.
    pub fn u16(&self, value: u16) -> [u8; 2] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    /// Writes four bytes in the file's order.
    pub fn u32(&self, value: u32) -> [u8; 4] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    /// Writes one option, padded to four bytes.
    pub fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.u16(code), self.u16(value.len() as u16)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    /// Writes a block; `lie` is added to the length at its start.
    pub fn block(&mut self, kind: u32, body: &[u8], lie: u32) {
        let padded = body.len().next_multiple_of(4);
        let length = padded as u32 + 12;
        let head = [self.u32(kind), self.u32(length.wrapping_add(lie))].concat();
        self.bytes.extend(head);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(self.u32(length));
    }

    /// Writes a section header; later numbers are in its byte order.
    pub fn section(&mut self, big: bool) {
        self.big = big;
        let body = [
            &self.u32(0x1a2b_3c4d)[..],
            &self.u16(1),
            &self.u16(0),
            &[0xff; 8],
        ]
        .concat();
        self.block(0x0a0d_0d0a, &body, 0);
    }
}
