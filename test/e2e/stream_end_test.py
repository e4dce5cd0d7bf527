#!/usr/bin/env python3
"""Ends of streams: a client sees the error of a stream that ended early, whatever frame came last.

    test/e2e/stream_end_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

A scripted upstream sends the first frames, waits until the client has them, and sends the rest.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from asking import start
from command import BINARY
from gateway import BASES, PATIENCE, Gateway, until
from reading import ask_in

KEY = "sk-provider-secret-0123456789"


class Upstream:
    """Sends `first`, then `rest` after the client has received the first part."""

    def __init__(self):
        self.first = self.rest = b""
        self.type = "text/event-stream"
        self.seen, self.asked = threading.Event(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                outer.asked.set()
                self.send_response(200)
                self.send_header("content-type", outer.type)
                self.send_header("content-length", str(len(outer.first) + len(outer.rest)))
                self.end_headers()
                self.wfile.write(outer.first)
                self.wfile.flush()
                outer.seen.wait(PATIENCE)
                self.wfile.write(outer.rest)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


class World:
    up = other = shown = hidden = falls = None


def setUpModule():
    World.up = Upstream()
    providers = {k: {"kind": k, "base_url": World.up.root + b, "retries": 0, "api_key_env": "UPSTREAM_KEY",
                     "models": {f"{k}-m": "m"}} for k, b in BASES.items() if k != "mistral"}
    for name, show in (("shown", True), ("hidden", False)):
        setattr(World, name, Gateway(BINARY, {"store": "none", "reasoning": {"show": show},
                                              "providers": providers}, env={"UPSTREAM_KEY": KEY}).__enter__())
    World.other = Upstream()
    World.other.first = events(chunk({"role": "assistant", "content": "the other"}, "stop")) + b"data: [DONE]\n\n"
    World.other.seen.set()
    falls = {**{k: {**p, "fallback": ["other"]} for k, p in providers.items()},
             "other": {"kind": "openai", "base_url": World.other.root + "/v1", "models": {"other-m": "m"}}}
    World.falls = Gateway(BINARY, {"store": "none", "reasoning": {"show": True}, "timeouts": {"keepalive": "1s"},
                                   "providers": falls}, env={"UPSTREAM_KEY": KEY}).__enter__()


def tearDownModule():
    World.shown.stop()
    World.hidden.stop()
    World.falls.stop()
    World.up.server.shutdown()
    World.other.server.shutdown()


def events(*docs, named=False):
    return "".join((f'event: {d["type"]}\n' if named else "") + f"data: {json.dumps(d)}\n\n" for d in docs).encode()


def chunk(delta, finish=None, **more):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


FIRST = {
    "openai": events(chunk({"role": "assistant", "content": "hel"})),
    "anthropic": events(
        {"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}}, named=True),
    "responses": events(
        {"type": "response.created", "sequence_number": 0, "response": {
            "id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {
            "id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}},
        {"type": "response.content_part.added", "sequence_number": 2, "output_index": 0, "content_index": 0,
         "item_id": "msg_1", "part": {"type": "output_text", "text": "", "annotations": []}},
        {"type": "response.output_text.delta", "sequence_number": 3, "output_index": 0, "content_index": 0,
         "item_id": "msg_1", "delta": "hel"}, named=True),
    "gemini": events({"candidates": [{"content": {"parts": [{"text": "hel"}], "role": "model"}, "index": 0}]}),
    "ollama": b'{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":"hel"},'
              b'"done":false}\n',
}


class Case(unittest.TestCase):
    def ask(self, dialect, rest, at=None, first=None):
        """All that the client receives after the text of the first part."""
        up = World.up
        up.first, up.rest = first or FIRST[dialect], rest
        up.type = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
        up.seen.clear()
        path, body = ask_in(dialect, f"{dialect}-m", "hi", True)
        c = http.client.HTTPConnection("127.0.0.1", (at or World.shown).port, timeout=PATIENCE)
        try:
            c.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            r = c.getresponse()
            got = b""
            while b"hel" not in got:
                piece = r.read1()
                self.assertTrue(piece, "the stream ended early")
                got += piece
            up.seen.set()
            return got + r.read()
        finally:
            up.seen.set()
            c.close()

    def tail(self, dialect, rest, **more):
        got = self.ask(dialect, rest, **more)
        self.assertTrue(got.startswith(FIRST[dialect]), got)
        return got[len(FIRST[dialect]):]


def dispatched(body):
    """(type, data) of every event that a reader dispatches, by the rules of server-sent events."""
    out, name, data = [], "", []
    for line in body.decode().split("\n"):
        if not line:
            if data:
                out.append((name, "\n".join(data)))
            name, data = "", []
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return out


class Cut(Case):
    """The upstream's last frame is incomplete."""

    def test_the_error_is_an_event_of_its_own(self):
        whole = events(chunk({"content": "lo"})).rstrip()
        for dialect in ("openai", "anthropic", "responses", "gemini"):
            for rest in (b": keepalive", b": keepalive\n", b"event: mess", b"event: mess\r\n", b"dat", b"<html>",
                         b'data: {"id":"x","obj', *([whole, whole + b"\n"] if dialect == "openai" else [])):
                with self.subTest(dialect, rest=rest):
                    seen = dispatched(self.tail(dialect, rest))
                    self.assertIn("error", seen[-1][1])
                    if rest.startswith(b"data: {") and not rest.startswith(whole):
                        self.assertIn("the provider's stream ended in the middle of an event", seen[-1][1])
                    self.assertEqual(seen[-1][0], {"anthropic": "error", "responses": "response.failed"}.get(dialect, ""))
                    if dialect != "responses":  # Responses closes its items first
                        self.assertEqual(len(seen), 2 if rest.startswith(whole) else 1)

    def test_an_error_of_lines_is_a_line_of_its_own(self):
        whole = FIRST["ollama"].rstrip()
        for rest in (b'{"model', b"  ", b"\r", whole):
            with self.subTest(rest=rest):
                lines = [x for x in self.tail("ollama", rest).decode().split("\n") if x.strip()]
                self.assertIn("error", json.loads(lines[-1]))
                if rest == b'{"model':
                    self.assertIn("ended in the middle of an event", lines[-1])
                self.assertEqual(len(lines), 2 if rest == whole else 1)

    def test_a_stream_that_is_complete_gets_no_byte_more(self):
        last = events(chunk({}, "stop")) + b"data: [DONE]"
        for end in (b"", b"\n", b"\n\n"):
            self.assertTrue(self.tail("openai", last + end).endswith(b"data: [DONE]" + end))

    def test_empty_lines_pass(self):
        done = b'{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":""},' \
               b'"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}\n'
        got = self.tail("ollama", b"\n \r\n" + FIRST["ollama"] + b"\n" + done)
        self.assertTrue(got.startswith(b"\n \r\n" + FIRST["ollama"] + b"\n"), got)
        self.assertTrue(got.endswith(done), got)
        first = b"\n\n" + FIRST["ollama"]
        self.assertTrue(self.ask("ollama", done, first=first).startswith(first))


ERRORS = {
    "openai": [b'data: {"error":{"message":"overloaded","type":"server_error","code":503}}\n\n',
               b'data: {"error" : {"message":"over\\u006coaded", "metadata":{"raw":"x"}},"user_id":"u"}\r\n\r\n',
               events(chunk({"content": ""}, "error", error={"code": 502, "message": "overloaded"}))],
    "anthropic": [b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
                  b'event: error\ndata: {"type": "error","error":{"details":null,"type":"api_error",'
                  b'"message":"Internal"},"request_id":"req_1"}\n\n'],
    "responses": [b'event: error\ndata: {"type":"error","sequence_number":4,"code":"server_error",'
                  b'"message":"overloaded","param":null,"x":1}\n\n',
                  events({"type": "response.failed", "sequence_number": 4, "response": {
                      "id": "resp_1", "object": "response", "status": "failed", "output": [],
                      "error": {"code": "server_error", "message": "overloaded"}}}, named=True)],
    "gemini": [b'data: {"error": {"code":503,"message":"overloaded","status":"UNAVAILABLE","details":[ ]}}\n\n'],
    "ollama": [b'{"error":"overloaded", "code":1}\n'],
}


class Errors(Case):
    """The provider reports an error in its stream."""

    def test_it_passes_as_it_came(self):
        for dialect, frames in ERRORS.items():
            for frame in frames:
                with self.subTest(dialect, frame=frame):
                    self.assertEqual(self.tail(dialect, frame), frame)
                with self.subTest(dialect, frame=frame, at_once=True):
                    both = FIRST[dialect] + frame
                    self.assertEqual(self.ask(dialect, b"", first=both), both)
                with self.subTest(dialect, frame=frame, hidden=True):
                    self.assertEqual(self.tail(dialect, frame, at=World.hidden), frame)

    def test_it_gets_the_end_that_it_lacks(self):
        for dialect in ERRORS:
            frame = ERRORS[dialect][0]
            end = b"\n" if dialect == "ollama" else b"\n\n"
            with self.subTest(dialect):
                self.assertEqual(self.tail(dialect, frame.rstrip()), frame.rstrip() + end)

    def test_an_error_that_readers_do_not_recognize_is_written_for_them(self):
        got = self.tail("openai", b'event: error\ndata: {"message":"overloaded"}\n\n')
        self.assertEqual(json.loads(dispatched(got)[-1][1])["error"]["message"], "overloaded")

    def test_the_key_of_the_provider_is_taken_out(self):
        for key in (KEY, KEY.replace("s", "\\u0073", 1)):
            got = self.tail("openai", b'data: {"error":{"message":"bad key %s","code":503}}\n\n' % key.encode())
            self.assertNotIn(key.encode(), got)
            self.assertEqual(json.loads(dispatched(got)[-1][1])["error"]["message"], "bad key [key]")

    def test_reasoning_that_is_hidden_stays_hidden(self):
        frame = events(chunk({"content": "", "reasoning_content": "ponder"}, "error",
                             error={"code": 502, "message": "overloaded"}))
        got = self.tail("openai", frame, at=World.hidden)
        self.assertNotIn(b"ponder", got)
        self.assertEqual(json.loads(dispatched(got)[-1][1])["error"]["message"], "overloaded")


def front(dialect):
    """The frames before the first text."""
    if dialect == "openai":
        return events(chunk({"role": "assistant", "content": ""}))
    if dialect == "gemini":
        return events({"usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}, "modelVersion": "m"})
    if dialect == "ollama":
        return FIRST[dialect].replace(b"hel", b"")
    end = b'event: content_block_delta' if dialect == "anthropic" else b"event: response.output_text.delta"
    return FIRST[dialect][:FIRST[dialect].index(end)]


class Front(Case):
    """The provider fails before the model has said something."""

    def begin(self, dialect, first, rest, at=None):
        up = World.up
        up.first, up.rest = first, rest
        up.type = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
        up.seen.clear()
        up.asked.clear()
        path, body = ask_in(dialect, f"{dialect}-m", "hi", True)
        c = http.client.HTTPConnection("127.0.0.1", (at or World.falls).port, timeout=PATIENCE)
        c.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        self.assertTrue(up.asked.wait(PATIENCE))
        return c

    def test_another_provider_answers(self):
        for dialect, errors in ERRORS.items():
            unknown = b'{"status":"starting"}\n' if dialect == "ollama" else b'data: {"status":"starting"}\n\n'
            ends = {"error": errors[0], "cut": b"", **({} if dialect == "ollama" else {"done": b"data: [DONE]\n\n"})}
            for first, ended in ((front(dialect), "error"), (front(dialect), "cut"), (unknown, "error"),
                                 (unknown, "cut"), (b"", "cut"), *([(b"", "done")] if "done" in ends else [])):
                with self.subTest(dialect, first=first, ended=ended):
                    c = self.begin(dialect, first, ends[ended])
                    time.sleep(0.1)  # the gateway reads the front by itself
                    World.up.seen.set()
                    r = c.getresponse()
                    got = r.read()
                    c.close()
                    self.assertEqual(r.status, 200)
                    self.assertIn(b"the other", got)
                    self.assertNotIn(b'"error":{', got)
                    self.assertNotIn(b"starting", got)

    def test_without_another_provider_the_error_has_its_status(self):
        for dialect, errors in ERRORS.items():
            with self.subTest(dialect):
                c = self.begin(dialect, front(dialect), errors[0], World.shown)
                time.sleep(0.1)
                World.up.seen.set()
                r = c.getresponse()
                got = r.read()
                c.close()
                self.assertGreaterEqual(r.status, 500)
                self.assertIn("verloaded", json.dumps(json.loads(got)["error"]))

    def test_a_front_is_sent_when_the_client_would_wait_for_long(self):
        for dialect in ERRORS:
            with self.subTest(dialect):
                c = self.begin(dialect, front(dialect), ERRORS[dialect][0])
                r = c.getresponse()  # before the rest
                got = r.read1()
                self.assertTrue(got)
                World.up.seen.set()
                got += r.read()
                c.close()
                sent = front(dialect).split(b"\n\n")  # a relay may keep the start of an empty block back
                self.assertTrue(got.startswith(sent[0]), got)
                self.assertTrue(got.endswith(ERRORS[dialect][0]), got)


class Left(Case):
    """The client disconnects from a whole call before the provider replies."""

    def test_the_input_counts(self):
        def counted():
            c = http.client.HTTPConnection("127.0.0.1", World.shown.port, timeout=PATIENCE)
            c.request("GET", "/metrics")
            text = c.getresponse().read().decode()
            c.close()
            return sum(float(x.split()[-1]) for x in text.splitlines()
                       if x.startswith("rationale_tokens_total") and 'kind="input' in x)
        before, up = counted(), World.up
        up.first, up.rest, up.type = b"", b"{}", "application/json"
        up.seen.clear()
        up.asked.clear()
        path, body = ask_in("openai", "openai-m", "hi", False)
        c = http.client.HTTPConnection("127.0.0.1", World.shown.port, timeout=PATIENCE)
        c.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        self.assertTrue(up.asked.wait(PATIENCE))
        c.close()
        until(lambda: counted() > before)
        up.seen.set()


if __name__ == "__main__":
    start()
