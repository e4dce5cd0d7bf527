#!/usr/bin/env python3
"""A faulty peer does not affect others: clients that do not read or never complete a request,
providers that fail in every way. Concurrent healthy calls are all answered, and memory is
bounded.

    test/e2e/neighbours_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import csv
import http.client
import io
import json
import os
import resource
import socket
import threading
import time
import unittest
import urllib.request

from asking import BINARY, start
from gateway import Gateway, Provider, cpu_seconds, until, upstream

csv.field_size_limit(1 << 28)
BAD = ("error:500", "error:429:retry-after=1", "error-mid", "cut:700", "rst:700", "silent:4000",
       "long:50+stall:4000", "badjson", "html", "empty-body", "wrong-type", "no-done", "double-done",
       "after-done", "huge-line:2000000", "drip", "random-cuts", "split-utf8", "crlf", "cr", "bom",
       "comments", "no-space", "until-close", "gzip", "same-id", "bad-usage", "starve", "empty")
SLOW_READERS = 100
STALLED = 50
HOLD_KB = 1024  # of 16 MB: the send buffer of a client that does not read, and its share of the rest
AHEAD = 768 << 10  # bytes of a reply that are recorded before its client has received them


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


class Flood(threading.Thread):
    """A provider that sends 16 MB for each request, as fast as the client reads."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.open, self.lock = 0, threading.Lock()
        event = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"word " * 200 + b'"}}]}\n\n'
        piece = event * 16
        self.piece = b"%x\r\n%s\r\n" % (len(piece), piece)
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.speak, args=self.server.accept()[:1], daemon=True).start()

    def speak(self, s):
        with self.lock:
            self.open += 1
        try:
            s.recv(65536)
            s.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                      b"transfer-encoding: chunked\r\n\r\n")
            for _ in range((16 << 20) // len(self.piece)):
                s.sendall(self.piece)
        except OSError:
            pass
        s.close()
        with self.lock:
            self.open -= 1


class Neighbours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = Provider(key="upstream-key")
        cls.provider.start()
        cls.addClassCleanup(cls.provider.stop)
        cls.flood = Flood()
        cls.gateway = Gateway(BINARY, {
            "timeouts": {"header": "2s", "body": "2s"},
            "providers": {
                "good": upstream(cls.provider, "openai", {"plain": "plain"}),
                "flood": {"kind": "openai", "models": ["flood"],
                          "base_url": f"http://127.0.0.1:{cls.flood.server.getsockname()[1]}/v1"},
                "bad": upstream(cls.provider, "openai", {f"bad{i}": b for i, b in enumerate(BAD)},
                                first_token_timeout="1s", stall_timeout="1s", retries=1)}},
            # Otherwise the test would measure the memory that the sanitizer keeps in quarantine.
            env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"})
        cls.addClassCleanup(cls.gateway.stop)
        cls.gateway.start()

    def own(self, **more):
        return Gateway(BINARY, {"providers": {
            "good": upstream(self.provider, "openai", ["plain"]),
            "flood": {"kind": "openai", "models": ["flood"], "base_url":
                      f"http://127.0.0.1:{self.flood.server.getsockname()[1]}/v1"}}, **more})

    def send(self, model, body=None, gateway=None):
        s = socket.create_connection(("127.0.0.1", (gateway or self.gateway).port), 60)
        body = body or json.dumps({"model": model, "stream": True, "messages": [
            {"role": "user", "content": "hi"}]})
        s.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}"
                  f"\r\n\r\n{body}".encode())
        return s

    def healthy(self, count=20, gateway=None):
        """The duration of each of so many good calls."""
        took = []
        for _ in range(count):
            begun = time.monotonic()
            c = http.client.HTTPConnection("127.0.0.1", (gateway or self.gateway).port, timeout=60)
            c.request("POST", "/v1/chat/completions", json.dumps({
                "model": "plain", "messages": [{"role": "user", "content": "hi"}]}))
            r = c.getresponse()
            self.assertEqual(r.status, 200, r.read())
            r.read()
            c.close()
            took.append(time.monotonic() - begun)
        return took

    def test_who_does_not_read_costs_a_bounded_amount_and_nobody_else_anything(self):
        self.healthy(50)
        before = resident_kb(self.gateway.child.pid)
        readers = [self.send("flood") for _ in range(SLOW_READERS)]
        try:
            for s in readers:
                self.assertTrue(s.recv(1).startswith(b"H"))
            for _ in range(3):
                self.healthy()
                time.sleep(0.5)
                self.assertLess(resident_kb(self.gateway.child.pid) - before, SLOW_READERS * HOLD_KB)
            self.assertEqual(self.flood.open, SLOW_READERS, "all of it was taken, so it is held")
        finally:
            for s in readers:
                s.close()
        until(lambda: self.flood.open == 0)

    def export(self, gateway):
        with urllib.request.urlopen(f"{gateway.root}/api/v1/history/export?format=csv") as r:
            return list(csv.DictReader(io.TextIOWrapper(r, newline="")))

    def recorded(self, gateway, model):
        """Status and length of the answer of each ended call of a model."""
        return [(int(row["status"]), len(row["response"])) for row in self.export(gateway)
                if row["model_name"] == model and row["status"]]

    def test_a_stalled_stream_is_not_recorded_far_ahead_of_its_client(self):
        with self.own() as gateway:
            readers = [self.send("flood", gateway=gateway) for _ in range(STALLED)]
            try:
                for s in readers:
                    self.assertTrue(s.recv(1).startswith(b"H"))
                # The stalled readers have filled their buffers; new clients are served.
                for _ in range(20):
                    self.healthy(1, gateway)
            finally:
                for s in readers:
                    s.close()
            until(lambda: len(self.recorded(gateway, "flood")) == STALLED)
            ahead = [n for _, n in self.recorded(gateway, "flood")]
            self.assertLess(max(ahead), AHEAD)

    def test_a_client_that_stays_stalled_is_dropped_and_its_call_recorded(self):
        with self.own(timeouts={"write": "500ms"}) as gateway:
            readers = [self.send("flood", gateway=gateway) for _ in range(STALLED)]
            try:
                until(lambda: len(self.recorded(gateway, "flood")) == STALLED)
                until(lambda: self.flood.open == 0)
                self.assertEqual({status for status, _ in self.recorded(gateway, "flood")}, {499})
                self.healthy(1, gateway)
            finally:
                for s in readers:
                    s.close()

    def test_a_slow_pattern_costs_its_own_request(self):
        slow = "abcdefghijklmnopqrstuvwxyz" * 1000 + "9"
        body = json.dumps({"model": "plain", "messages": [
            {"role": "user", "content": f"{i} {slow}"} for i in range(12)]})
        with self.own(threads=1, data_masking={"custom_patterns": [
                {"name": "slow", "pattern": "[a-z]{1,3000}[XY]"}]}) as gateway:
            ended = []

            def ask():
                c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
                c.request("POST", "/v1/chat/completions", body)
                ended.append(c.getresponse().status)
                c.close()
            threads = [threading.Thread(target=ask) for _ in range(16)]
            for t in threads:
                t.start()
            self.healthy(20, gateway)
            before = len(ended)
            for t in threads:
                t.join()
            self.assertEqual(ended, [200] * len(threads))
            self.assertLess(before, len(threads), "others waited for all of the slow ones")
            # Texts for which the pattern exceeded its time limit are masked, and no others.
            rows = until(lambda: (r := self.export(gateway)) and len(r) >= 36 and r)
            slow_rows = [r for r in rows if "[MASKED:slow]" in r["prompt"]]
            self.assertEqual(len(slow_rows), len(threads))
            self.assertTrue(all(slow[:600] not in r["prompt"] for r in slow_rows))

    def test_where_no_descriptor_is_left_who_rests_makes_room(self):
        with Gateway(BINARY, {"store": "none", "threads": 1, "providers": {
                "up": upstream(self.provider, "openai", ["plain"])}}) as gateway:
            pid, asks = gateway.child.pid, b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n"
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
            clients = []
            try:
                for _ in range(150):
                    clients.append(socket.create_connection(("127.0.0.1", gateway.port), 60))
                    clients[-1].sendall(asks)
                    self.assertTrue(clients[-1].recv(4096).startswith(b"HTTP/1.1 200"))
                self.assertIn("no descriptor is left", gateway.log_tail(100000))
                for _ in range(100):  # not idle, so none can be closed
                    clients.append(socket.create_connection(("127.0.0.1", gateway.port), 60))
                    clients[-1].sendall(asks[:9])
                before = cpu_seconds(pid)
                time.sleep(2)
                self.assertLess(cpu_seconds(pid) - before, 0.5)
            finally:
                for s in clients:
                    s.close()
            with socket.create_connection(("127.0.0.1", gateway.port), 60) as s:
                s.sendall(asks)
                self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 200"))

    def test_who_never_finishes_asking_is_told_and_let_go(self):
        heads = [socket.create_connection(("127.0.0.1", self.gateway.port), 60) for _ in range(100)]
        for s in heads:
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ")
        bodies = []
        for _ in range(100):
            s = socket.create_connection(("127.0.0.1", self.gateway.port), 60)
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{")
            bodies.append(s)
        self.healthy()
        for s in heads + bodies:
            self.assertIn(b" 408 ", s.recv(4096).split(b"\r\n")[0])
            s.close()

    def test_providers_that_fail_in_every_way_leave_the_others_alone(self):
        over = threading.Event()

        def bother(model):
            while not over.is_set():
                try:
                    s = self.send(model)
                    s.settimeout(60)
                    while s.recv(65536) and not over.is_set():
                        pass
                    s.close()
                except OSError:
                    pass
        threads = [threading.Thread(target=bother, args=(f"bad{i}",), daemon=True)
                   for i in range(len(BAD))]
        for t in threads:
            t.start()
        took = self.healthy(100)
        over.set()
        for t in threads:
            t.join(120)
        self.assertEqual(len(took), 100)
        self.assertIsNone(self.gateway.child.poll())


if __name__ == "__main__":
    start()
