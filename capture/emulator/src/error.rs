//! Turns an error into one message: what, found, expected, remedy.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Why the emulator could not start or go on. Each ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration file cannot be read.
    #[error("{}: cannot be read", file.display())]
    Unreadable {
        /// The requested file.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A value in the configuration is not usable.
    #[error("{}: {key}", file.display())]
    Config {
        /// The configuration file.
        file: PathBuf,
        /// Path of the key, such as `links[0].rate_bit_s`.
        key: String,
        /// The value that was found.
        found: String,
        /// A value that would be accepted.
        expected: String,
        /// The remedy.
        remedy: String,
    },
    /// A port's interface does not exist in this network namespace.
    #[error("port {port}: interface {interface} does not exist in this network namespace")]
    NoInterface {
        /// The port's name in the configuration.
        port: String,
        /// The requested interface.
        interface: String,
    },
    /// Raw sockets are not permitted.
    #[error("a raw socket on interface {interface} is not permitted")]
    NotPermitted {
        /// The requested interface.
        interface: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The control socket or the statistics file cannot be created.
    #[error("{what} {}: cannot be made", path.display())]
    Output {
        /// Which output: "control socket" or "statistics file".
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// A call to the kernel failed that normally does not.
    #[error("{action} failed")]
    System {
        /// The operation that failed.
        action: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// Names what was attempted when a call to the kernel failed.
    pub fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }

    fn details(&self) -> [(&'static str, String); 3] {
        let (found, expected, remedy) = match self {
            Self::Unreadable { source, .. } => (
                source.to_string(),
                "a JSON file with ports and links".into(),
                "Give an existing file with --config.".into(),
            ),
            Self::Config {
                found,
                expected,
                remedy,
                ..
            } => (found.clone(), expected.clone(), remedy.clone()),
            Self::NoInterface { interface, .. } => (
                String::new(),
                "an interface that `ip link` lists in the namespace of this process".into(),
                format!("Create {interface} first, or start with `ip netns exec NAMESPACE`."),
            ),
            Self::NotPermitted { source, .. } => (
                source.to_string(),
                "CAP_NET_RAW in the user namespace that owns the network namespace".into(),
                "Run as root, inside `unshare --user --map-current-user --keep-caps --net`, \
                 or after `setcap cap_net_raw,cap_net_admin+ep flowsweep-wan`."
                    .into(),
            ),
            Self::Output { path, source, .. } if source.kind() == io::ErrorKind::AlreadyExists => (
                source.to_string(),
                "no such name, or a file that this user wrote".into(),
                format!(
                    "Look at it (ls -l {}*), then remove it or give another path.",
                    path.display()
                ),
            ),
            Self::Output { source, remedy, .. } => {
                (source.to_string(), String::new(), (*remedy).into())
            }
            Self::System { source, .. } => (source.to_string(), String::new(), String::new()),
        };
        [("found", found), ("expected", expected), ("remedy", remedy)]
    }

    /// Returns the message for a person: one line, then the details that are known, indented.
    pub fn report(&self) -> String {
        let mut text = format!("error: {self}");
        for (label, value) in self.details() {
            if !value.is_empty() {
                let _ = write!(text, "\n  {label:<9} {value}");
            }
        }
        text
    }
}

/// Prints a warning on standard error, which may be closed.
pub fn warn(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "warning: {text}");
}
