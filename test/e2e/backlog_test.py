#!/usr/bin/env python3
"""Tables that lag behind the journal: calls wait before they are refused, and health reports it.

    test/e2e/backlog_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import sqlite3
import threading
import unittest
from contextlib import closing, contextmanager

from command import BINARY, main, run
from gateway import PATIENCE, Gateway, Provider, digest, until, upstream

TEXT = "the quick brown fox " * 500  # of one request; eight of them stay below the limit
SOFT = 1024 * 1024 // 4  # bytes in the journal at which calls begin to wait


class Calls(unittest.TestCase):
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


class Backlog(Calls):
    def fill(self, g, enough):
        """Sends concurrent calls until the journal has this backlog."""
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
                    threads = self.fill(g, lambda h: h["pending_bytes"] > SOFT)
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
                threads = self.fill(g, lambda h: h["pending_bytes"] > SOFT)
                c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
                c.request("POST", "/v1/chat/completions", json.dumps({
                    "model": "plain", "messages": [{"role": "user", "content": "gone"}]}))
                c.sock.close()
                c.close()
                db.execute("ROLLBACK")
            for t in threads:
                t.join(PATIENCE)
            self.assertEqual(self.call(g, "after")[0], 200)

    def test_commands_say_what_a_killed_daemon_left_in_its_journal(self):
        with self.gateway("1h") as g:
            self.assertEqual(self.call(g, "stored")[0], 200)
            until(lambda: self.health(g)["pending_records"] == 0)
            with self.locked(g):
                self.assertEqual(self.call(g, "left")[0], 200)
                g.child.kill()
                g.child.wait()
            for command in (["list"], ["list", "--json"], ["export"]):
                done = run(*command, "--config", str(g.path))
                self.assertEqual(done.code, 0, done)
                self.assertIn(f"in the journal {g.folder}/history.db.spool for the daemon", done.err)
                self.assertIn(b"stored", done.out)
            g.start()
            until(lambda: self.health(g)["pending_records"] == 0)
            g.child.kill()
            g.child.wait()
            done = run("list", "--config", str(g.path))
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertIn(b"left", done.out)


class Spent(Calls):
    """A key's spending limit after a kill: the calls that spent it are only in the journal."""

    # The taker stores these calls slowly, in many short transactions.
    SLOW = """CREATE TRIGGER slow BEFORE INSERT ON llm_interactions BEGIN SELECT count(*) FROM (
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
        SELECT i FROM n); END"""
    LARGE = "x" * 2_900_000  # two or three per transaction
    CALLS = 30

    def spender(self, g, key, text="Hello"):
        return self.ask(g, "POST", "/v1/chat/completions", {
            "model": "plain", "max_tokens": 5, "messages": [{"role": "user", "content": text}]},
            {"authorization": f"Bearer sk-{key}"})

    def killed(self, wait, **limit):
        g = Gateway(BINARY, {
            "journal": {"wait": wait}, "threads": 1,
            "keys": [{"name": "limited", "sha256": digest("sk-limited"), **limit},
                     {"name": "free", "sha256": digest("sk-free")}],
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"},
                                           prices={"plain": {"input": 100000, "output": 100000}})}})
        g.__enter__()
        self.addCleanup(g.stop)
        with self.locked(g):
            self.assertEqual(self.spender(g, "limited")[0], 200)
            for n in range(self.CALLS):
                self.assertEqual(self.spender(g, "free", f"{n} {self.LARGE}")[0], 200)
            g.child.kill()
            g.child.wait()
        db = sqlite3.connect(g.folder / "history.db", isolation_level=None, timeout=PATIENCE)
        db.execute(self.SLOW)
        db.close()
        g.start()
        return g

    def test_a_key_with_a_limit_waits_until_its_spend_is_known(self):
        g = self.killed("1h", spend_usd=1)
        self.assertEqual(self.spender(g, "free")[0], 200)
        status, _, text = self.spender(g, "limited")
        self.assertEqual(status, 429, text)  # the call before the kill spent all of it
        self.assertIn("insufficient_quota", text)
        self.assertIn("the tables have all records: calls of keys with spend_usd go on", g.log.read_text())

    def test_a_key_with_a_limit_waits_until_the_tables_can_be_read(self):
        g = Gateway(BINARY, {
            "journal": {"wait": "200ms"},
            "keys": [{"name": "limited", "sha256": digest("sk-limited"), "spend_usd": 1}],
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"},
                                           prices={"plain": {"input": 100000, "output": 100000}})}})
        g.__enter__()
        self.addCleanup(g.stop)
        self.assertEqual(self.spender(g, "limited")[0], 200)
        g.child.terminate()
        g.child.wait()
        with closing(sqlite3.connect(g.folder / "history.db", isolation_level=None)) as db:
            db.execute("ALTER TABLE usage_hours RENAME TO usage_away")
            g.start()
            status, _, text = self.spender(g, "limited")
            self.assertEqual(status, 503, text)
            self.assertIn("spend_not_known", text)
            self.assertIn("calls of keys with spend_usd wait", g.log.read_text())
            db.execute("ALTER TABLE usage_away RENAME TO usage_hours")
        until(lambda: self.spender(g, "limited")[0] == 429)

    def test_without_a_key_with_a_limit_the_log_does_not_mention_limits(self):
        self.assertNotIn("spend", self.killed("1h").log.read_text())

    def test_a_key_with_a_limit_does_not_wait_for_ever(self):
        g = self.killed("100ms", spend_usd=1)
        status, headers, text = self.spender(g, "limited")
        self.assertEqual(status, 503, text)
        self.assertIn("spend_not_known", text)
        self.assertGreaterEqual(int(headers["retry-after"]), 1)


if __name__ == "__main__":
    main()
