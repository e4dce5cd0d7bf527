#!/usr/bin/env python3
"""Two daemons on one PostgreSQL and 16 clients, while random daemons are killed, stopped for longer
than their lease, or cut off from the database: no acknowledged call is lost, and none is stored
twice.

    tools/postgres-run test/e2e/daemons_chaos_test.py BINARY SOURCE_ROOT

CHAOS_SECONDS: duration of each of the two modes (default 15), with at least one event of each
kind. CHAOS_SEED: selects the events.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import random
import signal
import sys
import threading
import time
import unittest

from gateway import PATIENCE, until
from on_postgres import ALICE, SERVER, OnPostgres, psql

SECONDS = float(os.environ.get("CHAOS_SECONDS", "15"))
CLIENTS = 16
STOPPED_SECONDS = 7  # a lease lasts 5 seconds


class Chaos(OnPostgres):
    def client(self, number, daemons, over, acknowledged):
        chance = random.Random(number)
        n = 0
        while not over.is_set():
            n += 1
            session = f"c{number}-{n}"
            g = chance.choice(daemons)
            try:
                c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
                c.request("POST", "/v1/chat/completions", json.dumps({
                    "model": "plain", "messages": [{"role": "user", "content": "hi " * n}]}), {
                        "authorization": f"Bearer {ALICE}", "content-type": "application/json",
                        "x-rationale-session": session})
                r = c.getresponse()
                r.read()
                if r.status == 200:
                    acknowledged.append(session)
                c.close()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)

    def harm(self, chance, g, what):
        if what == "kill":
            g.signal(signal.SIGKILL)
            g.child.wait(PATIENCE)
            time.sleep(chance.choice([0, 0, 6]))
            g.start()
        elif what == "stop":
            g.signal(signal.SIGSTOP)
            time.sleep(STOPPED_SECONDS)
            g.signal(signal.SIGCONT)
        else:
            self.cut_connections()

    def run_chaos(self, daemons):
        chance = random.Random(int(os.environ.get("CHAOS_SEED", time.time_ns())))
        over, acknowledged, done = threading.Event(), [], []
        clients = [threading.Thread(target=self.client, args=(i, daemons, over, acknowledged))
                   for i in range(CLIENTS)]
        for t in clients:
            t.start()
        first = chance.sample(["kill", "stop", "cut"], 3)
        end = time.monotonic() + SECONDS
        while first or time.monotonic() < end:
            time.sleep(chance.uniform(0.5, 3))
            done.append(first.pop() if first else chance.choice(["kill", "stop", "cut", "cut"]))
            self.harm(chance, chance.choice(daemons), done[-1])
        over.set()
        for t in clients:
            t.join()
        print(f"{len(acknowledged)} acknowledged; {' '.join(done)}", file=sys.stderr)
        self.assertGreater(len(acknowledged), 20)
        return acknowledged

    def recorded(self):
        return set(psql("SELECT session_id FROM llm_interactions", self.database))

    def check(self, daemons):
        self.assertEqual(psql("SELECT session_id FROM llm_interactions GROUP BY session_id"
                              " HAVING count(*) > 1", self.database), [])
        self.check_whole(*daemons)
        self.verify(daemons[0])

    def test_durable(self):
        with self.gateway() as a, self.gateway() as b:
            acknowledged = self.run_chaos([a, b])
            until(lambda: not set(acknowledged) - self.recorded())
            self.check([a, b])

    def test_replicated(self):
        with self.gateway(durability="replicated") as a, \
                self.gateway(durability="replicated") as b:
            acknowledged = self.run_chaos([a, b])
            for g in (a, b):
                g.signal(signal.SIGKILL)
                g.child.wait(PATIENCE)
            self.assertEqual(set(acknowledged) - self.recorded(), set())
            a.start()
            b.start()
            until(lambda: self.history(a)["pending_records"] == 0
                  and self.history(b)["pending_records"] == 0)
            self.check([a, b])


if __name__ == "__main__":
    if not SERVER:
        print("skipped: this runs under tools/postgres-run")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
