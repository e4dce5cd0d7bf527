#!/usr/bin/env python3
"""A gateway whose store is PostgreSQL: threads from its start, recorded calls, closed connections,
and erasure.

    tools/postgres-run test/e2e/postgres_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import re
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gateway import PATIENCE, until
from on_postgres import ALICE, BOB, OPERATOR, SERVER, OnPostgres, connections, psql
from scripted_model import Model, results


NUL = chr(0)
ORDER = {"name": "order", "description": "Orders", "parameters": {"type": "object"}}
NUL_ROUTES = {"openapi": "3.1.0", "paths": {"/items": {"get": {"operationId": "search"}}}}


def says_nul(ask):
    """Calls each tool and an unknown one, and then replies with the last result; all with NUL
    bytes."""
    turns = [[("stock__search", {})], [("stock__search", {"q": NUL})], [("no" + NUL + "such", {})],
             [("order", {"what": "a" + NUL + "b"})]]
    done = results(ask)
    return {"text": f"I{NUL}look.", "reasoning": f"so{NUL}so", "calls": turns[len(done)]} \
        if len(done) < len(turns) else f"Seen:{NUL}{done[0]} {done[-1]}"


class Nul(BaseHTTPRequestHandler):
    """A service whose reply has a NUL byte."""

    def do_GET(self):
        text = f"three{NUL}left".encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Agents(OnPostgres):
    def test_a_nul_byte_ends_no_run(self):
        service = ThreadingHTTPServer(("127.0.0.1", 0), Nul)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        with Model(says_nul) as model:
            g = self.gateway(
                providers={"scripted": model.provider()},
                tools={"stock": {"openapi": "stock.json", "base_url": f"http://127.0.0.1:{service.server_port}"}},
                agents={"a": {"model": "m", "prompt": "You help.", "tools": ["stock"]}})
            (g.folder / "stock.json").write_text(json.dumps(NUL_ROUTES))
            with g:
                run = self.ok(self.ask(g, "POST", "/api/v1/agents/a/runs", {
                    "input": "go on", "tools": [ORDER], "metadata": {"x": NUL}}))
                self.assertEqual(run["status"], "waiting", run)
                g.signal(signal.SIGKILL)
                g.child.wait(PATIENCE)
                g.start()
                path = f"/api/v1/runs/{run['run_id']}"
                self.ok(self.ask(g, "POST", path + "/tool_results", {
                    "call_id": run["pending"]["calls"][0]["call_id"], "result": f"or{NUL}dered"}))
                run = until(lambda: (r := self.ok(self.ask(g, "GET", path)))["status"] not in ("running", "waiting") and r)
                self.assertEqual(run["status"], "done", run)
                self.assertIn("three left", run["result"]["text"])
                self.assertEqual(self.ask(g, "GET", path + "/events")[0], 200)
                self.assertEqual(len(model.asked), 5)


class Alone(OnPostgres):
    def test_threads_are_there_from_the_first_moment_on(self):
        for _ in range(3):
            with self.gateway() as g:
                self.ok(self.put(g, "early", 1))
                self.assertEqual(self.said(g, "early"), [0])
                self.call(g, "early")
                self.ok(self.ask(g, "GET", "/api/v1/history/sessions/early"))
                for word in ("there are no", "in use by"):
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

    def test_calls_in_a_journal_that_is_away_reach_the_tables(self):
        for away in (shutil.rmtree, lambda folder: folder.rename(folder.with_name("away"))):
            with self.gateway() as g:
                self.call(g, g.folder.name + "-1")
                until(lambda: g.folder.name + "-1" in self.sessions())
                lock = connections.connect(self.database)
                connections.lib.PQclear(ctypes.c_void_p(connections.lib.PQexec(
                    lock, b"BEGIN; LOCK TABLE llm_interactions IN EXCLUSIVE MODE")))
                self.call(g, g.folder.name + "-2")
                away(g.folder / "spool")
                health = json.loads(self.ask(g, "GET", "/health")[1])
                self.assertEqual(health["status"], "unhealthy")
                self.assertIn("spool was moved or deleted", health["message"])
                self.assertEqual(self.ask(g, "POST", "/v1/chat/completions", {
                    "model": "plain", "messages": [{"role": "user", "content": "hi"}]})[0], 503)
                self.assertNotIn(g.folder.name + "-2", self.sessions())
                connections.lib.PQfinish(lock)
                until(lambda: g.folder.name + "-2" in self.sessions())

    def test_a_daemon_whose_journal_lock_was_deleted_takes_nothing_in(self):
        with self.gateway() as g:
            self.call(g, "one")
            until(lambda: "one" in self.sessions())
            (g.folder / "spool" / "lock").unlink()
            self.call(g, "two")
            until(lambda: "lock was deleted or replaced" in g.log_tail())
            self.assertEqual(self.sessions(), ["one"])

    def test_a_start_waits_for_a_server_that_is_starting(self):
        """The address refuses connections as a starting server does, and then leads to the server."""
        words = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as starting:
            real, = re.findall(r"host=([^&]+)", SERVER)
            address = Path(folder) / ".s.PGSQL.5432"
            starting.bind(str(address))
            starting.listen(16)

            def refuse():
                for _ in range(6):
                    with starting.accept()[0] as client:
                        client.recv(8192)
                        client.sendall(b"E" + struct.pack("!i", 4 + len(words)) + words)
                link = Path(folder) / "link"
                link.symlink_to(Path(real) / address.name)
                link.replace(address)
            threading.Thread(target=refuse, daemon=True).start()
            g = self.gateway(store=SERVER.replace("%s", self.database).replace(real, folder))
            with g:
                self.call(g, "early")
                self.assertIn("waiting for PostgreSQL", g.log_tail())
                until(lambda: self.ask(g, "GET", "/api/v1/history/sessions/early")[0] == 200)

    def fill_disk(self):
        """Makes the server run out of space when it stores a call: a trigger writes to a table
        whose file is /dev/full."""
        path = Path(*psql("CREATE TABLE no_room (n bigint); SELECT current_setting('data_directory'), "
                          "pg_relation_filepath('no_room')", self.database))
        path.unlink()
        path.symlink_to("/dev/full")
        psql("CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS "
             "$$ BEGIN INSERT INTO no_room VALUES (1); RETURN NULL; END $$; "
             "CREATE TRIGGER fill BEFORE INSERT ON llm_interactions FOR EACH STATEMENT EXECUTE FUNCTION fill()",
             self.database)

    def test_while_the_disk_of_the_server_is_full_queries_are_answered_at_once(self):
        with self.gateway() as g:
            self.call(g, "before")
            self.ok(self.ask(g, "GET", "/api/v1/history/sessions/before"))
            self.fill_disk()
            self.call(g, "meanwhile")  # the journal is on another disk
            began = time.monotonic()
            for _ in range(3):
                status, text = self.ask(g, "GET", "/api/v1/history/sessions")
                got = json.loads(text)["detail"]
                self.assertEqual((status, got["error"]), (503, "store_unavailable"), text)
                self.assertIn("No space left on device", got["message"])
            self.assertLess(time.monotonic() - began, 30)  # a single query would take this long
            psql("DROP TRIGGER fill ON llm_interactions", self.database)
            until(lambda: self.ask(g, "GET", "/api/v1/history/sessions")[0] == 200)
            self.assertEqual(self.sessions(), ["before", "meanwhile"])

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
