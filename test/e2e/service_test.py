#!/usr/bin/env python3
"""The daemon as a service: systemd's sockets and notices, TLS, draining, sizes of streams."""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import re
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
from gateway import Gateway, Provider, digest, upstream

BINARY = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.environ.get("RATIONALE", "")
# Passes sockets as systemd does, from descriptor 3 on.
GIVE = """
import fcntl, os, sys
fds = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[3:]]
for n, fd in enumerate(fds):
    os.dup2(fd, 3 + n)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
os.execv(sys.argv[1], [sys.argv[1], "serve", "--config", sys.argv[2]])
"""
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


def own_address():
    """An address of this machine that is not loopback, or None; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return None if s.getsockname()[0].startswith("127.") else s.getsockname()[0]
        except OSError:
            return None


def certificate(folder, name):
    """A self-signed (certificate, key) for this machine."""
    cert, key = folder / f"{name}-cert.pem", folder / f"{name}-key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cert, key


def use(pair, tls):
    """Copies a certificate and its key to the configured paths."""
    shutil.copy(pair[0], tls["cert"])
    shutil.copy(pair[1], tls["key"])


class TlsGateway(Gateway):
    def answers(self, before):
        """Only checks the log: with TLS the base class cannot connect."""
        found = re.search(rb"listening on https://127\.0\.0\.1:(\d+)", self.log.read_bytes()[before:])
        self.port = int(found[1]) if found else 0
        return bool(found)


class Service(unittest.TestCase):
    def setUp(self):
        self.provider = Provider(key="upstream-key")
        self.provider.start()
        self.addCleanup(self.provider.stop)
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.file = self.folder / "c.yaml"

    def run_with(self, shell, env=None, fds=(), **more):
        """Starts the gateway by a shell line in which $1 is the binary and $2 the configuration."""
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

    def test_it_tells_systemd_that_it_runs_and_nothing_if_it_hangs_or_is_not_watched(self):
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(str(self.folder / "notify"))
        self.addCleanup(notices.close)
        serve = 'exec "$1" serve --config "$2" --listen 127.0.0.1:0'
        env = {"NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": "200000"}
        for watched in (True, False):
            notices.settimeout(120)
            child = self.run_with(("export WATCHDOG_PID=$$; " if watched else "") + serve,
                                  {**env, **({} if watched else {"WATCHDOG_PID": "1"})})
            self.assertEqual(notices.recv(100), b"READY=1")
            if watched:
                for _ in range(5):
                    self.assertEqual(notices.recv(100), b"WATCHDOG=1")
                child.send_signal(signal.SIGSTOP)
                wait_for(lambda: "T" in Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[0])
                self.empty(notices)
            notices.settimeout(1)
            with self.assertRaises(TimeoutError):
                notices.recv(100)
            notices.settimeout(120)
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGTERM)
            while notices.recv(100) != b"STOPPING=1":
                self.assertTrue(watched)
            self.assertEqual(child.wait(120), 0)
            self.empty(notices)

    @staticmethod
    def empty(notices):
        notices.settimeout(0)
        try:
            while notices.recv(100):
                pass
        except BlockingIOError:
            pass

    def test_it_takes_the_socket_that_systemd_gives_it(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        port = server.getsockname()[1]
        fd = server.fileno()
        self.run_with(f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" serve --config "$2" 3<&{fd}', fds=(fd,))
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)  # queued in the backlog
        c.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        self.assertEqual(c.getresponse().status, 200)
        c.close()

    def test_it_serves_every_socket_that_it_is_given(self):
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
        self.file.write_text(json.dumps(config(self.provider, threads=2)))
        child = subprocess.Popen(
            [sys.executable, "-c", GIVE, BINARY, str(self.file), *(str(s.fileno()) for s in servers)],
            env={**os.environ, "UPSTREAM_KEY": "upstream-key"},
            pass_fds=[s.fileno() for s in servers], stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for s in servers:
            self.addCleanup(s.close)
            c = http.client.HTTPConnection("127.0.0.1", s.getsockname()[1], timeout=120)
            c.request("GET", "/v1/models")
            self.assertEqual(c.getresponse().status, 200)
            c.close()
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(120), 0)

    def test_what_does_not_listen_is_no_socket_to_serve(self):
        pair = socket.socketpair()
        fd = pair[0].fileno()
        child = self.run_with(f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" serve --config "$2" 3<&{fd}',
                              fds=(fd,))
        self.assertNotEqual(child.wait(120), 0)
        for end in pair:
            end.close()

    def test_without_keys_nobody_else_is_answered_on_any_socket(self):
        ours = own_address()
        if not ours:
            self.skipTest("this machine has no address but loopback")
        server = socket.create_server(("0.0.0.0", 0))
        self.addCleanup(server.close)
        port, fd = server.getsockname()[1], server.fileno()
        key = {"authorization": "Bearer the-key"}
        keys = [{"name": "a", "sha256": digest("the-key")}]
        child = self.run_with(f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$1" serve --config "$2" 3<&{fd}',
                              fds=(fd,), keys=keys)

        def status(host, path="/v1/models", headers=key, source=None):
            c = http.client.HTTPConnection(host, port, timeout=120, source_address=source and (source, 0))
            c.request("GET", path, headers=headers)
            try:
                return c.getresponse().status
            finally:
                c.close()

        self.assertEqual([status(ours), status("127.0.0.1")], [200, 200])
        self.file.write_text(json.dumps(config(self.provider)))
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: status("127.0.0.1", headers={}) == 200)
        # A peer with another address than the one it connects to counts as another machine.
        for path in ("/v1/models", "/health", "/metrics", "/"):
            self.assertEqual([status("127.0.0.1", path, source=ours), status("127.0.0.1", path), status(ours, path)],
                             [403, 200, 200], path)

    def test_it_speaks_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate with")
        cert, key = certificate(self.folder, "localhost")
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

    def test_a_certificate_out_of_date_is_a_warning(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate with")
        tls = {"cert": str(self.folder / "cert.pem"), "key": str(self.folder / "key.pem")}
        pair = certificate(self.folder, "one")
        use(pair, tls)
        with TlsGateway(BINARY, config(self.provider, tls=tls)) as gateway:
            check = [BINARY, "config", "check", str(gateway.path)]
            done = subprocess.run(check, capture_output=True, text=True, check=True, env=gateway.env)
            self.assertNotIn("certificate", gateway.log_tail() + done.stderr)
            subprocess.run(["openssl", "x509", "-in", pair[0], "-signkey", pair[1], "-days", "-1", "-out", tls["cert"]],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            done = subprocess.run(check, capture_output=True, text=True, check=True, env=gateway.env)
            self.assertRegex(done.stderr, r"tls.cert: the certificate in .*/cert.pem expired on 2.* UTC, so clients refuse it")
            gateway.signal(signal.SIGHUP)
            wait_for(lambda: "expired on" in gateway.log_tail())
            shutil.copy(pair[0], tls["key"])
            done = subprocess.run(check, capture_output=True, text=True, check=False, env=gateway.env)
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"no private key can be read from {tls['key']}", done.stderr)

    def test_a_reload_brings_a_new_certificate_and_new_ceilings(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate with")
        tls = {"cert": str(self.folder / "cert.pem"), "key": str(self.folder / "key.pem")}
        names = [certificate(self.folder, name) for name in ("one", "two")]
        more = {"tls": tls, "body_max": "64KiB"}
        use(names[0], tls)
        with TlsGateway(BINARY, config(self.provider, **more)) as gateway:
            trust = ssl.create_default_context()
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE

            def shown():
                with socket.create_connection(("127.0.0.1", gateway.port), 120) as s, \
                        trust.wrap_socket(s) as t:
                    return ssl.DER_cert_to_PEM_cert(t.getpeercert(True))

            def post(c, size):
                c.request("POST", "/v1/chat/completions", json.dumps(
                    {**CHAT, "messages": [{"role": "user", "content": "x" * size}]}))
                reply = c.getresponse()
                reply.read()
                return reply.status

            kept = http.client.HTTPSConnection("127.0.0.1", gateway.port, timeout=120,
                                               context=trust)
            self.assertEqual(post(kept, 100), 200)
            self.assertEqual(shown(), names[0][0].read_text())
            use((names[1][0], names[0][1]), tls)  # the key of another certificate
            gateway.signal(signal.SIGHUP)
            wait_for(lambda: "the old one stays in force" in gateway.log_tail())
            self.assertEqual(shown(), names[0][0].read_text())
            use(names[1], tls)
            gateway.reload({**gateway.config, "body_max": "200KiB", "threads": 1,
                            "otlp": {"headers": {"x-token": "new"}}})
            wait_for(lambda: shown() == names[1][0].read_text())
            self.assertIn('next start" what="threads, otlp.headers"\n', gateway.log_tail())
            self.assertEqual([post(kept, 100000), post(kept, 300000)], [200, 413])
            kept.close()

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
        for _ in range(1500):  # many more lines than a pipe can hold
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
            with self.assertRaises(OSError):  # new connections are refused
                for _ in range(200):
                    socket.create_connection(("127.0.0.1", gateway.port), 5).close()
                    time.sleep(0.01)
            self.assertTrue(reply.read().endswith(b"data: [DONE]\n\n"))
            c.close()
            self.assertEqual(gateway.child.wait(120), 0)


if __name__ == "__main__":
    command.main()
