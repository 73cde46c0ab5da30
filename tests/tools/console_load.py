#!/usr/bin/env python3
"""Makes requests of a console at a fixed rate, and says what they cost: time until the answer is
there, and CPU time of the process, of the console's thread and of all others apart. Linux; needs
nothing but Python.

    tests/tools/console_load.py http://127.0.0.1:7979 PID [--rate 200] [--seconds 60] [--each 200]

First each route alone, `--each` times in turn, then all of them mixed. CPU time a request is exact
only where nothing else runs: pause the crawl for it. Those that read the store are kept below the
50 a second that one client may make.
"""

import argparse
import asyncio
import json
import os
import random
import time
import urllib.parse
import urllib.request

# Route, and how many of some 200 mixed requests are of it; those of the last group read the store.
MIXED = [
    ("/api/v1/status", 68),
    ("/metrics", 40),
    ("/api/v1/history?res=1s", 20),
    ("/api/v1/history?res=1m", 5),
    ("/api/v1/events", 10),
    ("/api/v1/config", 5),
    ("/", 5),
    ("/assets/style.css", 5),
    ("/healthz", 5),
    ("/readyz", 5),
    ("/api/v1/hosts?sort=queue", 6),
    ("/api/v1/hosts/{host}", 4),
    ("/api/v1/why?url={url}", 6),
    ("/api/v1/clusters", 3),
    ("/api/v1/rules", 2),
    ("/api/v1/left-out", 2),
    ("/api/v1/report", 2),
    ("/api/v1/not-fetched?by=reason", 2),
]
READS = {path for path, _ in MIXED[10:]}
# The console has 64 at once.
CONNECTIONS = 48


class Client:
    """A connection that is kept."""

    def __init__(self, address):
        self.host, _, self.port = address.rpartition(":")
        self.address, self.reader = address, None

    async def get(self, path):
        is_kept = self.reader is not None
        try:
            return await self.ask(path)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The console closes a connection on which nothing is asked for ten seconds.
            self.reader = None
            if not is_kept:
                raise
        return await self.ask(path)

    async def ask(self, path):
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, int(self.port))
        self.writer.write(f"GET {path} HTTP/1.1\r\nhost: {self.address}\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        status, lower = int(head[9:12]), head.lower()
        if b"transfer-encoding: chunked" in lower:
            while size := int(await self.reader.readline(), 16):
                await self.reader.readexactly(size + 2)
            await self.reader.readline()
        elif b"content-length:" not in lower:
            await self.reader.read()
        else:
            length = lower.split(b"content-length:")[1].split(b"\r\n")[0]
            await self.reader.readexactly(int(length))
        if b"connection: close" in lower:
            self.writer.close()
            self.reader = None
        return status


def cpu(pid):
    """CPU time of the console's thread and of the others, in seconds."""
    console = others = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm") as file:
                name = file.read().strip()
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                spent = int(file.read().split()[0]) / 1e9
        except OSError:
            continue  # It has ended.
        if name == "console":
            console += spent
        else:
            others += spent
    return console, others


def process_cpu(pid):
    """CPU time of the process, of threads that have ended too."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def at(sorted_times, share):
    return 1e3 * sorted_times[min(int(len(sorted_times) * share), len(sorted_times) - 1)]


async def each(address, pid, path, count, reads):
    client = Client(address)
    await client.get(path)
    times, refused = [], 0
    before = cpu(pid)
    for _ in range(count):
        begun = time.perf_counter()
        status = await client.get(path)
        times.append(time.perf_counter() - begun)
        refused += status != 200
        if reads:
            await asyncio.sleep(max(0, 1 / 45 - times[-1]))
    after = cpu(pid)
    times.sort()
    return (
        1e3 * (after[0] - before[0]) / count,
        1e3 * (after[1] - before[1]) / count,
        at(times, 0.5),
        at(times, 0.99),
        refused,
    )


async def mixed(address, pid, paths, rate, seconds):
    """Requests begin when it is their time, whatever became of those before."""
    drawn = random.Random(1)
    choices = drawn.choices([it for it, _ in paths], [share for _, share in paths], k=rate * seconds)
    idle, times, failed = [], [], []
    places = asyncio.Semaphore(CONNECTIONS)

    async def one(path):
        begun = time.perf_counter()
        try:
            async with places:
                client = idle.pop() if idle else Client(address)
                status = await client.get(path)
                idle.append(client)
        except (OSError, EOFError) as error:
            failed.append((path, repr(error)))
            return
        times.append(time.perf_counter() - begun)
        if status != 200:
            failed.append((path, status))

    before, all_before, begun = cpu(pid), process_cpu(pid), time.perf_counter()
    tasks = []
    for number, path in enumerate(choices):
        wait = begun + number / rate - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(path)))
    await asyncio.gather(*tasks)
    took, after = time.perf_counter() - begun, cpu(pid)
    times.sort()
    return {
        "requests": len(choices),
        "seconds": round(took, 1),
        "not_200": len(failed),
        "first_not_200": failed[:3],
        "ms_p50": round(at(times, 0.5), 2),
        "ms_p99": round(at(times, 0.99), 2),
        "ms_most": round(1e3 * times[-1], 1),
        "cpu_ms_console_thread": round(1e3 * (after[0] - before[0]) / len(choices), 3),
        "cpu_ms_process": round(1e3 * (process_cpu(pid) - all_before) / len(choices), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("address")
    parser.add_argument("pid", type=int)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--without-store", action="store_true")
    given = parser.parse_args()
    address = given.address.removeprefix("http://").rstrip("/")
    with urllib.request.urlopen(f"http://{address}/api/v1/hosts?limit=1&sort=visits") as answer:
        rows = json.load(answer)["hosts"]
    host = rows[0]["host"] if rows else "http://example.org"
    names = {
        "host": urllib.parse.quote(host, safe=""),
        "url": urllib.parse.quote(f"{host}/", safe=""),
    }
    paths = [(it.format(**names), share) for it, share in MIXED]
    if given.without_store:
        paths = paths[: len(MIXED) - len(READS)]
    if given.each:
        print("| route | CPU of the console's thread | of the others | p50 | p99 | not 200 |")
        print("|---|---|---|---|---|---|")
    for (path, _), (name, _) in zip(paths, MIXED) if given.each else ():
        console, others, p50, p99, refused = asyncio.run(
            each(address, given.pid, path, given.each, name in READS)
        )
        print(
            f"| `{name}` | {console:.3f} ms | {others:.3f} ms | {p50:.2f} ms | {p99:.2f} ms | {refused} |"
        )
    if given.seconds:
        said = asyncio.run(mixed(address, given.pid, paths, given.rate, given.seconds))
        print(json.dumps(said, indent=1))


main()
