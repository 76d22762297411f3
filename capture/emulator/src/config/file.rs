//! The configuration as written in the file: every key with its type.

use flowsweep_links::Law;
use flowsweep_links::flow::Policy;
use serde::Deserialize;

use super::field::Field;

/// A site's port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Name used by links and in the statistics.
    pub name: String,
    /// Interface in this network namespace.
    pub interface: String,
    /// The site's access line, for each way; null or absent is none.
    #[serde(default)]
    pub uplink: Option<Uplink>,
}

/// A site's access line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uplink {
    /// Rate of each way; null is unlimited.
    #[serde(default)]
    pub rate_bit_s: Field<f64>,
    /// Bytes that may wait; null or absent is the least queue.
    #[serde(default)]
    pub queue_bytes: Field<f64>,
    /// Limits and discipline, instead of `queue_bytes`.
    #[serde(default)]
    pub queue: Field<Queue>,
    /// Lines bundled.
    #[serde(default)]
    pub parallel: Field<f64>,
    /// How flows are spread over them.
    #[serde(default)]
    pub hash: Field<Policy>,
}

impl Uplink {
    /// Returns the same as the values of a link without delay.
    pub fn values(&self) -> Values {
        Values {
            rate_bit_s: self.rate_bit_s,
            queue_bytes: self.queue_bytes,
            queue: self.queue,
            parallel: self.parallel,
            hash: self.hash,
            ..Values::default()
        }
    }
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Seed of every random decision.
    #[serde(default)]
    pub seed: u64,
    /// Bytes that each frame costs on the line beyond its own.
    #[serde(default)]
    pub overhead_bytes: f64,
    /// Least bytes that a frame takes on the line.
    #[serde(default)]
    pub least_frame_bytes: f64,
    /// The ports.
    pub ports: Vec<Port>,
    /// A link for each pair of ports.
    pub links: Vec<Link>,
    /// Changes while it runs.
    #[serde(default)]
    pub schedule: Vec<Change>,
    /// The schedule begins at the control line `start`, not at once.
    #[serde(default)]
    pub schedule_waits: bool,
}

/// Structures that have the values of a link among their keys.
macro_rules! with_values {
    ($($(#[$attribute:meta])* $name:ident { $($rest:tt)* })*) => { $(
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($rest)*
            /// Propagation delay, one way.
            #[serde(default)]
            pub delay_ns: Field<f64>,
            /// Rate of each direction and member; null is unlimited.
            #[serde(default)]
            pub rate_bit_s: Field<f64>,
            /// Bytes that may wait; null or absent is one bandwidth-delay product.
            #[serde(default)]
            pub queue_bytes: Field<f64>,
            /// Limits and discipline, instead of `queue_bytes`.
            #[serde(default)]
            pub queue: Field<Queue>,
            /// Deviation of the delay.
            #[serde(default)]
            pub jitter: Field<Jitter>,
            /// Frames may overtake each other.
            #[serde(default)]
            pub reorder: Field<bool>,
            /// Loss on the line.
            #[serde(default)]
            pub loss: Field<Loss>,
            /// Probability that a frame arrives twice.
            #[serde(default)]
            pub duplicate: Field<f64>,
            /// Links bundled.
            #[serde(default)]
            pub parallel: Field<f64>,
            /// How flows are spread over them.
            #[serde(default)]
            pub hash: Field<Policy>,
        }

        impl $name {
            /// Returns the values alone.
            #[allow(dead_code)]
            pub const fn values(&self) -> Values {
                Values {
                    delay_ns: self.delay_ns,
                    rate_bit_s: self.rate_bit_s,
                    queue_bytes: self.queue_bytes,
                    queue: self.queue,
                    jitter: self.jitter,
                    reorder: self.reorder,
                    loss: self.loss,
                    duplicate: self.duplicate,
                    parallel: self.parallel,
                    hash: self.hash,
                }
            }
        }
    )* };
}

with_values! {
    /// Values for one direction; what is absent is as for the link, what is null is null.
    #[derive(Copy)]
    Values {}

    /// A link between two ports.
    Link {
        /// Name of one port.
        pub a: String,
        /// Name of the other.
        pub b: String,
        /// What differs in the direction from a to b.
        #[serde(default)]
        pub a_to_b: Values,
        /// What differs in the direction from b to a.
        #[serde(default)]
        pub b_to_a: Values,
    }

    /// New values for a link, or for a port's uplink.
    Change {
        /// When, since the schedule began; only in the schedule.
        pub at_ns: Option<f64>,
        /// The port whose uplink changes.
        pub port: Option<String>,
        /// Its new values.
        pub uplink: Option<Uplink>,
        /// Name of one port of the link that changes.
        pub a: Option<String>,
        /// Name of the other.
        pub b: Option<String>,
        /// What differs in the direction from a to b.
        #[serde(default)]
        pub a_to_b: Values,
        /// What differs in the direction from b to a.
        #[serde(default)]
        pub b_to_a: Values,
    }
}

/// Limits of a queue.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Bytes that may wait.
    pub bytes: Option<f64>,
    /// Frames that may wait.
    pub packets: Option<f64>,
    /// Queue discipline: drop-tail, or `CoDel`, which also drops frames that waited too long.
    #[serde(default)]
    pub discipline: Discipline,
    /// `CoDel`'s TARGET.
    pub target_ns: Option<f64>,
    /// `CoDel`'s INTERVAL.
    pub interval_ns: Option<f64>,
}

/// Queue discipline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Nothing.
    #[default]
    DropTail,
    /// Frames that waited too long: RFC 8289.
    Codel,
}

/// Deviation of the delay.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Standard deviation.
    pub std_ns: f64,
    /// Its law.
    pub law: Law,
}

/// Loss: `rate`, or `p` and `r` of Gilbert and Elliott.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Probability of each frame.
    pub rate: Option<f64>,
    /// From the good state to the bad one, per frame.
    pub p: Option<f64>,
    /// From the bad state to the good one, per frame.
    pub r: Option<f64>,
    /// Loss in the good state.
    pub good: Option<f64>,
    /// Loss in the bad state.
    pub bad: Option<f64>,
}
