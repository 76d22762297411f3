//! Turns frames that wait at a packet socket into a batch, each with its receive stamp and VLAN tag.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::ptr;

use super::check;
use super::packet::{BATCH, PacketSocket};

/// Largest frame that can be read whole; a jumbo frame has 9018 bytes, an unsegmented one (offloads on) up to 65,549.
const FRAME_LIMIT: usize = 65_600;
/// Room before a frame for the VLAN tag that the kernel took out.
const TAG_BYTES: usize = 4;
const SLOT: usize = TAG_BYTES + FRAME_LIMIT;
/// Ancillary data of one frame: a time stamp (32 bytes with header) and `tpacket_auxdata` (40).
const CONTROL_WORDS: usize = 16;

const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const ETHERTYPE_VLAN: u16 = 0x8100;

/// The kernel's account of a received frame: where it lies in the buffer, its length, time and checksum.
#[derive(Debug, Clone, Copy, Default)]
struct Meta {
    start: usize,
    held: usize,
    wire: usize,
    stamp_ns: Option<u64>,
    checksum_missing: bool,
}

/// A received frame.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its bytes from the destination address on, VLAN tag in place; only the beginning where it is too large.
    pub bytes: &'a [u8],
    /// Its length on the wire without FCS; more than `bytes` has where it is too large.
    pub wire_bytes: usize,
    /// Kernel receive time, `CLOCK_REALTIME` nanoseconds.
    pub stamp_ns: Option<u64>,
    /// The sender left the checksum to hardware that a virtual link does not have.
    pub checksum_missing: bool,
}

/// Buffers for one batch of frames.
pub struct ReceiveBatch {
    slots: Box<[u8]>,
    control: Box<[[u64; CONTROL_WORDS]]>,
    meta: [Meta; BATCH],
    count: usize,
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self {
            slots: vec![0; BATCH * SLOT].into_boxed_slice(),
            control: vec![[0; CONTROL_WORDS]; BATCH].into_boxed_slice(),
            meta: [Meta::default(); BATCH],
            count: 0,
        }
    }
}

impl ReceiveBatch {
    /// Reads the frames that wait at the socket, up to [`BATCH`]; 0 when none waits.
    pub fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        self.count = 0;
        // SAFETY: zero is a valid value of these plain structures.
        let mut vectors: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let slots = self
            .slots
            .chunks_exact_mut(SLOT)
            .zip(self.control.iter_mut());
        for ((vector, message), (slot, control)) in vectors.iter_mut().zip(&mut messages).zip(slots)
        {
            vector.iov_base = slot[TAG_BYTES..].as_mut_ptr().cast();
            vector.iov_len = FRAME_LIMIT;
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = mem::size_of_val(control);
        }
        // MSG_TRUNC: the length returned is the frame's own, also where the buffer is smaller.
        // SAFETY: every message points at a vector, a slot and a control buffer of the stated lengths, all of which
        // outlive the call and are borrowed by nobody else.
        let result = check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                ptr::null_mut(),
            )
        });
        let count = match result {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let slots = self.slots.chunks_exact_mut(SLOT);
        for ((meta, message), slot) in self.meta.iter_mut().zip(&messages[..count]).zip(slots) {
            *meta = describe(message, slot);
        }
        self.count = count;
        Ok(count)
    }

    /// Returns the frames read last.
    pub fn frames(&self) -> impl Iterator<Item = Received<'_>> {
        let slots = self.slots.chunks_exact(SLOT);
        slots
            .zip(&self.meta[..self.count])
            .map(|(slot, meta)| Received {
                bytes: &slot[meta.start..meta.start + meta.held],
                wire_bytes: meta.wire,
                stamp_ns: meta.stamp_ns,
                checksum_missing: meta.checksum_missing,
            })
    }
}

/// Reads the ancillary data of a received message, and puts a VLAN tag back where it was.
fn describe(message: &libc::mmsghdr, slot: &mut [u8]) -> Meta {
    let wire = message.msg_len as usize;
    let mut meta = Meta {
        start: TAG_BYTES,
        held: wire.min(FRAME_LIMIT),
        wire,
        ..Meta::default()
    };
    // SAFETY: the kernel filled the header's control buffer and length; the CMSG functions stay inside it.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const message.msg_hdr) };
    while !next.is_null() {
        // SAFETY: `next` is a control message inside the buffer, aligned by the kernel.
        let header = unsafe { &*next };
        // SAFETY: as above.
        let data = unsafe { libc::CMSG_DATA(next) };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: the kernel wrote a timespec here.
                let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                meta.stamp_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                // SAFETY: the kernel wrote a tpacket_auxdata here.
                let auxiliary = unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() };
                meta.checksum_missing = auxiliary.tp_status & TP_STATUS_CSUMNOTREADY != 0;
                if auxiliary.tp_status & TP_STATUS_VLAN_VALID != 0 && meta.start == TAG_BYTES {
                    let kind = if auxiliary.tp_status & TP_STATUS_VLAN_TPID_VALID != 0 {
                        auxiliary.tp_vlan_tpid
                    } else {
                        ETHERTYPE_VLAN
                    };
                    insert_tag(slot, kind, auxiliary.tp_vlan_tci);
                    meta.start = 0;
                    meta.held += TAG_BYTES;
                    meta.wire += TAG_BYTES;
                }
            }
            _ => {}
        }
        // SAFETY: as for CMSG_FIRSTHDR.
        next = unsafe { libc::CMSG_NXTHDR(&raw const message.msg_hdr, next) };
    }
    meta
}

/// Moves the two addresses to the start of the slot and writes the tag between them and the type.
fn insert_tag(slot: &mut [u8], kind: u16, tag: u16) {
    slot.copy_within(TAG_BYTES..TAG_BYTES + 12, 0);
    slot[12..14].copy_from_slice(&kind.to_be_bytes());
    slot[14..16].copy_from_slice(&tag.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_goes_between_addresses_and_type() {
        let mut slot = vec![0, 0, 0, 0];
        slot.extend(1..=12);
        slot.extend([0x08, 0x00, 0xaa]);
        insert_tag(&mut slot, 0x8100, 0x2064);
        let expected: Vec<u8> = (1..=12)
            .chain([0x81, 0x00, 0x20, 0x64, 0x08, 0x00, 0xaa])
            .collect();
        assert_eq!(slot, expected);
    }
}
