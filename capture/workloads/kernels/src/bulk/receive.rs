//! The receiving side: writes blocks to their places, and reports to the sender.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::wire::{DATA_HEADER, Data, MOST_PAYLOAD, MOST_RANGES, Report};
use super::{Counts, Place, Span, piece_bytes};

/// Time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(20);
/// A rate is measured over at least this time, and this many packets.
const MEASURE: Duration = Duration::from_millis(100);
const MEASURE_PACKETS: u32 = 50;
/// Nothing acknowledges the last report: it is sent this often.
const LAST_REPORTS: u32 = 20;
const LAST_GAP: Duration = Duration::from_millis(5);
/// A sender that is silent for this long is gone; without reports, it has sent everything.
const SILENCE: Duration = Duration::from_secs(10);
const PLAIN_SILENCE: Duration = Duration::from_secs(1);

/// Packets of one rate, as they arrive.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    epoch: u32,
    first_count: u32,
    last_count: u32,
    arrived: u32,
    first: Instant,
    last: Instant,
    first_sent_us: u32,
    last_sent_us: u32,
}

struct Receiver<'a, 'b> {
    socket: &'a UdpSocket,
    place: &'a mut Place<'b>,
    block_bytes: usize,
    start: Instant,
    spans: &'a mut [Span],
    piece_bytes: usize,
    /// All pieces before this one are whole.
    whole: usize,
    have: Vec<bool>,
    /// All blocks below this one are there.
    complete: usize,
    highest: usize,
    measurement: Option<Measurement>,
    measured: Option<Measurement>,
    echo: Option<(u32, Instant)>,
    counts: Counts,
}

/// Receives until everything is there or, if not reliable, until the sender falls silent. Each of
/// `spans` describes one piece of the content; a place of several files has as many.
pub fn receive(
    socket: &UdpSocket,
    place: &mut Place<'_>,
    block_bytes: usize,
    reliable: bool,
    spans: &mut [Span],
) -> io::Result<Counts> {
    if block_bytes == 0 || place.is_empty() || spans.is_empty() {
        return Err(ErrorKind::InvalidInput.into());
    }
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(REPORT_EVERY / 2))?;
    let blocks = place.len().div_ceil(block_bytes);
    let start = Instant::now();
    let mut receiver = Receiver {
        socket,
        piece_bytes: piece_bytes(place.len(), spans.len()),
        place,
        block_bytes,
        start,
        spans,
        whole: 0,
        have: vec![false; blocks],
        complete: 0,
        highest: 0,
        measurement: None,
        measured: None,
        echo: None,
        counts: Counts {
            blocks: blocks as u64,
            ..Counts::default()
        },
    };
    receiver.run(reliable)?;
    for piece in receiver.whole..receiver.spans.len() {
        receiver.place.sync(piece)?;
    }
    receiver.counts.elapsed_ns = start.elapsed().as_nanos() as u64;
    if reliable {
        receiver.say_goodbye();
    }
    Ok(receiver.counts)
}

impl Receiver<'_, '_> {
    fn run(&mut self, reliable: bool) -> io::Result<()> {
        let mut packet = [0; 2 * MOST_PAYLOAD];
        let mut heard = Instant::now();
        let mut last_report = Instant::now();
        while self.counts.arrived < self.counts.blocks {
            match self.socket.recv(&mut packet) {
                Ok(length) => {
                    heard = Instant::now();
                    self.take(&packet[..length], heard)?;
                }
                Err(error) if is_nothing(&error) => {
                    let plain_end = !reliable && self.counts.packets > 0;
                    if plain_end && heard.elapsed() > PLAIN_SILENCE {
                        return Ok(());
                    }
                    if heard.elapsed() > SILENCE {
                        let what = "the sender has fallen silent";
                        return Err(io::Error::new(ErrorKind::TimedOut, what));
                    }
                }
                Err(error) => return Err(error),
            }
            if reliable && self.counts.packets > 0 && last_report.elapsed() >= REPORT_EVERY {
                last_report = Instant::now();
                self.report();
            }
        }
        Ok(())
    }

    fn take(&mut self, packet: &[u8], now: Instant) -> io::Result<()> {
        let Some(data) = Data::read(packet) else {
            return Ok(());
        };
        self.counts.packets += 1;
        self.counts.payload_bytes += packet.len() as u64;
        self.echo = Some((data.time_us, now));
        self.measure(&data, now);
        let block = data.block as usize;
        let at = block * self.block_bytes;
        let bytes = &packet[DATA_HEADER..];
        if block >= self.have.len() || at + bytes.len() > self.place.len() {
            return Ok(());
        }
        self.highest = self.highest.max(block);
        if std::mem::replace(&mut self.have[block], true) {
            self.counts.repeated += 1;
            return Ok(());
        }
        self.counts.arrived += 1;
        let last = at + bytes.len().max(1) - 1;
        for span in &mut self.spans[at / self.piece_bytes..=last / self.piece_bytes] {
            if span.first_ns == 0 {
                span.first_ns = (now - self.start).as_nanos() as u64;
            }
        }
        self.place.write(at, bytes)?;
        while self.complete < self.have.len() && self.have[self.complete] {
            self.complete += 1;
        }
        self.close_pieces()
    }

    /// Waits until the pieces that have become whole are on the disk.
    fn close_pieces(&mut self) -> io::Result<()> {
        let there = (self.complete * self.block_bytes).min(self.place.len());
        while self.whole < self.spans.len() {
            let end = ((self.whole + 1) * self.piece_bytes).min(self.place.len());
            if there < end {
                return Ok(());
            }
            self.place.sync(self.whole)?;
            self.spans[self.whole].whole_ns = self.start.elapsed().as_nanos() as u64;
            self.whole += 1;
        }
        Ok(())
    }

    fn measure(&mut self, data: &Data, now: Instant) {
        match &mut self.measurement {
            Some(m) if m.epoch == data.epoch => {
                if data.count > m.last_count {
                    m.arrived += 1;
                    m.last_count = data.count;
                    m.last = now;
                    m.last_sent_us = data.time_us;
                }
                if now - m.first >= MEASURE && m.arrived >= MEASURE_PACKETS {
                    self.measured = self.measurement.take();
                }
            }
            // Late packets of an older rate show nothing.
            Some(m) if m.epoch > data.epoch => {}
            _ => {
                self.measurement = Some(Measurement {
                    epoch: data.epoch,
                    first_count: data.count,
                    last_count: data.count,
                    arrived: 0,
                    first: now,
                    last: now,
                    first_sent_us: data.time_us,
                    last_sent_us: data.time_us,
                });
            }
        }
    }

    fn missing(&self) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for block in self.complete..=self.highest.min(self.have.len() - 1) {
            if self.have[block] {
                continue;
            }
            if let Some((first, count)) = ranges.last_mut()
                && *first + *count == block as u32
            {
                *count += 1;
            } else if ranges.len() == MOST_RANGES {
                break;
            } else {
                ranges.push((block as u32, 1));
            }
        }
        ranges
    }

    fn report(&mut self) {
        let mut report = Report {
            done: self.counts.arrived == self.counts.blocks,
            epoch: u32::MAX,
            missing: self.missing(),
            ..Report::default()
        };
        if let Some((time_us, at)) = self.echo {
            report.echo_us = time_us;
            report.held_us = at.elapsed().as_micros() as u32;
        }
        if let Some(m) = self.measured.take() {
            report.epoch = m.epoch;
            report.sent = m.last_count - m.first_count;
            report.arrived = m.arrived;
            report.elapsed_ns = (m.last - m.first).as_nanos() as u64;
            report.spent_us = m.last_sent_us.wrapping_sub(m.first_sent_us);
        }
        let packet = report.write();
        // Another report follows one that is lost.
        if self.socket.send(&packet).is_ok() {
            self.counts.reports += 1;
            self.counts.report_bytes += packet.len() as u64;
        }
    }

    fn say_goodbye(&mut self) {
        for _ in 0..LAST_REPORTS {
            self.report();
            std::thread::sleep(LAST_GAP);
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused
    )
}
