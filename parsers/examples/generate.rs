//! Writes a large capture for measuring: TCP connections over Ethernet and IPv4, interleaved at random.
//!
//! `cargo run --release -p flowsweep-parsers --example generate -- PACKETS CONNECTIONS SNAPLEN FILE`

use std::fs::File;
use std::io::{BufWriter, Write};

struct Connection {
    seq: [u32; 2],
    sent: u32,
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| {
        arguments
            .get(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (Some(packets), Some(connections), Some(snaplen), Some(path)) =
        (number(1), number(2), number(3), arguments.get(4))
    else {
        eprintln!("usage: generate PACKETS CONNECTIONS SNAPLEN FILE");
        std::process::exit(2);
    };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut header = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header.extend_from_slice(&(snaplen as u32).to_le_bytes());
    header.extend_from_slice(&1_u32.to_le_bytes());
    out.write_all(&header)?;
    let mut state: Vec<Connection> = (0..connections)
        .map(|index| Connection {
            seq: [index as u32 * 7919, index as u32 * 104_729],
            sent: 0,
        })
        .collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut time = 1_700_000_000_000_000_000_u64;
    for _ in 0..packets {
        // xorshift: generates the same file every time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        time += 200 + random % 1800;
        let index = (random >> 20) % connections;
        write_packet(
            &mut out,
            &mut state[index as usize],
            index as u32,
            time,
            snaplen as usize,
        )?;
    }
    out.flush()
}

/// Writes SYN, SYN-ACK, then two full segments for each acknowledgement.
fn write_packet(
    out: &mut impl Write,
    connection: &mut Connection,
    index: u32,
    time: u64,
    snaplen: usize,
) -> std::io::Result<()> {
    let (back, flags, payload) = match connection.sent {
        0 => (false, 0x02_u8, 0_u32),
        1 => (true, 0x12, 0),
        sent if sent % 3 == 1 => (true, 0x10, 0),
        _ => (false, 0x10, 1448),
    };
    connection.sent += 1;
    let side = usize::from(back);
    let mut frame = [0_u8; 66];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&(52 + payload as u16).to_be_bytes());
    (frame[22], frame[23]) = (64, 6);
    let client = (0x0a00_0000 | index >> 8).to_be_bytes();
    let server = 0xc0a8_0001_u32.to_be_bytes();
    let ports = [1024 + (index & 0xff) as u16, 443];
    frame[26..30].copy_from_slice(if back { &server } else { &client });
    frame[30..34].copy_from_slice(if back { &client } else { &server });
    frame[34..36].copy_from_slice(&ports[side].to_be_bytes());
    frame[36..38].copy_from_slice(&ports[1 - side].to_be_bytes());
    frame[38..42].copy_from_slice(&connection.seq[side].to_be_bytes());
    frame[42..46].copy_from_slice(&connection.seq[1 - side].to_be_bytes());
    (frame[46], frame[47]) = (0x80, flags);
    frame[48..50].copy_from_slice(&500_u16.to_be_bytes());
    frame[54..58].copy_from_slice(&[1, 1, 8, 10]);
    connection.seq[side] = connection.seq[side].wrapping_add(payload + u32::from(flags & 2 != 0));
    let wire = 66 + payload as usize;
    let captured = wire.min(snaplen);
    out.write_all(&((time / 1_000_000_000) as u32).to_le_bytes())?;
    out.write_all(&((time % 1_000_000_000) as u32).to_le_bytes())?;
    out.write_all(&(captured as u32).to_le_bytes())?;
    out.write_all(&(wire as u32).to_le_bytes())?;
    let head = captured.min(66);
    out.write_all(&frame[..head])?;
    out.write_all(&[0x55; 1448][..captured - head])
}
