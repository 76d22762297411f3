//! Sends equal Ethernet frames from one interface at a fixed rate: the load of `tests/bench/agent.py`.
//!
//! `blast IFACE FRAME_BYTES PACKETS_PER_S SECONDS`; frames are without FCS, 0 packets/s is as fast as it can. Every
//! frame has ethertype 0x88b5 (IEEE 802, local experiments), so that no stack answers, and after its header a number
//! from 0 on (8 bytes, big endian). Prints one line of JSON.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::{Duration, Instant};

/// Frames for each call of sendmmsg(2).
const BATCH: usize = 64;
const HEADER: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
const NUMBER: std::ops::Range<usize> = HEADER.len()..HEADER.len() + 8;
/// Shortest sleep: frames go in bursts, as after a network card that collects interrupts. Waking up for every frame
/// would cost more than sending it.
const TICK: Duration = Duration::from_micros(500);
/// A sender that is behind its plan by more than this has reached its limit and forgets the rest.
const LARGEST_DEBT: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, bytes, rate, seconds] = arguments.as_slice() else {
        return Err("usage: blast IFACE FRAME_BYTES PACKETS_PER_S SECONDS".into());
    };
    let bytes: usize = bytes.parse()?;
    if bytes < NUMBER.end {
        return Err(format!("FRAME_BYTES is {bytes}; at least {} are needed", NUMBER.end).into());
    }
    let socket = open(interface)?;
    // SAFETY: the option takes a number. Without it every sleep is 50 microseconds too long.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let plan = Plan {
        rate: rate.parse()?,
        length: Duration::from_secs_f64(seconds.parse()?),
    };
    let (sent, refused, took) = blast(&socket, bytes, &plan);
    println!(
        "{{\"sent\": {sent}, \"refused\": {refused}, \"seconds\": {:.6}}}",
        took.as_secs_f64()
    );
    Ok(())
}

struct Plan {
    /// Frames per second; 0 is no limit.
    rate: f64,
    length: Duration,
}

/// Opens a packet socket that only sends: protocol 0 receives nothing.
fn open(interface: &str) -> Result<OwnedFd, Box<dyn Error>> {
    let name = CString::new(interface)?;
    // SAFETY: the name is terminated; the descriptor is new and ours; pointers and lengths describe local variables.
    unsafe {
        let index = libc::if_nametoindex(name.as_ptr());
        if index == 0 {
            return Err(format!("{interface}: {}", io::Error::last_os_error()).into());
        }
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index as i32;
        let size = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        if libc::bind(fd, (&raw const address).cast(), size) < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let on: libc::c_int = 1;
        let size = mem::size_of::<libc::c_int>() as libc::socklen_t;
        let option = (&raw const on).cast();
        // Bypasses the queueing discipline: less work per frame, and no queue that could drop. It may fail.
        libc::setsockopt(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            option,
            size,
        );
        Ok(socket)
    }
}

/// Sends by the plan; returns the frames sent, the calls refused, and the time it took.
fn blast(socket: &OwnedFd, bytes: usize, plan: &Plan) -> (u64, u64, Duration) {
    let mut frames = vec![vec![0_u8; bytes]; BATCH];
    for frame in &mut frames {
        frame[..HEADER.len()].copy_from_slice(&HEADER);
    }
    let mut parts: Vec<libc::iovec> = frames
        .iter_mut()
        .map(|frame| libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: bytes,
        })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|part| {
            // SAFETY: all-zero is a valid header without address and control data.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = ptr::from_mut(part);
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let (mut sent, mut refused) = (0_u64, 0_u64);
    let begin = Instant::now();
    // The number of frames due runs with the clock from here; forgotten debt moves it on.
    let mut origin = begin;
    while begin.elapsed() < plan.length {
        let mut batch = BATCH;
        if plan.rate > 0.0 {
            let due = sent as f64 / plan.rate;
            let ahead = due - origin.elapsed().as_secs_f64();
            if ahead > 0.0 {
                std::thread::sleep(Duration::from_secs_f64(ahead).max(TICK));
                continue;
            }
            if -ahead > LARGEST_DEBT.as_secs_f64() {
                origin += Duration::from_secs_f64(-ahead);
            }
            batch = ((-ahead * plan.rate) as usize).clamp(1, BATCH);
        }
        for (offset, part) in parts[..batch].iter().enumerate() {
            let number = (sent + offset as u64).to_be_bytes();
            // SAFETY: the frame is at least NUMBER.end bytes long and lives in `frames`.
            unsafe {
                let place = part.iov_base.cast::<u8>().add(NUMBER.start);
                ptr::copy_nonoverlapping(number.as_ptr(), place, number.len());
            }
        }
        // SAFETY: the messages point to `parts`, these to `frames`; both live on.
        let result =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), batch as u32, 0) };
        match u64::try_from(result) {
            Ok(count) => sent += count,
            Err(_) => refused += 1,
        }
    }
    (sent, refused, begin.elapsed())
}
