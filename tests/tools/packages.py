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
SITE = {
    "/": (200, "text/html", {}, html("home", LINKS)),
    "/a": (200, "text/html", {}, html("alpha")),
    "/copy": (200, "text/html", {}, html("alpha")),
    "/packed": (200, "text/html", {"Content-Encoding": "gzip"}, gzip.compress(html("packed"), mtime=0)),
    "/r1": (302, "text/html", {"Location": "/t1"}, b""),
    "/r2": (302, "text/html", {"Location": "/t2"}, b""),
    "/r3": (301, "text/html", {"Location": "/a"}, b""),
    "/t1": (200, "text/html", {}, html("target")),
    "/t2": (200, "text/html; charset=latin-1", {}, html("other") + b"\xe4"),
    "/p.gif": (200, "image/gif", {}, b"GIF89a" + bytes(range(256))),
    "/u?b=2&a=%C3%A4": (200, "text/html", {}, html("query")),
    "/empty": (204, "text/html", {}, b""),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        status, kind, fields, body = SITE.get(self.path, (404, "text/html", {}, html("nothing")))
        self.send_response(status)
        for name, value in {"Content-Type": kind, **fields}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def served():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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


def replays(place, package, pages, port_of_site):
    """Whether pywb answers with what was sent, for each URL that has a record."""
    manager = [TOOLS / "wb-manager"]
    subprocess.run([*manager, "init", "all"], cwd=place, check=True, capture_output=True)
    added = [*manager, "add", "all", "--unpack-wacz", package]
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
        for page in pages:
            path = page["url"].removeprefix(port_of_site)
            status, _, fields, body = SITE.get(path, (404, "", {}, html("nothing")))
            found, location, played = get(port, f"/all/{stamp(page['time'])}id_/{page['url']}")
            wanted = fields.get("Location")
            leads = wanted is None or (location or "").endswith(wanted)
            if fields.get("Content-Encoding") == "gzip" and played[:2] != b"\x1f\x8b":
                body = gzip.decompress(body)
            holds = (found, played) == (status, body) and leads
            check(f"pywb replays {path}", holds, "" if holds else (found, location, played[:80]))
    finally:
        player.terminate()
        player.wait()


def stamp(at):
    return "".join(letter for letter in at if letter.isdigit())[:14]


def main():
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        data = place / "data"
        with served() as site:
            crawl = ["crawl", f"{site}/", "--allow-private", "--delay", "0s", "--quiet"]
            gleaner(*crawl, "--data-dir", data)
        lines = gleaner("pages", "--data-dir", data).splitlines()
        pages = [json.loads(line) for line in lines]
        check("every URL of the site was crawled", len(pages) == len(SITE) + 1, len(pages))

        package = place / "all.wacz"
        gleaner("export", "--data-dir", data, "-o", package, "--format", "wacz", "--text")
        done = subprocess.run([TOOLS / "wacz", "validate", "-f", package], capture_output=True, text=True)
        holds = done.returncode == 0 and "Validation succeeded" in done.stdout
        check("wacz validate", holds, "" if holds else done.stdout + done.stderr)
        with zipfile.ZipFile(package) as unpacked:
            check("the package is sound ZIP", unpacked.testzip() is None)
        replays(place, package, pages, site)

        os.environ["HF_HUB_OFFLINE"] = "1"
        import datasets

        table = place / "train.parquet"
        gleaner("export", "--data-dir", data, "-o", table, "--format", "parquet", "--quality")
        loaded = datasets.load_dataset("parquet", data_files=str(table), cache_dir=str(place / "cache"))
        rows = loaded["train"]
        same = [row["text"] for row in rows] == [page["text"] for page in pages]
        check("datasets reads the table", same and len(rows) == len(pages), len(rows))
    print(f"{len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
