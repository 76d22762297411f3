//! Turns an error before the first packet into one message: what, found, expected, remedy.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use crate::sys::libpcap::{Failure, code};

/// Why the capture could not start. Each ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libpcap refused the interface.
    #[error("interface {interface} cannot be captured")]
    Interface {
        /// The requested interface.
        interface: String,
        /// libpcap's error.
        failure: Failure,
    },
    /// The filter is not valid.
    #[error("filter {filter:?} cannot be used")]
    Filter {
        /// The requested filter.
        filter: String,
        /// libpcap's error.
        failure: Failure,
    },
    /// An output file cannot be created.
    #[error("{}: cannot be written", file.display())]
    Output {
        /// The file.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The port for --clock-listen cannot be opened.
    #[error("--clock-listen {address} cannot be opened")]
    Listen {
        /// The requested address.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A call to the kernel failed that normally does not.
    #[error("{action} failed")]
    System {
        /// The operation that failed.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    fn found(&self) -> String {
        match self {
            Self::Interface { failure, .. } | Self::Filter { failure, .. } => {
                failure.message.clone()
            }
            Self::Output { source, .. }
            | Self::Listen { source, .. }
            | Self::System { source, .. } => source.to_string(),
        }
    }

    fn expected_and_remedy(&self) -> (&'static str, String) {
        match self {
            Self::Interface { interface, failure } => match failure.code {
                code::NO_SUCH_DEVICE => (
                    "an interface that `ip link` lists in this network namespace",
                    "Correct the name given with -i, or start with `ip netns exec NAMESPACE`."
                        .into(),
                ),
                code::PERMISSION_DENIED | code::PROMISCUOUS_DENIED => (
                    "the right to open raw sockets (CAP_NET_RAW)",
                    "Run as root, inside `unshare --user --map-current-user --keep-caps --net`, \
                     or after `setcap cap_net_raw+ep flowsweep-capture`."
                        .into(),
                ),
                code::INTERFACE_NOT_UP => (
                    "an interface that is up",
                    format!("Run `ip link set {interface} up` first."),
                ),
                _ => ("", String::new()),
            },
            Self::Filter { .. } => (
                "a filter in the language of pcap-filter(7), such as `tcp port 80 and net 10.0.0.0/8`",
                "Correct it; `tcpdump -d FILTER` shows whether it is understood.".into(),
            ),
            Self::Output { file, source } if source.kind() == io::ErrorKind::AlreadyExists => (
                "no such name, or a file that this user wrote",
                format!(
                    "Look at it (ls -l {}*), then remove it or give another path.",
                    file.display()
                ),
            ),
            Self::Output { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => (
                "a name for each capture of its own",
                "Give another path, or end the other capture (fuser names its process).".into(),
            ),
            Self::Output { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                (
                    "room on this disk",
                    "Make room, or write to another disk.".into(),
                )
            }
            Self::Output { .. } => (
                "a path in an existing folder that may be written to",
                "Create the folder or give another path.".into(),
            ),
            Self::Listen { .. } => (
                "an address of this host and a free port from 1024 on, such as 10.99.0.1:9123",
                "Give another; `ss -lun` lists the ports in use.".into(),
            ),
            Self::System { .. } => ("", String::new()),
        }
    }

    /// Returns the message for a person: one line, then the details that are known, indented.
    pub fn report(&self) -> String {
        let mut text = format!("error: {self}");
        let (expected, remedy) = self.expected_and_remedy();
        for (label, value) in [
            ("found", self.found().as_str()),
            ("expected", expected),
            ("remedy", remedy.as_str()),
        ] {
            if !value.is_empty() {
                let _ = write!(text, "\n  {label:<9} {value}");
            }
        }
        text
    }
}
