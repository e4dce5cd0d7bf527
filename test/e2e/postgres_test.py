#!/usr/bin/env python3
"""A gateway whose store is PostgreSQL: threads from its first moment on, calls on record beside them,
connections that are cut, and what is erased.

    tools/postgres-run test/e2e/postgres_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import unittest

from command import BINARY
from gateway import PATIENCE, Gateway, Provider, digest, until, upstream

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
ALICE, BOB, OPERATOR = "sk-alice", "sk-bob", "sk-operator"


def psql(sql, database="postgres"):
    return subprocess.run(["psql", SERVER.replace("%s", database), "-Atqc", sql], check=True,
                          capture_output=True, text=True).stdout.split()


class OnPostgres(unittest.TestCase):
    def setUp(self):
        self.database = self.id().rsplit(".", 1)[1][:60]
        psql(f'CREATE DATABASE "{self.database}"')
        self.provider = Provider()
        self.provider.start()
        self.addCleanup(self.provider.stop)

    def gateway(self):
        g = Gateway(BINARY, {
            "store": SERVER.replace("%s", self.database),
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"})},
            "keys": [{"name": "alice", "sha256": digest(ALICE)},
                     {"name": "bob", "sha256": digest(BOB)},
                     {"name": "operator", "sha256": digest(OPERATOR), "role": "operator"}]})
        g.config["spool"] = str(g.folder / "spool")
        return g

    def ask(self, g, method, path, body=None, key=ALICE, session=""):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request(method, path, json.dumps(body) if body is not None else None, {
            "authorization": f"Bearer {key}", "content-type": "application/json",
            **({"x-rationale-session": session} if session else {})})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text

    def ok(self, got):
        self.assertEqual(got[0] // 100, 2, got)
        return json.loads(got[1]) if got[1] else None

    def put(self, g, thread, number, parent=None):
        return self.ask(g, "PUT", f"/api/v1/threads/{thread}/checkpoints/{number:04}", {
            "parent_id": f"{parent:04}" if parent else None, "metadata": {},
            "checkpoint": {"channel_versions": {"said": number}},
            "values": {"said": {"type": "json", "json": list(range(number))}}})

    def said(self, g, thread):
        got = self.ok(self.ask(g, "GET", f"/api/v1/threads/{thread}/state"))
        return got["values"]["said"]

    def call(self, g, session, key=ALICE):
        self.ok(self.ask(g, "POST", "/v1/chat/completions", {
            "model": "plain", "messages": [{"role": "user", "content": "hi"}]}, key, session))

    def test_threads_are_there_from_the_first_moment_on(self):
        for _ in range(3):
            with self.gateway() as g:
                self.ok(self.put(g, "early", 1))
                self.assertEqual(self.said(g, "early"), [0])
                self.call(g, "early")
                self.ok(self.ask(g, "GET", "/api/v1/history/sessions/early"))
                for word in ("there are no", "in use by another"):
                    self.assertNotIn(word, g.log_tail())

    def test_two_keys_that_name_the_same_session_have_one_each(self):
        with self.gateway() as g:
            for key in (ALICE, BOB, ALICE, BOB):
                self.call(g, "ours", key)
            for key, name in ((ALICE, "alice"), (BOB, "bob")):
                got = self.ok(self.ask(g, "GET", "/api/v1/history/sessions/ours", key=key))
                self.assertEqual({e["details"]["key_name"] for e in got["chronological_timeline"]},
                                 {name})
                self.assertEqual((got["session_id"], got["llm_interaction_count"]), ("ours", 2))

    def test_a_conversation_is_recognised_after_restarts(self):
        said = []
        with self.gateway() as g:
            for i in range(4):
                said.append({"role": "user", "content": f"and {i}?"})
                got = self.ok(self.ask(g, "POST", "/v1/chat/completions",
                                       {"model": "plain", "messages": said}))
                said.append(got["choices"][0]["message"])
                g.signal(signal.SIGKILL if i % 2 else signal.SIGTERM)
                g.child.wait(PATIENCE)
                g.start()
            got = self.ok(self.ask(g, "GET", "/api/v1/history/sessions"))["sessions"]
            self.assertEqual([s["llm_interaction_count"] for s in got], [4])

    def test_connections_that_are_cut_are_made_again(self):
        with self.gateway() as g:
            self.ok(self.put(g, "cut", 1))
            for i in range(2, 6):
                psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     f" WHERE datname = '{self.database}'")
                self.ok(self.put(g, "cut", i, i - 1))
            self.assertEqual(self.said(g, "cut"), [0, 1, 2, 3, 4])
            self.call(g, "after")
            until(lambda: self.ask(g, "GET", "/api/v1/history/sessions/after")[0] == 200)

    def sessions(self):
        return sorted(psql("SELECT session_id FROM llm_interactions", self.database))

    def cut_connections(self):
        psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
             f" WHERE datname = '{self.database}'")

    def history(self, g):
        return self.ok(self.ask(g, "GET", "/api/v1/history/health", key=OPERATOR))["details"]

    def check_whole(self, *gateways):
        for g in gateways:
            self.assertNotIn("left out", g.log.read_text())
        self.assertEqual(psql("SELECT count(*) - max(seq) FROM audit_log", self.database), ["0"])

    def test_a_stopped_owner_that_goes_on_writes_nothing_beside_its_successor(self):
        with self.gateway() as a:
            self.call(a, "one")
            until(lambda: self.sessions() == ["one"])
            a.signal(signal.SIGSTOP)
            self.cut_connections()
            with self.gateway() as b:
                self.call(b, "two")
                until(lambda: self.sessions() == ["one", "two"])
                a.signal(signal.SIGCONT)
                self.call(a, "three")
                # The log has the first error only, which may be that of the connection.
                until(lambda: "in use by another rationale" in self.history(a)["message"])
                self.call(a, "four")
                # Every try fails, not only the first.
                errors = self.history(a)["errors"]
                until(lambda: self.history(a)["errors"] >= errors + 2)
                self.assertEqual(self.sessions(), ["one", "two"])
                self.assertIn("stop one of the two", self.history(a)["message"])
                self.call(b, "five")
                until(lambda: self.sessions() == ["five", "one", "two"])
                b.signal(signal.SIGTERM)
                b.child.wait(PATIENCE)
                until(lambda: self.sessions() == ["five", "four", "one", "three", "two"])
                self.check_whole(a, b)

    def test_a_stopped_owner_notices_a_successor_that_came_and_went(self):
        with self.gateway() as a:
            self.call(a, "one")
            until(lambda: self.sessions() == ["one"])
            a.signal(signal.SIGSTOP)
            self.cut_connections()
            with self.gateway() as b:
                self.call(b, "two")
                b.signal(signal.SIGTERM)
                b.child.wait(PATIENCE)
                self.assertEqual(self.sessions(), ["one", "two"])
                a.signal(signal.SIGCONT)
                self.call(a, "three")
                until(lambda: self.sessions() == ["one", "three", "two"])
                self.check_whole(a, b)

    def test_many_write_at_once(self):
        with self.gateway() as g:
            bad = []

            def write(thread):
                for i in range(1, 11):
                    got = self.put(g, thread, i, i - 1)
                    if got[0] // 100 != 2:
                        bad.append(got)
                    self.call(g, thread)
            threads = [threading.Thread(target=write, args=(f"t{i}",)) for i in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(bad, [])
            for i in range(8):
                self.assertEqual(self.said(g, f"t{i}"), list(range(10)))

    def test_an_erased_session_takes_its_thread_along(self):
        with self.gateway() as g:
            for name in ("gone", "stays"):
                self.call(g, name)
                self.ok(self.put(g, name, 1))
            receipt = self.ok(self.ask(g, "DELETE", "/api/v1/history/sessions/gone", key=OPERATOR))
            self.assertEqual((receipt["sessions"], receipt["threads"], receipt["runs"]), (1, 1, 0))
            self.assertEqual(self.ask(g, "GET", "/api/v1/threads/gone/state")[0], 404)
            self.assertEqual(self.said(g, "stays"), [0])
            receipt = self.ok(self.ask(g, "POST", "/api/v1/erase", {"subject": "alice"},
                                       key=OPERATOR))
            self.assertEqual((receipt["sessions"], receipt["threads"]), (1, 1))
            for table in ("threads", "thread_checkpoints", "thread_values", "thread_writes"):
                self.assertEqual(psql(f"SELECT count(*) FROM {table}", self.database), ["0"])


if __name__ == "__main__":
    if not SERVER:
        print("skipped: this runs under tools/postgres-run")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
