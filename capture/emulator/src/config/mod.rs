//! Turns the JSON configuration into a checked plan: ports, and the parameters of every link direction.

mod check;
mod file;

use std::path::Path;

use crate::error::Error;
use crate::link::Parameters;
use crate::switch::PortIndex;

pub use file::Port;

/// What the emulator shall do.
#[derive(Debug)]
pub struct Plan {
    /// Seed of every random decision (none yet: nothing here is random).
    pub seed: u64,
    /// The ports, in the order of the file.
    pub ports: Vec<Port>,
    /// Two per pair of ports.
    pub directions: Vec<PlannedDirection>,
}

/// One direction of a link.
#[derive(Debug)]
pub struct PlannedDirection {
    /// Port that frames come from.
    pub from: PortIndex,
    /// Port that frames go to.
    pub to: PortIndex,
    /// What happens to them.
    pub parameters: Parameters,
}

/// A value of the configuration that is not usable; becomes [`Error::Config`] with the file's name.
#[derive(Debug)]
pub struct Fault {
    key: String,
    found: String,
    expected: String,
    remedy: String,
}

impl Fault {
    /// What is wrong, where.
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
    let file = file::read(text)?;
    check::ports(&file.ports)?;
    let overhead_bytes = check::overhead(file.overhead_bytes)?;
    let directions = check::links(&file.links, &file.ports, overhead_bytes)?;
    Ok(Plan {
        seed: file.seed,
        ports: file.ports,
        directions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    const PORTS: &str = r#""ports": [{"name": "west", "interface": "up-west"}, {"name": "east", "interface": "up-east"}]"#;

    fn with_link(link: &str) -> Result<Plan, Fault> {
        parse(&format!("{{{PORTS}, \"links\": [{link}]}}"))
    }

    fn fault(result: Result<Plan, Fault>) -> Fault {
        match result {
            Ok(plan) => panic!("accepted: {plan:?}"),
            Err(fault) => fault,
        }
    }

    #[test]
    fn link_becomes_two_directions_with_overrides() {
        let plan = with_link(
            r#"{"a": "west", "b": "east", "delay_ns": 8000000, "rate_bit_s": 1e8, "queue_bytes": 262144,
                "b_to_a": {"rate_bit_s": null, "delay_ns": 5}}"#,
        )
        .expect("accepted");
        let [there, back] = &plan.directions[..] else {
            panic!("two directions");
        };
        assert_eq!((there.from, there.to, back.from, back.to), (0, 1, 1, 0));
        assert_eq!(there.parameters.rate_bit_s, NonZeroU64::new(100_000_000));
        assert_eq!(
            (there.parameters.delay_ns, there.parameters.queue_bytes),
            (8_000_000, 262_144)
        );
        assert_eq!(
            (back.parameters.rate_bit_s, back.parameters.delay_ns),
            (None, 5)
        );
    }

    #[test]
    fn queue_defaults_to_the_bandwidth_delay_product() {
        let queue = |link: &str| {
            with_link(link).expect("accepted").directions[0]
                .parameters
                .queue_bytes
        };
        let link = r#"{"a": "west", "b": "east", "delay_ns": 50000000, "rate_bit_s": 100000000}"#;
        assert_eq!(queue(link), 1_250_000);
        assert_eq!(
            queue(r#"{"a": "west", "b": "east", "rate_bit_s": 80000}"#),
            65_536
        );
    }

    #[test]
    fn unusable_values_are_refused_with_their_key() {
        for (link, key) in [
            (
                r#"{"a": "west", "b": "east", "rate_bit_s": 0}"#,
                "links[0].rate_bit_s",
            ),
            (
                r#"{"a": "west", "b": "east", "rate_bit_s": -1}"#,
                "links[0].rate_bit_s",
            ),
            (
                r#"{"a": "west", "b": "east", "delay_ns": 1.5}"#,
                "links[0].delay_ns",
            ),
            (
                r#"{"a": "west", "b": "east", "delay_ns": 1e12}"#,
                "links[0].delay_ns",
            ),
            (
                r#"{"a": "west", "b": "east", "rate_bit_s": 9, "queue_bytes": 0}"#,
                "links[0].queue_bytes",
            ),
            (
                r#"{"a": "west", "b": "east", "a_to_b": {"rate_bit_s": 0}}"#,
                "links[0].a_to_b.rate_bit_s",
            ),
            (r#"{"a": "west", "b": "south"}"#, "links[0].b"),
            (r#"{"a": "west", "b": "west"}"#, "links[0]"),
            (
                r#"{"a": "west", "b": "east"}, {"a": "east", "b": "west"}"#,
                "links[1]",
            ),
            ("", "links"),
        ] {
            assert_eq!(fault(with_link(link)).key, key, "{link}");
        }
    }

    #[test]
    fn unknown_key_and_wrong_type_are_named_with_their_place() {
        let found = fault(with_link(r#"{"a": "west", "b": "east", "delay": 5}"#));
        assert!(found.key.starts_with("links[0]"), "{}", found.key);
        assert!(found.found.contains("unknown field `delay`") && found.found.contains("line 1"));
        let found = fault(with_link(
            r#"{"a": "west", "b": "east", "delay_ns": "8ms"}"#,
        ));
        assert_eq!(found.key, "links[0].delay_ns");
        assert_eq!(fault(parse("not json")).key, "top level");
    }

    #[test]
    fn names_and_interfaces_are_unique_and_two_ports_are_needed() {
        let ports = |one: &str, two: &str| {
            fault(parse(&format!(
                r#"{{"ports": [{{"name": "a", "interface": "x"}}, {{"name": "{one}", "interface": "{two}"}}], "links": []}}"#
            )))
            .key
        };
        assert_eq!(ports("a", "y"), "ports[1].name");
        assert_eq!(ports("b", "x"), "ports[1].interface");
        assert_eq!(ports("", "y"), "ports[1].name");
        assert_eq!(fault(parse(r#"{"ports": [], "links": []}"#)).key, "ports");
    }
}
