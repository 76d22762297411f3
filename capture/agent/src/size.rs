//! Turns a size as people write it, such as 64MiB, into bytes.

/// Units and their bytes; `k` and `K` both mean 1000 unless `i` follows.
const UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// Parses a number and an optional unit; upper and lower case are the same.
pub fn parse(text: &str) -> Result<u64, String> {
    let fault =
        || format!("{text:?}: expected a size such as 500kB, 64MiB or 1GB, at least 1 byte");
    let text = text.trim();
    let split = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| fault())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(fault)?;
    let bytes = (number * *factor as f64).round();
    if (1.0..9e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(fault())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_or_binary() {
        for (text, bytes) in [
            ("1", 1),
            ("500kB", 500_000),
            ("64MiB", 67_108_864),
            ("1.5 KiB", 1_536),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(bytes));
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "0", "MiB", "12 parsecs", "-1", "1.2.3"] {
            assert!(
                parse(text).is_err_and(|error| error.contains("64MiB")),
                "{text}"
            );
        }
    }
}
