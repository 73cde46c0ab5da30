//! The schema, and what is in files of a bounded size.

use std::fs::{self, File};
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::printer::print_schema;

use super::*;

/// The schema of a table, as Parquet has it.
fn schema(columns: &[Column]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let output = ParquetOutput::new(&path, None, columns);
    output.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let mut printed = Vec::new();
    print_schema(&mut printed, reader.metadata().file_metadata().schema());
    String::from_utf8(printed).unwrap()
}

/// Whoever reads these files relies on their columns: a change of them is one for users.
#[test]
fn columns_are_the_ones_that_are_committed() {
    let columns = |markdown, quality| {
        let columns = Columns::Usual { markdown, quality };
        PageTable::new(None, columns).unwrap().columns()
    };
    let all = columns(true, true);
    let found = schema(&all);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(Path::new(file!()).with_file_name("schema.txt"), &found).unwrap();
    }
    assert_eq!(found, include_str!("schema.txt"));
    // Measures are the last ones, and there only if they are asked for, as Markdown is.
    let with_markdown = columns(true, false);
    assert!(all.starts_with(&with_markdown));
    let is_measure = |it: &Column| it.name.starts_with("quality_");
    assert!(all[with_markdown.len()..].iter().all(is_measure));
    let mut without = with_markdown;
    without.retain(|it| it.name != "markdown");
    assert_eq!(columns(false, false), without);
    assert_eq!(without.len(), 40);
}

fn named(names: &[&str]) -> Result<PageTable, String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    PageTable::new(None, Columns::Named(&names)).map_err(|error| error.to_string())
}

#[test]
fn columns_that_are_named_are_there_in_that_order() {
    let table = named(&["url", "quality_words", "text"]).unwrap();
    let columns = table.columns();
    let names: Vec<&str> = columns.iter().map(|it| it.name).collect();
    assert_eq!(names, ["url", "quality_words", "text"]);
    let refused = named(&["url", "txt"]).unwrap_err();
    assert!(
        refused.contains("\"txt\": give some of text, id, dump,"),
        "{refused}"
    );
    assert!(refused.ends_with("quality_curly_bracket"), "{refused}");
    let refused = named(&["url", "text", "url"]).unwrap_err();
    assert!(refused.contains("\"url\" is asked for twice"), "{refused}");
}

/// A page is read only if a column needs it.
#[test]
fn what_is_read_follows_from_the_columns() {
    for (names, text, markdown, language) in [
        (&["url", "title", "words"][..], false, false, false),
        (&["text", "url"], true, false, false),
        (&["markdown"], true, true, false),
        (&["kept", "language_score"], true, false, true),
        (&["quality_words"], true, false, false),
        (&["detected_language"], false, false, true),
    ] {
        let want = named(names).unwrap().want();
        let found = (want.text, want.markup.is_some(), want.language);
        assert_eq!(found, (text, markdown, language), "{names:?}");
    }
}

const NUMBERED: [Column; 2] = [
    Column::required("number", Kind::Int64),
    Column::of("text", Kind::Text),
];

/// Writes rows; returns the files, and the numbers that are in them.
fn written(max_size: Option<u64>, rows: i64, length: usize) -> (Vec<u64>, Vec<i64>) {
    let directory = tempfile::tempdir().unwrap();
    let mut output = ParquetOutput::new(&directory.path().join("a.parquet"), max_size, &NUMBERED);
    let mut random = 7_u64;
    for number in 0..rows {
        let letters = (0..length).map(|_| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + (random >> 33) as u8 % 90)
        });
        let row = vec![Value::Int(number), Value::Text(letters.collect())];
        output.write(row).unwrap();
    }
    let mut sizes = Vec::new();
    let mut numbers = Vec::new();
    for file in output.finish().unwrap() {
        let path = directory.path().join(&file.name);
        assert_eq!(file.bytes, fs::metadata(&path).unwrap().len());
        sizes.push(file.bytes);
        let before = numbers.len();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap());
        for batch in reader.unwrap().build().unwrap() {
            let batch = batch.unwrap();
            numbers.extend(batch.column(0).as_primitive::<Int64Type>().values());
        }
        assert_eq!(file.pages, (numbers.len() - before) as u64);
    }
    (sizes, numbers)
}

#[test]
fn rows_are_written_in_order_whatever_the_size_of_files() {
    for (max_size, rows, length) in [
        (None, 25_000, 3),
        (Some(200_000), 2_500, 500),
        (Some(1), 3, 10),
        (Some(1 << 20), 0, 0),
    ] {
        let (sizes, numbers) = written(max_size, rows, length);
        assert!(numbers.into_iter().eq(0..rows), "{max_size:?} {rows}");
        assert_eq!(sizes.len() > 1, max_size.is_some() && rows > 0, "{sizes:?}");
        if max_size == Some(200_000) {
            assert!(sizes.iter().all(|size| *size <= 200_000), "{sizes:?}");
        }
    }
}

#[test]
fn a_row_group_has_a_bounded_number_of_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let mut output = ParquetOutput::new(&path, None, &NUMBERED);
    for number in 0..25_000 {
        output.write(vec![Value::Int(number)]).unwrap();
    }
    output.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter();
    let rows: Vec<i64> = groups.map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [10_000, 10_000, 5_000]);
    // What a required column lacks is refused, not made up.
    let refused = ParquetOutput::new(&directory.path().join("b.parquet"), Some(1), &NUMBERED);
    let mut refused = refused;
    refused.write(vec![Value::None]).unwrap_err();
    drop(refused);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn what_the_writer_meets_is_told_and_nothing_half_remains() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    fs::write(&path, "of another").unwrap();
    let mut output = ParquetOutput::new(&path, None, &NUMBERED);
    output.write(vec![Value::Int(1)]).unwrap();
    let error = output.finish().unwrap_err().to_string();
    assert!(error.contains("is there already"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"of another");
    // It is told before the end, too, since nobody goes on for long.
    let mut output = ParquetOutput::new(&path, None, &NUMBERED);
    let mut rows = (0..1_000_000).map(|number| output.write(vec![Value::Int(number)]));
    assert!(rows.any(|written| written.is_err()));
    drop(rows);
    drop(output);
    // Whoever made the rows gave up.
    let mut output = ParquetOutput::new(&directory.path().join("b.parquet"), None, &NUMBERED);
    for number in 0..2_500 {
        output.write(vec![Value::Int(number)]).unwrap();
    }
    drop(output);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
