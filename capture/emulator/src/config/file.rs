//! Turns the text of the configuration into its values, and says where it is not what it should be.

use serde::{Deserialize, Deserializer};

use super::Fault;

/// A site's port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Name used by links and in the statistics.
    pub name: String,
    /// Interface in this network namespace.
    pub interface: String,
}

/// The file as it stands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Seed of every random decision.
    #[serde(default)]
    pub seed: u64,
    /// Bytes that each frame costs on the line beyond its own.
    #[serde(default)]
    pub overhead_bytes: f64,
    /// The ports.
    pub ports: Vec<Port>,
    /// A link for each pair of ports.
    pub links: Vec<Link>,
}

/// A link between two ports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name of one port.
    pub a: String,
    /// Name of the other.
    pub b: String,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay_ns: Setting,
    /// Rate of each direction; null is unlimited.
    #[serde(default)]
    pub rate_bit_s: Setting,
    /// Bytes that may wait; null or absent is one bandwidth-delay product.
    #[serde(default)]
    pub queue_bytes: Setting,
    /// What differs in the direction from a to b.
    #[serde(default)]
    pub a_to_b: Override,
    /// What differs in the direction from b to a.
    #[serde(default)]
    pub b_to_a: Override,
}

/// Values for one direction; what is absent is as for the link, what is null is null.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay_ns: Setting,
    /// Rate of each direction; null is unlimited.
    #[serde(default)]
    pub rate_bit_s: Setting,
    /// Bytes that may wait; null or absent is one bandwidth-delay product.
    #[serde(default)]
    pub queue_bytes: Setting,
}

/// A number that may be null or absent.
#[derive(Debug, Default, Clone, Copy)]
pub enum Setting {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is null.
    Null,
    /// The key has a value.
    Number(f64),
}

impl Setting {
    /// The number, if there is one.
    pub const fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Null | Self::Absent => None,
        }
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::deserialize(deserializer)?;
        Ok(number.map_or(Self::Null, Self::Number))
    }
}

/// Reads the text of a configuration file.
pub fn read(text: &str) -> Result<File, Fault> {
    let mut json = serde_json::Deserializer::from_str(text);
    let file: File = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        let key = if place == "." {
            "top level".into()
        } else {
            place
        };
        Fault::new(
            key,
            error.inner().to_string(),
            "{\"ports\": [{\"name\", \"interface\"}], \"links\": [{\"a\", \"b\", \"delay_ns\", \"rate_bit_s\", \
             \"queue_bytes\"}]}, optional \"seed\", \"overhead_bytes\", \"a_to_b\", \"b_to_a\"",
            "Correct the key at this line and column.",
        )
    })?;
    json.end().map_err(|error| {
        Fault::new(
            "top level",
            error.to_string(),
            "one JSON object",
            "Remove what follows it.",
        )
    })?;
    Ok(file)
}
