#!/usr/bin/env python3
"""kill -9 under 32 streams: every record that was acknowledged is there, exactly once.

    test/e2e/store_kill_test.py BINARY SOURCE_ROOT
    KILL_CYCLES=200 tools/postgres-run test/e2e/store_kill_test.py BINARY SOURCE_ROOT

The last byte of an answer leaves after its record is on disk; so whoever has read [DONE] must find
the call in the tables, whenever the process died. On SQLite, or on the server of postgres-run.
"""
# SPDX-License-Identifier: Apache-2.0
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

BINARY = os.path.abspath(sys.argv[1])
CYCLES = int(os.environ.get("KILL_CYCLES", "20"))
STREAMS = 32
SERVER = os.environ.get("RATIONALE_TEST_POSTGRES")
MODELS = {"quick": "plain", "long": "long:20+slow:3", "think": "think+loud"}


class Client(threading.Thread):
    """Asks again and again until the gateway is gone; keeps what it was acknowledged."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port = port
        self.random = random.Random(seed)
        self.begun, self.acked = [], []

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            while True:
                self.ask(connection)
        except (OSError, http.client.HTTPException):
            pass

    def ask(self, connection):
        model = self.random.choice(list(MODELS))
        stream = self.random.random() < 0.8
        connection.request("POST", "/v1/chat/completions", json.dumps({
            "model": model, "stream": stream,
            "messages": [{"role": "user", "content": f"question {self.random.random()}"}]}),
            {"content-type": "application/json"})
        r = connection.getresponse()
        call = r.headers["x-rationale-id"]
        self.begun.append(call)
        body = r.read()
        if r.status == 200 and (not stream or b"data: [DONE]" in body):
            self.acked.append(call)


class Sqlite:
    def __init__(self, path):
        self.path = path

    def rows(self, sql):
        db = sqlite3.connect(self.path, timeout=60)
        rows = db.execute(sql).fetchall()
        db.close()
        return rows


class Postgres:
    def __init__(self, url):
        self.url = url

    def rows(self, sql):
        out = subprocess.run(["psql", self.url, "-AtF", "\t", "-c", sql], check=True,
                             capture_output=True, text=True).stdout
        return [tuple(int(v) if v.isdigit() else v for v in line.split("\t"))
                for line in out.splitlines()]


def settled(gateway):
    """Until nothing of the journal waits for the tables, and then the end by the door."""
    until = time.monotonic() + 120
    gateway.child.send_signal(signal.SIGTERM)
    gateway.child.wait(timeout=60)
    while any(p.suffix == ".seg" and p.stat().st_size > 64 for p in gateway.folder.glob("**/*.seg")):
        if time.monotonic() > until:
            raise AssertionError("the journal is not taken in")
        gateway.start()
        time.sleep(0.5)
        gateway.child.send_signal(signal.SIGTERM)
        gateway.child.wait(timeout=60)


def one_cycle(gateway, chance):
    gateway.start()
    clients = [Client(gateway.port, chance.random()) for _ in range(STREAMS)]
    for c in clients:
        c.start()
    time.sleep(chance.uniform(0.02, 1.0))
    gateway.child.kill()
    gateway.child.wait()
    for c in clients:
        c.join(60)
    return ([i for c in clients for i in c.begun], [i for c in clients for i in c.acked])


def check(tables, begun, acked):
    rows = tables.rows("SELECT interaction_id, complete, error_code FROM llm_interactions")
    there = {}
    for call, *rest in rows:
        assert call not in there, f"{call} is there twice"
        there[call] = rest
    missing = [i for i in acked if i not in there]
    assert not missing, f"{len(missing)} of {len(acked)} acknowledged are not there: {missing[:5]}"
    halves = [i for i in acked if not there[i][0]]
    assert not halves, f"{len(halves)} acknowledged are not complete: {halves[:5]}"
    assert len(set(acked)) == len(acked), "an id was given out twice"
    for table in ("decisions", "audit_log"):
        column = "interaction_id" if table == "decisions" else "subject"
        twice = tables.rows(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL "
                            f"GROUP BY {column} HAVING count(*) > 1")
        assert not twice, f"{table} has {twice[:3]} more than once"
    logged = tables.rows("SELECT count(*) FROM audit_log WHERE action = 'record'")[0][0]
    assert logged == len(rows), f"{len(rows)} rows, {logged} entries in the audit log"
    sums = tables.rows("SELECT sum(call_count) FROM alert_sessions")[0][0]
    assert sums == len(rows), f"{len(rows)} rows, sessions count {sums}"
    left = tables.rows("SELECT count(*) FROM call_pieces")[0][0]
    assert left == 0, f"{left} pieces of calls that are over"
    running = tables.rows("SELECT count(*) FROM alert_sessions WHERE status = 'in_progress'")[0][0]
    assert running == 0, f"{running} sessions are said to run"
    cut = sum(1 for i in there if not there[i][0])
    print(f"{CYCLES} kills under {STREAMS} streams: {len(begun)} begun, {len(acked)} acknowledged, "
          f"{len(rows)} kept, {cut} of them cut off")


def main():
    if not can_serve(BINARY):
        print("skipped: this binary has no gateway")
        return
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 1000000))
    print(f"seed {seed}")
    chance = random.Random(seed)
    begun, acked = [], []
    with Provider(key="upstream-key") as provider:
        gateway = Gateway(BINARY, {"providers": {"test": upstream(provider, "openai", MODELS)},
                                   "reasoning": {"keep": "text"}})
        tables = Sqlite(gateway.folder / "history.db")
        if SERVER:
            subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-qc",
                            "CREATE DATABASE kills"], check=True)
            url = SERVER.replace("%s", "kills")
            tables = Postgres(url)
            gateway.config.update(store=url, spool=str(gateway.folder / "spool"))
        try:
            for _ in range(CYCLES):
                b, a = one_cycle(gateway, chance)
                begun += b
                acked += a
            gateway.start()
            settled(gateway)
            check(tables, begun, acked)
        except BaseException:
            print(gateway.log_tail())
            raise
        finally:
            gateway.stop()
    assert len(acked) > CYCLES, "hardly anything was acknowledged"


if __name__ == "__main__":
    main()
