#!/usr/bin/env python3
"""A daemon with 32 streams is drained, reloaded and replaced, in plain text and with TLS.

    test/e2e/drain_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

Every accepted call is answered completely and recorded; an invalid configuration has no effect;
with a socket from systemd, a restart refuses no client.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import random
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import command
from gateway import Provider, until, upstream

BINARY = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.environ.get("RATIONALE", "")
STREAMS = 32
CHAT = {"model": "plain", "messages": [{"role": "user", "content": "hi"}]}


class Daemon:
    """`rationale serve` on an inherited socket, as from systemd, or on its own port."""

    def __init__(self, test, tls, given):
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-"))
        test.addCleanup(shutil.rmtree, self.folder, True)
        test.addCleanup(self.close)
        self.file, self.child, self.trust = self.folder / "c.yaml", None, None
        self.config = {"store": f"sqlite:{self.folder / 'calls.db'}", "providers": {
            "up": upstream(test.provider, "openai", ["plain", "long:40+slow:40", "long:400+slow:20"])}}
        if tls:
            self.certify()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.given = given
        if not given:
            self.listener.close()
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(self.folder / "notify"))
        self.notices.settimeout(120)
        self.log = self.folder / "log"

    def certify(self):
        key, cert = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.config["tls"] = {"cert": str(cert), "key": str(key)}
        self.trust = ssl.create_default_context(cafile=str(cert))

    def start(self):
        self.file.write_text(json.dumps(self.config))
        line = f'exec "$1" serve --config "$2" --listen 127.0.0.1:{self.port}'
        fds = ()
        if self.given:
            fds = (self.listener.fileno(),)
            line = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" serve --config "$2" 3<&{fds[0]}'
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                ["sh", "-c", line, "sh", BINARY, str(self.file)], pass_fds=fds, stdout=log, stderr=log,
                env={**os.environ, "UPSTREAM_KEY": "upstream-key",
                     "NOTIFY_SOCKET": str(self.folder / "notify")})
        self.notice(b"READY=1")
        return self

    def notice(self, text):
        got = self.notices.recv(1000)
        assert got.startswith(text), (got, self.log.read_text()[-3000:])

    def connect(self):
        if self.trust:
            return http.client.HTTPSConnection("localhost", self.port, timeout=120,
                                               context=self.trust)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, model="plain"):
        c = self.connect()
        try:
            c.request("POST", "/v1/chat/completions", json.dumps({**CHAT, "model": model}))
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def store_rest(self):
        """On a busy machine a daemon may end with calls in its journal; the next one stores them."""
        while self.child.poll() is not None and b"closed before all was in the tables" in self.log.read_bytes():
            self.log.unlink()
            while select.select([self.notices], [], [], 0)[0]:
                self.notices.recv(1000)
            self.start()
            self.child.terminate()
            assert self.child.wait(120) == 0, self.log.read_text()[-3000:]

    def rows(self):
        self.store_rest()
        db = sqlite3.connect(self.folder / "calls.db")
        rows = db.execute("SELECT interaction_id, complete FROM llm_interactions").fetchall()
        db.close()
        return rows

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.notices.close()
        self.listener.close()


class Stream(threading.Thread):
    """A running stream; at its end it has the received bytes."""

    def __init__(self, daemon, model):
        super().__init__(daemon=True)
        self.connection = daemon.connect()
        self.connection.request("POST", "/v1/chat/completions",
                                json.dumps({**CHAT, "model": model, "stream": True}))
        self.reply = self.connection.getresponse()
        self.id = self.reply.headers["x-rationale-id"]
        self.body = self.reply.readline()

    def run(self):
        try:
            self.body += self.reply.read()
        except http.client.IncompleteRead:
            pass
        self.connection.close()

    def done(self):
        self.join(120)
        return self.body.endswith(b"data: [DONE]\n\n")


class Caller(threading.Thread):
    """Sends calls in a loop, each on a new connection, until it is stopped."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_, self.over = daemon, threading.Event()
        self.good, self.bad = 0, []

    def run(self):
        while not self.over.is_set():
            try:
                status, body = self.daemon_.ask()
                if status == 200:
                    self.good += 1
                else:
                    self.bad.append((status, body))
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(repr(e))

    def stop(self):
        self.over.set()
        self.join(120)
        return self.bad


class Drain(unittest.TestCase):
    provider = None
    tls = False

    @classmethod
    def setUpClass(cls):
        if cls.tls and not shutil.which("openssl"):
            raise unittest.SkipTest("there is no openssl to make a certificate with")
        cls.provider = Provider(key="upstream-key")
        cls.provider.start()

    @classmethod
    def tearDownClass(cls):
        cls.provider.stop()

    def daemon(self, given=False):
        return Daemon(self, self.tls, given)

    def test_32_streams_end_well_and_nobody_else_comes_in(self):
        d = self.daemon().start()
        streams = [Stream(d, "long:40+slow:40") for _ in range(STREAMS)]
        for s in streams:
            s.start()
        d.child.send_signal(signal.SIGTERM)
        d.notice(b"STOPPING=1")

        def refused():
            try:
                socket.create_connection(("127.0.0.1", d.port), 5).close()
                return False
            except ConnectionResetError:  # it was in the backlog of the closed socket
                return False
            except ConnectionRefusedError:
                return True
        until(refused)
        self.assertEqual([s.id for s in streams if not s.done()], [])
        self.assertEqual(d.child.wait(120), 0)
        self.assertEqual(sorted(d.rows()), sorted((s.id, 1) for s in streams))

    def test_what_does_not_end_in_time_is_cut_and_on_record(self):
        d = self.daemon()
        d.config["timeouts"] = {"drain": "300ms"}
        d.start()
        streams = [Stream(d, "long:400+slow:20") for _ in range(STREAMS)]
        for s in streams:
            s.start()
        begun = time.monotonic()
        d.child.send_signal(signal.SIGTERM)
        self.assertEqual(d.child.wait(60), 0)
        self.assertLess(time.monotonic() - begun, 7)
        self.assertFalse(any(s.done() for s in streams))
        self.assertEqual(sorted(i for i, _ in d.rows()), sorted(s.id for s in streams))

    def test_a_bad_configuration_changes_nothing(self):
        d = self.daemon().start()
        streams = [Stream(d, "long:40+slow:40") for _ in range(STREAMS)]
        for s in streams:
            s.start()
        caller = Caller(d)
        caller.start()
        good = d.file.read_text()
        chance = random.Random(4)
        for n in range(12):
            at = chance.randrange(len(good))
            bad = (good[:at], good[:at] + "\0{" + good[at:], good.replace("up", "up\udc80", 1),
                   good.replace("providers", "provders"), "", "[]")[n % 6]
            d.file.write_bytes(bad.encode(errors="surrogateescape"))
            d.child.send_signal(signal.SIGHUP)
            d.notice(b"RELOADING=1")
            d.notice(b"READY=1")
        self.assertEqual(caller.stop(), [])
        self.assertGreater(caller.good, 0)
        self.assertEqual([s.id for s in streams if not s.done()], [])
        self.assertEqual(d.log.read_text().count("the old one stays in force"), 12)
        d.config["providers"]["up"]["models"] = ["plain"]
        d.file.write_text(json.dumps(d.config))
        d.child.send_signal(signal.SIGHUP)
        d.notice(b"RELOADING=1")
        d.notice(b"READY=1")
        until(lambda: d.ask("long:40+slow:40")[0] == 404)
        self.assertEqual(d.ask()[0], 200)

    def test_a_restart_on_a_socket_of_systemd_turns_nobody_away(self):
        d = self.daemon(given=True).start()
        callers = [Caller(d) for _ in range(8)]
        for c in callers:
            c.start()
        for _ in range(3):
            streams = [Stream(d, "long:40+slow:40") for _ in range(STREAMS)]
            for s in streams:
                s.start()
            d.child.send_signal(signal.SIGTERM)
            self.assertEqual(d.child.wait(120), 0)
            self.assertEqual([s.id for s in streams if not s.done()], [])
            d.notice(b"STOPPING=1")
            d.start()
        self.assertEqual([c.stop() for c in callers], [[]] * len(callers))
        d.child.send_signal(signal.SIGTERM)
        self.assertEqual(d.child.wait(120), 0)
        rows = d.rows()
        self.assertEqual(len(rows), 3 * STREAMS + sum(c.good for c in callers))
        self.assertTrue(all(complete for _, complete in rows))


class DrainWithTls(Drain):
    tls = True


if __name__ == "__main__":
    command.main()
