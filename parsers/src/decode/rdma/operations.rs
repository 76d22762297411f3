//! Opcodes of the InfiniBand transport: the operation, the service, and the headers that follow.

use crate::decode::Stop;

/// Length of the Base Transport Header.
pub(super) const BASE: u32 = 12;
/// Congestion Notification Packet.
const CNP: u8 = 0x81;

/// Service of a queue pair, from the upper bits of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Reliable,
    Unreliable,
    Datagram,
    /// Extended reliable connection: many receive queues share one connection.
    Extended,
}

impl Service {
    /// Returns whether requests are acknowledged and retransmitted.
    pub(crate) fn is_reliable(self) -> bool {
        matches!(self, Self::Reliable | Self::Extended)
    }
}

/// The place of a packet in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Middle,
    Last,
    Only,
}

impl Place {
    pub(crate) fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// The meaning of an acknowledgement, from the syndrome in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Acknowledged,
    /// Receiver not ready: it has no buffer and states how long to wait.
    NotReady,
    /// PSN sequence error: this is the packet number that the receiver expects.
    SequenceError,
    /// Invalid request, remote access error, remote operational error.
    Refused,
}

/// The operation that a packet is part of, by its opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Send(Place),
    Write(Place),
    ReadRequest,
    ReadResponse(Place),
    Atomic,
    Acknowledge(Answer),
    Congestion,
}

/// Headers after the base header.
#[derive(Default)]
pub(super) struct Extended {
    pub bytes: u32,
    /// Offset of the RDMA extended header, whose last word is the length of the message.
    pub reth: Option<u32>,
    /// Offset of the acknowledge header, whose first byte is the syndrome.
    pub aeth: Option<u32>,
}

/// Decodes `opcode`: operation, service, and headers that follow (table 38 of chapter 9).
pub(super) fn operation(opcode: u8) -> Result<(Operation, Option<Service>, Extended), Stop> {
    use Operation::{Acknowledge, Atomic, Congestion, ReadRequest, ReadResponse, Send, Write};
    use Place::{First, Last, Middle, Only};

    if opcode == CNP {
        // 16 reserved bytes.
        let extended = Extended {
            bytes: 16,
            ..Extended::default()
        };
        return Ok((Congestion, None, extended));
    }
    let service = match opcode >> 5 {
        0 => Service::Reliable,
        1 => Service::Unreliable,
        3 => Service::Datagram,
        5 => Service::Extended,
        _ => return Err(Stop::Malformed),
    };
    // Bytes of headers that are not decoded: immediate data, an invalidated key, the operands of an atomic operation.
    let (operation, other) = match opcode & 0x1f {
        0 => (Send(First), 0),
        1 => (Send(Middle), 0),
        2 => (Send(Last), 0),
        3 | 0x16 => (Send(Last), 4),
        4 => (Send(Only), 0),
        5 | 0x17 => (Send(Only), 4),
        6 => (Write(First), 0),
        7 => (Write(Middle), 0),
        8 => (Write(Last), 0),
        9 => (Write(Last), 4),
        0xa => (Write(Only), 0),
        0xb => (Write(Only), 4),
        0xc => (ReadRequest, 0),
        0xd => (ReadResponse(First), 0),
        0xe => (ReadResponse(Middle), 0),
        0xf => (ReadResponse(Last), 0),
        0x10 => (ReadResponse(Only), 0),
        0x11 => (Acknowledge(Answer::Acknowledged), 0),
        // With the previous value at the address of the atomic operation.
        0x12 => (Acknowledge(Answer::Acknowledged), 8),
        0x13 | 0x14 => (Atomic, 28),
        _ => return Err(Stop::Malformed),
    };
    let allowed = match service {
        Service::Reliable | Service::Extended => true,
        Service::Unreliable => matches!(operation, Send(_) | Write(_)) && opcode & 0x1f <= 0xb,
        Service::Datagram => matches!(opcode & 0x1f, 4 | 5),
    };
    if !allowed {
        return Err(Stop::Malformed);
    }
    let mut extended = Extended {
        bytes: other,
        ..Extended::default()
    };
    let is_answer = matches!(operation, ReadResponse(_) | Acknowledge(_));
    match service {
        // Each request names the receive queue, ...
        Service::Extended if !is_answer => extended.bytes += 4,
        // ... each datagram its key and the sending queue pair.
        Service::Datagram => extended.bytes += 8,
        _ => {}
    }
    match operation {
        Write(First | Only) | ReadRequest => {
            let before = if service == Service::Extended { 4 } else { 0 };
            extended.reth = Some(BASE + before);
            extended.bytes += 16;
        }
        ReadResponse(First | Last | Only) | Acknowledge(_) => {
            extended.aeth = Some(BASE);
            extended.bytes += 4;
        }
        _ => {}
    }
    Ok((operation, Some(service), extended))
}

/// Decodes the syndrome of an acknowledgement.
pub(super) fn answer_of(syndrome: u8) -> Result<Answer, Stop> {
    match (syndrome >> 5, syndrome & 0x1f) {
        (0, _) => Ok(Answer::Acknowledged),
        (1, _) => Ok(Answer::NotReady),
        (3, 0) => Ok(Answer::SequenceError),
        (3, _) => Ok(Answer::Refused),
        _ => Err(Stop::Malformed),
    }
}
