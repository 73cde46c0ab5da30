//! Columns, and rows that are collected by columns.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, ListBuilder,
    StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::{Deserialize, Serialize};

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether every row has a value.
    pub is_required: bool,
    /// Whether hardly two rows have the same value, so that a dictionary of values is of no use.
    pub is_distinct: bool,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers of 16 bits.
    Int16,
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
    /// Numbers.
    Float,
    /// Truth values.
    Flag,
    /// Times, in milliseconds since 1970 in UTC.
    Time,
    /// Lists of texts.
    Texts,
    /// Lists of numbers.
    Floats,
}

impl Column {
    /// Returns a column that may lack values.
    pub const fn of(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            is_required: false,
            is_distinct: false,
        }
    }

    /// Returns a column of which every row has a value.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            is_required: true,
            is_distinct: false,
        }
    }

    /// The same for values of which hardly two are the same.
    #[must_use]
    pub const fn distinct(self) -> Self {
        Self {
            is_distinct: true,
            ..self
        }
    }

    fn field(&self) -> Field {
        let list = |of: DataType| DataType::List(Arc::new(Field::new_list_field(of, true)));
        let data = match self.kind {
            Kind::Text => DataType::Utf8,
            Kind::Int16 => DataType::Int16,
            Kind::Int32 => DataType::Int32,
            Kind::Int64 => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Flag => DataType::Boolean,
            Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Kind::Texts => list(DataType::Utf8),
            Kind::Floats => list(DataType::Float64),
        };
        Field::new(self.name, data, !self.is_required)
    }
}

/// A value of a row. What is not of the kind of its column counts as none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// There is none.
    None,
    /// A text.
    Text(String),
    /// A whole number, or a time.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Flag(bool),
    /// Texts.
    Texts(Vec<String>),
    /// Numbers.
    Floats(Vec<f64>),
}

impl Value {
    /// Returns a text, if there is one.
    pub fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::None, |text| Self::Text(text.into()))
    }

    /// Returns a whole number, if there is one.
    pub fn int(number: Option<impl TryInto<i64>>) -> Self {
        let number = number.and_then(|number| number.try_into().ok());
        number.map_or(Self::None, Self::Int)
    }

    /// Returns a number, if there is one.
    pub fn float(number: Option<impl Into<f64>>) -> Self {
        number.map_or(Self::None, |number| Self::Float(number.into()))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) => text.len(),
                Self::Texts(texts) => texts.iter().map(String::len).sum(),
                Self::Floats(numbers) => size_of_val(numbers.as_slice()),
                Self::None | Self::Int(_) | Self::Float(_) | Self::Flag(_) => 0,
            }
    }
}

/// A row: a value for each column.
pub type Row = Vec<Value>;

/// Rows that are collected.
pub(super) struct Rows {
    schema: SchemaRef,
    /// Names of columns whose values are distinct.
    pub(super) distinct: Vec<&'static str>,
    columns: Vec<Builder>,
    /// Number of rows.
    pub(super) count: usize,
    /// Bytes of their values.
    pub(super) bytes: usize,
}

impl Rows {
    pub(super) fn new(columns: &[Column]) -> Self {
        let fields: Vec<Field> = columns.iter().map(Column::field).collect();
        Self {
            schema: Arc::new(Schema::new(fields)),
            distinct: (columns.iter().filter(|it| it.is_distinct))
                .map(|it| it.name)
                .collect(),
            columns: columns.iter().map(|it| Builder::of(it.kind)).collect(),
            count: 0,
            bytes: 0,
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn add(&mut self, row: Row) {
        let mut values = row.into_iter();
        for column in &mut self.columns {
            let value = values.next().unwrap_or(Value::None);
            self.bytes += value.bytes();
            column.add(value);
        }
        self.count += 1;
    }

    /// Takes what was collected.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.iter_mut().map(Builder::take).collect();
        (self.count, self.bytes) = (0, 0);
        RecordBatch::try_new(self.schema(), columns)
    }
}

enum Builder {
    Text(StringBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float(Float64Builder),
    Flag(BooleanBuilder),
    Time(TimestampMillisecondBuilder),
    Texts(ListBuilder<StringBuilder>),
    Floats(ListBuilder<Float64Builder>),
}

impl Builder {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Int16 => Self::Int16(Int16Builder::new()),
            Kind::Int32 => Self::Int32(Int32Builder::new()),
            Kind::Int64 => Self::Int64(Int64Builder::new()),
            Kind::Float => Self::Float(Float64Builder::new()),
            Kind::Flag => Self::Flag(BooleanBuilder::new()),
            Kind::Time => Self::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Kind::Texts => Self::Texts(ListBuilder::new(StringBuilder::new())),
            Kind::Floats => Self::Floats(ListBuilder::new(Float64Builder::new())),
        }
    }

    fn add(&mut self, value: Value) {
        let int = match value {
            Value::Int(number) => Some(number),
            _ => None,
        };
        match self {
            Self::Int16(builder) => {
                builder.append_option(int.and_then(|it| it.try_into().ok()));
            }
            Self::Int32(builder) => {
                builder.append_option(int.and_then(|it| it.try_into().ok()));
            }
            Self::Int64(builder) => builder.append_option(int),
            Self::Time(builder) => builder.append_option(int),
            Self::Text(builder) => match value {
                Value::Text(text) => builder.append_value(text),
                _ => builder.append_null(),
            },
            Self::Float(builder) => match value {
                Value::Float(number) => builder.append_value(number),
                _ => builder.append_null(),
            },
            Self::Flag(builder) => match value {
                Value::Flag(flag) => builder.append_value(flag),
                _ => builder.append_null(),
            },
            Self::Texts(builder) => match value {
                Value::Texts(texts) => builder.append_value(texts.into_iter().map(Some)),
                _ => builder.append_null(),
            },
            Self::Floats(builder) => match value {
                Value::Floats(numbers) => builder.append_value(numbers.into_iter().map(Some)),
                _ => builder.append_null(),
            },
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Int16(builder) => Arc::new(builder.finish()),
            Self::Int32(builder) => Arc::new(builder.finish()),
            Self::Int64(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Flag(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Texts(builder) => Arc::new(builder.finish()),
            Self::Floats(builder) => Arc::new(builder.finish()),
        }
    }
}
