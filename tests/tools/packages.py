"""Checks files of `gleaner export` with the tools that they are for; `packages` starts it.

Prints a line for each check, and ends with 1 if one fails.
"""

import contextlib
import gzip
import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

GLEANER = sys.argv[1]
TOOLS = pathlib.Path(sys.executable).parent
failed = []


def check(what, holds, detail=""):
    print(f"{'ok' if holds else 'FAILED'}  {what}{'  ' + str(detail) if detail else ''}")
    if not holds:
        failed.append(what)


def html(title, links=()):
    words = " ".join(f"{title}{number * 7919 % 1000}" for number in range(90))
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return f"<!doctype html><title>{title}</title><main><p>{words}</p></main>{anchors}".encode()


LINKS = ["/a", "/copy", "/packed", "/r1", "/r2", "/r3", "/p.gif", "/gone", "/empty", "/u?b=2&a=%C3%A4"]
# Status, type, further fields, body. Different redirects have the same, empty body.
FIRST = {
    "/": (200, "text/html", {}, html("home", LINKS)),
    "/a": (200, "text/html", {}, html("alpha")),
    "/copy": (200, "text/html", {}, html("alpha")),
    "/packed": (
        200,
        "text/html",
        {"Content-Encoding": "gzip", "ETag": '"packed"'},
        gzip.compress(html("packed"), mtime=0),
    ),
    "/r1": (302, "text/html", {"Location": "/t1"}, b""),
    "/r2": (302, "text/html", {"Location": "/t2"}, b""),
    "/r3": (301, "text/html", {"Location": "/a"}, b""),
    "/t1": (200, "text/html", {"ETag": '"target"'}, html("target")),
    "/t2": (200, "text/html; charset=latin-1", {}, html("other") + b"\xe4"),
    "/p.gif": (200, "image/gif", {}, b"GIF89a" + bytes(range(256))),
    "/u?b=2&a=%C3%A4": (200, "text/html", {}, html("query")),
    "/empty": (204, "text/html", {}, b""),
}
# The same site later: a page is another, one is new, and the rest is as it was. Some of it can be
# asked for by a validator.
LATER = {
    **FIRST,
    "/": (200, "text/html", {}, html("home", [*LINKS, "/new"])),
    "/a": (200, "text/html", {}, html("alpha of later")),
    "/new": (200, "text/html", {}, html("new")),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        status, kind, fields, body = answer(self.server.site, self.path)
        if fields.get("ETag", "") == self.headers.get("If-None-Match"):
            status, body = 304, b""
        self.send_response(status)
        for name, value in {"Content-Type": kind, **fields}.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer(site, path):
    return site.get(path, (404, "text/html", {}, html("nothing")))


@contextlib.contextmanager
def served(site, port=0):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.site = site
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def gleaner(*arguments):
    done = subprocess.run([GLEANER, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 6):
        sys.exit(f"gleaner {arguments}: {done.stderr}")
    return done.stdout


def get(port, path):
    """Status, `Location` and body of an answer, without following a redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, answer.getheader("Location"), body


def crawled(site, data, port=0, since=()):
    """Crawls a site; gives back where it was and its pages."""
    with served(site, port) as origin:
        crawl = ["crawl", f"{origin}/", "--allow-private", "--delay", "0s", "--quiet"]
        gleaner(*crawl, "--data-dir", data, *since)
    lines = gleaner("pages", "--data-dir", data).splitlines()
    return origin, [json.loads(line) for line in lines]


def replays(place, name, packages, captures, origin):
    """Whether pywb answers with what was sent, for each URL that has a record: `captures` are pages,
    each with the site as it was."""
    manager = [TOOLS / "wb-manager"]
    subprocess.run([*manager, "init", name], cwd=place, check=True, capture_output=True)
    for package in packages:
        added = [*manager, "add", name, "--unpack-wacz", package]
        subprocess.run(added, cwd=place, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [TOOLS / "wayback", "--port", str(port), "--bind", "127.0.0.1", "--threads", "2"]
    with open(place / "wayback.log", "wb") as log:
        player = subprocess.Popen(command, cwd=place, stdout=log, stderr=log)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        for page, site in captures:
            path = page["url"].removeprefix(origin)
            status, _, fields, body = answer(site, path)
            found, location, played = get(port, f"/{name}/{stamp(page['time'])}id_/{page['url']}")
            wanted = fields.get("Location")
            leads = wanted is None or (location or "").endswith(wanted)
            if fields.get("Content-Encoding") == "gzip" and played[:2] != b"\x1f\x8b":
                body = gzip.decompress(body)
            holds = (found, played) == (status, body) and leads
            what = f"pywb replays {path} of {name}"
            check(what, holds, "" if holds else (found, location, played[:80]))
    finally:
        player.terminate()
        player.wait()


def stamp(at):
    return "".join(letter for letter in at if letter.isdigit())[:14]


def is_valid(package):
    done = subprocess.run([TOOLS / "wacz", "validate", "-f", package], capture_output=True, text=True)
    holds = done.returncode == 0 and "Validation succeeded" in done.stdout
    check(f"wacz validate {package.name}", holds, "" if holds else done.stdout + done.stderr)
    with zipfile.ZipFile(package) as unpacked:
        check(f"{package.name} is sound ZIP", unpacked.testzip() is None)
        return json.loads(unpacked.read("datapackage.json"))


def main():
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        first, second = place / "first", place / "second"
        origin, pages = crawled(FIRST, first)
        check("every URL of the site was crawled", len(pages) == len(FIRST) + 1, len(pages))
        captures = [(page, FIRST) for page in pages]

        package = place / "first.wacz"
        gleaner("export", "--data-dir", first, "-o", package, "--format", "wacz", "--text")
        check("it needs no other", "relation" not in is_valid(package))
        replays(place, "first", [package], captures, origin)

        # The seconds by which players tell captures apart must be others.
        time.sleep(1.1)
        port = int(origin.rsplit(":", 1)[1])
        _, later = crawled(LATER, second, port, ["--since", first])
        unchanged = [page["url"].removeprefix(origin) for page in later if "unchanged_since" in page]
        check("most was unchanged since", len(unchanged) == 6, unchanged)
        changes = [(page, LATER) for page in later]
        both = place / "both.wacz"
        gleaner("export", "--data-dir", first, second, "-o", both, "--format", "wacz")
        check("what has both needs no other", "relation" not in is_valid(both))
        replays(place, "both", [both], captures + changes, origin)
        package_of_second = place / "second.wacz"
        gleaner("export", "--data-dir", second, "-o", package_of_second, "--format", "wacz")
        required = is_valid(package_of_second).get("relation", {}).get("requires", [])
        names = [path.name for path in (first / "warc").glob("*.warc.gz")]
        holds = len(required) == 1 and all(required[0] in name for name in names)
        check("the second alone needs the first", holds, required)
        replays(place, "apart", [package, package_of_second], captures + changes, origin)

        os.environ["HF_HUB_OFFLINE"] = "1"
        import datasets

        table = place / "train.parquet"
        gleaner("export", "--data-dir", first, "-o", table, "--format", "parquet", "--quality")
        loaded = datasets.load_dataset("parquet", data_files=str(table), cache_dir=str(place / "cache"))
        rows = loaded["train"]
        same = [row["text"] for row in rows] == [page["text"] for page in pages]
        check("datasets reads the table", same and len(rows) == len(pages), len(rows))
    print(f"{len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
