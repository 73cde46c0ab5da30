//! The schema, and a directory that is not finished.

use std::fs::{self, File};

use parquet::basic::{Repetition, Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::*;

/// Names and types are those of Common Crawl's: a query of that index is one of this.
#[test]
fn columns_are_those_of_the_other_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let output = ParquetOutput::new(&path, None, &row::COLUMNS);
    output.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let found = schema.columns().iter().map(|column| {
        let is_required = column.self_type().get_basic_info().repetition() == Repetition::REQUIRED;
        let mark = if is_required { "!" } else { "" };
        let kind = match (column.physical_type(), column.name()) {
            (Type::BYTE_ARRAY, _) => "string",
            (Type::INT32, "fetch_status") => "short",
            (Type::INT32, _) => "integer",
            (Type::INT64, _) => "timestamp",
            _ => "other",
        };
        format!("{} {kind}{mark}", column.name())
    });
    let expected = include_str!("schema.txt");
    assert_eq!(
        found.collect::<Vec<_>>(),
        expected.lines().collect::<Vec<_>>()
    );
}

#[test]
fn a_directory_has_its_name_when_it_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let index = place.path().join("index");
    let staged = Staged::create(&index).unwrap();
    fs::write(staged.0.join("a"), "x").unwrap();
    drop(staged);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    fs::create_dir(place.path().join("index.part")).unwrap();
    Staged::create(&index).unwrap().finish(&index).unwrap();
    assert!(index.is_dir());
    let nothing = index_columns(&[], &Filter::default(), &index, None, None, || {});
    assert!(nothing.is_err_and(|error| error.to_string().contains("is there already")));
}
