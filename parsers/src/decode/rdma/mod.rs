//! RDMA over Converged Ethernet, version 2: the InfiniBand transport headers after UDP port 4791.
//!
//! InfiniBand Architecture Specification, volume 1: chapter 9 defines headers and operations, annex A17 their use over
//! UDP. Other applications may use the port: a datagram without a valid header belongs to its UDP flow only, and is
//! counted.

mod operations;

use super::{Stop, Walk};
pub(crate) use operations::{Answer, Operation, Place, Service};
use operations::{BASE, answer_of, operation};

/// UDP destination port, annex A17.
pub(super) const PORT: u16 = 4791;
/// Length of the invariant CRC at the end of each packet.
const CRC: u32 = 4;
/// Numbers of queue pairs and packets have 24 bits.
const MASK: u32 = (1 << 24) - 1;
/// Returns how far packet `number` is ahead of `from`; negative if it is earlier.
pub(crate) fn ahead(number: u32, from: u32) -> i32 {
    (number.wrapping_sub(from) << 8).cast_signed() >> 8
}

/// The decoded headers of one RDMA packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rdma {
    pub operation: Operation,
    /// None for Congestion Notification Packets, which belong to no service.
    pub service: Option<Service>,
    /// The queue pair it is sent to.
    pub destination: u32,
    /// The queue pair that sent it; only datagrams name it.
    pub source: Option<u32>,
    /// Packet sequence number.
    pub number: u32,
    /// Bytes of data that it carries, captured or not.
    pub payload: u32,
    /// Bytes of the whole message that it writes or requests; none if that was not captured.
    pub length: Option<u32>,
    /// Explicit congestion notification of InfiniBand, forward and backward.
    pub fecn: bool,
    pub becn: bool,
}

impl Walk<'_> {
    /// Decodes the payload of a UDP datagram to [`PORT`].
    #[cold]
    pub(super) fn rdma(&mut self) {
        match self.base_transport() {
            Ok(rdma) => self.packet.rdma = Some(rdma),
            Err(_) => self.packet.unread_rdma = true,
        }
    }

    fn base_transport(&self) -> Result<Rdma, Stop> {
        let header = self.chunk::<{ BASE as usize }>(0)?;
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (opcode, flags) = (header[0], header[1]);
        // Version 0, and reserved bits that senders set to 0.
        let is_right = (flags & 0x0f, header[4] & 0x3f, header[8] & 0x7f) == (0, 0, 0);
        // Padding makes the length of every packet a multiple of four bytes.
        if !is_right || !self.packet.payload.is_multiple_of(4) {
            return Err(Stop::Malformed);
        }
        let (operation, service, extended) = operation(opcode)?;
        let pad = u32::from(flags >> 4 & 3);
        let around = BASE + extended.bytes + pad + CRC;
        let payload = self.packet.payload.checked_sub(around);
        let answer = extended.aeth.map(|at| self.u8(at as usize)).transpose()?;
        let operation = match (operation, answer) {
            (Operation::Acknowledge(_), Some(syndrome)) => {
                Operation::Acknowledge(answer_of(syndrome)?)
            }
            (operation, _) => operation,
        };
        let is_datagram = service == Some(Service::Datagram);
        Ok(Rdma {
            operation,
            service,
            destination: word(4) & MASK,
            source: if is_datagram {
                Some(self.u32(BASE as usize + 4)? & MASK)
            } else {
                None
            },
            number: word(8) & MASK,
            payload: payload.ok_or(Stop::Malformed)?,
            length: extended.reth.and_then(|at| self.u32(at as usize + 12).ok()),
            fecn: header[4] & 0x80 != 0,
            becn: header[4] & 0x40 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::{Packet, whole};

    /// Returns an IPv4 packet to the port, with `content` after UDP.
    fn packet(content: &[u8]) -> Packet {
        let mut bytes = vec![0x45, 0];
        bytes.extend((content.len() as u16 + 28).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 200, 0]);
        bytes.extend(PORT.to_be_bytes());
        bytes.extend((content.len() as u16 + 8).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(content);
        whole(101, &bytes)
    }

    /// Decodes a packet of `opcode` to queue pair 0x1234 with number 0xabcdef: base header, `behind`, CRC.
    fn read(opcode: u8, flags: u8, behind: &[u8]) -> Option<Rdma> {
        let mut content = vec![
            opcode, flags, 255, 255, 0, 0, 0x12, 0x34, 0x80, 0xab, 0xcd, 0xef,
        ];
        content.extend(behind);
        content.extend([0; 4]);
        let packet = packet(&content);
        assert_ne!(packet.rdma.is_some(), packet.unread_rdma);
        packet.rdma
    }

    #[test]
    fn each_operation_has_its_headers() {
        use Operation::{Acknowledge, Atomic, Congestion, ReadRequest, ReadResponse, Send, Write};
        use Place::{First, Last, Middle, Only};
        for (opcode, headers, expected) in [
            (0x00, 0, Send(First)),
            (0x03, 4, Send(Last)),
            (0x17, 4, Send(Only)),
            (0x06, 16, Write(First)),
            (0x0b, 20, Write(Only)),
            (0x0d, 4, ReadResponse(First)),
            (0x0e, 0, ReadResponse(Middle)),
            (0x0f, 4, ReadResponse(Last)),
            (0x13, 28, Atomic),
            (0x29, 4, Write(Last)),
            (0x65, 12, Send(Only)),
            (0xa1, 4, Send(Middle)),
            (0xaa, 20, Write(Only)),
        ] {
            let found = read(opcode, 0x20, &vec![0; headers + 100]).unwrap();
            assert_eq!(
                (found.operation, found.payload),
                (expected, 98),
                "{opcode:#x}"
            );
            assert_eq!((found.destination, found.number), (0x1234, 0xab_cdef));
        }
        for (opcode, headers, expected) in [
            (0x0c, 16, ReadRequest),
            (0x12, 12, Acknowledge(Answer::Acknowledged)),
            (0xb1, 4, Acknowledge(Answer::Acknowledged)),
            (0x81, 16, Congestion),
        ] {
            let found = read(opcode, 0, &vec![0; headers]).unwrap();
            assert_eq!(
                (found.operation, found.payload),
                (expected, 0),
                "{opcode:#x}"
            );
        }
    }

    #[test]
    fn lengths_keys_and_syndromes_stand_in_their_headers() {
        let reth = [[0; 8], [0, 0, 0, 7, 0, 1, 0, 2]].concat();
        assert_eq!(read(0x06, 0, &reth).unwrap().length, Some(65_538));
        assert_eq!(read(0x0c, 0, &reth).unwrap().length, Some(65_538));
        let extended = [vec![9; 4], reth].concat();
        assert_eq!(read(0xa6, 0, &extended).unwrap().length, Some(65_538));
        let datagram = [0x80, 1, 0, 0, 0, 0, 0x56, 0x78];
        assert_eq!(read(0x64, 0, &datagram).unwrap().source, Some(0x5678));
        for (syndrome, expected) in [
            (0x1f, Some(Answer::Acknowledged)),
            (0x21, Some(Answer::NotReady)),
            (0x60, Some(Answer::SequenceError)),
            (0x61, Some(Answer::Refused)),
            (0x40, None),
            (0x80, None),
        ] {
            let found = read(0x11, 0, &[syndrome, 0, 0, 1]).map(|rdma| rdma.operation);
            assert_eq!(found, expected.map(Operation::Acknowledge), "{syndrome:#x}");
        }
    }

    #[test]
    fn what_is_no_such_header_is_counted() {
        // Unknown opcodes and services, a version, more padding than payload, a length that is not a multiple of four.
        assert!(
            [0x15, 0x18, 0x40, 0x80, 0x82, 0xc0, 0x2c, 0x36, 0x60]
                .iter()
                .all(|&opcode| read(opcode, 0, &[0; 40]).is_none())
        );
        assert!(read(0x04, 0x01, &[0; 40]).is_none());
        assert!(read(0x04, 0x30, &[]).is_none());
        assert!(read(0x04, 0, &[0; 5]).is_none());
        assert!(read(0x04, 0x30, &[0; 4]).is_some_and(|rdma| rdma.payload == 1));
    }

    proptest! {
        #[test]
        fn no_header_makes_more_payload_than_there_is(
            content in prop::collection::vec(any::<u8>(), 0..80),
            opcode in any::<u8>(),
            plain in any::<bool>(),
        ) {
            let mut content = content;
            if plain && content.len() >= BASE as usize {
                content[0] = opcode;
                content[1] &= 0xf0;
                (content[4], content[8]) = (content[4] & 0xc0, content[8] & 0x80);
            }
            let packet = packet(&content);
            prop_assert_ne!(packet.rdma.is_some(), packet.unread_rdma);
            if let Some(rdma) = packet.rdma {
                prop_assert!(rdma.payload as usize + 16 <= content.len());
            }
        }
    }
}
