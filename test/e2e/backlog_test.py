#!/usr/bin/env python3
"""Tables that are behind the journal: calls wait before they are refused, and health says so.

    test/e2e/backlog_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import sqlite3
import threading
import unittest
from contextlib import contextmanager

from command import BINARY, main
from gateway import PATIENCE, Gateway, Provider, until, upstream

TEXT = "the quick brown fox " * 1500  # of one request


class Backlog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = Provider()
        cls.provider.start()
        cls.addClassCleanup(cls.provider.stop)

    def gateway(self, wait, durability="durable"):
        return Gateway(BINARY, {
            "journal": {"max": "1MiB", "wait": wait}, "durability": durability, "threads": 1,
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"})}})

    @contextmanager
    def locked(self, g):
        db = sqlite3.connect(g.folder / "history.db", isolation_level=None, timeout=PATIENCE)
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        finally:
            db.close()

    def ask(self, g, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request(method, path, json.dumps(body) if body else None, headers or {})
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, r.headers, text

    def call(self, g, text=TEXT):
        return self.ask(g, "POST", "/v1/chat/completions", {
            "model": "plain", "messages": [{"role": "user", "content": text}]})

    def health(self, g):
        return json.loads(self.ask(g, "GET", "/health")[2])

    def fill(self, g, enough):
        """Calls that do not wait for each other, until the journal is so far behind."""
        done = []

        def client():
            while not done:
                self.call(g)
        threads = [threading.Thread(target=client, daemon=True) for _ in range(8)]
        for t in threads:
            t.start()
        until(lambda: enough(self.health(g)))
        done.append(True)
        return threads

    def test_a_call_at_the_ceiling_waits_for_the_tables(self):
        for durability in ("durable", "fast"):
            with self.subTest(durability=durability), self.gateway("1h", durability) as g:
                with self.locked(g) as db:
                    threads = self.fill(g, lambda h: h["pending_bytes"] > 300_000)
                    waiting = []
                    late = threading.Thread(target=lambda: waiting.append(self.call(g, "late")))
                    late.start()
                    until(lambda: self.health(g)["pending_seconds"] > 0)
                    h = self.health(g)
                    self.assertEqual(h["status"], "degraded")
                    self.assertGreater(h["pending_records"], 5)
                    self.assertNotEqual(h["message"], "")
                    self.assertEqual(waiting, [])
                    page = self.ask(g, "GET", "/metrics")[2]
                    self.assertRegex(page, r"(?m)^rationale_history_pending_seconds [1-9]")
                    db.execute("ROLLBACK")
                late.join(PATIENCE)
                self.assertEqual([w[0] for w in waiting], [200])
                for t in threads:
                    t.join(PATIENCE)
                until(lambda: self.health(g)["status"] == "healthy")
                until(lambda: self.health(g)["pending_records"] == 0)

    def test_a_call_that_has_waited_long_enough_is_refused(self):
        with self.gateway("300ms") as g, self.locked(g):
            got = until(lambda: next((r for r in [self.call(g)] if r[0] != 200), None))
            self.assertEqual(got[0], 503)
            self.assertIn("not_recorded", got[2])
            self.assertGreaterEqual(int(got[1]["retry-after"]), 1)
            self.assertIn("at its limit", got[2])

    def test_a_client_that_leaves_while_its_call_waits_is_forgotten(self):
        with self.gateway("1h") as g:
            with self.locked(g) as db:
                threads = self.fill(g, lambda h: h["pending_bytes"] > 300_000)
                c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
                c.request("POST", "/v1/chat/completions", json.dumps({
                    "model": "plain", "messages": [{"role": "user", "content": "gone"}]}))
                c.sock.close()
                c.close()
                db.execute("ROLLBACK")
            for t in threads:
                t.join(PATIENCE)
            self.assertEqual(self.call(g, "after")[0], 200)


if __name__ == "__main__":
    main()
