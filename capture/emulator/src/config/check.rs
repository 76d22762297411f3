//! Checks that the ports and links of the configuration can be used together.

use std::collections::HashSet;

use super::file::{Link, Port};
use super::values::Layers;
use super::{Fault, PlannedDirection};
use crate::switch::PortIndex;

/// Checks that every port has a name and an interface of its own.
pub fn ports(ports: &[Port]) -> Result<(), Fault> {
    if ports.len() < 2 {
        return Err(Fault::new(
            "ports",
            format!("{} port(s)", ports.len()),
            "at least two",
            "Name a port for every site.",
        ));
    }
    let (mut names, mut interfaces) = (HashSet::new(), HashSet::new());
    for (index, port) in ports.iter().enumerate() {
        for (field, value, seen) in [
            ("name", &port.name, &mut names),
            ("interface", &port.interface, &mut interfaces),
        ] {
            let key = format!("ports[{index}].{field}");
            if value.is_empty() {
                return Err(Fault::new(
                    key,
                    "an empty string",
                    format!("a {field}"),
                    "Fill it in.",
                ));
            }
            if !seen.insert(value.as_str()) {
                return Err(Fault::new(
                    key,
                    format!("{value}, which another port has too"),
                    format!("a {field} of its own for every port"),
                    format!("Give each port another {field}."),
                ));
            }
        }
    }
    Ok(())
}

/// Checks that every pair of ports has one link; returns all directions, not yet checked themselves.
pub fn links(links: &[Link], ports: &[Port]) -> Result<Vec<PlannedDirection>, Fault> {
    let mut directions: Vec<PlannedDirection> = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let key = format!("links[{index}]");
        let a = find_port(&format!("{key}.a"), &link.a, ports)?;
        let b = find_port(&format!("{key}.b"), &link.b, ports)?;
        if a == b {
            return Err(Fault::new(
                key,
                format!("a link from {0} to {0}", link.a),
                "two different ports",
                "Hosts of one site reach each other without the emulator: remove the link.",
            ));
        }
        if directions
            .iter()
            .any(|other| (other.from, other.to) == (a, b))
        {
            return Err(Fault::new(
                key,
                format!("a second link between {} and {}", link.a, link.b),
                "one link for each pair of ports",
                "Remove one. Two directions that differ: a_to_b and b_to_a; two lines side by side: parallel.",
            ));
        }
        for (from, to, field, own) in [(a, b, "a_to_b", link.a_to_b), (b, a, "b_to_a", link.b_to_a)]
        {
            directions.push(PlannedDirection {
                from,
                to,
                layers: Layers::default()
                    .over(&key, link.values())
                    .over(format!("{key}.{field}"), own),
            });
        }
    }
    for (to, port) in ports.iter().enumerate() {
        for (from, other) in ports[..to].iter().enumerate() {
            if !directions
                .iter()
                .any(|known| (known.from, known.to) == (from, to))
            {
                return Err(Fault::new(
                    "links",
                    format!("no link between {} and {}", other.name, port.name),
                    "a link for each pair of ports",
                    format!(
                        "Add {{\"a\": \"{}\", \"b\": \"{}\", ...}}.",
                        other.name, port.name
                    ),
                ));
            }
        }
    }
    Ok(directions)
}

/// Returns the port of this name.
pub fn find_port(key: &str, name: &str, ports: &[Port]) -> Result<PortIndex, Fault> {
    ports
        .iter()
        .position(|port| port.name == name)
        .ok_or_else(|| {
            let known: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
            Fault::new(
                key,
                format!("{name:?}, which no port is called"),
                format!("one of {}", known.join(", ")),
                "Correct the name, or add the port.",
            )
        })
}
