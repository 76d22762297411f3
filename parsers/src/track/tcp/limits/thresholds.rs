//! The thresholds of the classifier, each with its unit and what it means physically. `tests/truth/fit_limits.py` fits
//! those that are ratios on labelled recordings and measures the error on kinds that it left out.

/// Declares the table. With the feature `fit` the environment variable `FLOWSWEEP_LIMITS`, such as
/// `queue=1.3 clumped=0.4`, replaces values, so that a fit needs one build.
macro_rules! thresholds {
    ($($(#[$meaning:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        pub(super) struct Thresholds { $($(#[$meaning])* pub $name: $kind,)* }

        const TABLE: Thresholds = Thresholds { $($name: $value,)* };

        #[cfg(feature = "fit")]
        impl Thresholds {
            fn from_environment() -> Self {
                let mut table = TABLE;
                let given = std::env::var("FLOWSWEEP_LIMITS").unwrap_or_default();
                for (name, value) in given.split_whitespace().filter_map(|pair| pair.split_once('=')) {
                    match name {
                        $(stringify!($name) => table.$name = value.parse().expect(name),)*
                        _ => panic!("FLOWSWEEP_LIMITS: no threshold {name}"),
                    }
                }
                table
            }
        }
    };
}

#[cfg(not(feature = "fit"))]
pub(super) const THRESHOLDS: Thresholds = TABLE;
#[cfg(feature = "fit")]
pub(super) static THRESHOLDS: std::sync::LazyLock<Thresholds> =
    std::sync::LazyLock::new(Thresholds::from_environment);

thresholds! {
    // Hosts.
    /// ns. A send this soon after an acknowledgement was released by it; a writer that was asleep may need the 64th
    /// part of the RTT more.
    release_ns: i64 = 200_000;
    /// ns. Shorter pauses between segments are the work of the host, inside a burst.
    burst_gap_ns: i64 = 50_000;
    /// ns. A kernel sends on this soon after an acknowledgement: it is the same piece of work. Measured: 3 to 10 µs.
    kernel_ns: i64 = 16_000;
    /// ns. A writer that sleeps in `send` until its buffer has room needs longer: 16 to 100 µs.
    waking_ns: i64 = 100_000;
    /// ns. An acknowledgement that came earlier than this before a send did not release it.
    idle_ns: i64 = 150_000;
    /// ns. Segments of one buffer follow each other faster.
    buffer_gap_ns: i64 = 20_000;
    /// Bytes. Linux hands at most this many to the card at once; it holds them back while the window has no room for
    /// them, unless the room is a third of the window (`tcp_tso_should_defer`), and counts that as `rwnd_limited`.
    largest_buffer: i64 = 65_536;

    // Whiles.
    /// Whiles that a congestion window needs to recover from a loss.
    lossy_whiles: u8 = 4;
    /// ns. A while lasts at least this long, ...
    least_ns: i64 = 50_000_000;
    /// ... and this many RTTs.
    rounds: i64 = 4;
    /// Factor by which a while may last longer if it has few differences.
    longest: i64 = 4;
    /// ns. Shorter waits show nothing of a clock.
    shortest_ns: i64 = 150_000;
    /// Differences between waits that are needed to find whose clock the sender follows, ...
    least_steps: u16 = 3;
    /// ... and that end a while.
    enough_steps: u16 = 8;

    // Clocks: how far the times from acknowledgement to send differ, as a fraction of how far the waits differ.
    /// From here on the sender follows its own clock.
    own_clock: f32 = 0.4;
    /// From here on either clock explains the sends.
    either_clock: f32 = 0.08;
    /// Share of the time in waits that last an RTT each, from which the writer follows round trips.
    by_rounds: f32 = 0.875;
    /// ns. From this RTT on a busy host may wake one writer in four too late; on a shorter path a timer of some
    /// milliseconds looks like round trips.
    long_ns: i64 = 10_000_000;
    /// The same share at such an RTT.
    by_long_rounds: f32 = 0.7;

    // Path.
    /// RTT over the flow's least. From here on a queue stands all the time, ...
    queue: f64 = 1.25;
    /// ... or one grows: the congestion window is in use, ...
    growing_queue: f64 = 1.1;
    /// ... and below it there is none.
    no_queue: f64 = 1.05;
    /// Flight over that of the while before, from which the congestion window grows.
    growing_flight: f64 = 2.0;
    /// Share of the bytes that are acknowledged at more than twice the usual rate: above it, ACKs come in clumps, ...
    clumped: f64 = 0.37;
    /// ... and below it, evenly.
    evenly: f64 = 0.2;

    // Shares of the time of a while.
    /// Waits with an empty queue that no acknowledgement ended: a few are no accident, ...
    own_some: f64 = 0.03;
    /// ... or the application sets the pace.
    own_much: f64 = 0.2;
    /// Anything below this is rare.
    rare: f64 = 0.1;
    /// Pauses that no acknowledgement ended: from here on pacing explains wakings.
    paced: f64 = 0.3;
    /// Time of waits with little room in the receiver's window over that of waits with none, up to which the window
    /// explains both.
    little_room: f32 = 1.0;
    /// Part of the flight that leaves at a waking, above which a writer refills its buffer.
    large_waking: f64 = 0.15;
}
