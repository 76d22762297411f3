//! The two kinds of packets: data from the sender, reports from the receiver.

/// Bytes before the block in a data packet.
pub const DATA_HEADER: usize = 16;
/// Largest UDP payload on an Ethernet of 1500 bytes.
pub const MOST_PAYLOAD: usize = 1472;
const REPORT_HEADER: usize = 34;
const RANGE: usize = 8;
/// Most ranges of missing blocks in one report.
pub const MOST_RANGES: usize = (MOST_PAYLOAD - REPORT_HEADER) / RANGE;

/// The header of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Which block follows.
    pub block: u32,
    /// Counts every packet that was sent, repeated blocks too: gaps are losses.
    pub count: u32,
    /// The sender's clock, in microseconds.
    pub time_us: u32,
    /// Which of the sender's rates this is.
    pub epoch: u32,
}

/// A report of the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Everything has arrived.
    pub done: bool,
    /// The rate that the measurement is about.
    pub epoch: u32,
    /// Packets of this rate that were sent and that arrived, between the first and the last.
    pub sent: u32,
    /// See `sent`.
    pub arrived: u32,
    /// Time between the first and the last of them, as they arrived, in nanoseconds.
    pub elapsed_ns: u64,
    /// The same as they were sent, in microseconds.
    pub spent_us: u32,
    /// The sender's time in the last data packet.
    pub echo_us: u32,
    /// How long ago that packet came, in microseconds.
    pub held_us: u32,
    /// Missing blocks: the first, and how many.
    pub missing: Vec<(u32, u32)>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Data {
    /// Writes the header.
    pub fn write(&self, out: &mut [u8]) {
        let words = [self.block, self.count, self.time_us, self.epoch];
        for (place, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    /// Reads the header, if there is one.
    pub fn read(packet: &[u8]) -> Option<Self> {
        (packet.len() >= DATA_HEADER).then(|| Self {
            block: word(packet, 0),
            count: word(packet, 4),
            time_us: word(packet, 8),
            epoch: word(packet, 12),
        })
    }
}

impl Report {
    /// Returns the packet; ranges that do not fit follow in a later one.
    pub fn write(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.done), 0];
        for word in [
            self.epoch,
            self.sent,
            self.arrived,
            self.echo_us,
            self.held_us,
            self.spent_us,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.elapsed_ns.to_le_bytes());
        debug_assert_eq!(out.len(), REPORT_HEADER);
        for (first, count) in self.missing.iter().take(MOST_RANGES) {
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        }
        out
    }

    /// Reads a packet, if it is a report.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let (header, ranges) = packet.split_at_checked(REPORT_HEADER)?;
        Some(Self {
            done: header[0] == 1,
            epoch: word(header, 2),
            sent: word(header, 6),
            arrived: word(header, 10),
            echo_us: word(header, 14),
            held_us: word(header, 18),
            spent_us: word(header, 22),
            elapsed_ns: u64::from(word(header, 26)) | u64::from(word(header, 30)) << 32,
            missing: ranges
                .as_chunks::<RANGE>()
                .0
                .iter()
                .map(|range| (word(range, 0), word(range, 4)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        let data = Data {
            block: 1,
            count: 2,
            time_us: 3,
            epoch: 5,
        };
        let mut packet = [0; 32];
        data.write(&mut packet);
        assert_eq!(Data::read(&packet), Some(data));
        assert_eq!(Data::read(&packet[..15]), None);
        let report = Report {
            done: true,
            epoch: 7,
            sent: 8,
            arrived: 9,
            elapsed_ns: 1 << 40,
            echo_us: 10,
            held_us: 11,
            spent_us: 12,
            missing: vec![(1, 2), (5, 1)],
        };
        assert_eq!(Report::read(&report.write()), Some(report));
        assert_eq!(Report::read(&[0; 33]), None);
    }
}
