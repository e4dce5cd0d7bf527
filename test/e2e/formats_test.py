#!/usr/bin/env python3
"""Reasoning in a reply's text is found without configuration, and hidden from clients that may not
see it, in any format and however the client asked for it.

    test/e2e/formats_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
import time
import unittest
import urllib.parse
from pathlib import Path

import asking
from asking import SHOW, request, said_in, start
from command import BINARY
from corners_test import Upstream, plain, sse
from gateway import Gateway

SECRET = "Ponderous"
ANSWER = "Forty-two."
THOUGHT = f"a {SECRET} thing\n\n{SECRET}"
HARMONY = ("<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>final<|message|>%s"
           "<|return|>")
# A reply's text in each format; %s is the reasoning, then the answer.
TEXTS = {
    "think": "<think>%s</think>\n\n%s",
    "qwen3": "\n<think>\n%s\n</think>\n\n%s",
    "thinking": "<thinking>%s</thinking>%s",
    "reasoning": "<reasoning>%s</reasoning>%s",
    "mistral": "[THINK]%s[/THINK]%s",
    "harmony": HARMONY,
    "gemma4": "<|channel>thought\n%s<channel|>%s",
    "kimi": "◁think▷%s◁/think▷%s",
    "cohere": "<|START_THINKING|>%s<|END_THINKING|><|START_RESPONSE|>%s<|END_RESPONSE|>",
    "mismatched": "<reasoning>%s</thinking>%s",
}
ASKED = "<thinking>%s</thinking>%s"
CLIENTS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "/v1/messages": {"max_tokens": 999, "messages": [{"role": "user", "content": "hi"}]},
    "/v1/responses": {"input": "hi"},
    "/api/chat": {"messages": [{"role": "user", "content": "hi"}]},
}


def setUpModule():
    up = asking.world.up = Upstream()
    own = {"kind": "openai", "base_url": up.root + "/v1"}
    providers = {"auto": {**own, "models": ["auto"]},
                 "off": {**own, "models": ["off"], "format": "none"},
                 "asks": {**own, "models": ["asks"], "enable_reasoning": True},
                 "asks-off": {**own, "models": ["asks-off"], "enable_reasoning": True,
                              "format": "none"},
                 "claude": {"kind": "anthropic", "base_url": up.root, "models": ["claude-sonnet-4-5"]}}
    for f in TEXTS:
        if f != "mismatched":
            providers[f] = {**own, "models": [f], "format": f}
            providers["asks-" + f] = {**own, "models": ["asks-" + f], "format": f,
                                      "enable_reasoning": True}
    asking.world.folder = tempfile.TemporaryDirectory()
    asking.world.gateway = Gateway(BINARY, {
        "store": "sqlite:" + str(Path(asking.world.folder.name) / "r.db"), "providers": providers,
        "reasoning": {"keep": "text"}}).__enter__()


def tearDownModule():
    asking.world.gateway.stop()
    asking.world.up.server.shutdown()
    asking.world.folder.cleanup()


def whole(text, **more):
    return plain({"id": "c", "object": "chat.completion", "created": 1, "model": "u", "choices": [
        {"index": 0, "finish_reason": "stop",
         "message": {"role": "assistant", "content": text, **more}}]})


def streamed(text, step):
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[i:i + step]} for i in range(0, len(text), step)]
    frames = [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u",
               "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas + [{}]]
    frames[-1]["choices"][0]["finish_reason"] = "stop"
    kind, body = sse(*frames)
    return kind, body + b"data: [DONE]\n\n"


def texts_of(body):
    """All strings in a reply's JSON, streamed or whole, joined."""
    found = []

    def walk(v):
        if isinstance(v, dict):
            v = list(v.values())
        if isinstance(v, list):
            for x in v:
                walk(x)
        if isinstance(v, str):
            found.append(v)
    for line in body.decode().splitlines():
        line = line.removeprefix("data: ")
        if line.startswith(("{", "[{")):
            walk(json.loads(line))
    return "".join(found)


class Formats(unittest.TestCase):
    def is_same(self, r, text, step):
        """A stream is passed on unchanged, except for the comment at its end."""
        body = b"\n\n".join(b for b in r.body.split(b"\n\n") if not b.startswith(b":"))
        self.assertEqual(body, (streamed(text, step) if step else whole(text))[1])

    def ask(self, path, model, text, step=0, headers=None):
        reply = streamed(text, step or len(text))
        asking.world.up.reply = lambda _, body: reply if body.get("stream") else whole(text)
        r = request(path, {"model": model, "stream": bool(step), **CLIENTS[path]}, headers or {})
        self.assertEqual(r.status, 200, r.body)
        return r

    def hides(self, path, model, text, headers=None):
        for step in (0, 1, 5, 7, 1000):
            with self.subTest(path=path, model=model, text=text, step=step):
                r = self.ask(path, model, text, step, headers)
                said = texts_of(r.body)
                self.assertNotIn(SECRET, said)
                self.assertNotIn(SECRET.encode(), r.body)
                if path == "/v1/chat/completions":
                    self.assertTrue(said_in(r)[0].endswith(ANSWER), said)
                elif step in (0, 1000):  # otherwise other members are between the pieces
                    self.assertIn(ANSWER, said)

    def test_with_nothing_configured_reasoning_is_found_and_hidden(self):
        for path in CLIENTS:
            for text in TEXTS.values():
                self.hides(path, "auto", text % (THOUGHT, ANSWER))

    def test_a_named_format_hides_it_at_every_level(self):
        for name, text in TEXTS.items():
            if name != "mismatched":
                for headers in ({}, {"x-rationale-level": "high"}):
                    self.hides("/v1/chat/completions", name, text % (THOUGHT, ANSWER), headers)

    def test_the_tags_that_we_ask_for_are_found_beside_any_format(self):
        for name, text in TEXTS.items():
            own = text % (THOUGHT, ANSWER)
            inner = text % (THOUGHT, "Well, " + ASKED % (THOUGHT, ANSWER))
            model = "asks" if name == "mismatched" else "asks-" + name
            for said in (own, inner, ASKED % (THOUGHT, ANSWER), "Hm. " + ASKED % (THOUGHT, ANSWER)):
                self.hides("/v1/chat/completions", model, said)
                if name != "mismatched":
                    self.hides("/v1/chat/completions", "asks", said)
        self.hides("/v1/messages", "asks-off", "Hm. " + ASKED % (THOUGHT, ANSWER))

    def test_shown_it_is_in_a_field_of_its_own(self):
        for text in TEXTS.values():
            r = self.ask("/v1/chat/completions", "auto", text % ("thought", ANSWER), 0, SHOW)
            message = json.loads(r.body)["choices"][0]["message"]
            self.assertEqual(message["content"], ANSWER)
            self.assertEqual(message["reasoning_content"], "thought")

    def test_text_that_begins_with_no_marker_passes_as_it_came(self):
        for text in ("Use <think>x</think> so.\n<think>y</think>", "`<think>` is a tag. ",
                     "<p>one </p> two ", "a</think>b", "Here is my thought process: x"):
            for step in (0, 3, 1000):
                r = self.ask("/v1/chat/completions", "auto", text, step)
                self.is_same(r, text, step)

    def test_a_frame_of_one_text_stays_one_frame_wherever_the_text_was_cut(self):
        """White space at the end of a frame's text waits for the next frame. The frame's other
        members (usage, log-probabilities, a provider's own) stay in the frame."""
        text = "one two \n three  four\n\nfive six "
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        for name in ("think", "qwen3", "mistral", "harmony"):
            for step in range(1, 9):
                pieces = [text[i:i + step] for i in range(0, len(text), step)]
                frames = [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u",
                           "choices": [{"index": 0, "finish_reason": None, "delta": {
                               "content": piece, "token_ids": [n]}, "logprobs": {"content": [
                                   {"token": piece, "logprob": -1.0, "top_logprobs": []}]}}],
                           "usage": usage} for n, piece in enumerate(pieces)]
                frames[-1]["choices"][0]["finish_reason"] = "stop"
                kind, body = sse(*frames)
                asking.world.up.reply = lambda *_, r=(kind, body + b"data: [DONE]\n\n"): r
                for headers in ({}, SHOW):
                    with self.subTest(format=name, step=step, headers=headers):
                        r = request("/v1/chat/completions", {
                            "model": name, "stream": True, **CLIENTS["/v1/chat/completions"]},
                            headers)
                        self.assertEqual(said_in(r)[0], text)
                        got = [json.loads(line[6:]) for line in r.body.decode().splitlines()
                               if line.startswith("data: {")]
                        ids = [f["choices"][0]["delta"]["token_ids"] for f in got]
                        self.assertEqual(ids, [[n] for n in range(len(pieces))])
                        self.assertEqual([f["usage"] for f in got], [usage] * len(pieces))
                        said = [f for f in got if f["choices"][0]["delta"].get("content")]
                        for f in said[:-1] if headers else []:
                            self.assertTrue(f["choices"][0].get("logprobs"), f)

    def test_format_none_passes_everything_as_it_came(self):
        text = TEXTS["think"] % (THOUGHT, ANSWER)
        for step in (0, 4):
            r = self.ask("/v1/chat/completions", "off", text, step)
            self.is_same(r, text, step)

    def test_reasoning_in_a_field_of_its_own_and_in_the_text_is_hidden_in_both(self):
        for text, answer in (("<think>" + SECRET + "</think>Yes.", "Yes."),
                             ("It is <think> that opens it.", "It is <think> that opens it.")):
            asking.world.up.reply = lambda *_, text=text: whole(text, reasoning_content=SECRET)
            r = request("/v1/chat/completions", {"model": "auto", **CLIENTS["/v1/chat/completions"]}, {})
            self.assertEqual(json.loads(r.body)["choices"][0]["message"]["content"], answer)
            self.assertNotIn(SECRET.encode(), r.body)

    def test_reasoning_that_is_never_closed_is_no_answer(self):
        for text in ("<think>%s", "<thinking>%s", "[THINK]%s", "<|channel|>analysis<|message|>%s"):
            for step in (0, 3):
                for model in ("auto", "asks"):
                    r = self.ask("/v1/chat/completions", model, text % THOUGHT, step)
                    self.assertNotIn(SECRET, texts_of(r.body))
                    self.assertNotIn("<", texts_of(r.body))
        doc = json.loads(self.ask("/v1/chat/completions", "auto", "<think>" + THOUGHT).body)
        self.assertFalse(doc["choices"][0]["message"]["content"])
        self.assertEqual(doc["choices"][0]["finish_reason"], "stop")

    def test_the_record_has_reasoning_and_answer_apart(self):
        for text, answer, state in (
                (TEXTS["think"] % (THOUGHT, ANSWER), ANSWER, "complete"),
                (TEXTS["mismatched"] % (THOUGHT, ANSWER), ANSWER, "complete"),
                ("<think>" + THOUGHT, "", "unclosed")):
            r = self.ask("/v1/chat/completions", "auto", text)
            call = self.recorded(r.headers["x-rationale-id"])
            self.assertTrue(call["has_reasoning"], call)
            self.assertEqual(call["reasoning_content"], THOUGHT)
            self.assertEqual(call["reasoning_state"], state)
            self.assertEqual(call["response"] or "", answer)

    def test_thoughts_of_one_reply_are_paragraphs(self):
        """In the record, and for clients that have a single text for all reasoning; the inserted
        line is not counted."""
        text = "<think>one two</think>\nFirst.\n<think>three</think>\nForty."
        blocks = [{"type": "thinking", "thinking": "one two", "signature": "a"},
                  {"type": "thinking", "thinking": "three", "signature": "b"}, {"type": "text", "text": "Forty."}]
        message = {"id": "m", "type": "message", "role": "assistant", "model": "u", "stop_reason": None,
                   "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}, "content": []}

        def claude(body):
            if not body.get("stream"):
                return plain({**message, "stop_reason": "end_turn", "content": blocks})
            frames = [{"type": "message_start", "message": message}]
            for i, b in enumerate(blocks):
                word = "thinking" if "thinking" in b else "text"
                frames += [
                    {"type": "content_block_start", "index": i, "content_block": {"type": b["type"], word: ""}},
                    *({"type": "content_block_delta", "index": i, "delta": {"type": word + "_delta", word: c}}
                      for c in b[word]),
                    {"type": "content_block_stop", "index": i}]
            return sse(*frames, {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                                 "usage": {"output_tokens": 9}}, {"type": "message_stop"})

        def reply(path, body):
            if path.endswith("/messages"):
                return claude(body)
            return streamed(text, 3) if body.get("stream") else whole(text)
        asking.world.up.reply = reply
        for path in ("/v1/chat/completions", "/api/chat"):
            for model in ("auto", "claude-sonnet-4-5"):
                for stream in (False, True):
                    with self.subTest(path=path, model=model, stream=stream):
                        r = request(path, {"model": model, "stream": stream, **CLIENTS[path]}, SHOW)
                        found = "".join(self.reasoning_of(line) for line in r.body.decode().splitlines())
                        self.assertEqual(found, "one two\n\nthree")
                        call = self.recorded(r.headers["x-rationale-id"])
                        self.assertEqual(call["reasoning_content"], "one two\n\nthree")
                        self.assertEqual(call["reasoning_tokens"], 3)

    def reasoning_of(self, line):
        line = line.removeprefix("data: ")
        doc = json.loads(line) if line.startswith("{") else {}
        choice = (doc.get("choices") or [doc])[0]
        said = choice.get("delta") or choice.get("message") or {}
        return said.get("reasoning") or said.get("thinking") or ""

    def recorded(self, id):
        end = time.monotonic() + 60
        while True:
            r = request("/api/v1/history/interactions/" + urllib.parse.quote(id), None, {}, "GET")
            if r.status == 200 or time.monotonic() > end:
                self.assertEqual(r.status, 200, r.body)
                return json.loads(r.body)
            time.sleep(0.05)


if __name__ == "__main__":
    start()
