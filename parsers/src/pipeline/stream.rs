//! One table of a capture as an Arrow stream, computed on its own thread while it is read.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::run::run;
use crate::common::error::{Damage, Error};
use crate::common::progress::Progress;
use crate::pipeline::options::Options;
use crate::source::Input;
use crate::tables::{Sink, Table, with_values};

/// Most batches that wait for the reader.
const WAITING: usize = 4;

/// A batch, or the end: if the channel closes without an end, the sender is lost.
enum Step {
    Batch(RecordBatch),
    End(Vec<Damage>),
}

type Delivery = Result<Step, Error>;

/// Called with the damage at the end of a stream; its error becomes the stream's.
pub type OnDamage = Box<dyn FnOnce(&[Damage]) -> Result<(), ArrowError> + Send>;

/// The batches of one table.
pub struct TableStream {
    schema: SchemaRef,
    batches: Receiver<Delivery>,
    on_damage: Option<OnDamage>,
    ended: bool,
}

/// Starts reading `inputs`. Returns an error at once if an input cannot be opened or is no capture; later failures come
/// from the stream. After damage the stream still delivers all rows, then calls `on_damage` in the thread that reads
/// it.
pub fn stream(
    inputs: Vec<Input>,
    mut options: Options,
    table: Table,
    on_damage: OnDamage,
) -> Result<TableStream, Error> {
    options.tables = vec![table];
    let (sender, batches) = sync_channel(WAITING);
    let (opened, ready) = sync_channel(1);
    thread::spawn(move || {
        let mut sink = Channel {
            sender,
            opened: Mutex::new(Some(opened)),
        };
        let outcome = run(&inputs, &options, &mut sink, &Progress::default());
        let opened = sink.opened();
        match (outcome, opened) {
            (Err(error), Some(opened)) => {
                let _ = opened.send(Err(error));
            }
            (Err(error), None) => {
                let _ = sink.sender.send(Err(error));
            }
            (Ok(summary), opened) => {
                if let Some(opened) = opened {
                    let _ = opened.send(Ok(()));
                }
                let _ = sink.sender.send(Ok(Step::End(summary.damage)));
            }
        }
    });
    match ready.recv() {
        Ok(Ok(())) => Ok(TableStream {
            schema: table.schema(),
            batches,
            on_damage: Some(on_damage),
            ended: false,
        }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Stopped),
    }
}

struct Channel {
    sender: SyncSender<Delivery>,
    /// The channel that reports once whether there is something to read.
    opened: Mutex<Option<SyncSender<Result<(), Error>>>>,
}

impl Channel {
    /// Takes the channel on which to report that the stream is open; it is used once.
    fn opened(&self) -> Option<SyncSender<Result<(), Error>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.take()
    }
}

impl Sink for Channel {
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error> {
        if let Some(opened) = self.opened() {
            let _ = opened.send(Ok(()));
        }
        let batch = with_values(table, &batch)?;
        self.sender
            .send(Ok(Step::Batch(batch)))
            .map_err(|_| Error::Stopped)
    }
}

impl Iterator for TableStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let message = self.batches.recv().unwrap_or(Err(Error::Stopped));
        self.ended = !matches!(message, Ok(Step::Batch(_)));
        match message {
            Ok(Step::Batch(batch)) => Some(Ok(batch)),
            Ok(Step::End(damage)) => {
                let tell = self.on_damage.take().filter(|_| !damage.is_empty())?;
                tell(&damage).err().map(Err)
            }
            Err(error) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
        }
    }
}

impl RecordBatchReader for TableStream {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
