//! Descriptions of columns, and their schemas.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Signed 64-bit integer.
    Int64,
    /// Signed 32-bit integer.
    Int32,
    /// Nanoseconds since 1970 in UTC.
    Time,
    /// UTF-8 text.
    Text,
    /// True or false.
    Bool,
    /// IEEE 754 double.
    Float,
}

/// One column: its name, type and meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name in the table.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// A value may be unknown; the meaning of the column explains when.
    pub nullable: bool,
    /// Unit; empty for names and numbers of objects.
    pub unit: &'static str,
    /// What is counted, with its edge cases.
    pub meaning: &'static str,
    /// Source of the definition; empty for our own.
    pub source: &'static str,
    /// Few different values, without order: batches and files contain each once, and its number in every row.
    pub dictionary: bool,
    /// Two rows are equal in this column if they are equal in the column before, which has few different values as
    /// well: in a file both columns have the same pages, except those that list their values.
    pub twin: bool,
}

impl Column {
    /// Describes a column whose value is always known.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        unit: &'static str,
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            nullable: false,
            unit,
            meaning,
            source,
            dictionary: false,
            twin: false,
        }
    }

    /// Marks a column whose value may be unknown.
    pub(crate) const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// Marks a column of few different values; [`numbered`](super::dictionary::numbered) makes its rows.
    pub(crate) const fn in_dictionary(mut self) -> Self {
        self.dictionary = true;
        self
    }

    /// Marks the same, with the numbers of the previous column.
    pub(crate) const fn in_twin_dictionary(mut self) -> Self {
        self.twin = true;
        self.in_dictionary()
    }

    fn data_type(&self) -> DataType {
        match self.kind {
            Kind::Int64 => DataType::Int64,
            Kind::Int32 => DataType::Int32,
            Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Float => DataType::Float64,
        }
    }

    fn field(&self) -> Field {
        let notes = [
            ("unit", self.unit),
            ("meaning", self.meaning),
            ("source", self.source),
        ];
        let metadata: HashMap<String, String> = notes
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(key, text)| (key.to_owned(), text.to_owned()))
            .collect();
        Field::new(self.name, self.data_type(), self.nullable).with_metadata(metadata)
    }
}

/// The columns of one table: the description of each, and the expression that makes it from the rows of a batch.
/// Defines `COLUMNS` and `columns`, which makes the arrays of a batch in that order.
macro_rules! columns {
    (<$life:lifetime> $rows:ident: $type:ty; $($column:expr => $make:expr;)+) => {
        pub(super) const COLUMNS: &[Column] = &[$($column),+];

        fn columns<$life>($rows: $type) -> Vec<Making<$life>> {
            vec![$($make),+]
        }
    };
}
pub(super) use columns;

/// Returns the Arrow schema of `columns`.
pub(crate) fn schema(columns: &[Column]) -> Schema {
    Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>())
}

/// Returns the same schema with dictionaries for columns of few different values.
pub(crate) fn batch_schema(columns: &[Column]) -> Schema {
    let fields = columns.iter().map(|column| {
        let values = Box::new(column.data_type());
        let numbers = DataType::Dictionary(Box::new(DataType::UInt16), values);
        let field = column.field();
        if column.dictionary {
            field.with_data_type(numbers)
        } else {
            field
        }
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Returns the schema of `columns` as JSON, in the form in which Spark writes it into its own Parquet files. Times are
/// integers there, in nanoseconds since 1970, because Spark's type for times ends at microseconds.
pub(crate) fn spark_schema(columns: &[Column]) -> String {
    let fields: Vec<String> = columns
        .iter()
        .map(|column| {
            let kind = match column.kind {
                Kind::Int64 | Kind::Time => "long",
                Kind::Int32 => "integer",
                Kind::Text => "string",
                Kind::Bool => "boolean",
                Kind::Float => "double",
            };
            format!(
                r#"{{"name":"{}","type":"{kind}","nullable":{},"metadata":{{}}}}"#,
                column.name, column.nullable
            )
        })
        .collect();
    format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","))
}
