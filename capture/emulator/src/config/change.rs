//! Turns a change during the run into new parameters of what it concerns; the schedule is a list of changes.

use flowsweep_links::Parameters;

use super::file::{self, Port, Uplink};
use super::numbers::whole;
use super::values::{Framing, Layers};
use super::{Fault, PlannedDirection, json};
use crate::switch::PortIndex;

/// Latest change: a week. A later one has a wrong unit.
const MAX_AT_NS: f64 = 7.0 * 86_400e9;

/// The present settings of every link direction and uplink.
#[derive(Debug, Clone)]
pub struct Network {
    names: Vec<String>,
    directions: Vec<PlannedDirection>,
    uplinks: Vec<Option<Layers>>,
    framing: Framing,
}

/// A change with its time, nanoseconds since the schedule began; 0 for an immediate one.
#[derive(Debug, Clone)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// Its key in the configuration, for messages.
    pub key: String,
    values: file::Change,
}

/// New parameters of one part of the network.
#[derive(Debug, Clone, Copy)]
pub enum Applied {
    /// New parameters of the direction with this index.
    Direction(usize, Parameters),
    /// New parameters of the uplink of this port, both ways.
    Uplink(PortIndex, Parameters),
}

impl Change {
    /// Reads the line of a command.
    pub fn read(line: &str) -> Result<Self, Fault> {
        let change = json::read_change(line)?;
        if change.at_ns.is_some() {
            return Err(Fault::new(
                "change.at_ns",
                "a time",
                "no time: a command acts at once",
                "Leave at_ns out, or put the change into the schedule.",
            ));
        }
        Ok(Self {
            at_ns: 0,
            key: "change".into(),
            values: change,
        })
    }
}

impl Network {
    /// Takes the values of the configuration, which [`Network::all`] checks.
    pub fn new(ports: &[Port], directions: Vec<PlannedDirection>, framing: Framing) -> Self {
        let uplinks = ports.iter().enumerate().map(|(index, port)| {
            let uplink = port.uplink.as_ref()?;
            let key = format!("ports[{index}].uplink");
            Some(Layers::default().over(key, uplink.values()))
        });
        Self {
            names: ports.iter().map(|port| port.name.clone()).collect(),
            uplinks: uplinks.collect(),
            directions,
            framing,
        }
    }

    /// Returns the directions, in the order of the configuration.
    pub fn directions(&self) -> &[PlannedDirection] {
        &self.directions
    }

    /// Returns the parameters of everything.
    pub fn all(&self) -> Result<Vec<Applied>, Fault> {
        let directions = self.directions.iter().enumerate().map(|(index, planned)| {
            let parameters = planned.layers.parameters(self.framing)?;
            Ok(Applied::Direction(index, parameters))
        });
        let uplinks = self
            .uplinks
            .iter()
            .enumerate()
            .filter_map(|(port, layers)| {
                let parameters = layers.as_ref()?.parameters(self.framing);
                Some(parameters.map(|parameters| Applied::Uplink(port, parameters)))
            });
        directions.chain(uplinks).collect()
    }

    /// Checks a change and takes it over; returns what becomes different. A faulty change has no effect.
    pub fn apply(&mut self, change: &Change) -> Result<Vec<Applied>, Fault> {
        let Change { key, values, .. } = change;
        match (&values.a, &values.b, &values.port, &values.uplink) {
            (Some(a), Some(b), None, None) => self.change_link(key, values, a, b),
            (None, None, Some(port), Some(uplink)) => self.change_uplink(key, port, uplink),
            _ => Err(Fault::new(
                key,
                "another set of keys",
                "\"a\" and \"b\" with values of a link, or \"port\" with \"uplink\"",
                "Name the link or the uplink that changes.",
            )),
        }
    }

    fn change_link(
        &mut self,
        key: &str,
        change: &file::Change,
        a: &str,
        b: &str,
    ) -> Result<Vec<Applied>, Fault> {
        let (a, b) = (self.port(key, a)?, self.port(key, b)?);
        let mut found = Vec::new();
        for (index, planned) in self.directions.iter().enumerate() {
            let (field, own) = match (planned.from, planned.to) {
                ends if ends == (a, b) => ("a_to_b", change.a_to_b),
                ends if ends == (b, a) => ("b_to_a", change.b_to_a),
                _ => continue,
            };
            let layers = planned
                .layers
                .flat()
                .over(key, change.values())
                .over(format!("{key}.{field}"), own);
            let parameters = layers.parameters(self.framing)?;
            found.push((Applied::Direction(index, parameters), index, layers.flat()));
        }
        if found.is_empty() {
            return Err(Fault::new(
                format!("{key}.b"),
                "the same port twice",
                "the two ports of a link",
                "Correct the name.",
            ));
        }
        Ok(found
            .into_iter()
            .map(|(applied, index, layers)| {
                self.directions[index].layers = layers;
                applied
            })
            .collect())
    }

    fn change_uplink(
        &mut self,
        key: &str,
        port: &str,
        uplink: &Uplink,
    ) -> Result<Vec<Applied>, Fault> {
        let port = self.port(key, port)?;
        let Some(now) = &self.uplinks[port] else {
            return Err(Fault::new(
                format!("{key}.port"),
                format!("{}, which has no uplink", self.names[port]),
                "a port with an uplink in the configuration",
                "Give the port an uplink there, {} for one without a limit.",
            ));
        };
        let layers = now.flat().over(format!("{key}.uplink"), uplink.values());
        let parameters = layers.parameters(self.framing)?;
        self.uplinks[port] = Some(layers.flat());
        Ok(vec![Applied::Uplink(port, parameters)])
    }

    fn port(&self, key: &str, name: &str) -> Result<PortIndex, Fault> {
        let port = self.names.iter().position(|known| known == name);
        port.ok_or_else(|| {
            Fault::new(
                key,
                format!("{name:?}, which no port is called"),
                format!("one of {}", self.names.join(", ")),
                "Correct the name.",
            )
        })
    }
}

/// Checks every change of the schedule, one after the other, and puts them in the order of their times.
pub fn schedule(changes: Vec<file::Change>, network: &Network) -> Result<Vec<Change>, Fault> {
    let mut schedule = Vec::new();
    for (index, change) in changes.into_iter().enumerate() {
        let key = format!("schedule[{index}]");
        let at = change.at_ns.unwrap_or(-1.0);
        let at_ns = whole(
            &format!("{key}.at_ns"),
            at,
            MAX_AT_NS,
            "nanoseconds since the start",
        )?;
        schedule.push(Change {
            at_ns,
            key,
            values: change,
        });
    }
    schedule.sort_by_key(|change| change.at_ns);
    let mut later = network.clone();
    for change in &schedule {
        later.apply(change)?;
    }
    Ok(schedule)
}
