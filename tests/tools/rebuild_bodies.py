"""Rebuilds the bodies of all duplicates of a crawl from its archives, with nothing of gleaner: only
docs/formats.md, warcio and zstandard. Prints what it found as JSON, and exits with 1 if a duplicate
is missing or wrong.

    rebuild_bodies.py DATA_DIR [--list] [--sizes] [--fetch]

--list    a line for each duplicate: url, verdict, sha256 and length of its body
--sizes   compress every body by itself too, to compare sizes
--fetch   ask the servers for every URL again, and compare; a URL whose answer changes from request
          to request is compared with the digest that the log has of the visit
"""

import argparse
import gzip
import hashlib
import json
import sys
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import zstandard
from warcio.archiveiterator import ArchiveIterator

PACK = "application/vnd.gleaner.bodies"
TIERS = ("raw", "normalized", "content", "near")


def records(directory):
    """Each record of the files of a directory: headers and block, and the bytes it takes."""
    # A file that is being written has ".open" behind its name.
    for path in sorted(Path(directory).glob("*.warc.gz")) + sorted(Path(directory).glob("*.warc.gz.open")):
        with open(path, "rb") as file:
            iterator = ArchiveIterator(file, no_record_parse=True)
            for record in iterator:
                block = record.raw_stream.read()
                iterator.read_to_end(record)
                yield record, block, iterator.get_record_length()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        taken = self.data[self.at : self.at + length]
        if len(taken) != length:
            raise ValueError("the pack ends too early")
        self.at += length
        return taken

    def number(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number


def read_pack(block):
    """The bodies of a pack, by docs/formats.md."""
    reader = Reader(block)
    if reader.take(5) != b"GLBD\x01":
        raise ValueError("no pack")
    bases = [(reader.take(32), reader.number()) for _ in range(reader.number())]
    bodies = []
    for _ in range(reader.number()):
        flags = reader.take(1)[0]
        base = bases[reader.number()] if flags & 1 else None
        visit, digest = reader.take(16), reader.take(32)
        received = reader.take(32) if flags & 2 else None
        head, length, frame = reader.number(), reader.number(), reader.number()
        bodies.append((base, visit, digest, received, head, length, frame))
    packed = [body[:-1] + (reader.take(body[-1]),) for body in bodies]
    if reader.at != len(block):
        raise ValueError("something follows the pack")
    return packed


def decoded(codings, body):
    """Undoes content codings; what is not coded after all stays as it is."""
    for coding in reversed([it.strip().lower() for it in codings if it.strip()]):
        try:
            if coding in ("gzip", "x-gzip"):
                body = gzip.decompress(body)
            elif coding == "deflate":
                try:
                    body = zlib.decompress(body)
                except zlib.error:
                    body = zlib.decompress(body, -15)
            elif coding == "zstd":
                body = zstandard.ZstdDecompressor().stream_reader(body).read()
            elif coding == "br":
                import brotli

                body = brotli.decompress(body)
        except (OSError, EOFError, zlib.error, zstandard.ZstdError):
            pass
    return body


def content(block):
    """The content of a stored response: its head, and its body with codings undone."""
    end = block.index(b"\r\n\r\n") + 4
    head, body = block[:end], block[end:]
    lines = [line.split(b":", 1) for line in head.split(b"\r\n") if b":" in line]
    values = [value for name, value in lines if name.strip().lower() == b"content-encoding"]
    codings = b",".join(values).decode("latin-1").split(",")
    return head + decoded(codings, body)


def digests_of_log(data):
    """SHA-256 of decoded bodies as the log has them, by URL and verdict."""
    digests = {}
    for path in Path(data, "log").glob("fetch*.jsonl"):
        for line in open(path, encoding="utf-8"):
            visit = json.loads(line)
            raw = visit.get("page", {}).get("digests", {}).get("raw")
            digests.setdefault(visit["url"], set()).add(raw)
    return digests


def ask(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            # Some servers do not care what is accepted.
            return decoded(answer.headers.get_all("Content-Encoding") or [], answer.read())
    except urllib.error.HTTPError as error:
        return error.read()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("data")
    for flag in ("--list", "--sizes", "--fetch"):
        arguments.add_argument(flag, action="store_true")
    arguments = arguments.parse_args()

    # Which duplicates there are, and which of them have a response of their own.
    duplicates, wanted, last = {}, set(), {}
    for record, block, _ in records(Path(arguments.data, "warc")):
        if record.rec_type == "response":
            last[record.rec_headers.get_header("WARC-Target-URI")] = None
        if record.rec_type != "metadata":
            continue
        fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if ": " in line)
        if fields.get("verdict") in TIERS:
            name = record.rec_headers.get_header("WARC-Record-ID")
            visit = bytes.fromhex(name.strip("<>").removeprefix("urn:uuid:").replace("-", ""))
            own = record.rec_headers.get_header("WARC-Concurrent-To")
            url = record.rec_headers.get_header("WARC-Target-URI")
            duplicates[visit] = (url, fields["verdict"], own is not None)
            last[url] = visit

    packs, bodies = 0, {}
    for record, block, length in records(Path(arguments.data, "texts")):
        if record.rec_headers.get_header("Content-Type") == PACK:
            packs += length
            for body in read_pack(block):
                bodies[body[1]] = body
                if body[0]:
                    wanted.add(body[0][0])

    bases = {}
    for record, block, _ in records(Path(arguments.data, "warc")):
        if record.rec_type == "response":
            named = record.rec_headers.get_header("WARC-Payload-Digest").removeprefix("sha256:")
            if bytes.fromhex(named) in wanted:
                bases.setdefault(bytes.fromhex(named), []).append(content(block))

    logged = digests_of_log(arguments.data)
    told = {
        "duplicates": 0, "deltas": 0, "whole": 0, "replaced": 0, "missing": 0, "wrong": 0,
        "asked": 0, "changing": 0, "body_bytes": 0, "packs_bytes": packs, "zstd_bytes": 0,
    }
    for visit, (url, verdict, has_own) in duplicates.items():
        if has_own:
            continue
        told["duplicates"] += 1
        if visit not in bodies and last[url] != visit:
            # The page was visited again before the body was packed, and has that visit's.
            told["replaced"] += 1
            continue
        if visit not in bodies:
            told["missing"] += 1
            print(f"no body of {url}", file=sys.stderr)
            continue
        base, _, digest, _, head, length, frame = bodies[visit]
        told["deltas" if base else "whole"] += 1
        candidates = [it for it in bases.get(base[0], []) if len(it) == base[1]] if base else [None]
        body = None
        for candidate in candidates:
            options = {}
            if candidate is not None:
                options["dict_data"] = zstandard.ZstdCompressionDict(
                    candidate, dict_type=zstandard.DICT_TYPE_RAWCONTENT
                )
            try:
                whole = zstandard.ZstdDecompressor(**options).decompress(frame)
            except zstandard.ZstdError:
                continue
            if len(whole) == head + length:
                body = whole[head:]
        is_right = body is not None and hashlib.sha256(body).digest() == digest
        if is_right and arguments.fetch:
            first = ask(url)
            told["asked"] += 1
            if first != body:
                is_changing = ask(url) != first
                told["changing"] += is_changing
                is_right = is_changing
        if is_right:
            is_right = hashlib.sha256(body).hexdigest() in logged.get(url, ())
        if not is_right:
            told["wrong"] += 1
            print(f"not what was sent: {url}", file=sys.stderr)
            continue
        told["body_bytes"] += len(body)
        if arguments.sizes:
            told["zstd_bytes"] += len(zstandard.ZstdCompressor(level=3).compress(body))
        if arguments.list:
            line = {"url": url, "verdict": verdict, "length": len(body), "sha256": digest.hex()}
            print(json.dumps(line))
    print(json.dumps(told))
    return 1 if told["missing"] or told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
