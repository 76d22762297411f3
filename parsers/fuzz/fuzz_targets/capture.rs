//! Any bytes as a capture, plain or compressed, to all tables.
#![no_main]

use std::sync::Arc;

use arrow_array::RecordBatch;
use flowsweep_parsers::{Error, Input, Options, Progress, Sink, Table, run};
use libfuzzer_sys::fuzz_target;

struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: Table, _: RecordBatch) -> Result<(), Error> {
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let input = Input::Bytes {
        bytes: Arc::from(bytes),
        name: "fuzz".to_owned(),
    };
    let options = Options {
        tables: Table::ALL.to_vec(),
        ..Options::default()
    };
    let _ = run(&[input], &options, &mut Nowhere, &Progress::default());
});
