#!/usr/bin/env python3
"""Malicious or faulty clients and providers.

    test/e2e/hostile_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

The providers here send raw bytes that the test provider cannot produce.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import socketserver
import threading
import unittest

from asking import BINARY, start
from gateway import BASES, Gateway, cpu_seconds, until, upstream

PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses",
         "anthropic": "/v1/messages", "ollama": "/api/chat", "generate": "/generate",
         "gemini": "/v1beta/models/%s:generateContent"}
COUNTS = {"count": "/v1/messages/count_tokens", "gemini count": "/v1beta/models/%s:countTokens"}
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nConnection: close\r\n\r\n"
# The smallest valid reply of each kind, whole.
GOOD = {
    "openai": {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
    "responses": {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "ok", "annotations": []}]}]},
    "anthropic": {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [
        {"type": "text", "text": "ok"}], "stop_reason": "end_turn",
                  "usage": {"input_tokens": 1, "output_tokens": 1}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "ok"}], "role": "model"},
                               "finishReason": "STOP", "index": 0}]},
    "ollama": {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True,
               "message": {"role": "assistant", "content": "ok"}, "done_reason": "stop"},
}
GOOD["mistral"] = GOOD["openai"]


class Upstream(socketserver.ThreadingTCPServer):
    """Reads a request, sends the configured bytes, closes the connection."""
    allow_reuse_address = daemon_threads = True
    says = b""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Told)
        self.root = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def tell(self, kind, body):
        self.says = HEAD.format(kind).encode() + (body if isinstance(body, bytes) else body.encode())

    def tell_chunks(self, *deltas, end=True):
        """Configures a stream of OpenAI chat completions; a delta is JSON text."""
        frame = 'data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m",' \
            '"choices":[{"index":0,"delta":%s%s}]}\n\n'
        text = "".join(frame % (d, "") for d in deltas)
        text += frame % ("{}", ',"finish_reason":"stop"') + "data: [DONE]\n\n" if end else ""
        self.tell("text/event-stream", text)


class Told(socketserver.StreamRequestHandler):
    def handle(self):
        size = 0
        while line := self.rfile.readline().strip().lower():
            if line.startswith(b"content-length:"):
                size = int(line[15:])
        while size > 0:
            got = self.rfile.read(min(size, 1 << 20))
            if not got:
                return
            size -= len(got)
        try:
            self.request.sendall(self.server.says)
        except OSError:
            pass


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.up = Upstream()
        cls.gateway = Gateway(BINARY, {
            "threads": 1, "agents": {"helper": {"model": "openai-m", "prompt": "Help the user."}},
            "providers": {kind: upstream(cls.up, kind, {f"{kind}-m": "m"}, retries=0)
                          for kind in BASES}})
        cls.gateway.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.up.shutdown()
        cls.up.server_close()

    def tearDown(self):
        self.assertIsNone(self.gateway.child.poll(), self.gateway.log_tail(3000))

    def ask(self, dialect, model, body=None, **headers):
        """Returns (status, bytes). The body is a dict, or text in which M is replaced by the
        model's name."""
        if body is None:
            body = {"model": model, "stream": False}
            if dialect == "gemini":
                body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
            elif dialect == "responses":
                body["input"] = "hi"
            elif dialect == "generate":
                body["prompt"] = "hi"
            else:
                body["messages"] = [{"role": "user", "content": "hi"}]
            if dialect == "anthropic":
                body["max_tokens"] = 100
        return self.post((PATHS | COUNTS)[dialect].replace("%s", model), body, **headers)

    def post(self, path, body, **headers):
        data = body if isinstance(body, str) else json.dumps(body)
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        c.request("POST", path, data.encode(), {"content-type": "application/json", **headers})
        r = c.getresponse()
        got = r.read()
        c.close()
        return r.status, got

    def cpu(self):
        return cpu_seconds(self.gateway.child.pid)

    def good(self, kind):
        self.up.tell("application/json", json.dumps(GOOD[kind]))

    # ---- clients ----

    def test_an_unknown_gemini_model_is_refused_on_a_connection_that_closes(self):
        for _ in range(3):
            status, got = self.ask("gemini", "nobody", connection="close")
            self.assertEqual(status, 404, got)

    def test_many_calls_in_one_message_are_written_in_linear_time(self):
        n = 20000
        calls = [{"type": "tool_use", "id": f"call_{i}", "name": f"f{i % 7}", "input": {}}
                 for i in range(n)]
        results = [{"type": "tool_result", "tool_use_id": f"call_{i}", "content": "r"}
                   for i in range(n)]
        body = {"max_tokens": 50, "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": calls},
            {"role": "user", "content": results}]}
        for kind in BASES:
            with self.subTest(kind):
                self.good(kind)
                since = self.cpu()
                status, got = self.ask("anthropic", "", {"model": f"{kind}-m", **body})
                self.assertEqual(status, 200, got[:300])
                self.assertLess(self.cpu() - since, 2.5)

    def test_a_body_of_countless_values_is_refused_or_answered(self):
        kinds = {"generate": "openai", "count": "anthropic", "gemini count": "gemini"}
        members = {"responses": "input", "gemini": "contents", "gemini count": "contents"}
        for n in (400000, 500000, 1500000):
            for dialect in PATHS | COUNTS:
                with self.subTest(f"{dialect} {n}"):
                    kind = kinds.get(dialect, dialect)
                    self.good(kind)
                    body = '{"model":"%s-m","max_tokens":9,"%s":[1%s]}' % (
                        kind, members.get(dialect, "messages"), ",1" * (n - 1))
                    status, got = self.ask(dialect, f"{kind}-m", body)
                    self.assertIn(status, (200, 400, 413), got[:300])

    def test_a_body_larger_than_a_record_is_answered_all_the_same(self):
        self.good("openai")
        status, got = self.ask("openai", "", {"model": "openai-m", "messages": [
            {"role": "user", "content": "x" * (20 << 20)}]})
        self.assertEqual(status, 200, got[:300])

    def test_headers_and_names_that_are_too_long_for_a_provider_are_refused(self):
        self.good("anthropic")
        status, got = self.ask("anthropic", "anthropic-m", **{"anthropic-beta": "b" * 20000})
        self.assertEqual(status, 413, got[:300])
        self.assertIn(b"headers", got)
        status, got = self.ask("openai", "gemini/" + "g" * 8000)
        self.assertIn(status, (400, 404), got[:300])

    def test_an_id_or_a_note_of_megabytes_is_refused(self):
        for path, field, body in (
                ("/api/v1/erase", "session_id", {"session_id": "s" * (9 << 20)}),
                ("/api/v1/erase", "subject", {"subject": "s" * (9 << 20)}),
                ("/api/v1/runs/none/answer", "note",
                 {"word": "deny", "seq": 1, "note": "\n" * (5 << 20)})):
            with self.subTest(field):
                status, got = self.post(path, body)
                self.assertEqual(status, 422, got[:300])
                self.assertEqual(json.loads(got)["detail"]["field"], field)

    def test_a_run_with_an_input_of_megabytes_can_be_decided_on(self):
        self.good("openai")
        status, got = self.post("/api/v1/agents/helper/runs", {"input": "i" * 4000000})
        self.assertEqual(status, 200, got[:300])
        run = json.loads(got)["run_id"]
        for what in ("cancel", "answer"):
            status, got = self.post(f"/api/v1/runs/{run}/{what}", {"word": "deny", "seq": 1})
            self.assertEqual(status, 409, got[:300])

    def test_many_messages_after_results_of_tools_are_read_in_linear_memory(self):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        status, got = self.post("/v1/chat/completions", {"model": "agent/helper", "messages": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            *[{"role": "user", "content": "u" * 1000}] * 2000]})
        self.assertEqual(status, 400, got[:300])
        self.assertIn(b"no run of this agent waits", got)

    def test_a_body_that_is_nested_too_deep_or_no_object_is_refused(self):
        for path in ("/api/v1/runs/none/answer", "/api/v1/threads/t/state", "/api/v1/threads/t/prune"):
            status, got = self.post(path, "[" * 2000)
            self.assertEqual(status, 422, got[:300])
            self.assertEqual(json.loads(got)["detail"]["field"], "body")
        for body in ("1", "null", "[]", '""'):
            status, got = self.post("/api/v1/watch", body)
            self.assertEqual(status, 400, got[:300])

    def test_a_watched_run_with_addresses_of_any_length_is_refused(self):
        for name, url, code in (("\n" * 70000, "http://h", "unknown_upstream"),
                                ("openai", "http://h/" + "\n" * 70000, "invalid_url")):
            status, got = self.post("/api/v1/watch", {"upstreams": {name: url}})
            self.assertEqual(status, 400, got[:300])
            self.assertEqual(json.loads(got)["detail"]["error"], code)

    def test_the_log_of_a_refused_request_has_no_credentials(self):
        held = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
        held.request("POST", "/api/v1/watch", "{}")
        run = json.loads(held.getresponse().readline())["run"]
        secret = "sk-ant-api03-" + "Ab1" * 30
        for path in (f"/watch/{run}/anthropic/v1/messages", f"/api/v1/watch/{run}", f"/v1/{secret}"):
            c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
            c.putrequest("POST", path)
            c.putheader("content-length", str(1 << 40))
            c.endheaders()
            self.assertEqual(c.getresponse().status, 413)
            c.close()
        held.close()
        until(lambda: self.gateway.log.read_text().count("msg=refused") >= 3)
        log = self.gateway.log.read_text()
        self.assertNotIn(run, log)
        self.assertNotIn(secret, log)

    # ---- providers ----

    def test_a_reply_too_large_to_be_given_whole_is_no_success(self):
        self.up.tell_chunks(*['{"content":"%s"}' % ("x" * 1000000)] * 70)
        for dialect in PATHS:
            with self.subTest(dialect):
                status, got = self.ask(dialect, "openai-m", **{"x-rationale-level": "low"})
                self.assertEqual(status, 502, got[:300])
                self.assertIn("error", json.loads(got))

    def test_a_frame_of_countless_choices_is_refused_at_once(self):
        for delta in ('{"content":"x"}', '{"reasoning_content":"x"}'):
            self.up.tell("text/event-stream", 'data: {"id":"a","choices":[%s]}\n\n' % ",".join(
                ['{"index":0,"delta":%s}' % delta] * 100000))
            since = self.cpu()
            status, got = self.ask("openai", "openai-m", **{"x-rationale-level": "low"})
            self.assertEqual(status, 502, got[:300])
            self.assertIn(b"too many choices", got)
            self.assertLess(self.cpu() - since, 3)

    def test_an_error_of_our_own_does_not_have_the_coding_of_the_providers(self):
        for size in (100, 70000):
            self.up.says = b"HTTP/1.1 400 Bad\r\nContent-Encoding: br\r\nConnection: close\r\n" \
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (size, b"x" * size)
            c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
            c.request("POST", "/v1/embeddings", json.dumps({"model": "openai-m", "input": "hi"}))
            r = c.getresponse()
            got = r.read()
            c.close()
            self.assertEqual((r.status, r.getheader("content-encoding")), (400, None), got[:300])
            self.assertEqual(json.loads(got)["error"]["code"], "upstream_error")

    def test_a_call_with_a_long_id_or_long_arguments_may_have_many_thoughts(self):
        """Each is stored for the call, whose name in the vault is a digest of its arguments."""
        for thoughts, size, numbers in ((400, 1000000, 1), (3500, 20, 500000)):
            self.up.tell("application/json", json.dumps({
                "id": "m", "type": "message", "role": "assistant", "model": "u", "stop_reason": "tool_use",
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
                "content": [*[{"type": "thinking", "thinking": f"t{i}", "signature": "c2ln"}
                              for i in range(thoughts)],
                            {"type": "tool_use", "id": "x" * size, "name": "f", "input": {"a": [1] * numbers}}]},
                separators=(",", ":")))
            since = self.cpu()
            status, got = self.ask("openai", "anthropic-m")
            self.assertEqual(status, 200, got[:300])
            self.assertEqual(self.ask("openai", "anthropic-m")[0], 200)
            self.assertLess(self.cpu() - since, 10)

    def test_what_is_no_reply_of_a_model_is_told_as_such(self):
        ok = json.dumps(GOOD["openai"]).encode()
        cases = {
            b"200 OK\r\nContent-Encoding: br": (ok, 502, "cannot unpack the reply of the provider: br"),
            b"200 OK\r\nContent-Type: text/html": (b"<html><h1>hi</h1></html>", 502, "web page"),
            b"200 OK\r\nContent-Type: application/json": (b"", 502, "complete"),
            b"302 Found\r\nLocation: http://elsewhere/": (b"", 502, "302"),
            b"999 What": (b"{}", 502, "999"),
            b"429 Later\r\nContent-Type: application/json": (b"{}", 429, "429"),
        }
        for head, (body, want, word) in cases.items():
            self.up.says = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
                head, len(body), body)
            for dialect in ("openai", "anthropic"):
                for stream in (False, True):
                    with self.subTest(head, dialect=dialect, stream=stream):
                        status, got = self.ask(dialect, "", {
                            "model": "openai-m", "stream": stream, "max_tokens": 9,
                            "messages": [{"role": "user", "content": "hi"}]})
                        self.assertEqual(status, want, got)
                        self.assertIn(word, json.loads(got)["error"]["message"])

    def test_a_comment_before_an_error_does_not_keep_it_from_being_told(self):
        self.up.tell("text/event-stream", ': wait\n\ndata: {"error":{"message":"boom"}}\n\n')
        status, got = self.ask("openai", "", {"model": "openai-m", "stream": True, "messages": [
            {"role": "user", "content": "hi"}]})
        self.assertEqual(status, 502, got)
        self.assertIn(b"boom", got)

    def test_members_nobody_knows_are_bounded(self):
        many = "".join(f',"s{i}":1' for i in range(100000))
        self.up.tell_chunks('{"content":"x"%s}' % many)
        since = self.cpu()
        status, got = self.ask("openai", "openai-m", **{"x-rationale-level": "low"})
        self.assertEqual(status, 200, got[:300])
        self.assertLess(self.cpu() - since, 3)

    def test_a_frame_of_countless_calls_is_refused_at_once(self):
        call = '{"index":%d,"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}'
        self.up.tell_chunks('{"tool_calls":[%s]}' % ",".join(
            call % (i, i) for i in range(200000)))
        since = self.cpu()
        status, got = self.ask("openai", "openai-m", **{"x-rationale-level": "low"})
        self.assertEqual(status, 502, got[:300])
        self.assertLess(self.cpu() - since, 3)


if __name__ == "__main__":
    start()
