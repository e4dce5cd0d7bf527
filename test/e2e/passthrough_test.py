#!/usr/bin/env python3
"""With one dialect on both sides, a client gets the provider's reply byte for byte.

    test/e2e/passthrough_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

Uses our own cases, and recorded traffic of real providers if RATIONALE_CORPORA or
../shared/corpora has it. A scripted upstream serves the bytes; the real binary requests them.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import os
import re
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from asking import comments, request, start
from command import BINARY, SOURCE
from gateway import BASES, Gateway
from reading import PATHS, ask_in, frames, read

CLIENTS = ("openai", "responses", "anthropic", "gemini", "ollama")
HIGH = {"x-rationale-level": "high"}
LOW = {"x-rationale-level": "low"}
NOTE = re.compile(rb"(?m)^: reasoning_tokens=.*\n\n?")  # the only text that the gateway adds to a stream
THOUGHT = "Hm \\u0041\\/ \\u00e9 \u00e9"
LONG = "word " * 600


class Upstream:
    """Serves the bytes that a test sets, whole or in pieces, and records requests."""

    def __init__(self):
        self.asked, self.piece, self.sent = [], 0, b""
        self.status, self.type, self.body = 200, "application/json", b""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.sent = self.rfile.read(int(self.headers["content-length"]))
                outer.asked.append(json.loads(outer.sent))
                answer = outer.answer(outer.asked[-1]) if outer.answer else None
                status, kind, body = answer or (outer.status, outer.type, outer.body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                for i in range(0, len(body), outer.piece or len(body) or 1):
                    self.wfile.write(body[i:i + (outer.piece or len(body))])
                    self.wfile.flush()
                    time.sleep(0.0005 if outer.piece else 0)

            def log_message(self, *_):
                pass

        self.answer = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


class World:
    up = shown = hidden = None


def config(show, providers):
    return {"store": "none", "reasoning": {"show": show}, "providers": providers}


def own_providers():
    return {k: {"kind": k, "base_url": World.up.root + BASES[k], "retries": 0, "models": {
        f"{k}-m": "gemini-2.5-flash" if k == "gemini" else "claude-sonnet-4-5" if k == "anthropic" else "m",
        f"{k}-n": "gemini-2.0-flash" if k == "gemini" else "claude-opus-4-1" if k == "anthropic" else "n"}}
        for k in BASES}


def setUpModule():
    World.up = Upstream()
    World.shown = Gateway(BINARY, config(True, own_providers())).__enter__()
    World.hidden = Gateway(BINARY, config(False, own_providers())).__enter__()


def tearDownModule():
    World.shown.stop()
    World.hidden.stop()
    World.up.server.shutdown()


# ---- our own replies: unknown members, unusual order, white space, escapes, numbers ----

ODD = ('"zeta" : 1.50,"big":12345678901234567890123,"neg":-0.0,\t"exp":1E+2, "nest":{"b":[1 , 2.0],"a":{}},'
       ' "esc":"\\u0041\\/\\ud83c\\udf0d \u00e9","twice":1,"twice":2,"none":null')
WHOLE = {
    "openai": '{ "object":"chat.completion",' + ODD + ',\n "choices" : [ {"finish_reason":"stop", "message":{'
              '"reasoning":"THOUGHT","content" : "Caf\\u00e9 \\/ ok","role":"assistant","extra":{"x":[1,2]}},'
              ' "index":0,"logprobs":null} ],"id":"chatcmpl-1","created":1700000000,"model":"m-2025",'
              '"system_fingerprint":"fp_1","service_tier":"default", "usage":{"total_tokens":30,'
              '"prompt_tokens":10,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":9},'
              '"queue_time":0.0123}}\n',
    "responses": '{"id":"resp_1", "object":"response","created_at":1700000000,"completed_at":1700000009,'
                 + ODD + ',"status":"completed","service_tier":"default","model":"m-2025","output":[ '
                 '{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA\\/=","summary":[ {"type":'
                 '"summary_text" ,"text":"THOUGHT"} ]} ,\n{"id":"msg_1","type":"message","phase":"final",'
                 '"status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],'
                 '"text":"Caf\\u00e9 \\/ ok","logprobs":[]}]}],"usage":{"input_tokens":10,"output_tokens":20,'
                 '"output_tokens_details":{"reasoning_tokens":9},"total_tokens":30,"input_tokens_details":'
                 '{"cached_tokens":0}}, "metadata":{}}',
    "anthropic": '{"model":"m-2025","id":"msg_1","type":"message","role":"assistant",' + ODD + ', "content" : [ '
                 '{"type":"thinking","thinking":"THOUGHT","signature":"c2ln"} , {"text":"Caf\\u00e9 \\/ ok",'
                 '"type":"text","citations":null}\n],"stop_reason":"end_turn","stop_sequence":null,"usage":'
                 '{"input_tokens":4,"cache_creation_input_tokens":6,"cache_read_input_tokens":0,'
                 '"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":1},'
                 '"output_tokens":20,"service_tier":"standard","inference_geo":"eu"},"container":null}',
    "gemini": '{\n  "candidates": [ {"content":{"parts":[ {"text":"THOUGHT","thought":true} ,\n {"text":'
              '"Caf\\u00e9 \\/ ok", "thoughtSignature":"c2ln"} ],"role":"model"},"finishReason":"STOP","index":0,'
              '"avgLogprobs":-0.12345678901234567 } ],' + ODD + ',"usageMetadata":{"promptTokenCount":10,'
              '"candidatesTokenCount":11,"thoughtsTokenCount":9,"totalTokenCount":30,"promptTokensDetails":'
              '[{"modality":"TEXT","tokenCount":10}]},"modelVersion":"m-2025","responseId":"r1"}\n',
    "ollama": '{"model":"m-2025","created_at":"2025-01-01T00:00:00.123456789Z",' + ODD + ',"message" : {"role":'
              '"assistant","thinking":"THOUGHT", "content":"Caf\\u00e9 \\/ ok"},"done":true,"done_reason":"stop",'
              '"total_duration":12345678901,"load_duration":1,"prompt_eval_count":10,"prompt_eval_duration":2,'
              '"eval_count":20,"eval_duration":3}',
}


def events_of(*docs, named=False):
    return "".join((f'event: {json.loads(d)["type"]}\n' if named else "") + f"data: {d}\n\n" for d in docs)


CHUNK = '{"id":"c1","object":"chat.completion.chunk","created":1,' + ODD + ',"model":"m","choices":[%s]%s}'
DELTA = '{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}'
STREAM = {
    "openai": ": hello\n\n" + events_of(
        *(CHUNK % (DELTA % (d, "null"), "") for d in (
            '"role":"assistant","content":""', '"reasoning":"THOUGHT"', '"reasoning":" so"', '"content":"Caf\\u00e9"',
            '"content":" \\/"', '"content":" ok"')),
        CHUNK % (DELTA % ("", '"stop"'), "")) + ": bye\n\ndata: [DONE]\n\n",
    "responses": events_of(
        '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1",' + ODD + ',"output":[]}}',
        '{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1",'
        '"type":"message","role":"assistant","status":"in_progress","content":[]}}',
        '{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,'
        '"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}',
        '{"type":"response.output_text.delta" ,"sequence_number":3,"item_id":"msg_1","output_index":0,'
        '"content_index":0,"delta":"Caf\\u00e9 \\/ ok","obfuscation":"xyz"}',
        '{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1",'
        '"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text",'
        '"text":"Caf\\u00e9 \\/ ok","annotations":[]}]}}',
        '{"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","object":"response",'
        '"status":"completed","completed_at":7,' + ODD + ',"output":[{"id":"msg_1","type":"message","role":'
        '"assistant","status":"completed","content":[{"type":"output_text","text":"Caf\\u00e9 \\/ ok",'
        '"annotations":[]}]}],"usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30}}}',
        named=True) + "data: [DONE]\n\n",
    "anthropic": events_of(
        '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",'
        + ODD + ',"content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation":'
        '{"ephemeral_5m_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}   }',
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}',
        '{"type": "ping"}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"THOUGHT"}  }',
        '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}',
        '{"type":"content_block_stop","index":0  }',
        '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}',
        '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Caf\\u00e9 \\/ ok"}}',
        '{"type":"content_block_stop","index":1}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":'
        '{"output_tokens":20}}', '{"type":"message_stop"     }', named=True),
    "gemini": events_of(
        '{"candidates": [{"content": {"parts": [{"text": "THOUGHT","thought": true}],"role": "model"},"index": 0}],'
        + ODD + ',"modelVersion": "m"}',
        '{"candidates": [{"content": {"parts": [{"text": "Caf\\u00e9 \\/ ok"}],"role": "model"},"finishReason": '
        '"STOP","index": 0}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 11,'
        '"thoughtsTokenCount": 9},"modelVersion": "m","responseId": "r1"}').replace("\n", "\r\n"),
    "ollama": "".join(line + "\n" for line in (
        '{"model":"m","created_at":"2025-01-01T00:00:00.1Z",' + ODD + ',"message":{"role":"assistant",'
        '"content":"","thinking":"THOUGHT"},"done":false}',
        '{"model":"m","created_at":"2025-01-01T00:00:00.2Z","message":{"role":"assistant","content":'
        '"Caf\\u00e9 \\/ ok"},"done":false}',
        '{"model":"m","created_at":"2025-01-01T00:00:00.3Z","message":{"role":"assistant","content":""},'
        '"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":10,"eval_count":20}')),
}


def own(dialect, stream, thought=THOUGHT):
    return (STREAM if stream else WHOLE)[dialect].replace("THOUGHT", thought).encode()


def type_of(dialect, stream):
    if not stream:
        return "application/json; charset=UTF-8"
    return "application/x-ndjson" if dialect == "ollama" else "text/event-stream"


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        up = World.up
        up.asked.clear()
        up.piece, up.status, up.answer = 0, 200, None

    def ask(self, dialect, model, stream, headers=None, at=None, usage=False, **more):
        path, body = ask_in(dialect, model, "hi", stream, usage)
        r = request(path, {**body, **more}, headers or {}, at=at or World.shown)
        self.assertEqual(r.status, 200, r.body[:2000])
        return r

    def serve(self, kind, body):
        World.up.type, World.up.body = kind, body


class Same(Case):
    """Our own cases, with one dialect on both sides."""

    def test_a_reply_passes_byte_for_byte_with_and_without_a_level(self):
        for dialect in CLIENTS:
            for stream in (False, True):
                body = own(dialect, stream)
                self.serve(type_of(dialect, stream), body)
                for headers in ({}, HIGH):
                    with self.subTest(dialect, stream=stream, headers=headers):
                        r = self.ask(dialect, f"{dialect}-m", stream, headers)
                        got = r.body
                        if stream and headers:  # a client that sets a level gets its effect reported
                            self.assertRegex(got, rb"reasoning_tokens=\d+; cap=\d+; cut=none")
                            got = NOTE.sub(b"", got)
                            got = re.sub(rb"(?m)^.*x-rationale-usage.*\n", b"", got)
                        self.assertEqual(got, body)

    def test_a_stream_is_the_same_for_every_cut_of_its_bytes(self):
        for dialect in CLIENTS:
            body = own(dialect, True)
            self.serve(type_of(dialect, True), body)
            for piece in (1, 7, 100):
                with self.subTest(dialect, piece=piece):
                    World.up.piece = piece
                    self.assertEqual(self.ask(dialect, f"{dialect}-m", True).body, body)

    def test_many_events_at_once_are_the_same_as_one_at_a_time(self):
        words = ["<think>", "so ", "it", " is", "</think>", "\n\n", "One", " two", " &", " <", "b>", "  ", "three ", "",
                 "x" * 5000, " <thi", "nk>more</think>", *(f" w{i}" for i in range(300)), ' "q"', " \u00e9", " end", "\n"]
        providers = {"up": {"kind": "openai", "base_url": World.up.root + BASES["openai"], "format": "think",
                            "models": ["thinker"]}}
        with Gateway(BINARY, config(True, providers)) as at:
            for more in ({}, {"usage": None}):
                last = sse(chunk(part({}, "stop"), **more), chunk([], usage=TOKENS)) + DONE
                self.serve("text/event-stream", sse(*(chunk(part({"content": w}), **more) for w in words)) + last)
                for show in ("show", "hide"):
                    for usage in (False, True):
                        got = []
                        for World.up.piece in (0, 2500, 170):
                            r = self.ask("openai", "thinker", True, {"x-rationale-reasoning": show}, at, usage)
                            got.append(r.body)
                        with self.subTest(more=more, show=show, usage=usage):
                            self.assertEqual(got[1:], got[:1] * 2)
                            text = read("openai", got[0], True).text
                            self.assertEqual(text, "".join(words[6:]))
                            self.assertGreater(got[0].count(b"data: "), 300)

    def test_a_tag_that_the_request_asks_for_passes_in_each_choice(self):
        frames = [chunk([{"index": choice, "delta": {"content": word}, "finish_reason": None}])
                  for choice in (0, 1) for word in ("<reasoning>", "so", "</reasoning>", *(f" w{i}" for i in range(50)))]
        body = sse(*frames) + DONE
        asks = {"n": 2, "messages": [{"role": "user", "content": "Use <reasoning>."}]}
        self.serve("text/event-stream", body)
        for World.up.piece in (0, 170):
            with self.subTest(piece=World.up.piece):
                self.assertEqual(self.ask("openai", "openai-m", True, **asks).body, body)

    def test_a_hidden_reply_differs_only_in_its_reasoning(self):
        for dialect in CLIENTS:
            for stream in (False, True):
                with self.subTest(dialect, stream=stream):
                    body = own(dialect, stream, "ponder")
                    self.serve(type_of(dialect, stream), body)
                    r = self.ask(dialect, f"{dialect}-m", stream, at=World.hidden)
                    self.assertNotIn(b"ponder", r.body)
                    got, want = read(dialect, r.body, stream), read(dialect, body, stream)
                    self.assertEqual((got.text, got.input, got.output), (want.text, want.input, want.output))
                    if not stream:
                        self.assertEqual(bare(json.loads(r.body)), bare(json.loads(body)))
                        self.assertIn(ODD.encode(), r.body)
                        self.assertIn(b'"Caf\\u00e9 \\/ ok"', r.body)

    def test_a_plain_reply_over_its_cap_is_truncated_and_nothing_else(self):
        for dialect in CLIENTS:
            with self.subTest(dialect):
                body = own(dialect, False, LONG)
                self.serve(type_of(dialect, False), body)
                World.up.asked.clear()
                r = self.ask(dialect, f"{dialect}-m", False, LOW)
                [asked] = World.up.asked
                self.assertFalse(asked.get("stream"))
                self.assertIn("cap=128; cut=budget", r.headers["x-rationale-usage"])
                # The text was truncated, so the provider's signature is replaced by one of ours.
                got, ours = re.subn(rb'"rationale\.[0-9a-f]+"', b'"c2ln"', r.body)
                self.assertEqual(ours, dialect == "anthropic")
                at = body.index(LONG.encode())
                self.assertTrue(got.startswith(body[:at]), got)
                self.assertTrue(got.endswith(body[at + len(LONG):]), got)
                left = got[at:len(got) - (len(body) - at - len(LONG))].decode()
                self.assertTrue(LONG.startswith(left) and 50 < len(left.split()) <= 128, left)

    def test_a_plain_reply_over_its_cap_reaches_other_dialects_with_its_answer(self):
        for kind in CLIENTS:
            for dialect in CLIENTS:
                with self.subTest(kind, client=dialect):
                    self.serve(type_of(kind, False), own(kind, False, LONG))
                    World.up.asked.clear()
                    said = read(dialect, self.ask(dialect, f"{kind}-m", False, LOW).body, False)
                    [asked] = World.up.asked
                    self.assertFalse(asked.get("stream"))
                    self.assertEqual((said.text, said.output), ("Caf\u00e9 / ok", 20))
                    self.assertTrue(50 < len(said.thought.split()) <= 128, said.thought)


def chunk(choices, **more):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def part(delta, why=None):
    return [{"index": 0, "delta": delta, "finish_reason": why}]


TOKENS = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
DONE = b"data: [DONE]\n\n"


def sse(*docs, between=(",", ":")):
    return b"".join(b"data: " + json.dumps(d, separators=between).encode() + b"\n\n" for d in docs)


# Messages and tools that the gateway does not know, or that only some hosts accept.
ODD_MESSAGES = ('{"role":"critic","content":"x"}', '{"role":"user","content":null}', '{"role":"user","content":["q"]}',
                '{"role":"user","content":[{"image_url":{"uuid":"u"},"type":"image_url"}]}',
                '{"role":"tool","content":"r"}', '{"role":"assistant","tool_calls":[{"id":"1","type":"new","x":1.0}]}')
ODD_BODIES = {
    "openai": [f'{{"model":"openai-m", "messages":[{m}]}}' for m in ODD_MESSAGES] + [
        '{"model":"openai-m","messages":[{"role":"user","content":"q"}],' + more + "}" for more in (
            '"tools":[{"google_search":{}},{"type":"function","name":"f"}]', '"reasoning":"high"',
            '"response_format":{"type":"json_schema","schema":{"type":"object"}}')],
    "responses": [f'{{"model":"responses-m", "input":[{i}]}}' for i in (
        '{"role":"critic","content":"x"}', '{"id":"msg_1"}',
        '{"type":"function_call_output","call_id":"c","output":{"a":1.0}}')] + [
        '{"model":"responses-m","input":"q","tools":[{"name":"f"}]}'],
    "anthropic": [f'{{"model":"anthropic-m", "max_tokens":9,"messages":[{m}]}}' for m in (
        '{"role":"critic","content":"x"}', '{"role":"user","content":[{"type":"text"}]}',
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_use"}]}]}')] + [
        '{"model":"anthropic-m","max_tokens":9,"messages":[{"role":"user","content":"q"}],' + more + "}" for more in (
            '"system":[{"type":"new"}]', '"tools":[{"name":"f"}]', '"thinking":"on"')],
    "gemini": ['{"contents":[{"role":"critic","parts":[{"text":"q"}]}]}',
               '{"contents":[{"parts":[{"functionCall":{}}]}]}',
               '{"contents":[{"parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"x":1.0}]}]}'],
    "ollama": [f'{{"model":"ollama-m", "stream":false,"messages":[{m}]}}' for m in (
        '{"role":"control","content":"thinking"}', '{"role":"user","content":["q"]}')] + [
        '{"model":"ollama-m","stream":false,"messages":[],"tools":[{"type":"new","x":1.0}]}'],
}


class Requests(Case):
    """A provider of the client's dialect gets members that the gateway cannot read; providers of
    other dialects get no request."""

    def test_unknown_messages_and_tools_pass_byte_for_byte(self):
        for kind, bodies in ODD_BODIES.items():
            World.up.status, World.up.type, World.up.body = 200, "application/json", WHOLE[kind].encode()
            upstream = World.shown.config["providers"][kind]["models"][f"{kind}-m"]
            path = PATHS.get(kind) or f"/v1beta/models/{kind}-m:generateContent"
            for body in bodies:
                with self.subTest(kind, body=body):
                    r = request(path, body.encode(), {}, at=World.shown)
                    self.assertEqual(r.status, 200, r.body)
                    self.assertEqual(World.up.sent.decode(), body.replace(f'"{kind}-m"', f'"{upstream}"'))

    def test_for_another_dialect_they_are_refused(self):
        for kind, bodies in ODD_BODIES.items():
            other = "anthropic" if kind != "anthropic" else "gemini"
            path = PATHS.get(kind) or f"/v1beta/models/{other}-m:generateContent"
            for body in bodies[:2]:
                with self.subTest(kind, body=body):
                    r = request(path, body.replace(f"{kind}-m", f"{other}-m").encode(), {}, at=World.shown)
                    self.assertEqual(r.status, 400, r.body)


class Tagged(Case):
    """Reasoning in tags is split out of a stream; white space at its end stays in its block."""
    TEXTS = ("<thi", "nk>hm</thi", "nk>\n\nYes", ".\n", "\n")

    def events(self, dialect, sent, at):
        self.serve("text/event-stream", events_of(*(json.dumps(f) for f in sent), named=True).encode())
        return frames(self.ask(dialect, f"{dialect}-m", True, at=at).body)

    def test_a_block_of_anthropic_has_all_of_its_text(self):
        parts = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}}
                 for t in self.TEXTS]
        for at in (World.shown, World.hidden):
            got = self.events("anthropic", [
                {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
                                                      "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, *parts,
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
                {"type": "message_stop"}], at)
            texts = collections.defaultdict(str)
            for e in got:
                if e["type"] == "content_block_delta" and e["delta"]["type"] == "text_delta":
                    texts[e["index"]] += e["delta"]["text"]
            self.assertEqual(list(texts.values()), ["Yes.\n\n"])

    def test_no_text_of_responses_follows_its_end(self):
        place = {"item_id": "m1", "output_index": 0, "content_index": 0}
        text, item = "".join(self.TEXTS), {"id": "m1", "type": "message", "role": "assistant"}
        part = {"type": "output_text", "text": text, "annotations": []}
        for at in (World.shown, World.hidden):
            got = self.events("responses", [
                {"type": "response.created", "response": {"id": "r", "object": "response", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                *({"type": "response.output_text.delta", **place, "delta": t} for t in self.TEXTS),
                {"type": "response.output_text.done", **place, "text": text},
                {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [part]}},
                {"type": "response.completed", "response": {"id": "r", "object": "response", "status": "completed",
                                                            "output": [{**item, "content": [part]}]}}], at)
            kinds = [e["type"] for e in got]
            done = kinds.index("response.output_text.done")
            self.assertNotIn("response.output_text.delta", kinds[done:])
            self.assertEqual(got[done]["text"], "Yes.\n\n")
            self.assertEqual("".join(e["delta"] for e in got if e["type"] == "response.output_text.delta"), "Yes.\n\n")


class Usage(Case):
    """Every stream requests its usage; a client that did not request it gets the stream without it."""

    # A provider's stream with usage requested, and the same stream as if it were not.
    def pairs(self):
        texts = [part({"role": "assistant", "content": ""}), *(part({"content": t}) for t in ("Yes", " it", " is", ".")),
                 part({}, "stop")]
        for between in ((",", ":"), (", ", ": ")):
            plain = sse(*(chunk(t) for t in texts), between=between)
            yield "a chunk of its own", plain + sse(chunk([], usage=TOKENS), between=between) + DONE, plain + DONE
            yield "null elsewhere", sse(*(chunk(t, usage=None) for t in texts), between=between) \
                + sse(chunk([], usage=TOKENS, service_tier=None), between=between) + DONE, plain + DONE
            tail = sse(*(chunk(t, obfuscation="x" * i) for i, t in enumerate(texts)), between=between)
            yield "null in the middle", sse(*(chunk(t, usage=None, obfuscation="x" * i) for i, t in enumerate(texts)),
                                            between=between) \
                + sse(chunk([], usage=TOKENS, obfuscation="xy"), between=between) + DONE, tail + DONE
            first = sse(*({"usage": None, **chunk(t)} for t in texts), between=between)
            yield "null in front", first + DONE, plain + DONE
        for name, end in (("choices null", {**chunk([], usage=TOKENS), "choices": None}),
                          ("no choices", {"id": "c", "usage": TOKENS}),
                          ("empty members", chunk([], usage=TOKENS, citations=[], x_groq={}, provider=""))):
            yield name, plain + sse(end) + DONE, plain + DONE
        last = sse(*(chunk(t) for t in texts[:-1]), chunk(texts[-1], usage=TOKENS)) + DONE
        yield "in the last chunk of a choice, unasked", last, last
        more = sse(*(chunk(t) for t in texts), chunk([], usage=TOKENS, sla_metrics={"ttft_ms": 2})) + DONE
        yield "beside a member of its own, unasked", more, more
        nested = sse(*(chunk(t, x_groq={"usage": None}) for t in texts)) + DONE
        yield "null in another object", nested, nested

    def test_it_is_asked_for_and_taken_out_again(self):
        for name, flagged, without in self.pairs():
            self.serve("text/event-stream", flagged)
            for piece in (0, 3):
                World.up.piece = piece
                for options in ({}, {"stream_options": {"include_usage": False}}, {"stream_options": None}):
                    with self.subTest(name, options=options, piece=piece):
                        World.up.asked.clear()
                        r = self.ask("openai", "openai-m", True, **options)
                        self.assertEqual(World.up.asked[-1]["stream_options"], {"include_usage": True})
                        self.assertEqual(r.body, without)
                with self.subTest(name, piece=piece, asked=True):
                    r = self.ask("openai", "openai-m", True, usage=True)
                    if b"completion_tokens" in flagged:
                        self.assertEqual(r.body, flagged)
                    else:  # the gateway adds its own count
                        self.assertTrue(r.body.startswith(flagged.removesuffix(DONE)))

    def test_a_client_that_asked_gets_our_count_if_the_provider_has_none(self):
        stream = sse(chunk(part({"role": "assistant", "content": "Yes"})), chunk(part({"content": " it is."})),
                     chunk(part({}, "stop")))
        for end in (DONE, b"data: [DONE]", b""):
            self.serve("text/event-stream", stream + end)
            for piece in (0, 3):
                World.up.piece = piece
                with self.subTest(end=end, piece=piece):
                    r = self.ask("openai", "openai-m", True, usage=True)
                    self.assertTrue(r.body.startswith(stream))
                    last, done = r.body[len(stream):].split(b"\n\n", 1)
                    doc = json.loads(last.removeprefix(b"data: "))
                    self.assertEqual({**doc, "usage": 0}, {**chunk([], usage=0)})
                    u = doc["usage"]
                    self.assertGreater(u["prompt_tokens"], 0)
                    self.assertGreater(u["completion_tokens"], 2)
                    self.assertEqual(u["total_tokens"], u["prompt_tokens"] + u["completion_tokens"])
                    self.assertEqual(done, end or DONE)
                    self.assertEqual(self.ask("openai", "openai-m", True).body, stream + (end or DONE))

    def test_it_is_taken_out_where_reasoning_is_hidden_or_capped(self):
        thought = [chunk(part({"reasoning_content": "ponder "}), usage=None) for _ in range(3)]
        flagged = sse(*thought, chunk(part({"content": "Yes."}), usage=None), chunk(part({}, "stop"), usage=None),
                      chunk([], usage=TOKENS)) + DONE
        self.serve("text/event-stream", flagged)
        for headers, at in (({}, World.hidden), (HIGH, World.shown)):
            r = self.ask("openai", "openai-m", True, headers, at)
            self.assertNotIn(b"usage\":", r.body)
            self.assertEqual(read("openai", r.body, True).text, "Yes.")

    def test_a_provider_that_refuses_the_flag_is_asked_without_it_from_then_on(self):
        stream = sse(chunk(part({"content": "Yes."})), chunk(part({}, "stop"))) + DONE
        error = json.dumps({"error": {"message": "property 'stream_options' is unsupported, did you mean 'stream'?",
                                      "type": "invalid_request_error"}}).encode()

        def refuse(asked):
            if "stream_options" in asked:
                return 400, "application/json", error
            return 200, "text/event-stream", stream
        World.up.answer = refuse
        for dialect, model in (("openai", "openai-n"), ("openai", "openai-n"), ("anthropic", "openai-n")):
            World.up.asked.clear()
            r = self.ask(dialect, model, True)
            self.assertEqual(read(dialect, r.body, True).text, "Yes.")
        self.assertEqual(len(World.up.asked), 1, "it was not remembered")
        r = request(*ask_in("openai", "openai-n", "hi", True, usage=True), {}, at=World.shown)
        self.assertEqual((r.status, r.body), (400, error), "the client's own parameter is its own matter")


# ---- recorded traffic ----

HOSTS = (("/responses", "responses", "responses"), ("api.anthropic.com", "anthropic", "anthropic"),
         ("googleapis.com/v1beta/openai", "openai", "openai"), ("googleapis.com", "gemini", "gemini"),
         ("api.mistral.ai", "mistral", "mistral"), ("api.groq.com", "groq", "openai"),
         ("openrouter.ai", "openrouter", "openai"), ("api.deepseek.com", "deepseek", "openai"),
         ("/chat/completions", "compatible", "openai"))
Pair = collections.namedtuple("Pair", "id provider dialect model request stream type body")


def corpus():
    folder = os.path.join(os.environ.get("RATIONALE_CORPORA") or SOURCE / ".." / "shared" / "corpora",
                          "provider-traffic")
    pairs = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            for line in f:
                one = recorded(name, json.loads(line))
                if one and is_reply(one):
                    pairs.append(as_text(one))
    return pairs


def as_text(p):
    """Without configuration a reply with reasoning in tags is split; with `format: none` it passes."""
    tagged = read(p.dialect, p.body, p.stream).text.lstrip().startswith("<think>")
    return p._replace(provider=p.provider + "-text") if tagged else p


def recorded(name, x):
    uri = x["uri"].split("?")[0].split("#")[0]
    found = next((h for h in HOSTS if h[0] in uri), None)
    asked = json.loads(x["request_body"]) if isinstance(x["request_body"], str) else x["request_body"]
    if x["status"] != 200 or not found or "count_tokens" in uri or not isinstance(asked, dict):
        return None
    model = re.search(r"models/([^:/]+)", uri)[1] if found[2] == "gemini" else asked.get("model", "m")
    return Pair(f"{name} {x['id']}", found[1], found[2], model, asked, "event-stream" in x["content_type"],
                x["content_type"], x["response_body"].encode())


def recorded_providers(pairs):
    out = {}
    for p in pairs:
        one = out.setdefault(p.provider, {"kind": p.dialect, "base_url": World.up.root + BASES[p.dialect],
                                          "retries": 0, "models": {}})
        if p.provider.endswith("-text"):
            one["format"] = "none"
        one["models"][f"{p.provider}-{p.model}"] = p.model
    return out


def is_reply(p):
    """Whether the body is a reply of its dialect, not an error or a web page."""
    try:
        said = read(p.dialect, p.body, p.stream)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return False
    if not p.stream and p.dialect == "openai" and not json.loads(p.body).get("choices"):
        return False
    return b'"error":{' not in p.body.replace(b" ", b"") or bool(said.text and not p.stream)


def starved(p):
    said = read(p.dialect, p.body, p.stream)
    return not said.text and not said.calls and re.search(rb'MAX_TOKENS|"length"|max_output_tokens', p.body)


def bare(doc):
    """A reply with all of its reasoning removed."""
    if isinstance(doc, list):
        return [bare(v) for v in doc if not (isinstance(v, dict) and (
            v.get("thought") is True or v.get("type") in ("thinking", "redacted_thinking", "reasoning")))]
    if not isinstance(doc, dict):
        return doc
    return {k: bare(v) for k, v in doc.items() if k not in (
        "reasoning", "reasoning_content", "thinking", "reasoning_details", "reasoning_tokens", "thoughtSignature",
        "output_text", "logprobs", "completion_tokens_details", "output_tokens_details")}


class Recorded(Case):
    @classmethod
    def setUpClass(cls):
        cls.pairs = corpus()
        if not cls.pairs:
            print("skipped: no recorded traffic beside the checkout")
            raise unittest.SkipTest("no recorded traffic")
        cls.shown = Gateway(BINARY, config(True, recorded_providers(cls.pairs))).__enter__()
        cls.hidden = Gateway(BINARY, config(False, recorded_providers(cls.pairs))).__enter__()

    @classmethod
    def tearDownClass(cls):
        if cls.pairs:
            cls.shown.stop()
            cls.hidden.stop()

    def replay(self, p, headers, at):
        self.serve(p.type, p.body)
        World.up.asked.clear()
        body = dict(p.request)
        if p.dialect == "gemini":
            path = f"/v1beta/models/{p.provider}-{p.model}:" + \
                ("streamGenerateContent?alt=sse" if p.stream else "generateContent")
        else:
            path, body["model"] = PATHS[p.dialect], f"{p.provider}-{p.model}"
        r = request(path, body, headers, at=at)
        self.assertEqual(r.status, 200, (p.id, r.body[:500]))
        return r

    def test_one_dialect_on_both_sides_gives_the_bytes_of_the_provider(self):
        counted = collections.Counter()
        for p in self.pairs:
            if p.dialect not in CLIENTS:
                continue
            for headers in ({}, HIGH):
                with self.subTest(p.id, headers=headers):
                    r = self.replay(p, headers, self.shown)
                    told = r.headers.get("x-rationale-usage") or " ".join(comments(r.body)) if p.stream \
                        else r.headers["x-rationale-usage"]
                    got = NOTE.sub(b"", r.body) if p.stream else r.body
                    if len(World.up.asked) > 1 and starved(p):
                        counted["starved, asked again"] += 1
                        self.assertEqual(headers, HIGH, "a second call that nobody asked for")
                    elif "cut=budget" in told and p.stream:
                        counted["streams cut"] += 1
                    elif "cut=budget" in told:
                        counted["plain, truncated"] += 1
                        self.assertEqual(bare(json.loads(got)), bare(json.loads(p.body)))
                    else:
                        counted["equal"] += 1
                        self.assertEqual(got, p.body)
        print("recorded pairs, one dialect:", dict(counted))

    def test_hidden_they_differ_only_in_reasoning(self):
        for p in self.pairs:
            if p.dialect not in CLIENTS or starved(p):
                continue
            with self.subTest(p.id):
                r = self.replay(p, {}, self.hidden)
                got, want = read(p.dialect, r.body, p.stream), read(p.dialect, p.body, p.stream)
                self.assertEqual(got.thought, "")
                if "cut=budget" not in (r.headers.get("x-rationale-usage") or " ".join(comments(r.body))):
                    self.assertEqual((got.text, got.calls, got.input, got.output),
                                     (want.text, want.calls, want.input, want.output))
                if not p.stream:
                    self.assertEqual(bare(json.loads(r.body)), bare(json.loads(p.body)))

    def test_every_other_dialect_says_the_same(self):
        for p in self.pairs:
            if starved(p):
                continue
            want = read(p.dialect, p.body, p.stream)
            self.serve(p.type, p.body)
            for dialect in CLIENTS:
                if dialect == p.dialect:
                    continue
                with self.subTest(p.id, client=dialect):
                    r = self.ask(dialect, f"{p.provider}-{p.model}", p.stream, at=self.shown, usage=True)
                    got = read(dialect, r.body, p.stream)
                    self.assertEqual(got.text.strip(), want.text.strip())
                    self.assertEqual(re.sub(r"\s+", "", got.thought), re.sub(r"\s+", "", want.thought))
                    self.assertEqual(got.calls, want.calls)
                    if want.output is not None:
                        self.assertEqual((got.input, got.output), (want.input, want.output))


if __name__ == "__main__":
    start()
