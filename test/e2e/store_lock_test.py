#!/usr/bin/env python3
"""A SQLite store has one daemon: its lock holds while the daemon is stopped, for any folder of the
journal, and a daemon that lost the lock writes nothing to the tables.

    test/e2e/store_lock_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import http.client
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

from command import BINARY, run
from gateway import PATIENCE, Gateway, Provider, until, upstream


META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
LOCKS = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA locking_mode = " + sys.argv[2])
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE audit_log SET detail = detail WHERE 1 = 0")
print("locked", flush=True)
time.sleep(float(sys.argv[3]))
"""


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
        text = r.read()
        c.close()
        self.assertEqual(r.status, 200, text)

    def sessions(self, g):
        with contextlib.closing(sqlite3.connect(g.folder / "history.db", timeout=60)) as db:
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
        # The calls that it acknowledged are in its journal.
        for g in (b, a):
            g.signal(signal.SIGTERM)
            g.child.wait(PATIENCE)
        self.assertEqual(self.sessions(a), ["one", "three"])
        a.start()
        until(lambda: self.sessions(a) == ["one", "three", "two"])

    def test_calls_in_a_journal_that_is_deleted_reach_the_tables(self):
        g = self.gateway()
        g.start()
        self.call(g, "one")
        until(lambda: self.sessions(g) == ["one"])
        with subprocess.Popen([sys.executable, "-c", LOCKS, str(g.folder / "history.db"), "NORMAL", "3"],
                              stdout=subprocess.PIPE, text=True) as other:
            self.assertEqual(other.stdout.readline(), "locked\n")
            self.call(g, "two")
            shutil.rmtree(g.folder / "history.db.spool")
            c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
            c.request("GET", "/health")
            health = json.loads(c.getresponse().read())
            c.close()
            self.assertEqual(health["status"], "unhealthy")
            self.assertIn("history.db.spool was moved or deleted", health["message"])
            with self.assertRaisesRegex(AssertionError, "503"):
                self.call(g, "three")
        until(lambda: self.sessions(g) == ["one", "two"])

    def test_a_start_waits_for_a_process_that_has_the_database_locked(self):
        a = self.gateway()
        a.start()
        self.call(a, "one")
        a.signal(signal.SIGTERM)
        a.child.wait(PATIENCE)
        for mode, seconds in (("NORMAL", 3), ("EXCLUSIVE", 3), ("NORMAL", 1000)):
            with subprocess.Popen(
                    [sys.executable, "-S", "-c", LOCKS, str(a.folder / "history.db"), mode, str(seconds)],
                    stdout=subprocess.PIPE) as other:
                self.assertEqual(other.stdout.readline(), b"locked\n")
                a.log.write_bytes(b"")
                if seconds < 10:
                    a.start()
                    self.assertIn("waiting for another process", a.log_tail())
                    self.call(a, mode)
                    a.signal(signal.SIGTERM)
                    a.child.wait(PATIENCE)
                else:
                    with self.assertRaisesRegex(RuntimeError, f"locked by process {other.pid} .*end that process"):
                        a.start()
                self.assertRegex(a.log_tail(), rf'by="process {other.pid} \(python')
                other.kill()

    def test_records_in_the_journal_of_a_killed_daemon_are_announced(self):
        a = self.gateway()
        a.start()
        self.call(a, "one")
        until(lambda: self.sessions(a) == ["one"])
        with sqlite3.connect(a.folder / "history.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            self.call(a, "two")
            a.child.kill()
            a.child.wait()
        ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "search_decisions", "arguments": {}, "_meta": META}}) + "\n"
        config = ("--config", str(a.path))
        for waits in (True, False):
            doctor = run("doctor", "--offline", *config).out.decode()
            self.assertEqual("left them in its journal" in doctor, waits, doctor)
            self.assertEqual("missing here" in run("decisions", *config).err, waits)
            mcp = json.loads(run("mcp", *config, stdin=ask).out)["result"]
            self.assertEqual("missing here" in mcp["content"][0]["text"], waits, mcp)
            self.assertEqual(json.loads(mcp["content"][-1]["text"]), mcp["structuredContent"])
            if waits:
                a.start()
                until(lambda: self.sessions(a) == ["one", "two"])

    def refused(self, g):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request("POST", "/v1/chat/completions", json.dumps({
            "model": "plain", "messages": [{"role": "user", "content": "refused"}]}))
        r = c.getresponse()
        text = r.read().decode()
        c.request("GET", "/health")
        health = c.getresponse().read().decode()
        c.close()
        return r.status == 503 and (text, health)

    def attempt(self, g, session, acked):
        """A call that may be refused; if it is not, it is on record."""
        try:
            self.call(g, session)
            acked.append(session)
        except AssertionError:
            pass

    def test_files_that_are_moved_away_are_missed_until_they_are_back(self):
        for names, said in ((("history.db",), "history.db was moved"),
                            (("history.db", "history.db-wal", "history.db-shm"), "history.db was moved"),
                            (("history.db-wal",), "history.db-wal was moved"),
                            (("history.db.spool",), "the journal ")):
            for back in (True, False):
                with self.subTest(names=names, back=back):
                    g, acked = self.gateway(), ["one"]
                    g.start()
                    self.call(g, "one")
                    until(lambda: self.sessions(g) == ["one"])
                    away = g.folder / "away"
                    away.mkdir()
                    for name in names:
                        (g.folder / name).rename(away / name)
                    self.attempt(g, "two", acked)
                    text, health = until(lambda: self.refused(g))
                    for words in (text, health):
                        self.assertIn(said, words)
                        self.assertIn("put it back, or restart the daemon", words)
                    # The thread that refuses calls logs the reason afterwards, at the lowest priority.
                    until(lambda: re.search(f"{said}.*put it back, or restart the daemon", g.log_tail()))
                    self.assertIn("unhealthy", health)
                    if back:
                        for name in names:
                            (away / name).rename(g.folder / name)
                        until(lambda: not self.refused(g))
                        self.call(g, "three")
                        acked.append("three")
                    g.child.kill()
                    g.child.wait()
                    g.start()
                    self.call(g, "four")
                    acked.append("four")
                    until(lambda: "four" in self.sessions(g))
                    if back:
                        self.assertLessEqual(set(acked), set(self.sessions(g)))
                    g.stop()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
