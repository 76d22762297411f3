//! The receivers of the rows of the tables.

use arrow_array::RecordBatch;

use super::Table;
use crate::common::error::Error;

/// Receives the tables.
pub trait Sink: Send + Sync {
    /// Takes the next rows of `table`, in its [`batch_schema`](Table::batch_schema); [`with_values`](crate::with_values)
    /// makes the table's own types of them. The rows of a table come one batch after the other, those of several tables
    /// may come at once.
    fn batch(&self, table: Table, batch: RecordBatch) -> Result<(), Error>;

    /// Called once, when all rows have come.
    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether [`Self::restart`] works.
    fn can_restart(&self) -> bool {
        false
    }

    /// Forgets the rows of `table` received so far, because they come again; whether it can.
    fn restart(&mut self, table: Table) -> Result<bool, Error> {
        let _ = table;
        Ok(false)
    }
}
