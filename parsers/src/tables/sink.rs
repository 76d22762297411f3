//! The receivers of the rows of the tables.

use arrow_array::RecordBatch;

use super::Table;
use crate::common::error::Error;

/// Receives the tables.
pub trait Sink: Send + Sync {
    /// Takes the next rows of `table`, in its [`batch_schema`](Table::batch_schema);
    /// [`with_values`](crate::with_values) converts them to the table's own types. Batches of one table come one after
    /// the other; those of different tables may come concurrently.
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error>;

    /// Ends the tables; called once, after all rows.
    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns whether [`Self::restart`] works.
    fn can_restart(&self) -> bool {
        false
    }

    /// Discards the rows of `table` received so far, because they come again; returns whether it can.
    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let _ = table;
        Ok(false)
    }
}
