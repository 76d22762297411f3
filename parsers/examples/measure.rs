//! Times the parser on files in memory's cache: packets per second of user and system time.
//!
//! `cargo run --release -p flowsweep-parsers --example measure -- [--packets] [--two] [--without=TABLE]... FILE...`

use std::time::Instant;

use flowsweep_parsers::folder::{Folder, Layout};
use flowsweep_parsers::{Error, Input, Options, Progress, Table};

fn main() -> Result<(), Error> {
    let mut options = Options {
        process_ends: true, // as for `flowsweep parse`
        ..Options::default()
    };
    let mut inputs = Vec::new();
    for argument in std::env::args().skip(1) {
        if argument == "--packets" {
            options.tables.push(Table::Packets);
        } else if argument == "--two" {
            options.threads = 2;
        } else if let Some(left_out) = argument.strip_prefix("--without=") {
            options.tables.retain(|table| table.name() != left_out);
        } else {
            inputs.push(Input::from_path(argument.as_ref()));
        }
    }
    let folder = std::env::temp_dir().join("flowsweep-measure");
    for input in &inputs {
        let _ = std::fs::remove_dir_all(&folder);
        let mut layout = Layout::flat(&folder, &options.tables);
        layout.synced = false; // the parser is timed, and not the disk
        let start = Instant::now();
        let mut sink = Folder::create(layout)?;
        let summary = flowsweep_parsers::run(
            std::slice::from_ref(input),
            &options,
            &mut sink,
            &Progress::default(),
        )?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}: {} packets, {} connections, {seconds:.3} s, {:.2} M packets/s",
            input.name(),
            summary.packets,
            summary.connections,
            summary.packets as f64 / seconds / 1e6
        );
    }
    Ok(())
}
