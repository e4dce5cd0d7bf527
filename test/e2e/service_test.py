#!/usr/bin/env python3
"""The daemon as a service: systemd's sockets and notices, TLS, draining, sizes of streams."""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import command
from gateway import Gateway, Provider, upstream

BINARY = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.environ.get("RATIONALE", "")
CHAT = {"model": "plain", "messages": [{"role": "user", "content": "hi"}]}


def config(provider, **more):
    return {"store": "none", "providers": {
        "up": upstream(provider, "openai", ["plain", "think", "long:40+slow:50"])}, **more}


def wait_for(what, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        got = what()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


class Service(unittest.TestCase):
    def setUp(self):
        self.provider = Provider(key="upstream-key")
        self.provider.start()
        self.addCleanup(self.provider.stop)
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.file = self.folder / "c.yaml"

    def run_with(self, shell, env=None, fds=(), **more):
        """Starts it by a shell line in which $1 is the binary and $2 the configuration."""
        self.file.write_text(json.dumps(config(self.provider, **more)))
        child = subprocess.Popen(["sh", "-c", shell, "sh", BINARY, str(self.file)],
                                 env={**os.environ, "UPSTREAM_KEY": "upstream-key", **(env or {})},
                                 pass_fds=fds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_it_tells_systemd_when_it_is_ready_reloads_and_stops(self):
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(str(self.folder / "notify"))
        notices.settimeout(120)
        self.addCleanup(notices.close)
        child = self.run_with('exec "$1" serve --config "$2" --listen 127.0.0.1:0',
                              {"NOTIFY_SOCKET": str(self.folder / "notify")})
        self.assertEqual(notices.recv(100), b"READY=1")
        child.send_signal(signal.SIGHUP)
        self.assertTrue(notices.recv(100).startswith(b"RELOADING=1"))
        self.assertEqual(notices.recv(100), b"READY=1")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(notices.recv(100), b"STOPPING=1")
        self.assertEqual(child.wait(120), 0)

    def test_it_takes_the_socket_that_systemd_gives_it(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        port = server.getsockname()[1]
        fd = server.fileno()
        self.run_with(f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" serve --config "$2" 3<&{fd}', fds=(fd,))
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)  # the backlog waits for it
        c.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        self.assertEqual(c.getresponse().status, 200)
        c.close()

    def test_it_speaks_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate with")
        key, cert = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1]
        server.close()
        self.run_with(f'exec "$1" serve --config "$2" --listen 127.0.0.1:{port}',
                      tls={"cert": str(cert), "key": str(key)})
        trust = ssl.create_default_context(cafile=str(cert))

        def ask():
            c = http.client.HTTPSConnection("localhost", port, timeout=120, context=trust)
            try:
                c.request("POST", "/v1/chat/completions", json.dumps({**CHAT, "stream": True}))
                reply = c.getresponse()
                return reply.status, reply.read()
            except ConnectionRefusedError:
                return None
            finally:
                c.close()

        status, body = wait_for(ask)
        self.assertEqual(status, 200)
        self.assertTrue(body.endswith(b"data: [DONE]\n\n"))

    def test_without_keys_pages_of_other_sites_are_refused(self):
        with Gateway(BINARY, config(self.provider)) as gateway:
            ours = f"127.0.0.1:{gateway.port}"
            for origin, host, status in (("http://evil.example", ours, 403), ("null", ours, 403),
                                         ("http://evil.example", "evil.example", 403),
                                         (f"http://{ours}", ours, 200), (None, ours, 200)):
                c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
                c.putrequest("POST", "/v1/chat/completions", skip_host=True)
                c.putheader("host", host)
                if origin:
                    c.putheader("origin", origin)
                body = json.dumps(CHAT).encode()
                c.putheader("content-length", str(len(body)))
                c.endheaders(body)
                self.assertEqual(c.getresponse().status, status, (origin, host))
                c.close()

    def test_a_second_one_does_not_share_the_port(self):
        with Gateway(BINARY, config(self.provider)) as gateway:
            self.file.write_text(json.dumps(config(self.provider)))
            done = subprocess.run([BINARY, "serve", "--config", str(self.file), "--listen",
                                   f"127.0.0.1:{gateway.port}"], capture_output=True, timeout=120,
                                  env={**os.environ, "UPSTREAM_KEY": "k"}, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"in use", done.stderr)

    def test_a_log_that_nobody_reads_stops_nothing(self):
        self.file.write_text(json.dumps(config(self.provider)))
        child = subprocess.Popen([BINARY, "serve", "--config", str(self.file), "--listen",
                                  "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "UPSTREAM_KEY": "upstream-key"}, text=True)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        port = int(child.stdout.readline().rsplit(":", 1)[1])
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for _ in range(1500):  # far more lines than a pipe holds
            c.request("GET", "/v1/models")
            reply = c.getresponse()
            reply.read()
            self.assertEqual(reply.status, 200)
        c.close()

    def test_a_running_stream_is_finished_before_it_leaves(self):
        with Gateway(BINARY, config(self.provider)) as gateway:
            c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
            c.request("POST", "/v1/chat/completions",
                      json.dumps({**CHAT, "model": "long:40+slow:50", "stream": True}))
            reply = c.getresponse()
            reply.readline()
            gateway.signal(signal.SIGTERM)
            with self.assertRaises(OSError):  # nobody else comes in
                for _ in range(200):
                    socket.create_connection(("127.0.0.1", gateway.port), 5).close()
                    time.sleep(0.01)
            self.assertTrue(reply.read().endswith(b"data: [DONE]\n\n"))
            c.close()
            self.assertEqual(gateway.child.wait(120), 0)


if __name__ == "__main__":
    command.main()
