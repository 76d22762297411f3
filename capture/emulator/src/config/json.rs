//! Parses the text of the configuration; errors name the place.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Fault;
use super::file::{Change, File};

/// Reads the text of a configuration file.
pub fn read(text: &str) -> Result<File, Fault> {
    parse(
        text,
        "{\"ports\": [{\"name\", \"interface\"}], \"links\": [{\"a\", \"b\", \"delay_ns\", \"rate_bit_s\", \
         \"queue_bytes\"}]}; the README of the emulator names every key",
    )
}

/// Reads the text of a change.
pub fn read_change(text: &str) -> Result<Change, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Command {
        change: Change,
    }
    let expected = "{\"change\": {\"a\", \"b\", ...}} with the keys of a link, or {\"change\": {\"port\", \"uplink\"}}";
    parse(text, expected).map(|command: Command| command.change)
}

fn parse<T: DeserializeOwned>(text: &str, expected: &str) -> Result<T, Fault> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        let key = if place == "." {
            "top level".into()
        } else {
            place
        };
        let found = error.inner().to_string();
        Fault::new(
            key,
            found,
            expected,
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
    Ok(value)
}
