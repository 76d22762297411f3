//! Turns a moment into RFC 3339 text with nanoseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the moment in UTC, such as 2024-02-29T12:00:00.000000001Z. Moments before 1970 become 1970.
pub fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:09}Z",
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_nanos()
    )
}

/// Returns year, month and day of a number of days since 1970-01-01.
///
/// Years are counted from 1 March, so that the leap day is the last of a year, and in eras of 400 years, which all have
/// 146,097 days.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, wrapped) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + wrapped, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000007Z"),
            (951_782_400, "2000-02-29T00:00:00.000000007Z"),
            (1_709_207_999, "2024-02-29T11:59:59.000000007Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000007Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::new(seconds, 7)), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut last = date(0);
        for days in 1..80_000 {
            let next = date(days);
            let same_month = next == (last.0, last.1, last.2 + 1);
            let next_month = next == (last.0, last.1 + 1, 1) || next == (last.0 + 1, 1, 1);
            assert!(
                same_month || next_month && last.2 >= 28,
                "{last:?} {next:?}"
            );
            last = next;
        }
    }
}
