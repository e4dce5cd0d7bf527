#!/usr/bin/env python3
"""kill -9 under load: every acknowledged call is on record, exactly once and complete.

    test/e2e/store_kill_test.py BINARY SOURCE_ROOT
    KILL_CYCLES=200 KILL_SEED=7 tools/postgres-run test/e2e/store_kill_test.py BINARY SOURCE_ROOT
    KILL_STREAMS=64 KILL_BACKLOG=1 test/e2e/store_kill_test.py BINARY SOURCE_ROOT

With KILL_BACKLOG the test locks the tables while clients send calls, and requests are longer:
the process is killed with all of these calls only in its journal, and the next one must find
them.

The last byte of an answer is sent after its record is on disk. So if a client has read [DONE],
its call must be in the tables with every word that it received, whenever the process died. A
truncated stream is recorded too, up to a moment before. Some processes are killed while they
ingest what the previous one left. After each start the audit log must verify. On SQLite, or on
the server of postgres-run. With KILL_DURABILITY=fast calls acknowledged in the last moment may
be lost, but no older ones.
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from gateway import Gateway, Provider, can_serve, upstream
from planted import recorded

BINARY = os.path.abspath(sys.argv[1])
CYCLES = int(os.environ.get("KILL_CYCLES", "12"))
STREAMS = int(os.environ.get("KILL_STREAMS", "32"))
BACKLOG = os.environ.get("KILL_BACKLOG") == "1"
LONG = " ".join(random.Random(1).choices(  # with a backlog, each call sends a part of it
    [a + b + c for a in ("ba", "ke", "lo", "mu") for b in ("dri", "fen", "gol", "hap") for c in "nrst"], k=20_000))
VERIFY_EVERY = 25 if BACKLOG else 1  # verifying so much text takes long
LOOK_UPS = 64 if BACKLOG else 3
FAST = os.environ.get("KILL_DURABILITY") == "fast"
SERVER = os.environ.get("RATIONALE_TEST_POSTGRES")
MODELS = {"quick": "plain", "long": "long:20+slow:3", "think": "think+loud", "cut": "long:400+slow:10"}
WEIGHTS = (8, 4, 8, 1)
# Pieces of a stream are recorded ten times a second, and the machine may be busy. The last word,
# which might become a secret, is not written before it has ended.
MOMENT_SECONDS = 0.7
WORD_MAX = 64


class Call:
    """A call as its client sees it."""

    def __init__(self, call, stream):
        self.id, self.stream = call, stream
        self.text, self.buffer = "", b""
        self.acked = 0  # time of the acknowledgement
        self.seen = []  # (time, length of the text so far)

    def take(self, data):
        """Parses more of a stream: its text, and whether it has ended."""
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            if line == b"data: [DONE]":
                self.acked = time.monotonic()
            elif line.startswith(b"data: "):
                for choice in json.loads(line[6:]).get("choices", []):
                    self.text += choice["delta"].get("content") or ""
        self.seen.append((time.monotonic(), len(self.text)))

    def surely(self, killed):
        """The length of the text received at least MOMENT_SECONDS before the kill."""
        return max([n for at, n in self.seen if at < killed - MOMENT_SECONDS], default=0)


class Client(threading.Thread):
    """Sends calls in a loop until the gateway is gone."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port = port
        self.random = random.Random(seed)
        self.calls = []

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            while True:
                self.ask(connection)
        except (OSError, http.client.HTTPException):
            pass

    def messages(self):
        question = {"role": "user", "content": f"question {self.random.random()}"}
        if not BACKLOG:
            return [question]
        start = self.random.randrange(len(LONG) // 2)
        return [{"role": "system", "content": LONG[start:2 * start]}, question]

    def ask(self, connection):
        model = self.random.choices(list(MODELS), WEIGHTS)[0]
        stream = model == "cut" or self.random.random() < 0.8
        connection.request("POST", "/v1/chat/completions", json.dumps({
            "model": model, "stream": stream,
            "messages": self.messages()}),
            {"content-type": "application/json"})
        r = connection.getresponse()
        assert r.status == 200, r.read()
        call = Call(r.headers["x-rationale-id"], stream)
        self.calls.append(call)
        if stream:
            while data := r.read1(65536):
                call.take(data)
        else:
            call.text = json.loads(r.read())["choices"][0]["message"]["content"]
            call.acked = time.monotonic()


class Sqlite:
    def __init__(self, path):
        self.path = path

    def rows(self, sql):
        db = sqlite3.connect(self.path, timeout=60)
        rows = db.execute(sql).fetchall()
        db.close()
        return rows

    @contextlib.contextmanager
    def locked(self):
        """Locks the tables against other writers."""
        db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            db.execute("ROLLBACK")
            db.close()


class Postgres:
    def __init__(self, url):
        self.url = url

    def rows(self, sql):
        out = subprocess.run(["psql", self.url, "-AtF", "\t", "-c", sql], check=True,
                             capture_output=True, text=True).stdout
        return [tuple(line.split("\t")) for line in out.splitlines()]

    @contextlib.contextmanager
    def locked(self):
        psql = subprocess.Popen(["psql", self.url, "-qAt"], text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        psql.stdin.write("BEGIN; LOCK TABLE store_progress IN EXCLUSIVE MODE; SELECT 'locked';\n")
        psql.stdin.flush()
        assert psql.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            psql.communicate("ROLLBACK;\n")


class Kills:
    def __init__(self, gateway, tables, chance):
        self.gateway, self.tables, self.chance = gateway, tables, chance
        self.calls, self.killed = {}, {}
        self.cycles = self.early = self.doubled = self.looked_up = self.waited = 0
        self.backlogs = []  # in bytes, at each kill

    def stumble(self):
        """Kills a process while it ingests the backlog, or before."""
        self.gateway.write()
        with open(self.gateway.log, "ab") as log:
            child = subprocess.Popen(
                [BINARY, "serve", "--config", str(self.gateway.path), "--listen", "127.0.0.1:0"],
                stdout=log, stderr=log, env=self.gateway.env, cwd=self.gateway.folder)
        time.sleep(self.chance.uniform(0, 0.2))
        child.kill()
        child.wait()
        self.early += 1

    def verify(self):
        done = subprocess.run([BINARY, "audit", "verify", "--config", str(self.gateway.path)],
                              cwd=self.gateway.folder, env=self.gateway.env, capture_output=True,
                              text=True, timeout=600, check=False)
        assert done.returncode == 0, f"the audit log after {self.cycles} kills: {done.stdout}{done.stderr}"

    def look_up(self, call):
        """Checks that the history has the call at once. On a busy machine it may say for some time
        that the tables are not complete yet, but not that there is no such call."""
        until = time.monotonic() + 300
        while True:
            c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=120)
            c.request("GET", f"/api/v1/history/interactions/{call}")
            r = c.getresponse()
            body = r.read()
            c.close()
            if r.status == 200:
                return
            assert r.status == 503 and b"catching_up" in body and time.monotonic() < until, \
                f"{call} was acknowledged: {r.status} {body}"
            self.waited += 1

    def promised(self, call):
        """Whether the call must be on record."""
        acked, killed = self.calls[call].acked, self.killed[call][1]
        return acked and (not FAST or acked < killed - MOMENT_SECONDS)

    def backlog(self):
        """The bytes of the journal that the tables do not have yet."""
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=120)
        c.request("GET", "/health")
        waiting = json.loads(c.getresponse().read())["pending_bytes"]
        c.close()
        return waiting

    @staticmethod
    def await_acked(clients, count):
        """Waits until so many calls were acknowledged, which on a busy machine may take long."""
        until = time.monotonic() + 60
        while sum(1 for c in clients for call in list(c.calls) if call.acked) < count and time.monotonic() < until:
            time.sleep(0.01)

    def cycle(self):
        while self.chance.random() < 0.2:
            self.stumble()
        self.gateway.start()
        if self.cycles % VERIFY_EVERY == 0:
            self.verify()
        acked = [i for i in self.calls if self.promised(i) and self.killed[i][0] == self.cycles]
        for call in self.chance.sample(acked, min(LOOK_UPS, len(acked))):
            self.look_up(call)
            self.looked_up += 1
        clients = [Client(self.gateway.port, self.chance.random()) for _ in range(STREAMS)]
        with self.tables.locked() if BACKLOG else contextlib.nullcontext():
            for c in clients:
                c.start()
            time.sleep(self.chance.uniform(0.02, 1.0 if self.chance.random() < 0.7 else 2.0 + 2 * BACKLOG))
            if self.chance.random() < 0.8:  # else it may die before any reply
                self.await_acked(clients, 3)
            self.backlogs.append(self.backlog() if BACKLOG else 0)
            killed = time.monotonic()
            self.gateway.child.kill()
            self.gateway.child.wait()
        self.cycles += 1
        for c in clients:
            c.join(60)
            assert not c.is_alive(), "a client still waits"
            for call in c.calls:
                self.doubled += call.id in self.calls
                self.calls[call.id] = call
                self.killed[call.id] = (self.cycles, killed)

    def settle(self):
        """Restarts until the tables have all of the journal; the last process ends normally."""
        until = time.monotonic() + 300
        while True:
            self.gateway.child.send_signal(signal.SIGTERM)
            self.gateway.child.wait(timeout=60)
            if not any(p.stat().st_size > 64 for p in self.gateway.folder.glob("**/*.seg")):
                return
            assert time.monotonic() < until, "the journal is not taken in"
            self.gateway.start()
            time.sleep(0.5)

    def check_sums(self, count):
        one = lambda sql: int(self.tables.rows(sql)[0][0])  # noqa: E731
        ranges = [range(int(first), int(last) + 1) for detail, in self.tables.rows(
            "SELECT detail FROM audit_log WHERE action = 'records'") for first, last in [detail.split()]]
        logged = sorted(n for numbers in ranges for n in numbers)
        there = sorted(int(n) for n, in self.tables.rows("SELECT call_n FROM llm_interactions"))
        assert logged == there, f"{len(there)} calls, {len(logged)} in the audit log, or others"
        sums = one("SELECT sum(call_count) FROM alert_sessions")
        assert sums == count, f"{count} rows, sessions count {sums}"
        left = one("SELECT count(*) FROM call_pieces")
        assert left == 0, f"{left} pieces of calls that are over"
        running = one("SELECT count(*) FROM alert_sessions WHERE status = 'in_progress'")
        assert running == 0, f"{running} sessions are said to run"

    def check(self):
        there = {call: (c["complete"], c["error_code"] or "", c["response"] or "") for call, c in
                 recorded(self.gateway.path, env=self.gateway.env, cwd=self.gateway.folder,
                          timeout=900).items()}
        self.doubled += len(self.tables.rows("SELECT call_n FROM llm_interactions")) - len(there)
        acked = [c for c in self.calls.values() if c.acked]
        lost = [c.id for c in acked if c.id not in there and self.promised(c.id)]
        halves = [c.id for c in acked if c.id in there and
                  (not there[c.id][0] or there[c.id][2] != c.text) and self.promised(c.id)]
        cut = [c for c in self.calls.values() if not c.acked and c.stream]
        short = []
        for c in cut:
            sure = c.surely(self.killed[c.id][1])
            _, _, text = there.get(c.id, (False, "", ""))
            if sure > len(text) + WORD_MAX or not (text.startswith(c.text) or c.text.startswith(text)):
                short.append((c.id, sure, len(c.text), len(text), c.id in there))
        odd = [i for i, (complete, error, _) in there.items() if not complete and error != "interrupted"]
        on_record = sum(1 for c in cut if c.id in there)
        print(f"{self.cycles} kills under {STREAMS} streams and {self.early} while starting: "
              f"{len(self.calls)} begun, {len(acked)} acknowledged, {len(there)} kept; {len(lost)} lost, "
              f"{self.doubled} doubled, {len(halves)} not whole; {len(cut)} streams cut, {on_record} of "
              f"them on record, {len(short)} too short; {self.looked_up} asked for after a start, {self.waited} times told to wait", flush=True)
        if BACKLOG:
            sizes = sorted(self.backlogs)
            print(f"backlog at a kill: median {sizes[len(sizes) // 2] / 1e6:.1f} MB, most "
                  f"{sizes[-1] / 1e6:.1f} MB", flush=True)
        assert not lost, f"acknowledged and not there: {lost[:5]}"
        assert not self.doubled, "an id was given out twice, or is there twice"
        assert not halves, f"acknowledged and not whole: {[(i, there[i][2][:200], self.calls[i].text[:200]) for i in halves[:3]]}"
        assert not short, f"id, told, seen, kept, there: {short[:5]}"
        assert not odd, f"cut off, but not for that: {[(i, there[i]) for i in odd[:3]]}"
        self.check_sums(len(there))
        assert len(acked) > self.cycles, "hardly anything was acknowledged"
        assert self.cycles < 10 or self.cut_late(), "no stream was killed well after its first words"

    def cut_late(self):
        """Whether a kill hit a stream whose first words had arrived long enough before."""
        return any(c.surely(self.killed[c.id][1]) for c in self.calls.values()
                   if not c.acked and c.stream and c.id in self.killed)


def main():
    if not can_serve(BINARY):
        print("skipped: this binary has no gateway")
        return
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 1000000))
    print(f"seed {seed}", flush=True)
    begun = time.monotonic()
    with Provider(key="upstream-key") as provider:
        gateway = Gateway(BINARY, {"providers": {"test": upstream(provider, "openai", MODELS)},
                                   "durability": "fast" if FAST else "durable",
                                   "reasoning": {"keep": "text"}})
        tables = Sqlite(gateway.folder / "history.db")
        if SERVER:
            subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-qc",
                            "CREATE DATABASE kills"], check=True)
            url = SERVER.replace("%s", "kills")
            tables = Postgres(url)
            gateway.config.update(store=url, spool=str(gateway.folder / "spool"))
        kills = Kills(gateway, tables, random.Random(seed))
        try:
            for n in range(1, CYCLES + 1):
                kills.cycle()
                if n % 20 == 0:
                    print(f"{n} kills, {sum(1 for c in kills.calls.values() if c.acked)} acknowledged", flush=True)
            for _ in range(2 * CYCLES):  # a busy machine may need more kills to hit such a stream
                if CYCLES < 10 or kills.cut_late():
                    break
                kills.cycle()
            gateway.start()
            kills.verify()
            kills.settle()
            kills.check()
            kills.verify()
        except BaseException:
            print(gateway.log_tail())
            raise
        finally:
            gateway.stop()
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
