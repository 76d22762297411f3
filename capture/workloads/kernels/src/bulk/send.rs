//! The sending side: sends blocks in order, at the rate, and again those that the receiver misses.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::rate::Rate;
use super::wire::{DATA_HEADER, Data, MOST_PAYLOAD, Report};
use super::{Counts, Place};

/// A receiver that is silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// A shorter sleep costs more than it gives.
const NAP: Duration = Duration::from_micros(200);
/// A late sender makes up for at most this much: a longer burst would overflow queues.
const MOST_BEHIND: Duration = Duration::from_millis(2);

/// How to send.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of the transfer in each packet.
    pub block_bytes: usize,
    /// UDP payload per second at the beginning, at least and at most.
    pub start_bit_s: f64,
    /// See `start_bit_s`.
    pub least_bit_s: f64,
    /// See `start_bit_s`.
    pub most_bit_s: f64,
    /// Listen to the receiver: adapt the rate and repeat what is lost. Else everything is sent
    /// once, at `start_bit_s`.
    pub reliable: bool,
}

struct Sender<'a> {
    socket: &'a UdpSocket,
    place: &'a Place<'a>,
    block_bytes: usize,
    start: Instant,
    rate: Rate,
    counts: Counts,
    /// When each block was sent last.
    sent_at: Vec<Option<Instant>>,
    again: VecDeque<u32>,
    queued: Vec<bool>,
    round_trip: Duration,
    heard: Instant,
    done: bool,
}

/// Sends everything; returns when the receiver has it, or, if not reliable, when all is sent.
pub fn send(socket: &UdpSocket, place: &Place<'_>, plan: &Plan) -> io::Result<Counts> {
    if plan.block_bytes == 0 || plan.block_bytes + DATA_HEADER > MOST_PAYLOAD || place.is_empty() {
        return Err(ErrorKind::InvalidInput.into());
    }
    socket.set_nonblocking(true)?;
    let blocks = place.len().div_ceil(plan.block_bytes);
    let now = Instant::now();
    let bits = 8.0 * (plan.block_bytes + DATA_HEADER) as f64;
    let bounds = (plan.least_bit_s, plan.most_bit_s);
    let mut sender = Sender {
        socket,
        place,
        block_bytes: plan.block_bytes,
        start: now,
        rate: Rate::new(bits, plan.start_bit_s, bounds),
        counts: Counts {
            blocks: blocks as u64,
            ..Counts::default()
        },
        sent_at: vec![None; blocks],
        again: VecDeque::new(),
        queued: vec![false; blocks],
        round_trip: Duration::from_millis(100),
        heard: now,
        done: false,
    };
    sender.run(plan.reliable)?;
    sender.counts.rate_bit_s = sender.rate.bit_s() as u64;
    sender.counts.elapsed_ns = now.elapsed().as_nanos() as u64;
    sender.counts.lowered = sender.rate.lowered;
    Ok(sender.counts)
}

impl Sender<'_> {
    fn run(&mut self, reliable: bool) -> io::Result<()> {
        let blocks = self.sent_at.len() as u32;
        let mut next = 0;
        let mut due = self.start;
        loop {
            if reliable {
                self.listen()?;
                if self.done {
                    return Ok(());
                }
                if self.heard.elapsed() > SILENCE {
                    let what = "the receiver does not answer";
                    return Err(io::Error::new(ErrorKind::TimedOut, what));
                }
            }
            let now = Instant::now();
            due = due.max(now.checked_sub(MOST_BEHIND).unwrap_or(now));
            while due <= now {
                if let Some(block) = self.again.pop_front() {
                    self.queued[block as usize] = false;
                    self.counts.repeated += 1;
                    self.transmit(block)?;
                } else if next < blocks {
                    self.transmit(next)?;
                    next += 1;
                } else if !reliable {
                    return Ok(());
                } else {
                    // Nothing to do: sends the last block once per round trip, to show the receiver where the end is.
                    self.poke(blocks - 1)?;
                    due = now + NAP;
                    break;
                }
                due += Duration::from_nanos(self.rate.interval_ns() as u64);
            }
            let wait = due.saturating_duration_since(Instant::now());
            std::thread::sleep(wait.max(NAP));
        }
    }

    fn poke(&mut self, last: u32) -> io::Result<()> {
        let long_ago = self.sent_at[last as usize]
            .is_none_or(|at| at.elapsed() > self.round_trip.max(Duration::from_millis(20)));
        if long_ago {
            self.counts.repeated += 1;
            self.transmit(last)?;
        }
        Ok(())
    }

    fn transmit(&mut self, block: u32) -> io::Result<()> {
        let at = block as usize * self.block_bytes;
        let length = self.block_bytes.min(self.place.len() - at);
        let mut packet = [0; MOST_PAYLOAD];
        let header = Data {
            block,
            count: self.counts.packets as u32,
            time_us: self.start.elapsed().as_micros() as u32,
            epoch: self.rate.epoch,
        };
        header.write(&mut packet);
        let packet = &mut packet[..DATA_HEADER + length];
        self.place.read(at, &mut packet[DATA_HEADER..])?;
        loop {
            match self.socket.send(packet) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(NAP),
                // The receiver may not listen yet.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        self.sent_at[block as usize] = Some(Instant::now());
        self.counts.packets += 1;
        self.counts.payload_bytes += packet.len() as u64;
        Ok(())
    }

    fn listen(&mut self) -> io::Result<()> {
        let mut packet = [0; 2 * MOST_PAYLOAD];
        loop {
            let length = match self.socket.recv(&mut packet) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            if let Some(report) = Report::read(&packet[..length]) {
                self.counts.reports += 1;
                self.counts.report_bytes += length as u64;
                self.heard = Instant::now();
                self.done |= report.done;
                self.take(&report);
            }
        }
    }

    fn take(&mut self, report: &Report) {
        let now_us = self.start.elapsed().as_micros() as u32;
        if report.echo_us > 0 {
            let trip = now_us.wrapping_sub(report.echo_us.wrapping_add(report.held_us));
            if trip < 10_000_000 {
                self.round_trip = (self.round_trip * 7 + Duration::from_micros(trip.into())) / 8;
            }
        }
        self.rate.learn(report);
        // Blocks sent within the last round trip may still be on their way.
        let patience = self.round_trip * 5 / 4 + Duration::from_millis(5);
        for &(first, count) in &report.missing {
            for block in first..first.saturating_add(count).min(self.queued.len() as u32) {
                let at = block as usize;
                let old = self.sent_at[at].is_some_and(|sent| sent.elapsed() > patience);
                if old && !self.queued[at] {
                    self.queued[at] = true;
                    self.again.push_back(block);
                }
            }
        }
    }
}
