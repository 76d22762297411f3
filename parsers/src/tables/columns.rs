//! Descriptions of columns, and the schemas that they make.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

/// What a column holds.
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
    /// Unit, empty for names and numbers of things.
    pub unit: &'static str,
    /// What is counted, with its edge cases.
    pub meaning: &'static str,
    /// Where the definition comes from, empty for our own.
    pub source: &'static str,
    /// Few different values, without order: batches and files have each once, and its number in every row.
    pub dictionary: bool,
    /// Two rows have the same value here where they have the same in the column before, which is of few different
    /// values, too: in a file both have the same pages, but for those that list their values.
    pub twin: bool,
}

impl Column {
    /// A column whose value is always known.
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

    /// A column whose value may be unknown.
    pub(crate) const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// A column of few different values, whose rows [`numbered`](super::dictionary::numbered) makes.
    pub(crate) const fn in_dictionary(mut self) -> Self {
        self.dictionary = true;
        self
    }

    /// The same, with the numbers of the column before.
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

/// The columns of one table: the description of each, and what makes it of the rows of a batch. Defines `COLUMNS`, and
/// `columns`, which makes the arrays of a batch in that order.
macro_rules! columns {
    (<$life:lifetime> $rows:ident: $type:ty; $($column:expr => $make:expr;)+) => {
        pub(super) const COLUMNS: &[Column] = &[$($column),+];

        fn columns<$life>($rows: $type) -> Vec<Making<$life>> {
            vec![$($make),+]
        }
    };
}
pub(super) use columns;

/// The Arrow schema of `columns`.
pub(crate) fn schema(columns: &[Column]) -> Schema {
    Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>())
}

/// The same with dictionaries where there are few different values.
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

/// The schema of `columns` as Spark writes it into its own Parquet files: JSON. Times are integers there, their
/// nanoseconds since 1970: its own type for times ends at microseconds.
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
