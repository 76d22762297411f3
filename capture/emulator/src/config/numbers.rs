//! Checks single numbers of the configuration; the faults say what is usual instead.

use std::num::NonZeroU64;

use super::Fault;

/// Largest rate: beyond what any interface has, and below what the link's arithmetic can hold.
const MAX_RATE_BIT_S: f64 = 1e13;

/// Checks a rate in bit/s.
pub fn rate(key: &str, value: f64) -> Result<NonZeroU64, Fault> {
    let whole = value.round();
    NonZeroU64::new(whole as u64)
        .filter(|_| whole <= MAX_RATE_BIT_S)
        .ok_or_else(|| {
            Fault::new(
                key,
                value.to_string(),
                format!("bit/s between 1 and {MAX_RATE_BIT_S:e}"),
                "Use null for an unlimited rate.",
            )
        })
}

/// Checks a probability.
pub fn probability(key: &str, value: f64) -> Result<f64, Fault> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Fault::new(
        key,
        value.to_string(),
        "a probability between 0 and 1",
        "Divide per cent by 100.",
    ))
}

/// Checks that a number is whole and in its range.
pub fn whole(key: &str, value: f64, max: f64, unit: &str) -> Result<u64, Fault> {
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

/// Checks that a number is whole, in its range and not 0.
pub fn at_least_one(key: &str, value: f64, max: f64, unit: &str) -> Result<u64, Fault> {
    match whole(key, value, max, unit)? {
        0 => Err(Fault::new(
            key,
            "0",
            format!("{unit}, 1 or more"),
            "Leave the key out for what is usual (queue: one bandwidth-delay product, at least 64 KiB).",
        )),
        value => Ok(value),
    }
}
