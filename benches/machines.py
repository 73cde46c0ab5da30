#!/usr/bin/env python3
"""A cluster on three machines, of which one loses its cable in the middle of the crawl.

    cargo build --release
    tests/tools/install
    benches/machines.py target/release/gleaner target/test-tools/bin/nats-server

Each machine is a network namespace with an address, a nats-server and a worker of its own; the web
is at twelve addresses of a fourth. Nothing reaches any other network, and no rights are needed but
to user namespaces. A cable that is pulled is not what a killed process is: no connection is closed,
and what was sent just never arrives. It is plugged in again when the others have finished, or, with
`--again SECONDS`, after so many; what was on its way arrives then, late.

Prints what was asked for, by whom, and how long nobody came to the hosts of the lost machine; ends
with 1 if a page is missing or a host was asked too soon.
"""
import argparse
import collections
import http.server
import json
import os
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

HOSTS = [f"10.77.1.{number}" for number in range(1, 13)]
MACHINES = [f"10.77.0.{number}" for number in range(1, 4)]
LOST = 1  # The second machine.
LINKS = 8  # From each page to others of its host.

requests = []


class Page(http.server.BaseHTTPRequestHandler):
    """Answers with a page that says its number and links to others."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = self.server.server_address[0]
        requests.append((time.monotonic(), self.client_address[0], host, self.path))
        name = self.path.strip("/") or "0"
        is_page = name.isdigit() and int(name) < self.server.pages
        body = b""
        if is_page:
            number = int(name)
            to = range(LINKS * number + 1, LINKS * number + 1 + LINKS)
            links = "".join(f'<a href="/{it}">{it}</a> ' for it in to if it < self.server.pages)
            if number == 0:
                at = (HOSTS.index(host) + 1) % len(HOSTS)
                links += f'<a href="http://{HOSTS[at]}/">next</a>'
            words = " ".join(f"w{host.split('.')[-1]}x{number}x{it}" for it in range(60))
            body = f"<title>{host} {number}</title><p>{words}</p>{links}".encode()
        self.send_response(200 if is_page else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Host(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64


def sh(line):
    subprocess.run(line, shell=True, check=True)


def cable(is_in):
    sh(f"ip link set machine{LOST} {'up' if is_in else 'down'}")


class Machine:
    """A network namespace, as long as a process is in it."""

    def __init__(self, number):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.stat("/proc/self/ns/net").st_ino
        while os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino == own:
            time.sleep(0.01)
        name, pid = f"machine{number}", self.holder.pid
        sh(f"ip link add name {name} type veth peer name eth0 netns {pid}")
        sh(f"ip link set {name} master lan up")
        self.run(f"ip link set lo up && ip addr add {MACHINES[number]}/16 dev eth0 && ip link set eth0 up")

    def command(self, *words):
        return ["nsenter", "--target", str(self.holder.pid), "--net", *words]

    def run(self, line):
        subprocess.run(self.command("sh", "-c", line), check=True)


def crawl(options, directory):
    sh("ip link set lo up && ip link add name lan type bridge && ip link set lan up")
    sh("ip addr add 10.77.0.254/16 dev lan")
    for host in HOSTS:
        sh(f"ip addr add {host}/16 dev lan")
        server = Host((host, 80), Page)
        server.pages = options.pages
        threading.Thread(target=server.serve_forever, daemon=True).start()
    machines = [Machine(number) for number in range(len(MACHINES))]
    log = lambda name: open(os.path.join(directory, name), "wb")
    routes = ",".join(f"nats://{it}:6222" for it in MACHINES)
    for number, machine in enumerate(machines):
        server = [options.server, "-a", "0.0.0.0", "-n", f"n{number}", "-js", "-sd", f"{directory}/n{number}"]
        server += ["--cluster_name", "machines", "--cluster", "nats://0.0.0.0:6222", "--routes", routes]
        subprocess.Popen(machine.command(*server), stderr=log(f"n{number}.log"))
    address = f"nats://{','.join(MACHINES)}/machines"
    gleaner = lambda *words: machines[0].command(options.gleaner, *words)
    create = gleaner("cluster", "create", address, f"http://{HOSTS[0]}/", "--shards", "12", "--scope", "any", "--allow-private")
    create += ["--delay", f"{options.delay}ms", "--set", "politeness.address_delay=0s"]
    for _ in range(60):  # The servers have to find one another.
        if subprocess.run(create, stderr=log("create.log"), stdout=subprocess.DEVNULL).returncode == 0:
            break
        time.sleep(1)
    else:
        sys.exit("the crawl could not be created: " + open(f"{directory}/create.log").read())
    workers = []
    for number, machine in enumerate(machines):
        worker = [options.gleaner, "worker", address, "--data-dir", f"{directory}/w{number}"]
        worker += ["--name", f"w{number}", "--machine", f"m{number}"]
        workers.append(subprocess.Popen(machine.command(*worker), stderr=log(f"w{number}.log"), stdout=subprocess.DEVNULL))
    all_pages = len(HOSTS) * options.pages
    while len(requests) < all_pages // 4:
        time.sleep(0.05)
    pulled = time.monotonic()
    cable(False)
    others = [it for number, it in enumerate(workers) if number != LOST]
    if options.again:
        time.sleep(options.again)
        cable(True)
    ends = [it.wait() for it in others]
    took = time.monotonic() - pulled
    cable(True)
    ends.insert(LOST, workers[LOST].wait())
    for number, end in enumerate(ends):
        if end:
            print(open(f"{directory}/w{number}.log").read(), file=sys.stderr)
    status = subprocess.run(gleaner("cluster", "status", address, "--json"), stdout=subprocess.PIPE, check=True)
    pages = json.loads(status.stdout)["sum"]["pages"]
    return ends, pages, all_pages, pulled, took


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("gleaner", type=os.path.abspath)
    options.add_argument("server", type=os.path.abspath)
    options.add_argument("--pages", type=int, default=400, help="of each host")
    options.add_argument("--delay", type=int, default=100, help="between two visits of a host, in ms")
    options.add_argument("--again", type=float, help="seconds until the cable is plugged in again")
    options = options.parse_args()
    if "MACHINES" not in os.environ:
        os.environ["MACHINES"] = "1"
        # However this ends, all that it has started ends with it.
        inside = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"]
        inside += ["--mount-proc", sys.executable, *sys.argv]
        os.execvp(inside[0], inside)
    with tempfile.TemporaryDirectory() as directory:
        ends, pages, all_pages, pulled, took = crawl(options, directory)
    seen, last, least, away, late = collections.Counter(), {}, {}, {}, {}
    lost_hosts = {host for at, by, host, _ in requests if by == MACHINES[LOST] and at < pulled}
    for at, by, host, path in sorted(requests):
        seen[host, path] += 1
        if by == MACHINES[LOST] and at > pulled and host not in late:
            # It may have been on its way, and be sent again by the system now that there is one.
            late[host] = at
            continue
        if host in last:
            gap = at - last[host]
            least[host] = min(gap, least.get(host, gap))
            away[host] = max(gap, away.get(host, gap))
        last[host] = at
    by = collections.Counter(by for _, by, _, _ in requests)
    twice = sum(times - 1 for times in seen.values())
    found = sum(1 for _, path in seen if path != "/robots.txt")
    print(f"ends of the workers   {ends}")
    print(f"pages                 {found} asked for and {pages} committed, of {all_pages}")
    print(f"requests              {len(requests)}, by machine {dict(sorted(by.items()))}; {twice} for what was asked before")
    print(f"hosts of the lost one {len(lost_hosts)}; nobody came to one of them for {max((away[it] for it in lost_hosts), default=0):.1f} s")
    print(f"its first since then  {len(late)} requests, one of a host, which may have been on their way")
    print(f"least time between two requests of a host: {1000 * min(least.values()):.1f} ms")
    print(f"the others were done  {took:.1f} s after the cable was pulled")
    is_early = 1000 * min(least.values()) < options.delay
    sys.exit(int(any(ends) or found != all_pages or pages != all_pages or is_early))


if __name__ == "__main__":
    main()
