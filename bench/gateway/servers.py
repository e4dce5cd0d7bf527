"""servers.py - the processes of the gateway's bench: upstream, nginx, the gateway, PostgreSQL.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import http.client
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORE_LOAD, CORE_SERVER = 0, 1
KEY = "sk-bench-0000000000000000"
MODELS = ["small", "prose", "large", "turn", "burst", "paced", "hold", "flood"]
PATIENCE_S = 600  # until the tables have caught up


def pinned(core):
    """What a child does before it becomes another program."""

    def prepare():
        os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    return prepare


def cpu_ns(pid):
    """CPU time of all threads of a process, of those too that have ended."""
    return time.clock_gettime_ns((~int(pid) << 3) | 2)  # Linux: the process' CPU clock, nanoseconds


def cpu_ns_or_0(pid):
    try:
        return cpu_ns(pid)
    except OSError:
        return 0


def rss_kb(pid):
    """Memory of its own: what is mapped from files is shared."""
    out = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon"):
            out[name] = int(value.split()[0])
    return out


def settled(pid):
    """Waits until the process has next to nothing to do."""
    for _ in range(120):
        before = cpu_ns(pid)
        time.sleep(0.25)
        if cpu_ns(pid) - before < 0.25e9 * 0.05:
            return


class Stub:
    def __init__(self, build, paced_events):
        self.process = subprocess.Popen(
            [build / "bench/gateway_stub", str(paced_events)],
            stdout=subprocess.PIPE, text=True, preexec_fn=pinned(CORE_LOAD))
        self.port = int(self.process.stdout.readline())

    def left(self, count):
        """When the upstream's streams were let go, by number."""
        out = {}
        while len(out) < count:
            _, number, ns = self.process.stdout.readline().split()
            out[int(number)] = int(ns)
        return out

    def stop(self):
        self.process.kill()
        self.process.wait()


class Nginx:
    name = "nginx"

    def __init__(self, folder, upstream):
        self.port = free_port()
        folder.mkdir()
        # It closes connections of its own accord when a sixteenth of them is left: twice as many
        # as there are descriptors keeps it from that.
        temp = "\n".join(f"    {kind}_temp_path {folder}/{kind};" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(f"""
daemon off; master_process off; worker_processes 1;
pid {folder}/pid; error_log {folder}/error.log error;
worker_rlimit_nofile {resource.getrlimit(resource.RLIMIT_NOFILE)[1]};
events {{ worker_connections {2 * resource.getrlimit(resource.RLIMIT_NOFILE)[1]}; }}
http {{
    access_log off;
{temp}
    keepalive_requests 1000000000;
    client_body_buffer_size 64k;
    upstream stub {{ server 127.0.0.1:{upstream}; keepalive 512; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{self.port} backlog=4096;
        location / {{
            proxy_pass http://stub;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffer_size 32k;
            proxy_buffers 8 32k;
            proxy_busy_buffers_size 64k;
            proxy_read_timeout 600s;
        }}
    }}
}}
""")
        self.process = subprocess.Popen(
            ["nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf"],
            preexec_fn=pinned(CORE_SERVER))
        wait_for(self.port)

    def settle(self):
        settled(self.process.pid)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Gateway:
    def __init__(self, build, name, folder, upstream, store=None, settings=""):
        self.name = name
        self.folder = folder
        self.port = free_port()
        folder.mkdir()
        kind = "anthropic" if name == "anthropic" else "openai"
        url = f"http://127.0.0.1:{upstream}" + ("" if kind == "anthropic" else "/v1")
        form = "" if kind == "anthropic" else f", format: {'none' if name == 'pass' else 'think'}"
        none = name in ("pass", "none")
        store = store or ("none" if none else f"sqlite:{folder}/store/calls.db")
        (folder / "store").mkdir()
        (folder / "rationale.yaml").write_text(f"""
listen: 127.0.0.1:{self.port}
threads: 1
log: {{level: warn}}
store: "{store}"
spool: {folder}/store/spool
{settings}
keys:
  - {{name: bench, sha256: {hashlib.sha256(KEY.encode()).hexdigest()}, rpm: 1000000000, tpm: 1000000000000}}
providers:
  stub: {{kind: {kind}, base_url: "{url}", models: [{", ".join(MODELS)}]{form}}}
""")
        self.log = open(folder / "log", "wb")
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [build / "rationale", "serve", "--config", folder / "rationale.yaml"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            preexec_fn=pinned(CORE_SERVER))
        try:
            wait_for(self.port)
        except TimeoutError:
            sys.exit((folder / "log").read_text())
        self.start_ms = (time.monotonic() - begin) * 1e3
        self.start_cpu_ms = cpu_ns(self.process.pid) / 1e6

    def health(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request("GET", "/health", headers={"Authorization": f"Bearer {KEY}"})
        said = json.loads(c.getresponse().read())
        c.close()
        return said

    def settle(self):
        """Waits until every record is in the tables and nothing is left to do."""
        for _ in range(4 * PATIENCE_S):
            if self.health().get("pending_records", 0) == 0:
                break
            time.sleep(0.25)
        else:
            raise TimeoutError(f"the tables of {self.name} did not catch up in {PATIENCE_S} s")
        settled(self.process.pid)

    def disk(self):
        """Bytes of all files of the store."""
        return sum(f.stat().st_size for f in (self.folder / "store").rglob("*") if f.is_file())

    def used(self):
        """Of these, the ones in use: the database of a stopped gateway may have free pages."""
        with sqlite3.connect(self.folder / "store/calls.db") as db:
            free = db.execute("SELECT freelist_count * page_size FROM pragma_freelist_count,"
                              " pragma_page_size").fetchone()[0]
        db.close()
        return self.disk() - free

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port):
    for _ in range(5000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.002)
    raise TimeoutError(port)


class Postgres:
    """A PostgreSQL server of its own; url is None where PostgreSQL is not installed."""

    def __init__(self):
        self.process = subprocess.Popen(
            [ROOT / "tools/postgres-run", "sh", "-c", 'echo "$RATIONALE_TEST_POSTGRES"; cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        self.url = line.replace("%s", "postgres") if "%s" in line else None
        if self.url:
            home = Path(line.split("host=")[1].split("&")[0])
            self.pid = int((home / "data/postmaster.pid").read_text().split()[0])

    def cpu_ns(self):
        """Of all processes of the server, and of those that have ended."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ended = (int(fields[13]) + int(fields[14])) * 1e9 / os.sysconf("SC_CLK_TCK")
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return ended + sum(cpu_ns_or_0(pid) for pid in [self.pid, *children])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
