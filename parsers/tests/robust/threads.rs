//! Events outside the packets (a full disk, a request to stop), and rows written while reading.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use flowsweep_parsers::{Error, Input, Options, Progress, Sink, Table, run};

use crate::{PCAP, capture, record, segment};

/// Calls a function with every batch.
struct Each<F>(F);

impl<F: Fn(Table, RecordBatch) -> Result<(), Error> + Send + Sync> Sink for Each<F> {
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        self.0(table, batch)
    }
}

/// Reads all tables of `bytes`.
fn read(
    bytes: &[u8],
    threads: usize,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<(), Error> {
    let input = Input::Bytes {
        bytes: Arc::from(bytes),
        name: "threads".to_owned(),
    };
    let options = Options {
        tables: Table::ALL.to_vec(),
        threads,
        ..Options::default()
    };
    run(&[input], &options, sink, progress).map(drop)
}

/// Returns packets of one host, 10 ms apart, in `connections` connections.
fn one_side(packets: u64, connections: u64) -> Vec<u8> {
    let mut bytes = PCAP.to_vec();
    for number in 0..packets {
        let mut frame = segment(false, 0x10, number as u32, 0, 1);
        let port = 1024 + (number % connections) as u16;
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        bytes.extend(record(number * 10_000_000, 60, &frame));
    }
    bytes
}

#[test]
fn an_error_of_the_sink_ends_the_work() {
    let bytes = one_side(100_000, 1);
    for threads in 1..4 {
        for full in [Table::Packets, Table::Flows, Table::Captures] {
            let mut sink = Each(|table, _| {
                if table == full {
                    return Err(Error::Table("no room".to_owned()));
                }
                Ok(())
            });
            let done = read(&bytes, threads, &mut sink, &Progress::default());
            assert!(
                matches!(&done, Err(Error::Table(why)) if why == "no room"),
                "{threads} {done:?}"
            );
        }
    }
}

#[test]
fn a_wish_to_stop_ends_the_work() {
    let bytes = one_side(400_000, 1);
    for threads in 1..4 {
        let progress = Progress::default();
        let mut sink = Each(|_, _| {
            progress.stop.store(true, Ordering::Relaxed);
            Ok(())
        });
        let done = read(&bytes, threads, &mut sink, &progress);
        assert!(matches!(done, Err(Error::Stopped)), "{threads} {done:?}");
        assert!(progress.packets.load(Ordering::Relaxed) < 400_000);
    }
}

#[test]
fn old_bins_are_written_while_reading() {
    // More bins than are kept in memory; chunks of different sizes.
    let bytes = one_side(1_600_000, 60_000);
    for threads in 1..4 {
        let seen = Mutex::new(Vec::new());
        let mut sink = Each(|table, batch: RecordBatch| {
            seen.lock().unwrap().push((table, batch.num_rows()));
            Ok(())
        });
        read(&bytes, threads, &mut sink, &Progress::default()).unwrap();
        let seen = seen.into_inner().unwrap();
        let rows = |wanted| {
            seen.iter()
                .filter(|(table, _)| *table == wanted)
                .map(|(_, rows)| rows)
                .sum::<usize>()
        };
        assert_eq!(
            (rows(Table::Throughput), rows(Table::Packets)),
            (1_600_000, 1_600_000)
        );
        let first = seen
            .iter()
            .position(|(table, _)| *table == Table::Throughput);
        let last = seen.iter().rposition(|(table, _)| *table == Table::Packets);
        assert!(first < last, "{threads}: {first:?} {last:?}");
    }
}

#[test]
fn a_capture_without_packets_has_no_rows_but_its_own() {
    for threads in 1..4 {
        let rows = Mutex::new(Vec::new());
        let mut sink = Each(|table, batch: RecordBatch| {
            if batch.num_rows() > 0 {
                rows.lock().unwrap().push(table);
            }
            Ok(())
        });
        let bytes = capture(&[]);
        read(&bytes, threads, &mut sink, &Progress::default()).unwrap();
        assert_eq!(rows.into_inner().unwrap(), [Table::Captures]);
    }
}
