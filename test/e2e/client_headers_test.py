#!/usr/bin/env python3
"""Headers and query parameters that pass between client and provider, in both directions.

    test/e2e/client_headers_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import socket
import threading
import unittest
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from asking import start
from command import BINARY
from gateway import BASES, Gateway, digest

CLIENT_KEY, PROVIDER_KEY = "sk-client-0123456789", "upstream-key"
KINDS = ("openai", "responses", "anthropic", "gemini", "ollama")
PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses",
         "anthropic": "/v1/messages", "ollama": "/api/chat"}
MESSAGES = [{"role": "user", "content": "hi"}]

Reply = namedtuple("Reply", "status headers body")

# Whole replies, and streams with the same content.
WHOLE = {
    "openai": {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
    "responses": {"id": "r1", "object": "response", "created_at": 1, "status": "completed",
                  "model": "m", "output": [{"type": "message", "id": "m1", "role": "assistant",
                                            "status": "completed", "content": [
                                                {"type": "output_text", "text": "Yes.",
                                                 "annotations": []}]}],
                  "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}},
    "anthropic": {"id": "a1", "type": "message", "role": "assistant", "model": "m", "content": [
        {"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]},
                               "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}},
    "ollama": {"model": "m", "message": {"role": "assistant", "content": "Yes."}, "done": True,
               "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1},
}


def stream_of(kind):
    """The same reply as a stream, and its content type."""
    def sse(*events):
        return "".join((f"event: {n}\n" if n else "") + f"data: {json.dumps(d)}\n\n"
                       for n, d in events)
    whole = WHOLE[kind]
    if kind == "openai":
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return sse(("", {**chunk, "choices": [{"index": 0, "delta": {
            "role": "assistant", "content": "Yes."}, "finish_reason": None}]}),
            ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})) \
            + "data: [DONE]\n\n"
    if kind == "responses":
        return sse(("response.completed", {"type": "response.completed", "sequence_number": 0,
                                           "response": whole}))
    if kind == "anthropic":
        return sse(
            ("message_start", {"type": "message_start", "message": {**whole, "content": []}}),
            ("content_block_start", {"type": "content_block_start", "index": 0,
                                     "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {
                "type": "text_delta", "text": "Yes."}}),
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                               "usage": {"output_tokens": 1}}),
            ("message_stop", {"type": "message_stop"}))
    return json.dumps(whole) + "\n" if kind == "ollama" else sse(("", whole))


def kind_of(path):
    path = path.split("?")[0]
    if "/models/" in path:
        return "gemini"
    return next(k for k, p in PATHS.items() if path.startswith(p) or path.endswith(p[3:]))


class Upstream:
    """Every kind of provider: records paths and headers, and answers with the status and headers
    that the test sets."""

    def __init__(self):
        self.asked, self.headers, self.statuses = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append((self.path, [(k.lower(), v) for k, v in self.headers.items()]))
                status = outer.statuses.pop(0) if outer.statuses else 200
                kind, reply = outer.answer(self.path, body, status)
                self.send_response_only(status)
                size = [("content-length", str(len(reply)))] if isinstance(reply, bytes) else \
                    [("connection", "close")]
                for k, v in [("content-type", kind), *size, *outer.headers,
                             ("x-attempt", str(len(outer.asked)))]:
                    self.send_header(k, v)
                self.end_headers()
                for piece in [reply] if isinstance(reply, bytes) else reply:
                    self.wfile.write(piece)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path, body, status):
        kind = kind_of(path)
        if status != 200:
            return "application/json", json.dumps({"type": "error", "error": {
                "type": "t", "code": status, "message": "no"}}).encode()
        if "count_tokens" in path or "countTokens" in path:
            return "application/json", b'{"input_tokens": 7, "totalTokens": 7}'
        if body.get("stream") or "streamGenerate" in path:
            ndjson = kind == "ollama"
            return "application/x-ndjson" if ndjson else "text/event-stream", \
                stream_of(kind).encode()
        return "application/json", json.dumps(WHOLE[kind]).encode()


# Headers that every client may send and a provider of the same dialect receives; repeated ones keep
# their order.
PASSES = [("User-Agent", "claude-cli/2.1.0 (external, cli)"), ("X-App", "cli"),
          ("X-Codex-Turn-Metadata", '{"a": "b"}'), ("session_id", "s-1"), ("originator", "codex"),
          ("HTTP-Referer", "https://app.example"), ("X-Title", "App"), ("X-Unknown", "one"),
          ("X-Unknown", "two"), ("Idempotency-Key", "i-1"), ("X-Client-Request-Id", "r-1"),
          ("Accept-Language", "*"), ("baggage", "k=v")]
OWN = [("Anthropic-Beta", "a-2025"), ("anthropic-beta", "b-2025"), ("anthropic-version", "2023-06-01"),
       ("anthropic-dangerous-direct-browser-access", "true"), ("OpenAI-Beta", "r=1"),
       ("OpenAI-Organization", "org-1"), ("openai-project", "p"), ("X-Stainless-Lang", "js"),
       ("X-Stainless-Retry-Count", "0"), ("x-goog-api-client", "g/1"), ("x-goog-user-project", "q")]
STAYS = [("Accept", "application/json"), ("Accept-Encoding", "gzip, br"), ("Cookie", "c=S3CRET"),
         ("api-key", "S3CRET"), ("X-Auth-Token", "S3CRET"), ("Helicone-Auth", "Bearer S3CRET"),
         ("Ocp-Apim-Subscription-Key", "S3CRET"), ("X-Vault-Token", "S3CRET"),
         ("cf-access-client-secret", "S3CRET"), ("X-Amz-Security-Token", "S3CRET"),
         ("X-Goog-Iam-Authorization-Token", "S3CRET"), ("chatgpt-account-id", "S3CRET"),
         ("Proxy-Authorization", "Basic S3CRET"), ("TE", "trailers"), ("Keep-Alive", "timeout=5"),
         ("X-Hop", "1"), ("Connection", "keep-alive, X-Hop"), ("X-Forwarded-For", "10.1.2.3"),
         ("Forwarded", "for=10.1.2.3"), ("Via", "1.1 x"), ("X-Real-IP", "10.1.2.3"),
         ("CF-Connecting-IP", "10.1.2.3"), ("Referer", "https://page.example"),
         ("Sec-Fetch-Mode", "cors"), ("tracestate", "v=1"), ("x-rationale-session", "s"),
         ("X-Rationale-Anything", "1"), ("Content-MD5", "x"), ("Max-Forwards", "1")]


class Case(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream()
        cls.providers = {}
        for kind in (*KINDS, "mistral"):
            base = cls.up.root + ("/v1" if kind == "mistral" else BASES[kind])
            cls.providers[f"p-{kind}"] = {"kind": kind, "base_url": base, "retries": 0,
                                          "models": {f"{kind}-m": "m"},
                                          "api_key_env": "UPSTREAM_KEY"}
        cls.gateway = Gateway(BINARY, {**cls.config(), "keys": [
            {"name": "all", "sha256": digest(CLIENT_KEY)}]}).__enter__()

    @classmethod
    def config(cls):
        return {"providers": cls.providers}

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.up.server.shutdown()

    def setUp(self):
        self.up.asked, self.up.headers, self.up.statuses = [], [], []

    def send(self, path, body, headers=(), key=True, begun=None):
        """begun: called after the first part of the reply."""
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        data = json.dumps(body).encode()
        c.putrequest("POST", path, skip_accept_encoding=True)
        lines = [("content-type", "application/json"), ("content-length", str(len(data))), *headers]
        for name, value in lines + ([("authorization", f"Bearer {CLIENT_KEY}")] if key else []):
            c.putheader(name, value)
        c.endheaders(data)
        r = c.getresponse()
        some = r.read1(1) if begun else b""
        if begun:
            begun()
        got = Reply(r.status, [(k.lower(), v) for k, v in r.getheaders()], some + r.read())
        c.close()
        return got

    def ask(self, client, model, stream=False, headers=(), query="", **more):
        """A call in a client's dialect; query: the text after the question mark."""
        path, body = PATHS.get(client), {"model": model, "stream": stream, "messages": MESSAGES}
        if client == "gemini":
            path = f"/v1beta/models/{model}:" + ("streamGenerateContent" if stream else
                                                 "generateContent")
            body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
            query = "&".join(filter(None, ["alt=sse" if stream else "", query]))
        if client == "responses":
            body = {"model": model, "stream": stream, "input": "hi"}
        if client == "anthropic":
            body["max_tokens"] = 100
        return self.send(path + (f"?{query}" if query else ""), body, headers, **more)

    def ok(self, reply):
        self.assertEqual(reply.status, 200, reply.body[:2000])
        return reply


def lower(pairs):
    return [(k.lower(), v) for k, v in pairs]


class Requests(Case):
    def test_a_provider_of_the_same_dialect_sees_the_clients_headers(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    self.ok(self.ask(kind, f"{kind}-m", stream, PASSES + OWN + STAYS))
                    _, seen = self.up.asked[-1]
                    sent = lower(PASSES + OWN)
                    self.assertEqual([h for h in seen if h in sent], sent)
                    ours = {k for k, _ in lower(STAYS)} - {"accept", "accept-encoding", "connection",
                                                          "tracestate", "api-key"}
                    self.assertFalse(ours & {k for k, _ in seen}, seen)
                    self.assertNotIn("S3CRET", str(seen))
                    self.assertNotIn("10.1.2.3", str(seen))
                    self.assertNotIn(CLIENT_KEY, str(seen))
                    for name in ("content-type", "accept", "accept-encoding", "user-agent", "host",
                                 "content-length", "traceparent"):
                        self.assertEqual([k for k, _ in seen].count(name), 1, (name, seen))
                    self.assertIn(("accept-encoding", "identity"), seen)

    def test_a_provider_of_another_dialect_sees_only_the_neutral_ones(self):
        for client in KINDS:
            for kind in (*KINDS, "mistral"):
                if kind == client:
                    continue
                with self.subTest(client, kind=kind):
                    self.ok(self.ask(client, f"{kind}-m", False, PASSES + OWN + STAYS, "beta=true"))
                    path, seen = self.up.asked[-1]
                    self.assertNotIn("beta=true", path)
                    sent = lower(PASSES)
                    self.assertEqual([h for h in seen if h in sent], sent)
                    own = {k for k, _ in lower(OWN)}
                    if kind == "anthropic":
                        self.assertIn(("anthropic-version", "2023-06-01"), seen)
                        own.remove("anthropic-version")
                    self.assertFalse(own & {k for k, _ in seen}, seen)
                    self.assertNotIn("S3CRET", str(seen))

    def test_a_client_without_a_name_is_called_by_ours(self):
        self.ok(self.ask("openai", "openai-m"))
        agent = [v for k, v in self.up.asked[-1][1] if k == "user-agent"]
        self.assertEqual(len(agent), 1)
        self.assertTrue(agent[0].startswith("rationale/"), agent)

    def test_anthropics_version_is_the_clients_or_ours(self):
        for given, seen in (((), "2023-06-01"), ((("anthropic-version", "2099-01-01"),), "2099-01-01")):
            self.ok(self.ask("anthropic", "anthropic-m", False, given))
            got = [v for k, v in self.up.asked[-1][1] if k == "anthropic-version"]
            self.assertEqual(got, [seen])

    def test_the_query_reaches_a_provider_of_the_same_dialect(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    self.ok(self.ask(kind, f"{kind}-m", stream, query="beta=true&x=%2F+a&&y"))
                    query = self.up.asked[-1][0].partition("?")[2]
                    own = "alt=sse&" if kind == "gemini" and stream else ""
                    self.assertEqual(query, own + "beta=true&x=%2F+a&y")

    def test_credentials_in_the_query_stay_here(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    self.ok(self.ask(kind, f"{kind}-m", stream, query="key=S3CRET&k%65y=S3CRET&"
                                     "access_token=S3CRET&API_KEY=S3CRET&a=1&%61piKey=S3CRET&alt=x&"
                                     + "n" * 200 + "key=S3CRET"))
                    path = self.up.asked[-1][0]
                    self.assertNotIn("S3CRET", path)
                    own = "alt=sse&" if kind == "gemini" and stream else ""
                    self.assertTrue(path.endswith("?" + own + "a=1"), path)

    def test_geminis_key_in_the_query_is_known_here_and_nowhere_else(self):
        for name in ("key", "k%65y"):
            self.ok(self.ask("gemini", "gemini-m", query=f"{name}={CLIENT_KEY}&b=1", key=False))
            path, seen = self.up.asked[-1]
            self.assertTrue(path.endswith(":generateContent?b=1"), path)
            self.assertIn(("x-goog-api-key", PROVIDER_KEY), seen)
            self.assertNotIn(CLIENT_KEY, str(seen))

    def test_nothing_of_it_is_logged_or_recorded(self):
        mark = "hdr-7e1f"
        self.ok(self.ask("openai", "openai-m", False, [("X-Unknown", mark)], f"q={mark}&key={mark}"))
        self.assertIn(mark, str(self.up.asked[-1]))
        self.ok(self.ask("openai", "openai-m"))  # the first call's log lines are written by now
        for file in self.gateway.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(mark.encode(), file.read_bytes(), file)

    def test_what_is_too_much_is_refused_and_says_why(self):
        r = self.ask("openai", "openai-m", False, [("x-long", "l" * 17000)])
        self.assertEqual(r.status, 413, r.body)
        self.assertIn(b"the request's headers: larger than 16384 bytes", r.body)
        r = self.ask("openai", "openai-m", query="q=" + "l" * 5000)
        self.assertEqual(r.status, 413, r.body)
        self.assertIn(b"the query: larger than 4096 bytes", r.body)
        r = self.ask("openai", "openai-m", False, [
            ("connection", ", ".join(f"x-{i}" for i in range(17)))])
        self.assertEqual(r.status, 400, r.body)
        self.assertIn(b"connection: lists more than 16 headers", r.body)
        self.assertEqual(self.up.asked, [])

    def test_counting_tokens_sends_them_too(self):
        self.up.headers = [("request-id", "req_7"), ("set-cookie", "a=b")]
        cases = (("/v1/messages/count_tokens?beta=true&key=S3CRET", {
            "model": "anthropic-m", "messages": MESSAGES}, "/v1/messages/count_tokens?beta=true"),
            ("/v1beta/models/gemini-m:countTokens?a=1&key=S3CRET", {
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
             "/v1beta/models/m:countTokens?a=1"))
        for path, body, want in cases:
            r = self.ok(self.send(path, body, PASSES + OWN + STAYS))
            got, seen = self.up.asked[-1]
            self.assertEqual(got, want)
            sent = lower(PASSES + OWN)
            self.assertEqual([h for h in seen if h in sent], sent)
            self.assertNotIn("S3CRET", str(seen))
            self.assertIn(("request-id", "req_7"), r.headers)
            self.assertNotIn("set-cookie", dict(r.headers))


LIMITS = [("x-ratelimit-limit-requests", "500"), ("x-ratelimit-remaining-tokens", "9"),
          ("X-RateLimit-Reset-Requests", "1s"), ("anthropic-ratelimit-tokens-remaining", "7"),
          ("anthropic-ratelimit-unified-status", "allowed"), ("openai-processing-ms", "12"),
          ("openai-version", "2020-10-01"), ("openai-organization", "org-1"),
          ("anthropic-organization-id", "o-1"), ("cf-ray", "abc-FRA"), ("x-envoy-upstream-time", "1"),
          ("x-should-retry", "true"), ("x-unknown", "one"), ("x-unknown", "two")]
KEPT = [("set-cookie", "s=1"), ("server", "cloudflare"), ("date", "yesterday"), ("alt-svc", "h3"),
        ("strict-transport-security", "max-age=1"), ("access-control-allow-origin", "*"),
        ("cache-control", "public"), ("vary", "origin"), ("etag", "e"), ("keep-alive", "timeout=5"),
        ("connection", "keep-alive, x-hop"), ("x-hop", "1"), ("via", "1.1 edge"),
        ("content-language", "en"), ("content-security-policy", "none"), ("nel", "{}"),
        ("x-rationale-id", "theirs"), ("x-rationale-usage", "theirs"), ("x-auth-token", "t"),
        ("www-authenticate", "Bearer"), ("x-echo", f"Bearer {PROVIDER_KEY}"), ("location", "/x")]


class Replies(Case):
    @classmethod
    def config(cls):
        with socket.socket() as s:  # the port refuses connections
            s.bind(("127.0.0.1", 0))
            dead = f"http://127.0.0.1:{s.getsockname()[1]}/v1"
        more = {"dead": {"kind": "openai", "base_url": dead, "retries": 0, "models": {"gone-m": "m"}},
                "dies": {"kind": "openai", "base_url": cls.up.root + "/v1", "retries": 0,
                         "models": {"dies-m": "m"}, "fallback": ["dead"],
                         "api_key_env": "UPSTREAM_KEY"},
                "again": {"kind": "openai", "base_url": cls.up.root + "/v1", "retries": 1,
                          "backoff": "5ms", "models": {"again-m": "m"}},
                "falls": {"kind": "openai", "base_url": cls.up.root + "/v1", "retries": 1,
                          "backoff": "5ms", "models": {"falls-m": "m"}, "fallback": ["p-anthropic"],
                          "api_key_env": "UPSTREAM_KEY"}}
        return {"providers": {**cls.providers, **more}}

    def check(self, reply, attempt=1):
        got = [h for h in reply.headers if h in lower(LIMITS)]
        self.assertEqual(got, lower(LIMITS))
        self.assertFalse([h for h in reply.headers if h in KEPT], reply.headers)
        self.assertNotIn("x-echo", dict(reply.headers))
        self.assertIn(("x-attempt", str(attempt)), reply.headers)
        for name in ("content-type", "date", "x-rationale-id"):
            self.assertEqual([k for k, _ in reply.headers].count(name), 1, name)

    def test_every_client_sees_every_providers_limits(self):
        self.up.headers = LIMITS + KEPT
        for client in KINDS:
            for kind in (*KINDS, "mistral"):
                for stream in (False, True):
                    for status in (200, 429, 401):
                        with self.subTest(client, kind=kind, stream=stream, status=status):
                            self.up.asked, self.up.statuses = [], [status]
                            r = self.ask(client, f"{kind}-m", stream)
                            self.assertEqual(r.status, status, r.body)
                            self.check(r)

    def test_the_providers_request_id_is_where_sdks_look(self):
        for theirs in ("x-request-id", "request-id", "apim-request-id"):
            for client in KINDS:
                for status in (200, 400):
                    with self.subTest(theirs, client=client, status=status):
                        self.up.headers, self.up.statuses = [(theirs, "req_1")], [status]
                        r = self.ask(client, "mistral-m")
                        name = "request-id" if client == "anthropic" else "x-request-id"
                        self.assertEqual([v for k, v in r.headers if k == name], ["req_1"])
                        self.assertEqual([v for k, v in r.headers if k == theirs], ["req_1"])
                        if client == "anthropic" and status == 400:
                            self.assertEqual(json.loads(r.body)["request_id"], "req_1")

    def test_ids_of_two_servers_keep_their_names(self):
        for client in KINDS:
            with self.subTest(client):
                self.up.headers = [("x-request-id", "of-a-proxy"), ("request-id", "of-anthropic")]
                r = self.ask(client, f"{client}-m")
                for header in self.up.headers:
                    self.assertIn(header, r.headers)

    def test_without_one_an_error_has_ours(self):
        for client in KINDS:
            self.up.statuses = [400]
            r = self.ask(client, "mistral-m")
            name = "request-id" if client == "anthropic" else "x-request-id"
            self.assertEqual([v for k, v in r.headers if k == name],
                             [v for k, v in r.headers if k == "x-rationale-id"])

    def test_they_are_those_of_the_attempt_that_answered(self):
        for stream in (False, True):
            self.up.asked, self.up.statuses = [], [500, 500, 200]
            self.up.headers = LIMITS
            self.check(self.ok(self.ask("openai", "falls-m", stream)), 3)
            self.up.asked, self.up.statuses = [], [500, 503, 400]
            r = self.ask("openai", "falls-m", stream)
            self.assertEqual(r.status, 400)
            self.check(r, 3)

    def test_a_provider_that_wants_no_retry_gets_none(self):
        for status in (429, 500):
            self.up.asked, self.up.statuses = [], [status, 200]
            self.up.headers = [("x-should-retry", "false")]
            r = self.ask("openai", "again-m")
            self.assertEqual((r.status, len(self.up.asked)), (status, 1), r.body)
            self.assertEqual([v for k, v in r.headers if k == "x-should-retry"], ["false"])
        self.up.asked, self.up.statuses, self.up.headers = [], [500, 200], []
        self.ok(self.ask("openai", "again-m"))
        self.up.asked, self.up.statuses = [], [500, 200]
        self.up.headers = [("x-should-retry", "false")]
        self.ok(self.ask("openai", "falls-m"))  # another provider may answer

    def test_an_attempt_that_got_no_reply_has_none(self):
        self.up.headers, self.up.statuses = LIMITS, [500]
        r = self.ask("openai", "dies-m")
        self.assertEqual(r.status, 502, r.body)
        self.assertEqual(len(self.up.asked), 1)
        self.assertNotIn("x-attempt", dict(r.headers))

    def test_a_wait_is_told_in_both_units(self):
        for given, seconds, ms in (([("retry-after", "7")], "7", None),
                                   ([("retry-after-ms", "1500")], "2", "1500")):
            self.up.headers, self.up.statuses = given, [429]
            r = self.ask("anthropic", "openai-m")
            self.assertEqual([v for k, v in r.headers if k == "retry-after"], [seconds])
            self.assertEqual(dict(r.headers).get("retry-after-ms"), ms)

    def test_too_many_are_cut_and_do_no_harm(self):
        self.up.headers = [(f"x-h{i}", "v" * 100) for i in range(90)]
        r = self.ok(self.ask("openai", "openai-m"))
        self.assertEqual(sum(k.startswith("x-h") for k, _ in r.headers), 64)
        self.up.headers = [("x-large", "v" * 9000), ("x-small", "v")]
        names = dict(self.ok(self.ask("openai", "openai-m")).headers)
        self.assertNotIn("x-large", names)
        self.assertIn("x-small", names)


class SecondCalls(Case):
    """A stream that pauses drops its parsed request, and a second call to the provider parses it
    again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer

    @classmethod
    def config(cls):
        return {"providers": cls.providers, "reasoning": {"show": True, "repair_starved": True}}

    @classmethod
    def answer(cls, path, body, status):
        """First a reply in two parts that spends all its tokens on reasoning, then the answer."""
        del path, body, status
        if len(cls.up.asked) % 2 == 0:
            return "text/event-stream", stream_of("openai").encode()

        def pieces():
            for delta, finish in (({"reasoning": "Let me"}, None), ({"reasoning": " think"}, "length")):
                yield b"data: " + json.dumps({"id": "c1", "model": "m", "choices": [
                    {"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
                cls.begun.wait(60)
            yield b"data: [DONE]\n\n"
        return "text/event-stream", pieces()

    def test_a_second_call_after_a_pause_has_the_headers_of_its_own_request(self):
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        for nth in range(3):  # on one connection: the parser reuses earlier heads
            type(self).begun = threading.Event()
            mark = [("x-unknown", f"{nth}"), ("x-app", "a" * (nth + 1)), *([("x-more", "m")] if nth == 1 else [])]
            c.request("POST", PATHS["openai"], json.dumps(
                {"model": "openai-m", "stream": True, "messages": MESSAGES}),
                {**dict(mark), "content-type": "application/json", "authorization": f"Bearer {CLIENT_KEY}"})
            r = c.getresponse()
            got = r.read1()  # the client has the first part, and the gateway waits
            self.begun.set()
            got += r.read()
            self.assertIn(b"Yes.", got)
            self.assertEqual(len(self.up.asked), 2 * nth + 2)
            for _, seen in self.up.asked[-2:]:
                self.assertEqual([h for h in seen if h[0] in ("x-unknown", "x-app", "x-more")], mark)
                self.assertIn(("authorization", f"Bearer {PROVIDER_KEY}"), seen)
        c.close()


class Recordings(Case):
    """A recording is found for any query and headers of the client."""

    @classmethod
    def config(cls):
        cls.tape = "tape.jsonl"
        return {"providers": {"live": {**cls.providers["p-anthropic"], "record": cls.tape}}}

    def test_the_query_is_not_recorded(self):
        self.ok(self.ask("anthropic", "anthropic-m", False, PASSES, "beta=true"))
        tape = self.gateway.folder / self.tape
        self.gateway.child.terminate()
        self.gateway.child.wait()
        self.assertNotIn("beta", tape.read_text())
        self.assertNotIn("claude-cli", tape.read_text())
        with Gateway(BINARY, {"providers": {"played": {
                "kind": "replay", "cassette": str(tape), "models": {"anthropic-m": "m"}}},
                "keys": [{"name": "all", "sha256": digest(CLIENT_KEY)}]}) as played:
            own, self.gateway = self.gateway, played
            try:
                for query in ("", "beta=true", "other=1"):
                    r = self.ok(self.ask("anthropic", "anthropic-m", query=query))
                    self.assertEqual(json.loads(r.body)["content"][0]["text"], "Yes.")
            finally:
                self.gateway = own


if __name__ == "__main__":
    start()
