"""Reads documents with datatrove, and prints a JSON object for each.

`read_documents.py warc DIRECTORY` reads WARC files: what its reader takes of the answers with status
200. `read_documents.py parquet DIRECTORY` and `jsonl DIRECTORY` read exports with the readers for
these.
"""

import importlib.machinery
import json
import pathlib
import sys
import types


def asked(*_, **__):
    raise SystemExit("datatrove asks what a payload is: a record does not say it")


# What a payload is stands in each record, so the library that guesses is asked of none, and need
# not be there.
guess = types.ModuleType("magic")
guess.__spec__ = importlib.machinery.ModuleSpec("magic", None)
guess.from_buffer = asked
sys.modules["magic"] = guess

from datatrove.pipeline.readers import JsonlReader, ParquetReader
from datatrove.pipeline.readers.warc import process_record
from warcio.archiveiterator import ArchiveIterator


def archived(directory):
    for path in sorted(pathlib.Path(directory).glob("*.warc.gz")):
        with open(path, "rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response" and record.http_headers.get_statuscode() != "200":
                    continue
                document = process_record(record)
                if document is not None:
                    yield document


def exported(reader):
    for document in reader:
        yield {"text": document.text, "id": document.id, **document.metadata}


def parquet(directory):
    return exported(ParquetReader(directory, glob_pattern="*.parquet")())


def jsonl(directory):
    # The manifest of an export is beside it.
    reader = JsonlReader(directory, glob_pattern="*.jsonl.zst", id_key="warc_record_id")
    return exported(reader())


kind, directory = sys.argv[1:]
for document in {"warc": archived, "parquet": parquet, "jsonl": jsonl}[kind](directory):
    print(json.dumps(document, default=str))
