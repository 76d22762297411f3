//! Times the parser on files in the page cache: packets per second of user and system time.
//!
//! `cargo run --release -p flowsweep-parsers --example measure -- [--packets] [--two] [--without=TABLE]...
//! [--without-fast=NAME]... [--folder=FOLDER] FILE...`; `--list-fast-paths` lists what a NAME may be. The tables go to
//! FOLDER; without it, to a folder that is removed at the end.

use std::path::PathBuf;
use std::time::Instant;

use flowsweep_parsers::folder::{Folder, Layout};
use flowsweep_parsers::{Error, FastPaths, Input, Options, Progress, Table};

fn main() -> Result<(), Error> {
    let mut options = Options {
        process_ends: true, // as for `flowsweep parse`
        ..Options::default()
    };
    let mut inputs = Vec::new();
    let mut folder = None;
    for argument in std::env::args().skip(1) {
        if argument == "--packets" {
            options.tables.push(Table::Packets);
        } else if argument == "--two" {
            options.threads = 2;
        } else if let Some(left_out) = argument.strip_prefix("--without=") {
            options.tables.retain(|table| table.name() != left_out);
        } else if let Some(name) = argument.strip_prefix("--without-fast=") {
            let Some(path) = FastPaths::from_name(name) else {
                let names = FastPaths::ALL.map(|(name, _)| name);
                eprintln!(
                    "no fast path is called {name:?}; there are {}",
                    names.join(", ")
                );
                std::process::exit(2);
            };
            options.without_fast = options.without_fast.union(path);
        } else if argument == "--list-fast-paths" {
            for (name, _) in FastPaths::ALL {
                println!("{name}");
            }
            return Ok(());
        } else if let Some(path) = argument.strip_prefix("--folder=") {
            folder = Some(PathBuf::from(path));
        } else {
            inputs.push(Input::from_path(argument.as_ref()));
        }
    }
    let kept = folder.is_some();
    let folder = folder.unwrap_or_else(|| {
        let name = format!("flowsweep-measure-{}", std::process::id());
        std::env::temp_dir().join(name)
    });
    for input in &inputs {
        for table in &options.tables {
            let _ = std::fs::remove_file(folder.join(format!("{}.parquet", table.name())));
        }
        let mut layout = Layout::flat(&folder, &options.tables);
        layout.synced = false; // the benchmark times the parser, not the disk
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
    if !kept {
        let _ = std::fs::remove_dir_all(&folder);
    }
    Ok(())
}
