//! Records the packets of an interface, from the first after "ready" to the last that came before the signal.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime};

use crate::link::Watch;
use crate::recorder::Recorder;
use crate::sys::libpcap::{Capture, Failure};
use crate::sys::linux::{self, Signals};

/// Time after which the kernel hands over a part-filled block of the ring.
pub const BLOCK_TIMEOUT: Duration = Duration::from_millis(20);
/// The ring is taken for empty when nothing came out of it for this long after its inlet was closed.
const IDLE: Duration = BLOCK_TIMEOUT.saturating_mul(3);
/// Longest time spent to empty the ring.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// Packets sent before a signal get this time to pass the kernel's softirq on their way to the ring.
const GRACE: Duration = BLOCK_TIMEOUT;
/// Time from the closing of the inlet until its last packet is in the ring and counted.
const SETTLE: Duration = Duration::from_millis(4);
/// A packet comes within this time after its stamp: its block is handed over by then.
const LATE: Duration = BLOCK_TIMEOUT.saturating_mul(5);
/// How often everything is made readable on disk.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// Assumed, not measured: the fastest that packets fill a ring, bytes per second.
const FASTEST: u64 = 2_000_000_000;
/// Packets handed over before signals and the clock are looked at again.
const BATCH: u16 = 4_096;

/// The kernel's counters since the start, wide enough for long captures.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Packets that passed the filter, those dropped included.
    pub received: u64,
    /// Packets that found the ring full.
    pub dropped_kernel: u64,
    /// Packets that the interface lost.
    pub dropped_interface: u64,
}

/// Follows libpcap's counters, which wrap at 2^32.
#[derive(Debug, Default)]
struct Counters {
    last: [u32; 3],
    totals: Totals,
}

impl Counters {
    fn update(&mut self, now: [u32; 3]) {
        let [received, dropped_kernel, dropped_interface] =
            [0, 1, 2].map(|index| u64::from(now[index].wrapping_sub(self.last[index])));
        self.totals.received += received;
        self.totals.dropped_kernel += dropped_kernel;
        self.totals.dropped_interface += dropped_interface;
        self.last = now;
    }
}

/// How the capture went.
#[derive(Debug)]
pub struct Outcome {
    /// When the inlet was closed.
    pub end: SystemTime,
    /// Counters from the start to the end.
    pub totals: Totals,
    /// The signal's name, or what went wrong.
    pub stop_reason: String,
    /// True when it ended for another reason than a signal.
    pub failed: bool,
    /// Packets that the kernel counted but that did not leave the ring in time.
    pub unread: u64,
}

/// A capture that runs into the ring.
pub struct Agent {
    capture: Capture,
    counters: Counters,
    start: SystemTime,
    /// The kernel's count can be compared with ours: not on a loopback interface, where it counts each packet twice.
    countable: bool,
    /// Time in which not even half of the ring can fill: it is left alone for this long after it was emptied. Waking up
    /// for every block costs more than reading it.
    rest: Duration,
}

impl Agent {
    /// Starts the capture with a filter, from a ring of this size. Packets that arrived before the filter was set are
    /// discarded and not counted.
    pub fn start(
        mut capture: Capture,
        filter: &str,
        loopback: bool,
        ring_bytes: u64,
    ) -> Result<Self, Failure> {
        let mut counters = Counters::default();
        // Where the descriptor is not a packet socket there is no inlet to close, and the counts may be off by a few.
        let countable = linux::close_inlet(capture.fd()).is_ok() && !loopback;
        discard_all(&mut capture, &mut counters, countable)?;
        counters.totals = Totals::default();
        capture.filter(filter)?;
        Ok(Self {
            capture,
            counters,
            start: SystemTime::now(),
            countable,
            rest: Duration::from_secs_f64(ring_bytes as f64 / 2.0 / FASTEST as f64)
                .min(BLOCK_TIMEOUT),
        })
    }

    /// Returns when the first packet could be captured.
    pub const fn start_time(&self) -> SystemTime {
        self.start
    }

    /// Returns the counters so far.
    pub const fn totals(&self) -> Totals {
        self.counters.totals
    }

    /// Records until a signal comes or something fails, then empties the ring. Whenever everything was made readable,
    /// calls `tell` with its progress.
    pub fn run(
        mut self,
        signals: &Signals,
        recorder: &mut Recorder,
        link: Option<&mut Watch>,
        mut tell: impl FnMut(&Recorder, Totals, Option<&mut Watch>),
    ) -> Outcome {
        let (stop_reason, failed) = self.record(signals, recorder, link, &mut tell);
        let (end, unread) = self.drain(recorder);
        Outcome {
            end,
            totals: self.counters.totals,
            stop_reason,
            failed,
            unread,
        }
    }

    /// Records until there is a reason to stop; returns it, and whether it is a fault.
    fn record(
        &mut self,
        signals: &Signals,
        recorder: &mut Recorder,
        mut link: Option<&mut Watch>,
        tell: &mut impl FnMut(&Recorder, Totals, Option<&mut Watch>),
    ) -> (String, bool) {
        // poll(2) ignores a descriptor below 0.
        let link_fd = link.as_ref().map_or(-1, |link| link.as_raw_fd());
        let mut flushed = Instant::now();
        loop {
            let more = match self.dispatch(recorder) {
                Ok(count) => count == u64::from(BATCH),
                Err(failure) => return (format!("interface: {}", failure.message), true),
            };
            if flushed.elapsed() >= FLUSH_EVERY {
                flushed = Instant::now();
                if !more {
                    recorder.tick(SystemTime::now() - LATE);
                }
                recorder.flush();
                // Prevents also that a counter wraps twice between two updates.
                let _ = update(&mut self.counters, &mut self.capture);
                if let Some(link) = &mut link {
                    link.ask();
                }
                tell(recorder, self.counters.totals, link.as_deref_mut());
            }
            if recorder.halt().is_some() {
                return ("write error".into(), true);
            }
            if let Some(signal) = signals.take() {
                return (signal.into(), false);
            }
            if !more {
                let left = FLUSH_EVERY.saturating_sub(flushed.elapsed());
                let result =
                    linux::wait([signals.as_raw_fd()], self.rest.min(left)).and_then(|()| {
                        linux::wait([self.capture.fd(), signals.as_raw_fd(), link_fd], left)
                    });
                // Notices are read at once, so that their time is right.
                if let Some(link) = &mut link {
                    link.look();
                }
                if let Err(error) = result {
                    return (format!("waiting: {error}"), true);
                }
            }
        }
    }

    /// Closes the inlet and records what is in the ring; returns when it was closed and how many packets are missing.
    fn drain(&mut self, recorder: &mut Recorder) -> (SystemTime, u64) {
        let begin = Instant::now();
        while begin.elapsed() < GRACE {
            let _ = self.dispatch(recorder);
            let _ = linux::wait([self.capture.fd()], Duration::from_millis(2));
        }
        let closed = linux::close_inlet(self.capture.fd()).is_ok();
        let end = SystemTime::now();
        let _ = writeln!(std::io::stdout(), "closed");
        // A packet that the inlet let in at the last moment may not have been counted yet.
        let _ = linux::wait([], SETTLE);
        let _ = update(&mut self.counters, &mut self.capture);
        let mut last = Instant::now();
        while begin.elapsed() < DRAIN_LIMIT {
            if self.dispatch(recorder).unwrap_or(0) > 0 {
                last = Instant::now();
                continue;
            }
            // With the inlet closed the count stands still, and reaching it proves that the ring is empty.
            let complete = self.countable && closed && self.unread(recorder) == 0;
            if complete || !self.countable && last.elapsed() >= IDLE {
                break;
            }
            let _ = linux::wait([self.capture.fd()], Duration::from_millis(2));
        }
        let unread = if self.countable {
            self.unread(recorder)
        } else {
            0
        };
        (end, unread)
    }

    const fn unread(&self, recorder: &Recorder) -> u64 {
        let totals = &self.counters.totals;
        totals
            .received
            .saturating_sub(totals.dropped_kernel)
            .saturating_sub(recorder.taken())
    }

    fn dispatch(&mut self, recorder: &mut Recorder) -> Result<u64, Failure> {
        self.capture
            .dispatch(BATCH, |packet| recorder.write(&packet))
    }
}

/// Empties a ring whose inlet is closed. `countable`: the count stops then, and shows when the ring is empty.
fn discard_all(
    capture: &mut Capture,
    counters: &mut Counters,
    countable: bool,
) -> Result<(), Failure> {
    // A packet that the inlet let in at the last moment may not have been counted yet.
    linux::wait([], SETTLE).map_err(|error| Failure {
        code: -1,
        message: format!("waiting: {error}"),
    })?;
    update(counters, capture)?;
    let waiting = counters.totals.received - counters.totals.dropped_kernel;
    let begin = Instant::now();
    let (mut last, mut discarded) = (begin, 0);
    while begin.elapsed() < DRAIN_LIMIT {
        let count = capture.dispatch(BATCH, |_packet| {})?;
        discarded += count;
        if count > 0 {
            last = Instant::now();
        } else if countable && discarded >= waiting || last.elapsed() >= IDLE {
            break;
        } else {
            let _ = linux::wait([capture.fd()], Duration::from_millis(5));
        }
    }
    update(counters, capture)
}

fn update(counters: &mut Counters, capture: &mut Capture) -> Result<(), Failure> {
    let now = capture.statistics()?;
    counters.update([now.received, now.dropped, now.interface_dropped]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_on_when_the_kernel_s_wrap() {
        let mut counters = Counters::default();
        counters.update([u32::MAX - 1, 5, 0]);
        counters.update([8, 5, 1]);
        assert_eq!(
            counters.totals,
            Totals {
                received: u64::from(u32::MAX) + 9,
                dropped_kernel: 5,
                dropped_interface: 1,
            }
        );
    }
}
