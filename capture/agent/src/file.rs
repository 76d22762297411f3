//! Turns packets into one pcap file, compressed or not, that is whole when it gets its name.
//!
//! Records collect in memory and go to the disk in whole batches. After [`PcapFile::flush`] everything so far can be
//! read back, also when the process is killed; when writing fails, the file is cut back to that point and ended
//! properly.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flowsweep_common::output;
use zstd::stream::write::Encoder;

use crate::names;
use crate::order::Ordered;
use crate::sys::libpcap::Packet;

/// Bytes collected before they go to the compressor or the disk.
const BUFFER_BYTES: usize = 256 << 10;
const FILE_HEADER_BYTES: u64 = 24;
const RECORD_HEADER_BYTES: u64 = 16;
/// Longest packet that libpcap hands over: room for it is kept, so that the buffer never grows.
const LONGEST_PACKET: usize = 1 << 18;
/// Magic numbers of pcap files with microseconds and with nanoseconds, in the byte order of the machine.
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// An empty last block of a Zstandard frame (RFC 8878, section 3.1.1.2): ends a frame after any whole block.
const ZSTD_LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// The header of a pcap file.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Nanoseconds per unit of a stamp's sub-second part: 1 or 1000.
    pub resolution_ns: u32,
    /// Bytes kept of each packet.
    pub snaplen: u32,
    /// LINKTYPE number of the link-layer header.
    pub link_type: u32,
    /// Zstandard level; used when the file's name ends in `.zst`.
    pub level: i32,
}

/// A file that is whole, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finished {
    /// Name without folder.
    pub file: String,
    /// Packets in it.
    pub packets: u64,
    /// Its size on disk.
    pub bytes: u64,
}

enum Sink {
    Plain(File),
    Compressed(Encoder<'static, File>),
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Compressed(encoder) => encoder.write_all(bytes),
        }
    }

    /// Ends a block, so that all written so far can be decompressed.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Compressed(encoder) => encoder.flush(),
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Plain(file) => file,
            Self::Compressed(encoder) => encoder.get_mut(),
        }
    }
}

/// A pcap file being written, under its name with `.part` added.
pub struct PcapFile {
    path: PathBuf,
    sink: Sink,
    buffer: Ordered,
    /// Packets and pcap bytes given so far.
    packets: u64,
    pcap_bytes: u64,
    /// Packets in the file at the last flush, and the file's size then.
    safe_packets: u64,
    safe_bytes: u64,
    /// Pcap bytes given at the last flush.
    flushed_pcap_bytes: u64,
    /// A write failed: the bytes after the last flush are incomplete.
    broken: bool,
}

impl PcapFile {
    /// Creates the file and writes its header.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        output::check(path)?;
        // Only the capturing user may read packets.
        let file = output::create(&output::part(path), 0o600)?;
        let sink = if names::is_compressed(path) {
            Sink::Compressed(Encoder::new(file, format.level)?)
        } else {
            Sink::Plain(file)
        };
        let mut created = Self {
            path: path.to_owned(),
            sink,
            buffer: Ordered::new(BUFFER_BYTES + LONGEST_PACKET, format.resolution_ns),
            packets: 0,
            pcap_bytes: FILE_HEADER_BYTES,
            safe_packets: 0,
            safe_bytes: 0,
            flushed_pcap_bytes: 0,
            broken: false,
        };
        created.header(format);
        if let Err(error) = created.flush() {
            created.discard();
            return Err(error);
        }
        Ok(created)
    }

    fn header(&mut self, format: Format) {
        let magic = match format.resolution_ns {
            1 => MAGIC_NANOSECONDS,
            _ => MAGIC_MICROSECONDS,
        };
        self.buffer.extend(&magic.to_ne_bytes());
        self.buffer
            .extend(&[2_u16, 4].map(u16::to_ne_bytes).concat());
        self.buffer.extend(&[0; 8]);
        self.buffer.extend(&format.snaplen.to_ne_bytes());
        self.buffer.extend(&format.link_type.to_ne_bytes());
    }

    /// Returns the size of the pcap so far, before compression.
    pub const fn pcap_bytes(&self) -> u64 {
        self.pcap_bytes
    }

    /// Returns the name of the file until it is whole, the packets that are safe in it, and its size with them.
    pub fn so_far(&self) -> Finished {
        Finished {
            file: names::plain(&output::part(&self.path)),
            packets: self.safe_packets,
            bytes: self.safe_bytes,
        }
    }

    /// Returns the most that the file can take on the disk with `more` pcap bytes; exact after a flush.
    pub const fn bytes_at_most(&self, more: u64) -> u64 {
        match self.sink {
            Sink::Plain(_) => self.pcap_bytes + more,
            Sink::Compressed(_) => {
                let new = self.pcap_bytes + more - self.flushed_pcap_bytes;
                // Data that cannot be compressed is stored, with 3 bytes for each block of up to 128 KiB (RFC 8878,
                // section 3.1.1.2); every flush ends a block.
                self.safe_bytes + new + new / 1_024 + 64
            }
        }
    }

    /// Returns the bytes that a packet adds to the pcap.
    pub const fn record_bytes(packet: &Packet<'_>) -> u64 {
        RECORD_HEADER_BYTES + packet.bytes.len() as u64
    }

    /// Returns whether no packet was added yet.
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Adds a packet.
    pub fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.buffer.push(packet);
        self.packets += 1;
        self.pcap_bytes += Self::record_bytes(packet);
        if self.buffer.len() >= BUFFER_BYTES {
            let (settled, held) = self.buffer.settled();
            self.broken = true;
            self.sink.write_all(settled)?;
            self.broken = false;
            self.buffer.forget_settled();
            if matches!(self.sink, Sink::Plain(_)) {
                self.mark_safe(held as u64)?;
            }
        }
        Ok(())
    }

    /// Remembers where the file may end; `held` packets are not in it yet.
    fn mark_safe(&mut self, held: u64) -> io::Result<()> {
        self.safe_packets = self.packets - held;
        self.safe_bytes = self.sink.file().stream_position()?;
        Ok(())
    }

    /// Makes everything so far readable on disk.
    pub fn flush(&mut self) -> io::Result<()> {
        self.broken = true;
        self.sink.write_all(self.buffer.all())?;
        self.buffer.clear();
        self.sink.flush()?;
        self.broken = false;
        self.flushed_pcap_bytes = self.pcap_bytes;
        self.mark_safe(0)
    }

    /// Ends the file and gives it its name. If the last packets could not be written, the file ends before them; the
    /// error is returned too, unless an earlier call has returned it. `durable`: waits until the file is on the disk.
    pub fn finish(mut self, durable: bool) -> io::Result<(Finished, Option<io::Error>)> {
        let lost = if self.broken {
            None
        } else {
            self.flush().err()
        };
        self.cut(durable).map(|finished| (finished, lost))
    }

    /// Ends the file after the last flush.
    fn cut(mut self, durable: bool) -> io::Result<Finished> {
        let compressed = matches!(self.sink, Sink::Compressed(_));
        let file = self.sink.file();
        file.set_len(self.safe_bytes)?;
        file.seek(SeekFrom::Start(self.safe_bytes))?;
        let mut bytes = self.safe_bytes;
        if compressed {
            file.write_all(&ZSTD_LAST_BLOCK)?;
            bytes += ZSTD_LAST_BLOCK.len() as u64;
        }
        if durable {
            file.sync_all()?;
        }
        output::rename(&output::part(&self.path), &self.path)?;
        Ok(Finished {
            file: names::plain(&self.path),
            packets: self.safe_packets,
            bytes,
        })
    }

    /// Removes the file.
    pub fn discard(self) {
        let _ = fs::remove_file(output::part(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format {
        resolution_ns: 1,
        snaplen: 96,
        link_type: 1,
        level: 1,
    };

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("flowsweep-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("folder");
        folder
    }

    fn packet(bytes: &[u8]) -> Packet<'_> {
        Packet {
            seconds: 5,
            fraction: 6,
            length: 1_514,
            bytes,
        }
    }

    fn expected(packets: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let record = [5_u32, 6, 96, 1_514];
        bytes.extend(0xa1b2_3c4d_u32.to_ne_bytes());
        bytes.extend([2_u16, 4].map(u16::to_ne_bytes).concat());
        bytes.extend([0_u32, 0, 96, 1].map(u32::to_ne_bytes).concat());
        for _ in 0..packets {
            bytes.extend(record.map(u32::to_ne_bytes).concat());
            bytes.extend([7; 96]);
        }
        bytes
    }

    #[test]
    fn plain_file_is_a_pcap_and_gets_its_name_at_the_end() {
        let path = folder("plain").join("a.pcap");
        let mut file = PcapFile::create(&path, FORMAT).expect("created");
        for _ in 0..20_000 {
            file.write(&packet(&[7; 96])).expect("written");
        }
        assert!(!path.exists());
        assert_eq!(file.pcap_bytes(), expected(20_000).len() as u64);
        let (finished, lost) = file.finish(true).expect("finished");
        assert!(lost.is_none());
        let bytes = fs::read(&path).expect("read");
        assert_eq!(
            (finished.packets, finished.bytes),
            (20_000, bytes.len() as u64)
        );
        assert_eq!(bytes, expected(20_000));
        fs::remove_dir_all(path.parent().expect("folder")).expect("removed");
    }

    #[test]
    fn compressed_file_is_readable_after_every_flush_and_whole_at_the_end() {
        let path = folder("zst").join("a.pcap.zst");
        let mut file = PcapFile::create(&path, FORMAT).expect("created");
        file.write(&packet(&[7; 96])).expect("written");
        file.flush().expect("flushed");
        let mut readable = Vec::new();
        let part = File::open(output::part(&path)).expect("part");
        let cut = zstd::stream::copy_decode(part, &mut readable);
        assert!(cut.is_err(), "the frame is not ended yet");
        assert_eq!(readable, expected(1));
        file.write(&packet(&[7; 96])).expect("written");
        let (finished, _) = file.finish(true).expect("finished");
        let bytes = fs::read(&path).expect("read");
        assert_eq!((finished.packets, finished.bytes), (2, bytes.len() as u64));
        assert_eq!(
            zstd::decode_all(&bytes[..]).expect("a whole frame"),
            expected(2)
        );
        fs::remove_dir_all(path.parent().expect("folder")).expect("removed");
    }

    #[test]
    fn full_disk_leaves_the_packets_of_the_last_flush() {
        let path = folder("full").join("a.pcap.zst");
        let mut file = PcapFile::create(&path, FORMAT).expect("created");
        file.write(&packet(&[7; 96])).expect("written");
        file.flush().expect("flushed");
        // Half a record, as a failed write leaves it.
        file.sink.file().write_all(&[1, 2, 3]).expect("written");
        file.packets += 1;
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("opened");
        let compressor = Encoder::new(full, 1).expect("encoder");
        let Sink::Compressed(good) =
            std::mem::replace(&mut file.sink, Sink::Compressed(compressor))
        else {
            panic!("compressed");
        };
        file.buffer.extend(&[0; 1_000]);
        assert!(file.flush().is_err());
        file.buffer.clear();
        file.sink = Sink::Compressed(good);
        let finished = file.cut(false).expect("cut");
        assert_eq!(finished.packets, 1);
        let bytes = fs::read(&path).expect("read");
        assert_eq!(
            zstd::decode_all(&bytes[..]).expect("a whole frame"),
            expected(1)
        );
        fs::remove_dir_all(path.parent().expect("folder")).expect("removed");
    }
}
