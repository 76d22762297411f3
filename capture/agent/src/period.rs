//! Turns a span of time as people write it, such as 60s or 5min, into a duration.

use std::time::Duration;

/// Units and their seconds; a bare number is seconds, as for tcpdump's -G.
const UNITS: [(&str, f64); 8] = [
    ("", 1.0),
    ("ms", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3_600.0),
    ("d", 86_400.0),
];
/// Shorter periods would make more file names than packets.
const SHORTEST_S: f64 = 0.1;
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Parses a number and an optional unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let fault = || format!("{text:?}: expected a time such as 60s, 5min or 1h, at least 100ms");
    let text = text.trim();
    let split = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| fault())?;
    let (_, factor) = UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .ok_or_else(fault)?;
    let seconds = number * factor;
    if (SHORTEST_S..=LONGEST_S).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(fault())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_everyday_use() {
        for (text, ms) in [
            ("60", 60_000),
            ("60s", 60_000),
            ("250ms", 250),
            ("5 min", 300_000),
            ("1.5h", 5_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)));
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "0", "s", "1ms", "3 fortnights", "-1", "1e9d"] {
            assert!(
                parse(text).is_err_and(|error| error.contains("60s")),
                "{text}"
            );
        }
    }
}
