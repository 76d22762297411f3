//! Turns lines of the control socket into changes and answers, and counters into JSON.

use super::Engine;
use crate::config::Change;
use crate::error::Error;
use crate::stats::{LinkStats, PortStats, Stats};
use crate::switch::PortIndex;

impl Engine {
    /// Answers a line of the control socket with one line of JSON.
    pub(super) fn answer(&mut self, line: &[u8]) -> String {
        let now_ns = self.clock.now_ns();
        match line {
            b"stats" => return self.json(),
            b"start" => self.schedule.start(now_ns),
            [b'{', ..] => {
                let change = String::from_utf8_lossy(line);
                let found = Change::read(&change).and_then(|change| self.schedule.change(&change));
                match found {
                    Ok(applied) => self.apply(now_ns, "change".into(), applied),
                    Err(fault) => {
                        let mut answer = serde_json::json!(fault);
                        answer["error"] = "unusable change".into();
                        return answer.to_string();
                    }
                }
            }
            other => {
                let found = String::from_utf8_lossy(other);
                let expected = ["stats", "start", "{\"change\": {...}}"];
                return serde_json::json!({"error": "unknown command", "found": found, "expected": expected})
                    .to_string();
            }
        }
        serde_json::json!({"ok": true, "time_ns": now_ns as i64 + self.wall_offset_ns}).to_string()
    }

    /// Ends the log of fates.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.fabric.finish()
    }

    /// Returns the counters of everything, as one line of JSON.
    pub fn json(&mut self) -> String {
        for port in &mut self.ports {
            port.update_drops();
        }
        let name = |port: PortIndex| self.ports[port].name.as_str();
        let stats = Stats {
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            links: self
                .fabric
                .lanes
                .iter()
                .map(|lane| {
                    LinkStats::new(name(lane.from), name(lane.to), &lane.link, &lane.counters)
                })
                .collect(),
            ports: self
                .ports
                .iter()
                .map(|port| PortStats {
                    name: &port.name,
                    interface: &port.interface,
                    counters: port.counters,
                })
                .collect(),
            lateness_ns: self.lateness.quantiles(),
            scheduling: self.scheduling,
            changes: &self.changes,
        };
        // Numbers and strings only: serialisation cannot fail.
        serde_json::to_string(&stats).unwrap_or_default()
    }
}
