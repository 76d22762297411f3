//! Turns the values of the configuration into link parameters, or says which of them cannot be used.

use std::collections::HashSet;
use std::num::NonZeroU64;

use super::file::{Link, Override, Port, Setting};
use super::{Fault, PlannedDirection};
use crate::link::Parameters;
use crate::switch::PortIndex;

/// Longest delay, one way: a minute. Longer is a unit mixed up.
const MAX_DELAY_NS: f64 = 60e9;
/// Largest queue: 1 GiB, since queued frames are kept in memory.
const MAX_QUEUE_BYTES: f64 = 1_073_741_824.0;
/// Largest rate: beyond what any interface has, and below what the link's arithmetic can hold.
const MAX_RATE_BIT_S: f64 = 1e13;
/// Smallest queue chosen where none is given.
const LEAST_QUEUE_BYTES: u64 = 65_536;

/// Every port has a name and an interface of its own.
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

/// Every pair of ports has one link; returns its two directions.
pub fn links(
    links: &[Link],
    ports: &[Port],
    overhead_bytes: u64,
) -> Result<Vec<PlannedDirection>, Fault> {
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
                "Remove one, or use a_to_b and b_to_a for the two directions.",
            ));
        }
        for (from, to, field, own) in [
            (a, b, "a_to_b", &link.a_to_b),
            (b, a, "b_to_a", &link.b_to_a),
        ] {
            let parameters = parameters(&key, link, field, own, overhead_bytes)?;
            directions.push(PlannedDirection {
                from,
                to,
                parameters,
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

fn find_port(key: &str, name: &str, ports: &[Port]) -> Result<PortIndex, Fault> {
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

fn parameters(
    link_key: &str,
    link: &Link,
    field: &str,
    own: &Override,
    overhead_bytes: u64,
) -> Result<Parameters, Fault> {
    // The value that holds and its key: the direction's own, or else the link's.
    let pick = |name: &str, own: Setting, common: Setting| match own {
        Setting::Absent => (format!("{link_key}.{name}"), common.number()),
        own => (format!("{link_key}.{field}.{name}"), own.number()),
    };
    let (delay_key, delay) = pick("delay_ns", own.delay_ns, link.delay_ns);
    let (rate_key, rate) = pick("rate_bit_s", own.rate_bit_s, link.rate_bit_s);
    let (queue_key, queue) = pick("queue_bytes", own.queue_bytes, link.queue_bytes);
    let delay_ns = whole(
        &delay_key,
        delay.unwrap_or(0.0),
        MAX_DELAY_NS,
        "nanoseconds, one way",
    )?;
    let rate_bit_s = rate.map(|rate| check_rate(&rate_key, rate)).transpose()?;
    let queue_bytes = match (queue, rate_bit_s) {
        (Some(queue), _) => whole(&queue_key, queue, MAX_QUEUE_BYTES, "bytes")?,
        (None, Some(rate)) => default_queue(rate, delay_ns),
        (None, None) => 0,
    };
    if queue_bytes == 0 && rate_bit_s.is_some() {
        return Err(Fault::new(
            queue_key,
            "0",
            "bytes that may wait for the line, 1 or more",
            "Leave the key out for one bandwidth-delay product (RTT times rate, at least 64 KiB).",
        ));
    }
    Ok(Parameters {
        delay_ns,
        rate_bit_s,
        queue_bytes,
        overhead_bytes,
    })
}

fn check_rate(key: &str, rate: f64) -> Result<NonZeroU64, Fault> {
    let whole = rate.round();
    NonZeroU64::new(whole as u64)
        .filter(|_| whole <= MAX_RATE_BIT_S)
        .ok_or_else(|| {
            Fault::new(
                key,
                rate.to_string(),
                format!("bit/s between 1 and {MAX_RATE_BIT_S:e}"),
                "Use null for an unlimited rate.",
            )
        })
}

fn whole(key: &str, value: f64, max: f64, unit: &str) -> Result<u64, Fault> {
    if value >= 0.0 && value <= max && value.fract() == 0.0 {
        return Ok(value as u64);
    }
    Err(Fault::new(
        key,
        value.to_string(),
        format!("a whole number between 0 and {max} ({unit})"),
        "Correct the value; mind the unit.",
    ))
}

/// One round trip's worth of bytes, the usual rule for a router's buffer.
fn default_queue(rate: NonZeroU64, delay_ns: u64) -> u64 {
    let product = u128::from(rate.get()) * 2 * u128::from(delay_ns) / 8_000_000_000;
    (product.min(MAX_QUEUE_BYTES as u128) as u64).max(LEAST_QUEUE_BYTES)
}

/// Bytes that each frame costs on the line beyond its own.
pub fn overhead(bytes: f64) -> Result<u64, Fault> {
    whole("overhead_bytes", bytes, 1_000.0, "bytes per frame")
}
