#!/usr/bin/env python3
"""Requests whose reply has no reasoning (embeddings and the like) pass to the provider of their
model and come back unchanged.

    test/e2e/pass_on_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import gzip
import http.client
import json
import socket
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from asking import start
from command import BINARY
from gateway import BASES, Gateway, digest, until

PROVIDER_KEY = "upstream-key"
KEYS = {"all": {}, "narrow": {"models": ["ollama-m"]}, "slow": {"rpm": 1}}


class Upstream:
    """Records requests unchanged; sends the reply that a test sets."""

    def __init__(self):
        self.asked, self.reply, self.coding = [], (200, "application/json", b"{}"), None
        self.may_answer = threading.Event()
        self.may_answer.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                outer.may_answer.wait()
                status, kind, reply = outer.reply
                self.send_response_only(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(reply)))
                if outer.coding:
                    self.send_header("content-encoding", outer.coding)
                self.send_header("x-request-id", "req-1")
                self.send_header("x-ratelimit-remaining-requests", "9")
                self.end_headers()
                with contextlib.suppress(OSError):  # a client has disconnected
                    self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.up = Upstream()
        cls.gateway = Gateway(BINARY, {
            "providers": {f"p-{kind}": {"kind": kind, "base_url": cls.up.root + BASES[kind],
                                        "models": {f"{kind}-m": "m"}, "api_key_env": "UPSTREAM_KEY"}
                          for kind in ("openai", "responses", "anthropic", "gemini", "ollama")} |
                         {"gone": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1",
                                   "models": ["gone-m"]},
                          "secret": {"kind": "openai", "base_url": cls.up.root, "models": ["no-key"],
                                     "api_key_env": "UNSET_FOR_SURE"}},
            "keys": [{"name": name, "sha256": digest(f"sk-{name}-0123456789"), **more}
                     for name, more in KEYS.items()]}).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.up.server.shutdown()

    def setUp(self):
        self.up.asked, self.up.reply, self.up.coding = [], (200, "application/json", b"{}"), None

    def send(self, path, body, key="all", headers=()):
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=120)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        c.request("POST", path, data, {"authorization": f"Bearer sk-{key}-0123456789",
                                       "content-type": "application/json", **dict(headers)})
        r = c.getresponse()
        got = r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        c.close()
        return got

    def refused(self, status, code, path, body, **more):
        got = self.send(path, body, **more)
        self.assertEqual((got[0], json.loads(got[2])["error"]["code"]), (status, code), got[2])
        self.assertEqual(self.up.asked, [])
        return got


class Passing(Case):
    def test_a_request_and_its_reply_are_the_provider_s_and_the_client_s(self):
        body = b'{ "input" : ["a\\u00e9", "\\ud83d\\ude00"],"model":"openai-m" , "dimensions":1e1,"x":{"y":1.0} }'
        reply = b'{ "data":[ {"embedding":[1.0,-2e-7]}] ,"z":null}\n'
        self.up.reply = 200, "application/json; charset=x", reply
        status, headers, said = self.send("/v1/embeddings?a=b&key=k", body,
                                          headers=[("OpenAI-Organization", "o"), ("X-New", "n")])
        self.assertEqual((status, said), (200, reply))
        self.assertEqual(headers["content-type"], "application/json; charset=x")
        self.assertEqual(headers["x-request-id"], "req-1")
        self.assertEqual(headers["x-ratelimit-remaining-requests"], "9")
        (path, asked, got), = self.up.asked
        self.assertEqual(path, "/v1/embeddings?a=b")
        self.assertEqual(got, body.replace(b'"openai-m"', b'"m"'))
        self.assertEqual(asked["authorization"], f"Bearer {PROVIDER_KEY}")
        self.assertEqual((asked["openai-organization"], asked["x-new"]), ("o", "n"))
        self.assertNotIn("0123456789", str(asked))

    def test_each_dialect_has_its_paths(self):
        for path, model, want in (
                ("/v1/moderations", "openai-m", "/v1/moderations"),
                ("/v1/rerank", "responses-m", "/v1/rerank"),
                ("/v1/images/generations", "openai-m", "/v1/images/generations"),
                ("/api/embed", "ollama-m", "/api/embed"),
                ("/api/embeddings", "ollama-m", "/api/embeddings"),
                ("/v1beta/models/gemini-m:embedContent", None, "/v1beta/models/m:embedContent"),
                ("/v1/models/gemini-m:batchEmbedContents", None,
                 "/v1beta/models/m:batchEmbedContents")):
            with self.subTest(path):
                self.up.asked = []
                status, _, said = self.send(path, {"model": model, "input": "x"} if model else
                                            {"content": {"parts": [{"text": "x"}]}})
                self.assertEqual((status, said), (200, b"{}"))
                self.assertEqual(self.up.asked[0][0], want)

    def test_large_replies_and_bytes_of_any_kind_come_whole(self):
        for reply in (bytes(range(256)) * 80000, b""):
            self.up.reply = 200, "audio/mpeg", reply
            status, headers, said = self.send("/v1/audio/speech",
                                              {"model": "openai-m", "input": "x", "voice": "v"})
            self.assertEqual((status, headers["content-type"]), (200, "audio/mpeg"))
            self.assertTrue(said == reply)

    def test_a_client_may_leave_at_any_time(self):
        body = b'{"model":"openai-m"}'
        self.up.reply = 200, "application/json", b"x" * (8 << 20)
        for read in (0, 1000):
            self.up.asked = []
            if not read:
                self.up.may_answer.clear()
            c = socket.create_connection(("127.0.0.1", self.gateway.port), 60)
            c.sendall(b"POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
                      b"sk-all-0123456789\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            until(lambda: self.up.asked)
            if read:
                self.assertTrue(c.recv(read).startswith(b"HTTP/1.1 200"))
            c.close()
            self.up.may_answer.set()
        self.up.reply = 200, "application/json", b"{}"
        self.assertEqual(self.send("/v1/embeddings", body)[::2], (200, b"{}"))

    def test_an_error_is_the_provider_s_own(self):
        reply = b'{"error": {"message": "too long", "code": "context", "more": 1.0}}'
        for status in (400, 404, 429, 500):
            self.up.reply = status, "application/json", reply
            self.assertEqual(self.send("/v1/embeddings", {"model": "openai-m"})[::2],
                             (status, reply))

    def refused_upstream(self, given, seen, reply):
        self.up.reply = given, "text/plain", reply
        status, headers, said = self.send("/v1/embeddings", {"model": "openai-m"})
        self.assertEqual((status, headers.get("content-encoding")), (seen, None))
        self.assertIn(f'"p-openai" answered with status {given}', json.loads(said)["error"]["message"])

    def test_an_error_that_may_quote_the_provider_s_key_is_replaced(self):
        quoted = f"wrong key: {PROVIDER_KEY}".encode()
        self.refused_upstream(401, 401, quoted)
        for coding, reply in (("gzip", gzip.compress(quoted)), ("br", b"?"), ("identity, gzip", b"?")):
            self.up.coding = coding
            self.refused_upstream(401, 401, reply)
        self.up.coding, self.up.reply = "identity", (401, "text/plain", b"no")
        self.assertEqual(self.send("/v1/embeddings", {"model": "openai-m"})[::2], (401, b"no"))

    def test_a_status_that_http_does_not_have_is_a_bad_gateway(self):
        for status in (600, 999):
            self.refused_upstream(status, 502, b"{}")


class Refusing(Case):
    def test_what_cannot_be_passed_on_says_why(self):
        path = "/v1/embeddings"
        self.refused(400, "invalid_json", path, b"{")
        self.refused(400, "invalid_request", path, b'{"model":"openai-m","model":"ollama-m"}')
        self.refused(400, "invalid_request", path, {"input": "x"})  # two providers support this path
        self.refused(404, "model_not_found", path, {"model": "nobody"})
        self.refused(400, "not_supported", path, {"model": "anthropic-m"})
        self.refused(401, "provider_key_missing", path, {"model": "no-key"})
        self.refused(502, "upstream_error", path, {"model": "gone-m"})

    def test_a_key_has_its_models_and_its_limits(self):
        self.refused(403, "model_not_allowed", "/v1/embeddings", {"model": "openai-m"}, key="narrow")
        self.assertEqual(self.send("/api/embed", {"model": "ollama-m"}, key="narrow")[0], 200)
        self.assertEqual(self.send("/api/embed", {"model": "ollama-m"}, key="slow")[0], 200)
        self.up.asked = []
        got = self.send("/api/embed", {"model": "ollama-m"}, key="slow")
        self.assertEqual((got[0], self.up.asked), (429, []))
        self.assertGreater(int(got[1]["retry-after"]), 0)
        self.assertEqual(self.send("/v1/embeddings", {"model": "openai-m"}, key="wrong")[0], 401)


class Alone(Case):
    """One provider and no keys: the most common first configuration."""

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream()
        cls.gateway = Gateway(BINARY, {"providers": {"p": {"kind": "openai",
                                                           "base_url": cls.up.root + "/v1"}}}).__enter__()

    def test_no_model_need_be_listed_or_named(self):
        for body in (b'{"input":"x"}', b'{"input":"x", "model":"text-embedding-3-small"}'):
            self.up.asked = []
            self.assertEqual(self.send("/v1/moderations", body)[0], 200)
            self.assertEqual(self.up.asked[0][2], body)


if __name__ == "__main__":
    start()
