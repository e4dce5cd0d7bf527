#!/usr/bin/env python3
"""The end of the gateway's process, and calls that do not end normally.

    test/e2e/life_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import signal
import socket
import sqlite3
import time
import unittest

from asking import BINARY, start
from gateway import Gateway, Provider, upstream


def setUpModule():
    Life.provider = Provider().__enter__()


def tearDownModule():
    Life.provider.stop()


class Life(unittest.TestCase):
    provider = None

    def gateway(self, models, **more):
        return Gateway(BINARY, {"providers": {"test": upstream(self.provider, "openai", models)},
                                "threads": 1, **more})

    def begin(self, gateway, model, path="/v1/chat/completions", head="", **more):
        """Starts a request on its own connection."""
        body = json.dumps({"model": model, "stream": True, "messages": [
            {"role": "user", "content": "hi"}], **more}).encode()
        s = socket.create_connection(("127.0.0.1", gateway.port), 30)
        s.sendall(f"POST {path} HTTP/1.1\r\nhost: x\r\n{head}content-length: {len(body)}\r\n\r\n"
                  .encode() + body)
        return s

    def ended_well(self, gateway):
        self.assertEqual(gateway.child.wait(120), 0, gateway.log_tail())

    def records(self, gateway):
        db = sqlite3.connect(gateway.folder / "history.db")
        rows = db.execute("select status, error_code from llm_interactions").fetchall()
        db.close()
        return rows

    def test_clients_that_leave_while_it_drains_are_on_record(self):
        with self.gateway({"m": "long:4000+slow:5"}) as g:
            clients = [self.begin(g, "m") for _ in range(6)]
            for c in clients:
                c.recv(100)
            g.signal(signal.SIGTERM)
            time.sleep(0.1)
            for c in clients:
                c.close()
            self.ended_well(g)
            self.assertEqual(self.records(g), [(499, "cancelled")] * 6)

    def test_calls_that_run_at_the_deadline_are_cut_and_on_record(self):
        with self.gateway({"m": "long:4000+slow:5"}, timeouts={"drain": "300ms"}) as g:
            clients = [self.begin(g, "m") for _ in range(6)]
            for c in clients:
                c.recv(100)
            g.signal(signal.SIGTERM)
            self.ended_well(g)
            self.assertEqual(self.records(g), [(499, "cancelled")] * 6)
            for c in clients:
                c.close()

    def test_open_connections_are_counted(self):
        with self.gateway({"m": "plain"}) as g:
            idle = socket.create_connection(("127.0.0.1", g.port), 30)
            c = socket.create_connection(("127.0.0.1", g.port), 30)
            c.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = c.makefile("rb").read().decode()
            self.assertIn("rationale_connections 2\n", text)
            idle.close()
            c.close()

    def test_libpq_is_loaded_for_a_postgresql_store_only(self):
        """libpq loads two dozen libraries."""
        with self.gateway({"m": "plain"}) as g:
            with open(f"/proc/{g.child.pid}/maps", encoding="utf-8") as f:
                self.assertNotIn("libpq", f.read())


if __name__ == "__main__":
    start()
