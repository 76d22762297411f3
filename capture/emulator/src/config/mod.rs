//! Turns the JSON configuration into a checked plan: ports, the parameters of every link direction, and the changes
//! to come. The README of the emulator describes every key.

mod change;
mod check;
mod field;
mod file;
mod json;
mod numbers;
mod values;

use std::path::Path;

use crate::error::Error;
use crate::switch::PortIndex;

pub use change::{Applied, Change, Network};
pub use file::Port;
pub use values::Layers;

/// The plan of the emulator.
#[derive(Debug)]
pub struct Plan {
    /// Seed of every random decision.
    pub seed: u64,
    /// The ports, in the order of the file.
    pub ports: Vec<Port>,
    /// Links and uplinks as they are at the start.
    pub network: Network,
    /// Their parameters, for every direction and uplink.
    pub parameters: Vec<Applied>,
    /// Changes while it runs, in the order of their times.
    pub schedule: Vec<Change>,
    /// The schedule begins at a command, not at once.
    pub schedule_waits: bool,
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct PlannedDirection {
    /// Port that frames come from.
    pub from: PortIndex,
    /// Port that frames go to.
    pub to: PortIndex,
    /// Delay, rate, queue, jitter, loss and duplication of these frames.
    pub layers: Layers,
}

/// An unusable value of the configuration; becomes [`Error::Config`] with the file's name.
#[derive(Debug, serde::Serialize)]
pub struct Fault {
    key: String,
    found: String,
    expected: String,
    remedy: String,
}

impl Fault {
    /// Notes what is wrong, and where.
    pub fn new(
        key: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }
}

/// Reads and checks a configuration file.
pub fn load(file: &Path) -> Result<Plan, Error> {
    let text = std::fs::read_to_string(file).map_err(|source| Error::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    parse(&text).map_err(|fault| Error::Config {
        file: file.to_owned(),
        key: fault.key,
        found: fault.found,
        expected: fault.expected,
        remedy: fault.remedy,
    })
}

fn parse(text: &str) -> Result<Plan, Fault> {
    let file = json::read(text)?;
    check::ports(&file.ports)?;
    let framing = values::Framing::new(file.overhead_bytes, file.least_frame_bytes)?;
    let directions = check::links(&file.links, &file.ports)?;
    let network = Network::new(&file.ports, directions, framing);
    let schedule = change::schedule(file.schedule, &network)?;
    Ok(Plan {
        seed: file.seed,
        ports: file.ports,
        parameters: network.all()?,
        network,
        schedule,
        schedule_waits: file.schedule_waits,
    })
}

#[cfg(test)]
mod tests;
