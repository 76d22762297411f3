//! Writes the messages of TCP connections to the table `messages`.

use std::sync::LazyLock;

use arrow_array::RecordBatch;

use super::arrays::{self, Making};
use super::columns::{
    Column,
    Kind::{Bool, Int64, Text, Time},
    columns,
};
use super::dictionary::{DIRECTIONS, ValueList, numbered, texts};
use super::{BATCH_ROWS, Table};
use crate::common::error::Error;
use crate::track::{
    Connections, MessageRow, NO_GAP, States, Vantage, evidence, unfinished_messages,
};

/// Collects rows until a batch is full.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    rows: Vec<MessageRow>,
}

impl Messages {
    /// Adds `rows`; passes full batches to `emit`.
    pub(crate) fn add(
        &mut self,
        mut rows: impl Iterator<Item = MessageRow> + Send,
        emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let held = &mut self.rows;
        let batches = std::iter::from_fn(|| {
            held.extend(rows.by_ref().take(BATCH_ROWS - held.len()));
            (held.len() == BATCH_ROWS).then(|| {
                let full = batch(held);
                held.clear();
                full
            })
        });
        arrays::hand_over(batches, emit)
    }

    /// Emits the remaining rows, and the messages that were still being sent.
    pub(crate) fn finish(
        mut self,
        connections: &Connections,
        states: &States,
        mut emit: impl FnMut(RecordBatch) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let last = unfinished_messages(connections, states);
        self.add(last.iter(), &mut emit)?;
        if self.rows.is_empty() {
            return Ok(());
        }
        emit(batch(&self.rows)?)
    }
}

/// The reasons of every set of evidence, numbered by its bits.
static REASONS: ValueList = LazyLock::new(|| texts((0..64).map(reasons)));

columns! {
    <'a> rows: &'a [MessageRow];
    Column::new("connection", Int64, "", "Number of the connection, as in flows.", "")
        => arrays::int64(rows.iter().map(|row| i64::from(row.connection)));
    Column::new("direction", Text, "", "forward or backward, as in flows.", "").in_dictionary()
        => numbered(&DIRECTIONS, None, rows.iter().map(|row| row.backward.into()));
    Column::new("first_time", Time, "", "Time of its first segment.", "")
        => arrays::time(rows.iter().map(|row| row.first_time));
    Column::new("last_time", Time, "", "Time of its last segment.", "")
        => arrays::time(rows.iter().map(|row| row.last_time));
    Column::new("bytes", Int64, "B", "Its captured payload bytes, each counted once. The first message of a flow whose start is midstream may have begun before the capture.", "")
        => arrays::int64(rows.iter().map(|row| row.bytes as i64));
    Column::new("packets", Int64, "packets", "Segments that carried bytes of it for the first time.", "")
        => arrays::int64(rows.iter().map(|row| i64::from(row.packets)));
    Column::new("gap_before_ns", Int64, "ns", "From the last segment of the message before it in this direction; null for the first.", "").or_null()
        => arrays::int64_or_null(rows.iter().map(|row| Some(row.gap_before_ns).filter(|&gap| gap != NO_GAP)));
    Column::new("evidence", Text, "", "Why it is thought to end there, strongest reason first, joined by +: turn (answered, and the sender went on), short (last segment below the MSS), pause (a stop that neither window, recovery, acknowledgement nor pacing explains), push (full segment, handed over alone, with PSH before a stop), close (FIN or RST), open (the capture ends). A stop that may lie within a write ends nothing: counts are lower bounds, sizes upper.", "RFC 9293 3.7, 3.8.6.2").in_dictionary()
        => numbered(&REASONS, None, rows.iter().map(|row| u16::from(row.evidence & 63)));
    Column::new("at_sender", Bool, "", "The capture lies beside the sender: true if the RTT to the receiver is more than four times that to the sender, false if it is less than a fourth; null between, and where one of them is not known. Far from the sender its stops cannot be told from those of the path.", "").or_null()
        => arrays::boolean_or_null(rows.iter().map(|row| match row.vantage { Vantage::Unknown => None, vantage => Some(vantage == Vantage::AtSender), }));
    Column::new("merged_possible", Bool, "", "Several writes may be in it: it waited for an acknowledgement, for room or for its pace, or was sent in several goes, so that later writes could be queued behind the first. False: it left at once, and is one write. Null where at_sender is not true.", "").or_null()
        => arrays::boolean_or_null(rows.iter().map(|row| (row.vantage == Vantage::AtSender).then_some(row.held)));
}

fn batch(rows: &[MessageRow]) -> Result<RecordBatch, Error> {
    arrays::batch(Table::Messages, rows.len(), columns(rows))
}

/// Returns the evidence of `bits` in words.
fn reasons(bits: u8) -> String {
    let names = evidence::NAMES.iter();
    let held: Vec<&str> = names
        .filter(|(bit, _)| bits & bit != 0)
        .map(|&(_, name)| name)
        .collect();
    held.join("+")
}
