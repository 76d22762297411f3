//! Finds records in windows of a capture's bytes: the container formats, without looking into packets.

mod pcap;
mod pcapng;

use crate::common::error::{Error, Fault};
use crate::common::memory::prefetch;
use pcap::Pcap;
use pcapng::Pcapng;

/// The largest record that is accepted, as in libpcap. A longer one is damage.
pub(crate) const MAX_RECORD: u32 = 262_144;
/// The largest record if the link type or the file's own snap length requires more (BIG TCP, D-Bus, USB).
pub(crate) const MAX_LARGE_RECORD: u32 = 128 << 20;

/// The range of a record's time, in nanoseconds since 1970: the whole years that 64 bits can represent, 1678 to before
/// 2262. `DuckDB` reads the ends of 64 bits as infinities.
pub(crate) const EARLIEST: i64 = -9_214_560_000_000_000_000;
/// The first time after the range.
pub(crate) const LATEST: i64 = 9_214_646_400_000_000_000;
/// Stands for the link type of a file or interface that names none.
pub(crate) const NO_LINK: u32 = u32::MAX;
/// Stands for an interface that no block of the file describes.
pub(crate) const UNDESCRIBED: u32 = u32::MAX;

/// One captured packet as the container describes it. Offsets count from the start of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Nanoseconds since 1970.
    pub time: i64,
    /// The file states this time; otherwise it is that of another packet.
    pub is_timed: bool,
    /// The file states that the capturing host sent it.
    pub is_outgoing: bool,
    /// Length on the wire, with link header, without FCS, as the record states it.
    pub wire: u32,
    /// Bytes that were captured, without FCS.
    pub captured: u32,
    /// Index into the interfaces of this file, or [`UNDESCRIBED`].
    pub interface: u32,
    /// Offset of its record.
    pub at: u32,
    /// Offset of its bytes.
    pub data: u32,
}

impl Record {
    /// Returns a record of a whole packet for tests: `length` bytes at `data`.
    #[cfg(test)]
    pub(crate) fn whole(length: u32, data: u32) -> Self {
        Self {
            time: 0,
            is_timed: true,
            is_outgoing: false,
            wire: length,
            captured: length,
            interface: 0,
            at: 0,
            data,
        }
    }

    /// Returns the captured bytes of the packet from its `window`.
    pub(crate) fn bytes<'a>(&self, window: &'a [u8]) -> &'a [u8] {
        let frame = self.data as usize..(self.data + self.captured) as usize;
        window.get(frame).unwrap_or_default()
    }
}

/// The place of a packet in its file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordPlace {
    pub file_offset: u64,
    pub interface: u32,
    /// Number of its file.
    pub file: u32,
}

/// One capture interface as the container describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_field_names)]
pub(crate) struct Interface {
    /// LINKTYPE_ number of the tcpdump registry.
    pub link_type: u32,
    /// Name, if the file states one.
    pub name: Option<String>,
    /// Greatest number of bytes captured of a packet; 0 for no limit.
    pub snaplen: u32,
    /// Length of one tick of its clock in nanoseconds, at least 1.
    pub resolution_ns: i64,
    /// Packets received for the capture, including dropped ones, if the file states the number.
    pub received: Option<u64>,
    /// Packets the kernel dropped for lack of buffer, if the file states the number.
    pub dropped_kernel: Option<u64>,
    /// Packets the interface dropped, if the file states the number.
    pub dropped_interface: Option<u64>,
    /// Packets dropped by either, summed over packets that state how many were lost before them.
    pub lost: Option<u64>,
    /// The greatest length of the frame check sequence after a packet, in bytes; 0 if the file states none.
    pub fcs: u32,
    /// Packets whose blocks have no time.
    pub untimed: u64,
    /// Packets whose time is outside the range from [`EARLIEST`] to before [`LATEST`].
    pub times_out_of_range: u64,
}

impl Interface {
    /// Returns an interface of which only the link type is known.
    pub(crate) fn with_link_type(link_type: u32) -> Self {
        Self {
            link_type,
            name: None,
            snaplen: 0,
            resolution_ns: 1,
            received: None,
            dropped_kernel: None,
            dropped_interface: None,
            lost: None,
            fcs: 0,
            untimed: 0,
            times_out_of_range: 0,
        }
    }

    /// Returns whether the file states that packets were dropped.
    pub(crate) fn has_drops(&self) -> bool {
        let counts = [self.dropped_kernel, self.dropped_interface, self.lost];
        counts.iter().flatten().any(|&count| count > 0)
    }

    /// Returns an interface of which nothing is known.
    pub(crate) fn undescribed() -> Self {
        Self::with_link_type(NO_LINK)
    }
}

/// What a reader found at the end of its input so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The record list is full.
    Full,
    /// The next record needs this many bytes, counted from the first byte not consumed.
    Need(usize),
    /// The capture ends here, complete.
    End,
    /// The capture ends in the middle of a record.
    Cut(Fault),
    /// The next record is impossible.
    Damaged(Fault),
}

/// Reads the records of one file.
pub(crate) enum RecordReader {
    /// Classic pcap.
    Pcap(Pcap),
    /// pcapng.
    Pcapng(Box<Pcapng>),
}

/// Bytes needed to recognise a file.
pub(crate) const HEAD: usize = 28;

impl RecordReader {
    /// Recognises the format of `file` by its first bytes; also returns the length of the header. `without_fast`: each
    /// block is read on the general path.
    pub(crate) fn detect(
        file: &str,
        head: &[u8],
        without_fast: bool,
    ) -> Result<(Self, usize), Error> {
        if let Some((reader, taken)) = Pcap::detect(head) {
            return Ok((Self::Pcap(reader), taken));
        }
        if head.starts_with(&pcapng::SECTION_HEADER) && head.len() >= 12 {
            return Ok((Self::Pcapng(Box::new(Pcapng::new(without_fast))), 0));
        }
        Err(Error::NotACapture {
            file: file.to_owned(),
            found: describe(head),
            expected:
                "a pcap or pcapng file, plain or compressed with gzip, zstd, lz4, bzip2 or xz"
                    .to_owned(),
            remedy: remedy(head),
        })
    }

    /// Appends records found in `bytes` until `out` has `limit`; returns how many bytes were consumed.
    pub(crate) fn fill(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Vec<Record>,
        limit: usize,
    ) -> (usize, Status) {
        match self {
            Self::Pcap(reader) => reader.fill(bytes, last, out, limit),
            Self::Pcapng(reader) => reader.fill(bytes, last, out, limit),
        }
    }

    /// Returns the interfaces known so far.
    pub(crate) fn interfaces(&self) -> &[Interface] {
        match self {
            Self::Pcap(reader) => reader.interfaces(),
            Self::Pcapng(reader) => reader.interfaces(),
        }
    }

    /// Returns the stand-in for interfaces that no block describes, if packets of such interfaces were read.
    pub(crate) fn undescribed(&self) -> Option<&Interface> {
        match self {
            Self::Pcap(_) => None,
            Self::Pcapng(reader) => reader.undescribed(),
        }
    }
}

fn describe(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    if Pcap::begins(head) || head.starts_with(&pcapng::SECTION_HEADER) {
        return format!(
            "the first {} bytes of a capture, then the end of the file",
            head.len()
        );
    }
    let head = head.get(..16).unwrap_or(head);
    let hex: Vec<String> = head.iter().map(|byte| format!("{byte:02x}")).collect();
    if head
        .iter()
        .all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
    {
        let text = String::from_utf8_lossy(head);
        return format!("text that begins with {text:?} (bytes {})", hex.join(" "));
    }
    format!("bytes {}", hex.join(" "))
}

fn remedy(head: &[u8]) -> String {
    if head.starts_with(b"snoop\0\0\0") {
        return "convert it: editcap -F pcap FILE OUT".to_owned();
    }
    // An empty file, or an incomplete file header.
    if head.is_empty() || Pcap::begins(head) || head.starts_with(&pcapng::SECTION_HEADER) {
        return "check that the recording was started and had the right to write".to_owned();
    }
    if head.starts_with(b"PK\x03\x04") {
        return "unpack the zip archive first".to_owned();
    }
    "check the path; if Wireshark can read it: editcap -F pcap FILE OUT".to_owned()
}

/// Reads integers in the byte order of the machine that wrote the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ByteOrder {
    pub big: bool,
}

impl ByteOrder {
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw = *bytes.get(at..)?.first_chunk::<2>()?;
        Some(if self.big {
            u16::from_be_bytes(raw)
        } else {
            u16::from_le_bytes(raw)
        })
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.big {
            u32::from_be_bytes(raw)
        } else {
            u32::from_le_bytes(raw)
        })
    }

    #[inline]
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw = *bytes.get(at..)?.first_chunk::<8>()?;
        Some(if self.big {
            u64::from_be_bytes(raw)
        } else {
            u64::from_le_bytes(raw)
        })
    }
}

/// How many records ahead to prefetch. The longer distance is in time even if the bytes are in another core's cache;
/// over the shorter one the records are more often of equal length.
const AHEAD: [usize; 2] = [8, 24];

/// Prefetches records after the one at `at`. Many have the same `length`, and then they begin at the expected offsets.
/// A wrong guess costs nothing; a right one saves the wait for a packet's first bytes.
#[inline]
fn ask_ahead(bytes: &[u8], at: usize, length: usize) {
    for records in AHEAD {
        let ahead = at + records * length;
        if let (Some(first), Some(second)) = (bytes.get(ahead), bytes.get(ahead + 64)) {
            prefetch(first);
            prefetch(second);
        }
    }
}

/// Describes what is found if a file ends too early.
fn then_the_end(left: usize) -> String {
    let plural = if left == 1 { "" } else { "s" };
    format!("{left} byte{plural}, then the end of the file")
}

/// Link types of messages and transfers that are longer than any network packet. They are counted and not decoded.
const DBUS: u32 = 231;
const USBPCAP: u32 = 249;

/// Returns the longest record accepted for a link type and a stated snap length.
pub(crate) fn longest_record(link_type: u32, snaplen: u32) -> u32 {
    match link_type {
        DBUS | USBPCAP => MAX_LARGE_RECORD,
        // A snap length above the usual limit is accepted up to 16 MiB; one of 4 GiB means nothing.
        _ if snaplen > MAX_RECORD && snaplen <= 16 << 20 => snaplen,
        _ => MAX_RECORD,
    }
}

/// Returns the captured and the original length of a packet without the `fcs` bytes at its end; lengths that contradict
/// each other are not changed.
fn without_fcs(captured: u32, wire: u32, fcs: u32) -> (u32, u32) {
    if captured > wire {
        return (captured, wire);
    }
    let wire = wire.saturating_sub(fcs);
    (captured.min(wire), wire)
}
