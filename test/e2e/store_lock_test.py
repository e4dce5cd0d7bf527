#!/usr/bin/env python3
"""A store of SQLite has one daemon: its lock holds while the daemon is stopped, for whichever folder
of the journal, and one that lost the lock writes nothing to the tables.

    test/e2e/store_lock_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import signal
import sqlite3
import sys
import unittest

from command import BINARY
from gateway import PATIENCE, Gateway, Provider, until, upstream


class Lock(unittest.TestCase):
    def setUp(self):
        self.provider = Provider()
        self.provider.start()
        self.addCleanup(self.provider.stop)

    def gateway(self, store=None, **more):
        g = Gateway(BINARY, {
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"})}, **more})
        if store:
            g.config["store"] = store.config["store"]
        self.addCleanup(g.stop)
        return g

    def call(self, g, session):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request("POST", "/v1/chat/completions", json.dumps({
            "model": "plain", "messages": [{"role": "user", "content": "hi"}]}),
            {"content-type": "application/json", "x-rationale-session": session})
        r = c.getresponse()
        self.assertEqual(r.status, 200, r.read())
        c.close()

    def sessions(self, g):
        with sqlite3.connect(g.folder / "history.db", timeout=60) as db:
            return sorted(r[0] for r in db.execute("SELECT session_id FROM llm_interactions"))

    def test_a_stopped_daemon_keeps_its_store(self):
        a = self.gateway()
        a.start()
        self.call(a, "one")
        a.signal(signal.SIGSTOP)
        for more in ({}, {"spool": str(a.folder / "elsewhere")}):
            with self.assertRaisesRegex(RuntimeError, "in use by process"):
                self.gateway(a, **more).start()
        a.signal(signal.SIGCONT)
        self.call(a, "two")
        until(lambda: self.sessions(a) == ["one", "two"])

    def test_a_daemon_whose_lock_was_deleted_writes_nothing(self):
        a = self.gateway()
        a.start()
        self.call(a, "one")
        until(lambda: self.sessions(a) == ["one"])
        a.signal(signal.SIGSTOP)
        (a.folder / "history.db.lock").unlink()
        b = self.gateway(a, spool=str(a.folder / "elsewhere"))
        b.start()
        a.signal(signal.SIGCONT)
        self.call(a, "two")
        self.call(b, "three")
        until(lambda: "deleted or replaced" in a.log_tail())
        until(lambda: self.sessions(a) == ["one", "three"])
        # The journal has what it acknowledged.
        for g in (b, a):
            g.signal(signal.SIGTERM)
            g.child.wait(PATIENCE)
        self.assertEqual(self.sessions(a), ["one", "three"])
        a.start()
        until(lambda: self.sessions(a) == ["one", "three", "two"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
