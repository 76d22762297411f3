//! Describes this machine's clock in the manifest, so that captures of different hosts can be laid over each other.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::ntp::{self, Comparison};
use crate::sys::linux;
use crate::time;

/// chronyc asks its daemon over a socket that may not answer.
const CHRONYC_LIMIT: Duration = Duration::from_secs(1);

/// Where the stamps come from, and how far they can be trusted.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Clock {
    /// The clock that the kernel stamps packets with.
    pub source: &'static str,
    /// The hardware behind it.
    pub clocksource: Option<String>,
    /// The running kernel, new at each start of the machine: hosts with the same one have the same clock.
    pub boot_id: Option<String>,
    /// Its state before the first packet.
    pub at_start: State,
    /// Its state after the last packet; null while it runs.
    pub at_end: Option<State>,
}

/// A reading of the clock at one moment.
#[derive(Debug, Clone, Default, Serialize)]
pub struct State {
    /// When this was asked, RFC 3339.
    pub time: String,
    /// The kernel's view; daemons for NTP and PTP leave theirs here.
    pub kernel: Option<Kernel>,
    /// The view of chrony's daemon; null where there is none.
    pub chrony: Option<Chrony>,
    /// Round trips to the host given with --clock-peer; null where none was given.
    pub peer: Option<Comparison>,
}

/// Fields of adjtimex(2).
#[derive(Debug, Clone, Serialize)]
pub struct Kernel {
    /// A daemon keeps this clock, and the kernel still takes it for synchronised.
    pub synchronised: bool,
    /// Status bits `STA_*`.
    pub status: i32,
    /// Offset that remains to be slewed, nanoseconds.
    pub offset_ns: i64,
    /// Estimated error, microseconds.
    pub estimated_error_us: i64,
    /// Largest possible error, microseconds; 16 s means unknown.
    pub maximum_error_us: i64,
    /// Correction of the frequency, parts per million.
    pub frequency_ppm: f64,
    /// TAI minus UTC, seconds; 0 means unknown.
    pub tai_offset_s: i32,
}

/// Fields of `chronyc -c tracking`, in chrony's units and signs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chrony {
    /// Name or address of the reference.
    pub reference: String,
    /// Steps from a reference clock.
    pub stratum: u32,
    /// Offset that remains to be slewed, seconds; positive where this clock is slow.
    pub system_time_s: f64,
    /// Offset at the last update, seconds.
    pub last_offset_s: f64,
    /// Long-term average of the offset, seconds.
    pub rms_offset_s: f64,
    /// Error of the frequency without correction, parts per million.
    pub frequency_ppm: f64,
    /// Bound of the error of the frequency, parts per million.
    pub skew_ppm: f64,
    /// Round trip to the reference clock, seconds.
    pub root_delay_s: f64,
    /// Accumulated error, seconds.
    pub root_dispersion_s: f64,
    /// `Normal`, or `Not synchronised`, or a leap second to come.
    pub leap_status: String,
}

impl Clock {
    /// Returns the clock of this machine, compared with that of `peer`.
    pub fn at_start(peer: Option<&str>) -> Self {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        Self {
            source: "CLOCK_REALTIME",
            clocksource: fs::read_to_string(file)
                .ok()
                .map(|name| name.trim().to_owned()),
            boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .ok()
                .map(|name| name.trim().to_owned()),
            at_start: State::now(peer),
            at_end: None,
        }
    }

    /// Adds the state after the last packet.
    pub fn end(&mut self, peer: Option<&str>) {
        self.at_end = Some(State::now(peer));
    }
}

impl State {
    fn now(peer: Option<&str>) -> Self {
        Self {
            time: time::rfc3339(SystemTime::now()),
            kernel: Kernel::now(),
            chrony: chronyc().and_then(|line| Chrony::parse(&line)),
            peer: peer.map(ntp::compare),
        }
    }

    /// Returns why there is no offset to the requested peer.
    pub fn peer_fault(&self) -> Option<&str> {
        self.peer.as_ref()?.error.as_deref()
    }
}

impl Kernel {
    fn now() -> Option<Self> {
        let (state, synchronised) = linux::kernel_clock().ok()?;
        // The offset is in nanoseconds with this bit and in microseconds without.
        let unit_ns = match state.status & libc::STA_NANO {
            0 => 1_000,
            _ => 1,
        };
        Some(Self {
            synchronised,
            status: state.status,
            offset_ns: state.offset * unit_ns,
            estimated_error_us: state.esterror,
            maximum_error_us: state.maxerror,
            // The kernel counts in 2^-16 parts per million.
            frequency_ppm: state.freq as f64 / 65_536.0,
            tai_offset_s: state.tai,
        })
    }
}

impl Chrony {
    /// Reads the one line of 14 fields that `chronyc -c tracking` prints.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.trim().split(',').collect();
        let [_, reference, stratum, _, numbers @ .., leap_status] = fields.as_slice() else {
            return None;
        };
        let numbers: Vec<f64> = numbers.iter().flat_map(|text| text.parse()).collect();
        let &[
            system_time_s,
            last_offset_s,
            rms_offset_s,
            frequency_ppm,
            _residual_ppm,
            skew_ppm,
            root_delay_s,
            root_dispersion_s,
            _interval_s,
        ] = numbers.as_slice()
        else {
            return None;
        };
        Some(Self {
            reference: (*reference).to_owned(),
            stratum: stratum.parse().ok()?,
            system_time_s,
            last_offset_s,
            rms_offset_s,
            frequency_ppm,
            skew_ppm,
            root_delay_s,
            root_dispersion_s,
            leap_status: (*leap_status).to_owned(),
        })
    }
}

/// Returns what `chronyc -c tracking` prints; nothing where it is missing, fails or hangs.
fn chronyc() -> Option<String> {
    let mut child = Command::new("chronyc")
        .args(["-c", "tracking"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begin = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed() < CHRONYC_LIMIT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chrony_s_line_is_read() {
        let line = "CB00710F,foo.example.net,3,1444657386.113655655,0.000006523,-0.000006747,0.000035822,\
                    3.225,-0.000,0.129,0.013639022,0.001100737,64.2,Normal\n";
        let found = Chrony::parse(line).expect("fourteen fields");
        assert_eq!(found.reference, "foo.example.net");
        assert_eq!(found.stratum, 3);
        let numbers = [
            found.system_time_s,
            found.last_offset_s,
            found.rms_offset_s,
            found.frequency_ppm,
            found.skew_ppm,
            found.root_delay_s,
            found.root_dispersion_s,
        ];
        let text = "[6.523e-6, -6.747e-6, 3.5822e-5, 3.225, 0.129, 0.013639022, 0.001100737]";
        assert_eq!(format!("{numbers:?}"), text);
        assert_eq!(found.leap_status, "Normal");
        for line in [
            "",
            "506 Cannot talk to daemon",
            "a,b,c,d,e,f,g,h,i,j,k,l,m,n",
        ] {
            assert_eq!(Chrony::parse(line), None);
        }
    }

    #[test]
    fn the_kernel_tells_its_state_without_privileges() {
        let kernel = Kernel::now().expect("adjtimex");
        assert!(kernel.maximum_error_us >= 0);
        assert!(kernel.frequency_ppm.abs() <= 500.0, "{kernel:?}");
    }
}
