#!/usr/bin/env python3
"""The disk is full, or a sync fails: clients get an error, no provider is called in vain, no
acknowledged call is lost, and service resumes when the fault is over.

    test/e2e/faults_test.py BINARY SOURCE_ROOT FAULTS_LIBRARY [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

LIBRARY = os.path.abspath(sys.argv.pop(3))

import command  # noqa: E402
from gateway import Gateway, Provider, until, upstream  # noqa: E402

PATHS = {"/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
         "/v1/responses": {"input": "hi"},
         "/v1/messages": {"max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]},
         "/api/chat": {"messages": [{"role": "user", "content": "hi"}]},
         "/generate": {"prompt": "hi"}}


def setUpModule():
    Faults.provider = Provider(key="upstream-key").__enter__()


def tearDownModule():
    Faults.provider.stop()


class Faults(unittest.TestCase):
    provider = None

    def begin(self, **more):
        g = Gateway(command.BINARY, {"providers": {"up": upstream(self.provider, "openai", {
            "plain": "plain", "held": "long:30+hold:12"})}, **more}, env={
                "LD_PRELOAD": LIBRARY, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
        g.env["FAULTS"] = str(g.folder / "faults")
        self.gateway = g.__enter__()
        self.addCleanup(g.stop)
        self.acked = []

    def inject(self, how):
        (self.gateway.folder / "faults").write_text(how)

    def ask(self, path="/v1/chat/completions", model="plain", said="hi", stream=False):
        body = json.loads(json.dumps(PATHS[path]).replace('"hi"', json.dumps(said)))
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=120)
        c.request("POST", path, json.dumps({"model": model, "stream": stream, **body}))
        r = c.getresponse()
        text = r.read()
        c.close()
        if r.status == 200 and (not stream or b"[DONE]" in text):
            self.acked.append(r.headers["x-rationale-id"])
        return r, text

    def get(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=120)
        c.request("GET", path)
        r = c.getresponse()
        out = r.status, json.loads(r.read())
        c.close()
        return out

    def rejected(self, reason):
        with urllib.request.urlopen(f"{self.gateway.root}/metrics", timeout=120) as r:
            page = r.read().decode()
        return int(re.search(rf'^rationale_rejected_total{{reason="{reason}"}} (\d+)$', page, re.M)[1])

    def asked(self, said):
        return len(self.provider.log(said))

    def all_there(self):
        self.gateway.child.terminate()
        self.assertEqual(self.gateway.child.wait(120), 0)
        db = sqlite3.connect(self.gateway.folder / "history.db")
        rows = [r[0] for r in db.execute("SELECT interaction_id FROM llm_interactions WHERE complete")]
        db.close()
        self.assertEqual(sorted(set(self.acked) - set(rows)), [])
        self.assertEqual(len(rows), len(set(rows)))
        return set(rows)

    def down(self):
        """The first call detects the fault; then /ready reports it."""
        self.ask()
        until(lambda: self.get("/ready")[0] == 503)

    def test_while_the_disk_is_full_nobody_is_asked_and_clients_are_told(self):
        self.begin()
        self.assertEqual(self.ask()[0].status, 200)
        self.inject("full")
        self.down()
        for path in PATHS:
            for stream in (False, True):
                r, text = self.ask(path, said="in vain", stream=stream)
                self.assertEqual(r.status, 503, text)
                self.assertEqual(r.headers["retry-after"], "1")
                self.assertIn(b"No space left", text)
        self.assertEqual(self.asked("in vain"), 0)
        self.assertEqual((self.rejected("disk"), self.rejected("queue_full")), (2 * len(PATHS), 0))
        self.assertEqual(self.get("/health")[1]["status"], "unhealthy")
        done = subprocess.run([command.BINARY, "doctor", "--config", str(self.gateway.path)],
                              capture_output=True, text=True, env=self.gateway.env, timeout=120,
                              cwd=self.gateway.folder, check=False)
        self.assertEqual(done.returncode, 6, done.stdout)
        self.assertIn("No space left", done.stdout)
        self.inject("")
        until(lambda: self.get("/ready")[0] == 200)
        self.assertEqual(self.ask()[0].status, 200)
        self.all_there()

    def test_a_daemon_starts_on_a_full_disk_and_commands_find_it_once_there_is_room(self):
        self.begin()
        address = next(self.gateway.folder.glob("*.spool")) / "address"
        self.gateway.child.terminate()
        self.assertEqual(self.gateway.child.wait(120), 0)
        self.inject("beside")
        self.gateway.start()
        self.assertFalse(address.exists())
        with self.assertRaisesRegex(RuntimeError, "in use by process"):
            Gateway(command.BINARY, self.gateway.config).start()
        self.inject("")
        until(address.exists)
        self.assertEqual(address.read_text().splitlines()[0], f"127.0.0.1:{self.gateway.port}")
        self.all_there()
        self.assertFalse(address.exists())

    def test_a_start_without_room_for_the_tables_says_what_to_do(self):
        self.begin()
        self.gateway.child.terminate()
        self.assertEqual(self.gateway.child.wait(120), 0)
        self.inject("full")
        with self.assertRaisesRegex(RuntimeError, "the disk is full: make room on the disk of store"):
            self.gateway.start()
        self.inject("")
        self.gateway.start()
        self.all_there()

    def test_while_the_tables_have_no_room_queries_are_answered_at_once(self):
        self.begin()
        self.ask()
        until(lambda: self.get("/api/v1/history/sessions")[0] == 200)
        self.inject("tables")
        self.assertEqual(self.ask()[0].status, 200)
        began = time.monotonic()
        for _ in range(3):
            status, got = self.get("/api/v1/history/sessions")
            self.assertEqual((status, got["detail"]["error"]), (503, "store_unavailable"))
            self.assertIn("disk is full", got["detail"]["message"])
        self.assertLess(time.monotonic() - began, 30)  # a single query used to take this long
        self.inject("")
        until(lambda: self.get("/api/v1/history/sessions")[0] == 200)
        self.all_there()

    def test_a_stream_that_runs_when_the_disk_becomes_full_does_not_end_as_if_all_were_well(self):
        self.begin()
        got = []
        thread = threading.Thread(target=lambda: got.append(
            self.ask(model="held", said="a stream that waits", stream=True)))
        thread.start()
        self.provider.held("a stream that waits")
        self.inject("full")
        self.provider.go_on("a stream that waits")
        thread.join(120)
        r, text = got[0]
        self.assertEqual(r.status, 200)
        self.assertNotIn(b"[DONE]", text)
        self.assertIn(b"not_recorded", text)
        self.inject("")
        until(lambda: self.get("/ready")[0] == 200)
        self.assertNotIn(r.headers["x-rationale-id"], self.all_there())

    def test_the_operator_may_let_calls_pass(self):
        self.begin(unrecorded="pass")
        self.assertNotIn("x-rationale-recorded", self.ask()[0].headers)
        self.inject("full")
        r, _ = self.ask()
        self.assertEqual((r.status, r.headers["x-rationale-recorded"]), (200, "no"))
        until(lambda: self.get("/ready")[0] == 503)
        for path in PATHS:
            for stream in (False, True):
                r, text = self.ask(path, said="all the same", stream=stream)
                self.assertEqual((r.status, r.headers["x-rationale-recorded"]), (200, "no"), text)
        self.assertEqual(self.asked("all the same"), 2 * len(PATHS))
        self.inject("")
        until(lambda: self.get("/ready")[0] == 200)
        self.acked = []  # their replies said that they are not recorded
        self.assertNotIn("x-rationale-recorded", self.ask()[0].headers)
        self.all_there()

    def test_a_clock_that_jumps_harms_no_order_and_no_duration(self):
        self.begin()
        for off in (0, -3600, 86400, -86400, 3600, 0):
            self.inject(f"clock {off}")
            for _ in range(3):
                self.assertEqual(self.ask()[0].status, 200)
        self.assertEqual(self.acked, sorted(self.acked))
        _, listed = self.get("/api/v1/history/sessions?page_size=100")
        starts = [s["started_at_us"] for s in listed["sessions"]]
        self.assertGreater(max(starts) - min(starts), 86400 * 10**6, "the clock has not jumped")
        for session in listed["sessions"]:
            self.assertGreaterEqual(session["duration_ms"], 0)
            self.assertLess(session["duration_ms"], 60000)
        self.inject("")
        self.all_there()
        done = subprocess.run([command.BINARY, "audit", "verify", "--config", str(self.gateway.path)],
                              capture_output=True, text=True, timeout=120, env=self.gateway.env,
                              cwd=self.gateway.folder, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(self):
        self.begin()
        for _ in range(5):
            self.assertEqual(self.ask()[0].status, 200)
        self.inject("sync")
        r, text = self.ask(said="not synced")
        self.assertEqual(r.status, 503, text)
        for _ in range(5):  # although another sync would succeed
            self.assertEqual(self.ask(said="in vain as well")[0].status, 503)
        self.assertEqual(self.asked("in vain as well"), 0)
        self.assertEqual(self.get("/ready")[0], 503)
        self.gateway.child.terminate()
        self.gateway.child.wait(120)
        self.gateway.start()
        self.assertEqual(self.ask()[0].status, 200)
        self.all_there()


if __name__ == "__main__":
    command.main()
