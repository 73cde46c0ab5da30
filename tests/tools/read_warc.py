"""Reads WARC files with warcio, checking digests, and prints a JSON object for each record."""

import json
import sys

from warcio.archiveiterator import ArchiveIterator

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            # Read to its end, where the digests are compared; content codings are undone.
            content = record.content_stream().read()
            status = record.http_headers and record.http_headers.get_statuscode()
            line = {
                "id": record.rec_headers.get_header("WARC-Record-ID"),
                "type": record.rec_type,
                "target": record.rec_headers.get_header("WARC-Target-URI"),
                "status": status,
                "text": content.decode("utf-8", "replace"),
            }
            print(json.dumps(line))
