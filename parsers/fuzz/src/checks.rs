//! Checks that hold for the tables of any capture.

use std::collections::BTreeMap;

use flowsweep_parsers::{Summary, Table};

use super::tables::{Tables, parse};

/// Number columns that may be negative.
const SIGNED: [&str; 2] = ["gap_ns", "interface"];
/// The range of times in tables, in ns: from 1678-01-01, and before 2262-01-01.
const TIMES: std::ops::Range<i64> = -9_214_560_000_000_000_000..9_214_646_400_000_000_000;

/// By connection and direction: three sums.
type Flows = BTreeMap<(i64, String), [i128; 3]>;

/// Parses `files` with one thread and, if `threads` is greater, also with that many; checks the tables.
/// Returns `None` if the parser refuses the files.
pub fn checked(files: &[&[u8]], threads: usize) -> Option<(Tables, Summary)> {
    checked_with(files, threads, false)
}

/// Does the same; `verify` also verifies checksums.
pub fn checked_with(files: &[&[u8]], threads: usize, verify: bool) -> Option<(Tables, Summary)> {
    let once = parse(files, 1, verify);
    if threads > 1 {
        match (&once, parse(files, threads, verify)) {
            (Ok((one, first)), Ok((other, second))) => {
                assert!(one.0 == other.0, "tables differ with {threads} threads");
                assert_eq!(*first, second, "with {threads} threads");
            }
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
            _ => panic!("an error with 1 or with {threads} threads only"),
        }
    }
    let (tables, summary) = once.ok()?;
    totals(&tables, &summary);
    no_negative_values(&tables);
    no_odd_times(&tables);
    each_flow(&tables);
    round_trips(&tables);
    limits(&tables);
    Some((tables, summary))
}

fn totals(tables: &Tables, summary: &Summary) {
    let packets = i128::from(summary.packets);
    assert_eq!(tables.sum("captures", "packets"), packets);
    assert_eq!(tables.rows("packets") as i128, packets);
    let in_flows = tables.sum("flows", "packets");
    let undecoded = tables.sum("captures", "undecoded_packets");
    let copies = tables.sum("captures", "duplicate_packets");
    assert_eq!(in_flows + undecoded + copies, packets);
    let marked = tables.numbers("packets", "copy_of");
    let marked = marked.into_iter().flatten().count();
    assert_eq!(marked as i128, copies);
    for column in ["packets", "wire_bytes", "payload_bytes"] {
        let flows = tables.sum("flows", column);
        assert_eq!(
            tables.sum("throughput", column),
            flows,
            "throughput.{column}"
        );
    }
    for column in ["wire_bytes", "payload_bytes"] {
        assert!(tables.sum("packets", column) >= tables.sum("flows", column));
    }
    let wire = tables.sum("captures", "wire_bytes");
    assert_eq!(tables.sum("packets", "wire_bytes"), wire);
    let gaps = in_flows - tables.rows("flows") as i128;
    assert_eq!(tables.sum("intervals", "count"), gaps);
    let last = tables.known("flows", "connection").into_iter().max();
    assert_eq!(last.map_or(0, |last| last as u64 + 1), summary.connections);
    let mut numbers = tables.known("packets", "packet");
    numbers.sort_unstable(); // rows are in time order
    assert!(numbers.into_iter().eq(1..=summary.packets as i64));
}

fn no_negative_values(tables: &Tables) {
    for table in Table::ALL {
        for column in table.schema().fields() {
            if !matches!(column.data_type(), arrow_schema::DataType::Timestamp(..))
                && !SIGNED.contains(&column.name().as_str())
                && !column.data_type().is_null()
                && column.data_type().is_integer()
            {
                let values = tables.numbers(table.name(), column.name());
                let least = values.into_iter().flatten().min();
                let name = column.name();
                assert!(
                    least >= Some(0) || least.is_none(),
                    "{} {name} {least:?}",
                    table.name()
                );
            }
        }
    }
}

/// Holds for any clock. Bins are excluded: they begin up to their length before a time.
fn no_odd_times(tables: &Tables) {
    for (table, columns) in [
        ("captures", ["first_time", "last_time"]),
        ("flows", ["first_time", "last_time"]),
        ("messages", ["first_time", "last_time"]),
        ("packets", ["time", "time"]),
    ] {
        for column in columns {
            let mut times = tables.numbers(table, column).into_iter().flatten();
            assert!(times.all(|time| TIMES.contains(&time)), "{table} {column}");
        }
    }
}

/// Adds up columns of `table` by connection and direction.
fn by_flow(tables: &Tables, table: &str, columns: [&str; 3]) -> Flows {
    let connections = tables.numbers(table, "connection");
    let directions = tables.texts(table, "direction");
    let values = columns.map(|column| tables.numbers(table, column));
    let mut sums = Flows::new();
    for (row, (connection, direction)) in connections.into_iter().zip(directions).enumerate() {
        let Some(connection) = connection else {
            continue;
        };
        let sum = sums.entry((connection, direction)).or_default();
        for (sum, values) in sum.iter_mut().zip(&values) {
            // A missing column counts rows.
            *sum += values
                .get(row)
                .map_or(1, |value| i128::from(value.unwrap_or_default()));
        }
    }
    sums
}

fn each_flow(tables: &Tables) {
    let flows = by_flow(tables, "flows", ["packets", "wire_bytes", "payload_bytes"]);
    assert_eq!(flows.len(), tables.rows("flows"), "a flow has two rows");
    let packets = by_flow(tables, "packets", ["", "wire_bytes", "payload_bytes"]);
    assert_eq!(flows, packets, "flows and packets");
    let gaps = by_flow(
        tables,
        "intervals",
        ["count", "bucket_low_ns", "bucket_high_ns"],
    );
    for (flow, [packets, ..]) in &flows {
        let gaps = gaps.get(flow).map_or(0, |sums| sums[0]);
        assert_eq!(gaps, packets - 1, "gaps of {flow:?}");
    }
    let bounds = tables.known("intervals", "bucket_low_ns").into_iter();
    let mut bounds = bounds.zip(tables.known("intervals", "bucket_high_ns"));
    assert!(bounds.all(|(low, high)| low < high));
    let times = tables.known("flows", "first_time").into_iter();
    let mut times = times.zip(tables.known("flows", "last_time"));
    assert!(times.all(|(first, last)| first <= last));
    for part in [
        "syn",
        "fin",
        "rst",
        "retransmitted",
        "out_of_order",
        "zero_window",
    ] {
        at_most(tables, &format!("{part}_packets"), "packets");
    }
    at_most(tables, "largest_packet_bytes", "ip_bytes");
    at_most(tables, "keep_alives", "packets");
    at_most(tables, "window_probes", "packets");
    at_most(tables, "retransmitted_probes", "retransmitted_packets");
    at_most(tables, "duplicate_acks", "packets");
    let unseen = tables.numbers("flows", "unseen_acked_bytes").into_iter();
    assert!(unseen.flatten().all(|bytes| bytes >= 0));
    let columns = [
        "retransmitted_bytes",
        "payload_bytes",
        "syn_packets",
        "fin_packets",
    ];
    let [repeated, sent @ ..] = columns.map(|column| tables.numbers("flows", column));
    for (row, repeated) in repeated.into_iter().enumerate() {
        let bytes = sent.iter().filter_map(|values| values[row]).sum();
        assert!(repeated.unwrap_or_default() <= bytes);
    }
    for (flow, [packets, bytes, _]) in by_flow(tables, "messages", ["packets", "bytes", ""]) {
        let [all, _, payload] = flows[&flow];
        assert!(packets <= all && bytes <= payload, "messages of {flow:?}");
    }
}

fn at_most(tables: &Tables, part: &str, whole: &str) {
    let [parts, wholes] = [part, whole].map(|column| tables.numbers("flows", column));
    for (part_value, whole) in parts.into_iter().zip(wholes) {
        assert!(part_value <= whole, "{part}");
    }
}

fn round_trips(tables: &Tables) {
    let column = |name| tables.numbers("flows", name).into_iter();
    let times = column("rtt_min_ns")
        .zip(column("rtt_mean_ns"))
        .zip(column("rtt_max_ns"));
    for (samples, ((least, mean), most)) in column("rtt_samples").zip(times) {
        assert!(least <= mean && mean <= most, "{least:?} {mean:?} {most:?}");
        assert_eq!(samples.unwrap_or_default() > 0, mean.is_some());
    }
}

/// The five limit times of a direction are parts of its connection's duration.
fn limits(tables: &Tables) {
    if tables.sum("flows", "time_regressions") > 0 || tables.sum("captures", "time_regressions") > 0
    {
        return;
    }
    let mut spans: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let connections = tables.known("flows", "connection");
    let first = tables.known("flows", "first_time");
    let last = tables.known("flows", "last_time");
    for ((connection, first), last) in connections.iter().zip(first).zip(last) {
        let span = spans.entry(*connection).or_insert((first, last));
        *span = (span.0.min(first), span.1.max(last));
    }
    let kinds = ["app", "sender", "receiver", "network", "unknown"]
        .map(|kind| tables.numbers("flows", &format!("{kind}_limited_ns")));
    let waits = tables.numbers("flows", "peer_wait_ns");
    for (row, connection) in connections.iter().enumerate() {
        let parts = kinds.iter().filter_map(|kind| *kind.get(row)?);
        let sum: i128 = parts.map(i128::from).sum();
        let (first, last) = spans[connection];
        assert!(
            sum <= i128::from(last) - i128::from(first),
            "limited longer than it lasted"
        );
        assert!(
            waits[row] <= kinds[0][row],
            "waits for the other side are a part of the application's time"
        );
    }
}
