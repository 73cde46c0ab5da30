"""Reads tables with pyarrow and DuckDB, and records where an index says they are with FastWARC.

`read_tables.py pages FILE` prints the columns with their types, and the number of pages by verdict.
`read_tables.py index DIRECTORY WARC HOST` prints for each capture of the host the URL of the index,
and that of the record there.
"""

import io
import json
import pathlib
import sys

import duckdb
import fastwarc
import pyarrow.parquet


def pages(file):
    schema = pyarrow.parquet.read_schema(file)
    columns = [[field.name, str(field.type)] for field in schema]
    counts = duckdb.sql(f"SELECT verdict, count(*) FROM '{file}' GROUP BY verdict").fetchall()
    rows = pyarrow.parquet.read_table(file).num_rows
    print(json.dumps({"columns": columns, "verdicts": dict(counts), "rows": rows}))


def index(directory, warc, host):
    found = duckdb.execute(
        f"""SELECT url, warc_filename, warc_record_offset, warc_record_length, crawl
            FROM read_parquet('{directory}/**/*.parquet', hive_partitioning = true)
            WHERE url_host_name = ? AND subset = 'warc' ORDER BY url_surtkey""",
        [host],
    ).fetchall()
    for url, name, offset, length, crawl in found:
        with open(pathlib.Path(warc) / name, "rb") as file:
            file.seek(offset)
            member = file.read(length)
        records = fastwarc.ArchiveIterator(io.BytesIO(member), parse_http=False)
        targets = [record.headers["WARC-Target-URI"] for record in records]
        told = {"url": url, "target": targets[0], "records": len(targets), "crawl": crawl}
        print(json.dumps(told))


{"pages": pages, "index": index}[sys.argv[1]](*sys.argv[2:])
