//! Turns the values for one direction, of the link and of its overrides, into its parameters.

use std::num::NonZeroU64;

use flowsweep_links::{Jitter, LineParameters, Loss, Parameters, Queue, Targets};

use super::Fault;
use super::field::Field;
use super::file::{self, Discipline, Values};
use super::numbers::{at_least_one, probability, rate, whole};

/// Longest delay, one way: a minute. A longer one has a wrong unit.
const MAX_DELAY_NS: f64 = 60e9;
/// Largest queue: 1 GiB, since queued frames are kept in memory.
const MAX_QUEUE_BYTES: f64 = 1_073_741_824.0;
/// Most frames in a queue, for the same reason.
const MAX_QUEUE_PACKETS: f64 = 10_000_000.0;
/// Most links in a bundle.
const MAX_PARALLEL: f64 = 64.0;
/// Smallest queue chosen where none is given.
const LEAST_QUEUE_BYTES: u64 = 65_536;
/// RFC 8289 sections 4.2 and 4.3.
const CODEL: Targets = Targets {
    target_ns: 5_000_000,
    interval_ns: 100_000_000,
};

/// What every frame costs on every line beyond its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Framing {
    /// Added to each frame.
    pub overhead_bytes: u64,
    /// Least bytes that a frame takes.
    pub least_frame_bytes: u64,
}

impl Framing {
    /// Checks the two values of the configuration.
    pub fn new(overhead_bytes: f64, least_frame_bytes: f64) -> Result<Self, Fault> {
        Ok(Self {
            overhead_bytes: whole("overhead_bytes", overhead_bytes, 1_000.0, "bytes per frame")?,
            least_frame_bytes: whole(
                "least_frame_bytes",
                least_frame_bytes,
                1_000.0,
                "bytes per frame",
            )?,
        })
    }
}

/// The values of one direction, each with the key that it was given by.
#[derive(Debug, Clone, Default)]
pub struct Layers(Vec<(String, Values)>);

impl Layers {
    /// Lays values over those so far; an absent one shows the value below it.
    pub fn over(mut self, key: impl Into<String>, values: Values) -> Self {
        self.0.push((key.into(), values));
        self
    }

    /// Returns the same in one layer.
    pub fn flat(&self) -> Self {
        let mut flat = Values::default();
        for (_, values) in &self.0 {
            macro_rules! cover {
                ($($field:ident)*) => { $(
                    if values.$field.is_present() {
                        flat.$field = values.$field;
                    }
                )* };
            }
            // The two ways to give a queue replace each other.
            if values.queue.is_present() {
                flat.queue_bytes = Field::Absent;
            } else if values.queue_bytes.is_present() {
                flat.queue = Field::Absent;
            }
            cover!(delay_ns rate_bit_s queue_bytes queue jitter reorder loss duplicate parallel hash);
        }
        Self(vec![("now".into(), flat)])
    }

    /// Returns the value that applies, and its key.
    fn pick<T: Copy>(
        &self,
        name: &str,
        field: impl Fn(&Values) -> Field<T>,
    ) -> (String, Option<T>) {
        let given = self
            .0
            .iter()
            .rev()
            .find(|(_, values)| field(values).is_present());
        let (key, values) = given.unwrap_or_else(|| &self.0[0]);
        (format!("{key}.{name}"), field(values).value())
    }

    /// Checks every value; returns the parameters.
    pub fn parameters(&self, framing: Framing) -> Result<Parameters, Fault> {
        let (key, delay) = self.pick("delay_ns", |values| values.delay_ns);
        let delay_ns = whole(
            &key,
            delay.unwrap_or(0.0),
            MAX_DELAY_NS,
            "nanoseconds, one way",
        )?;
        let (key, given) = self.pick("rate_bit_s", |values| values.rate_bit_s);
        let rate_bit_s = given.map(|given| rate(&key, given)).transpose()?;
        let (key, duplicate) = self.pick("duplicate", |values| values.duplicate);
        let duplicate = probability(&key, duplicate.unwrap_or(0.0))?;
        let (key, parallel) = self.pick("parallel", |values| values.parallel);
        let parallel = whole(&key, parallel.unwrap_or(1.0), MAX_PARALLEL, "links")? as usize;
        if parallel == 0 {
            return Err(Fault::new(
                key,
                "0",
                "links in the bundle, 1 to 64",
                "Use 1 for a single link.",
            ));
        }
        Ok(Parameters {
            delay_ns,
            line: LineParameters {
                rate_bit_s,
                queue: self.queue(rate_bit_s, delay_ns)?,
                overhead_bytes: framing.overhead_bytes,
                least_frame_bytes: framing.least_frame_bytes,
            },
            jitter: self.jitter()?,
            reorder: self
                .pick("reorder", |values| values.reorder)
                .1
                .unwrap_or(false),
            loss: self.loss()?,
            duplicate,
            parallel,
            hash: self
                .pick("hash", |values| values.hash)
                .1
                .unwrap_or_default(),
        })
    }

    fn queue(&self, rate_bit_s: Option<NonZeroU64>, delay_ns: u64) -> Result<Queue, Fault> {
        for (key, values) in &self.0 {
            if values.queue.value().is_some() && values.queue_bytes.value().is_some() {
                return Err(Fault::new(
                    format!("{key}.queue"),
                    "queue beside queue_bytes",
                    "one of them",
                    "Write {\"queue\": {\"bytes\": ...}} and leave queue_bytes out.",
                ));
            }
        }
        let flat = self.flat();
        let flat = &flat.0[0].1;
        let (key, bytes, given) = if let Some(queue) = flat.queue.value() {
            let key = self.pick("queue", |values| values.queue).0;
            (key, queue.bytes, queue)
        } else {
            let key = self.pick("queue_bytes", |values| values.queue_bytes).0;
            (key, flat.queue_bytes.value(), file::Queue::default())
        };
        let packets = given
            .packets
            .map(|packets| {
                at_least_one(
                    &format!("{key}.packets"),
                    packets,
                    MAX_QUEUE_PACKETS,
                    "frames",
                )
            })
            .transpose()?;
        let bytes = match (bytes, rate_bit_s) {
            (Some(bytes), None) => whole(&key, bytes, MAX_QUEUE_BYTES, "bytes")?,
            (Some(bytes), Some(_)) => at_least_one(&key, bytes, MAX_QUEUE_BYTES, "bytes")?,
            (None, Some(_)) if packets.is_some() => MAX_QUEUE_BYTES as u64,
            (None, Some(rate)) => default_queue(rate, delay_ns),
            (None, None) => 0,
        };
        Ok(Queue {
            bytes,
            packets: packets.unwrap_or(u64::MAX),
            codel: codel(&key, given)?,
        })
    }

    fn jitter(&self) -> Result<Option<Jitter>, Fault> {
        let (key, jitter) = self.pick("jitter", |values| values.jitter);
        let Some(file::Jitter { std_ns, law }) = jitter else {
            return Ok(None);
        };
        if !(0.0..=MAX_DELAY_NS / 10.0).contains(&std_ns) {
            return Err(Fault::new(
                format!("{key}.std_ns"),
                std_ns.to_string(),
                format!("nanoseconds between 0 and {}", MAX_DELAY_NS / 10.0),
                "Give the standard deviation; for uniform jitter of +-x it is x / 1.732.",
            ));
        }
        Ok((std_ns > 0.0).then_some(Jitter { std_ns, law }))
    }

    fn loss(&self) -> Result<Option<Loss>, Fault> {
        let (key, loss) = self.pick("loss", |values| values.loss);
        let Some(given) = loss else {
            return Ok(None);
        };
        let check = |name: &str, value: f64| probability(&format!("{key}.{name}"), value);
        match given {
            file::Loss {
                rate: Some(rate),
                p: None,
                r: None,
                good: None,
                bad: None,
            } => {
                let rate = check("rate", rate)?;
                Ok((rate > 0.0).then_some(Loss::Independent { rate }))
            }
            file::Loss {
                rate: None,
                p: Some(p),
                r: Some(r),
                good,
                bad,
            } => Ok(Some(Loss::GilbertElliott {
                p: check("p", p)?,
                r: check("r", r)?,
                good: check("good", good.unwrap_or(0.0))?,
                bad: check("bad", bad.unwrap_or(1.0))?,
            })),
            _ => Err(Fault::new(
                key,
                "another set of keys",
                "{\"rate\"}, or {\"p\", \"r\"} with optional \"good\", \"bad\"",
                "For bursts of B frames at a mean loss L: r = 1 / B, p = L r / (1 - L).",
            )),
        }
    }
}

fn codel(key: &str, given: file::Queue) -> Result<Option<Targets>, Fault> {
    if given.discipline != Discipline::Codel {
        if given.target_ns.or(given.interval_ns).is_some() {
            return Err(Fault::new(
                key,
                "target_ns or interval_ns with drop-tail",
                "\"discipline\": \"codel\"",
                "Set the discipline, or remove the key.",
            ));
        }
        return Ok(None);
    }
    let time = |name: &str, value: Option<f64>, standard: u64| {
        value.map_or(Ok(standard), |value| {
            at_least_one(&format!("{key}.{name}"), value, MAX_DELAY_NS, "nanoseconds")
        })
    };
    Ok(Some(Targets {
        target_ns: time("target_ns", given.target_ns, CODEL.target_ns)?,
        interval_ns: time("interval_ns", given.interval_ns, CODEL.interval_ns)?,
    }))
}

/// Returns one round trip's worth of bytes, the usual rule for a router's buffer.
fn default_queue(rate: NonZeroU64, delay_ns: u64) -> u64 {
    let product = u128::from(rate.get()) * 2 * u128::from(delay_ns) / 8_000_000_000;
    (product.min(MAX_QUEUE_BYTES as u128) as u64).max(LEAST_QUEUE_BYTES)
}
