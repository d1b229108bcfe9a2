//! Rust's values and PostgreSQL's.

use tokio_postgres::Row as Record;
use tokio_postgres::types::{ToSql, Type};

use crate::store::Row;

/// A parameter of a statement, and its type, for the server that is not asked for it.
pub trait Parameter: Sync {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type);
}

macro_rules! parameters {
    ($($rust:ty: $sql:ident),*) => {
        $(impl Parameter for $rust {
            fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
                (self, Type::$sql)
            }
        })*
    };
}

parameters!(i32: INT4, i64: INT8, String: TEXT);
parameters!(Vec<i32>: INT4_ARRAY, Vec<i64>: INT8_ARRAY, Vec<String>: TEXT_ARRAY, Vec<&[u8]>: BYTEA_ARRAY);

/// What is larger than PostgreSQL's integers is refused where it comes from. Only sentinels are.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn integers(rows: impl Iterator<Item = Row>) -> (Vec<i64>, Vec<i64>) {
    rows.map(|row| (integer(row.0), integer(row.1))).unzip()
}

pub(super) fn number(record: &Record, column: usize) -> u64 {
    record.get::<_, i64>(column) as u64
}
