#!/usr/bin/env python3
"""The beginning of a streamed text that may be an opening marker: a reply without a marker passes
in its provider's frames, and one with a marker is split.

    test/e2e/fronts_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
import unittest
from pathlib import Path

from asking import request, start
from command import BINARY
from gateway import BASES, Gateway, until
from passthrough_test import CLIENTS, NOTE, Upstream, type_of
from reading import ask_in, frames, lines, read

PLAIN = ("[1, 2]", "[", "\n\nHello", "<html>", "<thin", "  ", "\n", "[THINK", " <|chan", "\u25c1ok",
         "<think", "Hello [THINK]", " " * 70 + "<think>text")
SECRET = "Ponderous"
MARKED = tuple(f % SECRET for f in (
    "[THINK]%s[/THINK]answer", "<think>%s</think>answer", "\n\n<think>\n%s\n</think>\n\nanswer",
    " <thinking>%s</thinking>answer", "\u25c1think\u25b7%s\u25c1/think\u25b7answer"))
COMMENT = b": keep-alive\n\n"


class World:
    up = shown = hidden = folder = None


def setUpModule():
    World.up = Upstream()
    World.folder = tempfile.TemporaryDirectory()
    providers = {k: {"kind": k, "base_url": World.up.root + BASES[k], "format": "auto", "retries": 1,
                     "models": {f"{k}-m": "m"}} for k in CLIENTS}
    World.shown = Gateway(BINARY, {
        "store": "sqlite:" + str(Path(World.folder.name) / "r.db"), "providers": providers,
        "reasoning": {"show": True}}).__enter__()
    World.hidden = Gateway(BINARY, {"store": "none", "providers": providers,
                                    "reasoning": {"show": False}}).__enter__()


def tearDownModule():
    World.shown.stop()
    World.hidden.stop()
    World.up.server.shutdown()
    World.folder.cleanup()


# ---- streams: one frame per piece of text ----

def dump(doc):
    return json.dumps(doc, separators=(" ,", ": "), ensure_ascii=False)


def sse(*docs, named=False):
    return "".join((f"event: {d['type']}\n" if named else "") + f"data: {dump(d)}\n\n" for d in docs)


def chunk(delta, index=0, why=None):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "odd": 1.50,
            "choices": [{"index": index, "delta": delta, "finish_reason": why}]}


def openai(pieces):
    first = [chunk({"role": "assistant", "content": ""})] if len(pieces) % 2 else []
    texts = [chunk({"content": p}) for p in pieces]
    if not first:
        texts[0]["choices"][0]["delta"]["role"] = "assistant"
    return sse(*first, *texts, chunk({}, why="stop")) + "data: [DONE]\n\n"


def responses(pieces):
    text = "".join(pieces)
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    done = {**item, "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    reply = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m", "output": []}
    docs = [{"type": "response.created", "response": reply},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.content_part.added", **place,
             "part": {"type": "output_text", "text": "", "annotations": []}},
            *({"type": "response.output_text.delta", **place, "delta": p, "obfuscation": "xyz"} for p in pieces),
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": {
                **reply, "status": "completed", "output": [done],
                "usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}}}]
    return sse(*({"sequence_number": i, **d} for i, d in enumerate(docs)), named=True)


def anthropic(pieces):
    return sse({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 20}}, {"type": "message_stop"}, named=True)


def gemini(pieces):
    docs = [{"candidates": [{"content": {"parts": [{"text": p}], "role": "model"}, "index": 0}], "modelVersion": "m",
             "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": i}} for i, p in enumerate(pieces)]
    docs[-1]["candidates"][0]["finishReason"] = "STOP"
    return sse(*docs)


def ollama(pieces):
    docs = [{"model": "m", "created_at": f"2025-01-01T00:00:00.{i % 10}Z",
             "message": {"role": "assistant", "content": p}, "done": False} for i, p in enumerate(pieces)]
    docs.append({"model": "m", "created_at": "2025-01-01T00:00:01Z", "message": {"role": "assistant", "content": ""},
                 "done": True, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 20})
    return "".join(dump(d) + "\n" for d in docs)


STREAMS = {f.__name__: f for f in (openai, responses, anthropic, gemini, ollama)}


def stream(dialect, pieces):
    return STREAMS[dialect](list(pieces)).encode()


def deltas(dialect, body):
    """The texts of a stream, one per frame with text."""
    out = []
    for d in lines(body) if dialect == "ollama" else frames(body):
        text = None
        if dialect == "openai":
            text = ((d.get("choices") or [{}])[0].get("delta") or {}).get("content")
        elif dialect == "responses":
            text = d["delta"] if d["type"] == "response.output_text.delta" else None
        elif dialect == "anthropic":
            text = d.get("delta", {}).get("text")
        elif dialect == "gemini":
            parts = d["candidates"][0].get("content", {}).get("parts", []) if d.get("candidates") else []
            text = "".join(p.get("text", "") for p in parts)
        elif dialect == "ollama":
            text = d["message"]["content"]
        out += [text] if text else []
    return out


class Fronts(unittest.TestCase):
    maxDiff = 6000

    def setUp(self):
        World.up.piece, World.up.status, World.up.answer = 0, 200, None
        World.up.asked.clear()

    def ask(self, dialect, kind, body, at=None, **more):
        World.up.type, World.up.body = type_of(kind, True), body
        path, asked = ask_in(dialect, f"{kind}-m", "hi", True, False)
        r = request(path, {**asked, **more}, {}, at=at or World.shown)
        self.assertEqual(r.status, 200, r.body[:2000])
        return r.body

    def test_a_front_without_a_marker_passes_in_its_own_frames(self):
        for dialect in CLIENTS:
            for text in PLAIN:
                for at in (World.shown, World.hidden):
                    with self.subTest(dialect, text=text, hidden=at is World.hidden):
                        body = stream(dialect, text)
                        self.assertEqual(self.ask(dialect, dialect, body, at), body)

    def test_it_passes_for_every_cut_of_its_bytes(self):
        for dialect in CLIENTS:
            for piece in (1, 50):
                with self.subTest(dialect, piece=piece):
                    body = stream(dialect, ["\n", "<", "html", ">", " ok"])
                    World.up.piece = piece
                    self.assertEqual(self.ask(dialect, dialect, body), body)

    def test_comments_stay_where_they_are(self):
        body = stream("openai", "[1]")
        body = body.replace(b"data:", COMMENT + b"data:")
        self.assertEqual(self.ask("openai", "openai", body), body)

    def test_other_dialects_get_as_many_deltas(self):
        for kind in CLIENTS:
            for dialect in CLIENTS:
                for text in ("[1, 2]", "\n\nHello", "<thin"):
                    with self.subTest(kind, client=dialect, text=text):
                        got = self.ask(dialect, kind, stream(kind, text))
                        self.assertEqual(deltas(dialect, got), list(text))

    def test_a_front_with_a_marker_is_split_and_hidden(self):
        for kind in CLIENTS:
            for dialect in CLIENTS:
                for text in MARKED:
                    with self.subTest(kind, client=dialect, text=text):
                        body = stream(kind, text)
                        got = self.ask(dialect, kind, body, World.hidden)
                        texts = "".join(deltas(dialect, got))
                        self.assertEqual(texts, "answer")
                        for i in range(len(SECRET) - 3):
                            self.assertNotIn(SECRET[i:i + 4].encode(), got)
                        said = read(dialect, self.ask(dialect, kind, body), True)
                        self.assertEqual((said.text, said.thought), ("answer", SECRET))

    def test_choices_decide_for_themselves(self):
        texts = ("[1]", "<think>%s</think>yes" % SECRET, "\n\nHello", "plain")
        docs = [chunk({"role": "assistant", "content": ""}, i) for i in range(len(texts))]
        for at in range(max(map(len, texts))):
            docs += [chunk({"content": t[at]}, i) for i, t in enumerate(texts) if at < len(t)]
        docs += [chunk({}, i, "stop") for i in range(len(texts))]
        body = (sse(*docs) + "data: [DONE]\n\n").encode()
        got = NOTE.sub(b"", self.ask("openai", "openai", body, World.hidden, n=4))
        said = {}
        for d in frames(got):
            for c in d["choices"]:
                said.setdefault(c["index"], []).append(c["delta"].get("content") or "")
        self.assertEqual({i: "".join(t) for i, t in said.items()}, {0: "[1]", 1: "yes", 2: "\n\nHello", 3: "plain"})
        self.assertNotIn(SECRET[:4], "".join(map("".join, said.values())))
        kept = [f for f in body.split(b"\n\n") if b'"index": 1 ' not in f]
        self.assertEqual([f for f in got.split(b"\n\n") if b'"index": 1 ' not in f and b'"index":1' not in f], kept)

    def test_many_frames_of_another_choice_do_not_let_reasoning_out(self):
        docs = [chunk({"role": "assistant", "content": "<thin"}, 0)]
        docs += [chunk({"content": f"{i} "}, 1) for i in range(200)]
        docs += [chunk({"content": f"king>{SECRET}</thinking>yes"}, 0), chunk({}, 0, "stop"), chunk({}, 1, "stop")]
        got = self.ask("openai", "openai", (sse(*docs) + "data: [DONE]\n\n").encode(), World.hidden, n=2)
        self.assertNotIn(SECRET.encode(), got)
        self.assertIn(b"199 ", got)
        self.assertEqual(read("openai", b"".join(
            f + b"\n\n" for f in got.split(b"\n\n") if b'"index":1' not in f.replace(b" ", b"")), True).text, "yes")

    def test_a_reply_that_fails_before_its_front_decides_is_asked_for_again(self):
        good = stream("openai", "[1]")
        bad = sse(chunk({"role": "assistant", "content": "["})).encode()
        late = bad + sse({"error": {"message": "overloaded", "code": 503}}).encode()
        for broken in (bad, late):
            World.up.asked.clear()
            World.up.answer = lambda _: (200, "text/event-stream", broken if len(World.up.asked) == 1 else good)
            self.assertEqual(self.ask("openai", "openai", good), good)
            self.assertEqual(len(World.up.asked), 2)

    def test_a_reply_that_breaks_off_later_keeps_its_front(self):
        first = {**chunk({"role": "assistant", "content": ""}), "large": "x" * 300000}  # exceeds the buffer
        body = sse(first, chunk({"content": "["})).encode()
        got = self.ask("openai", "openai", body)
        self.assertTrue(got.startswith(body), got)
        self.assertIn(b"error", got[len(body):])

    def test_the_record_has_all_of_it(self):
        for text in ("[1, 2]", "\n\nHello", "<thin"):
            World.up.type, World.up.body = type_of("openai", True), stream("openai", text)
            r = request(*ask_in("openai", "openai-m", "hi", True), {}, at=World.shown)
            path = f"/api/v1/history/sessions/{r.headers['x-rationale-session']}"
            kept = until(lambda p=path: json.loads(request(p, headers={}, at=World.shown).body))
            self.assertIn(json.dumps(text), json.dumps(kept))


if __name__ == "__main__":
    start()
