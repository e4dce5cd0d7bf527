#!/usr/bin/env python3
"""A client's parameters reach a provider of the same dialect unchanged, known or unknown to the
gateway. Other providers get a translation, or the client gets an error that names the member.

    test/e2e/own_words_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json

from again_test import SAID, Again, delta, plain
from asking import request, start
from gateway import BASES, digest
from reading import frames, read

KEY = {"authorization": "Bearer sk-key"}
BODIES = {
    "openai": ("/v1/chat/completions", {"model": "openai-m", "messages": SAID}),
    "responses": ("/v1/responses", {"model": "responses-m", "input": "hi"}),
    "anthropic": ("/v1/messages", {"model": "anthropic-m", "messages": SAID, "max_tokens": 900}),
    "gemini": ("/v1beta/models/gemini-m:generateContent", {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    "ollama": ("/api/chat", {"model": "ollama-m", "messages": SAID, "stream": False}),
}
MESSAGE = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
           "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}
REPLIES = {
    "openai": {"id": "c", "object": "chat.completion", "created": 1, "model": "u", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}]},
    "responses": {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
                  "model": "u", "output": [MESSAGE]},
    "anthropic": {"id": "msg_1", "type": "message", "role": "assistant", "model": "u",
                  "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn",
                  "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 2}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]},
                               "finishReason": "STOP", "index": 0}]},
    "ollama": {"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True,
               "done_reason": "stop", "message": {"role": "assistant", "content": "Yes."}},
}


def thinking(**config):
    return {"generationConfig": {"thinkingConfig": config}}


# Unknown values, or values in a spelling that only their provider may know.
UNKNOWN = {
    "openai": [({"reasoning_effort": "ultra"}, "reasoning_effort"),
               ({"reasoning_effort": 3}, "reasoning_effort"),
               ({"reasoning": {"effort": "ultra"}}, "reasoning.effort"),
               ({"thinking": {"type": "deep"}}, "thinking.type"),
               ({"thinking_budget": "some"}, "thinking_budget"),
               ({"tool_choice": "perhaps"}, "tool_choice"),
               ({"response_format": {"type": "xml"}}, "response_format.type"),
               ({"temperature": 5}, "temperature"), ({"max_tokens": 0}, "max_tokens")],
    "responses": [({"reasoning": {"effort": "ultra"}}, "reasoning.effort"),
                  ({"tool_choice": "perhaps"}, "tool_choice"),
                  ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
                  ({"max_output_tokens": 0}, "max_output_tokens")],
    "anthropic": [({"thinking": {"type": "deep"}}, "thinking.type"),
                  ({"thinking": {"type": "enabled", "budget_tokens": "1024"}},
                   "thinking.budget_tokens"),
                  ({"output_config": {"effort": "ultra"}}, "output_config.effort"),
                  ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
                  ({"tool_choice": {"type": "perhaps"}}, "tool_choice.type"),
                  ({"temperature": 1.5}, "temperature")],
    "gemini": [(thinking(thinkingLevel="ULTRA"), "generationConfig.thinkingConfig.thinkingLevel"),
               (thinking(thinkingBudget="some"), "generationConfig.thinkingConfig.thinkingBudget"),
               (thinking(thinkingBudget=-2), "generationConfig.thinkingConfig.thinkingBudget"),
               (thinking(includeThoughts="yes"), "generationConfig.thinkingConfig.includeThoughts"),
               ({"generationConfig": {"topK": "many"}}, "generationConfig.topK"),
               ({"toolConfig": {"functionCallingConfig": {"mode": "PERHAPS"}}},
                "toolConfig.functionCallingConfig.mode")],
    "ollama": [({"think": "ultra"}, "think"), ({"think": 3}, "think"),
               ({"format": "xml"}, "format"), ({"options": {"top_p": "much"}}, "options.top_p")],
}
# Values that other dialects can express too, and what a provider of Chat Completions gets.
KNOWN = {
    "openai": [({"reasoning_effort": "HIGH"}, {"reasoning_effort": "HIGH"}),
               ({"messages": [*SAID, {"role": "assistant", "content": [
                   {"type": "hologram", "hologram": 1}]}, *SAID]}, {})],
    "responses": [({"reasoning": {"effort": "HIGH"}}, {"reasoning_effort": "high"})],
    "anthropic": [({"thinking": {"type": "adaptive"}, "output_config": {"effort": "HIGH"}},
                   {"reasoning_effort": "high"}),
                  ({"thinking": {"type": "enabled", "budget_tokens": 500}},
                   {"reasoning_effort": "low"}),
                  ({"thinking": {"type": "enabled", "budget_tokens": 5000}},
                   {"reasoning_effort": "medium"}),
                  ({"thinking": {"type": "enabled"}}, {"reasoning_effort": "medium"})],
    "gemini": [(thinking(thinkingLevel="hIgH"), {"reasoning_effort": "high"}),
               (thinking(thinkingBudget="1024"), {"reasoning_effort": "low"}),
               (thinking(thinkingBudget="0"), {"reasoning_effort": "none"}),
               ({"generationConfig": {"maxOutputTokens": "50", "topP": "0.5", "seed": "7"}},
                {"max_completion_tokens": 50, "top_p": 0.5, "seed": 7})],
    "ollama": [({"think": "HIGH"}, {"reasoning_effort": "high"}),
               ({"think": "minimal"}, {"reasoning_effort": "minimal"}),
               ({"think": "none"}, {"reasoning_effort": "none"})],
}


class Own(Again):
    def setUp(self):
        super().setUp()
        self.up.reply = lambda _, body: plain(200, REPLIES[self.kind])

    def serve(self, **more):
        providers = {k: {"kind": k, "base_url": self.up.root + BASES[k], "retries": 0,
                         "models": {f"{k}-m": "gemini-2.5-flash" if k == "gemini" else "u"}}
                     for k in BODIES}
        return super().serve(providers=providers, reasoning={"presets": "asked"}, **more)

    def ask_as(self, gateway, client, model, more, headers=None):
        path, body = BODIES[client]
        self.kind = model
        path = path.replace("gemini-m", f"{model}-m")
        body = {**body, **more}
        if client != "gemini":
            body["model"] = f"{model}-m"
        return request(path, body, headers or {}, at=gateway)


class Words(Own):
    def test_words_that_we_do_not_know_pass_in_the_same_dialect(self):
        gateway = self.serve()
        for client in BODIES:
            for more, _ in UNKNOWN[client] + KNOWN[client]:
                self.up.forget()
                self.ok(self.ask_as(gateway, client, client, more))
                for name, value in more.items():
                    self.assertEqual(self.up.asked[-1][name], value, (client, more))
                self.assertEqual(len(self.up.asked), 1)

    def test_they_are_refused_where_they_would_be_translated(self):
        gateway = self.serve()
        for client in BODIES:
            other = "anthropic" if client == "openai" else "openai"
            for more, member in UNKNOWN[client]:
                self.up.forget()
                r = self.ask_as(gateway, client, other, more)
                self.assertEqual(r.status, 400, (client, more, r.body))
                self.assertIn(f"{member}: ", r.body.decode())
                self.assertEqual(self.up.asked, [])

    def test_words_in_any_case_are_translated(self):
        gateway = self.serve()
        for client in BODIES:
            for more, want in KNOWN[client]:
                if client == "openai":
                    continue
                self.ok(self.ask_as(gateway, client, "openai", more))
                for name, value in want.items():
                    self.assertEqual(self.up.asked[-1].get(name), value, (client, more))
        self.ok(self.ask_as(gateway, "openai", "responses", {"reasoning_effort": "HIGH"}))
        self.assertEqual(self.up.asked[-1]["reasoning"]["effort"], "high")

    def test_a_word_that_we_do_not_know_is_above_every_limit_of_a_key(self):
        gateway = self.serve(keys=[{"name": "key", "sha256": digest("sk-key"),
                                    "levels": ["none", "low", "medium", "high"]}])
        for client, more in (("openai", {"reasoning_effort": "ultra"}), ("ollama", {"think": "ultra"}),
                             ("anthropic", {"thinking": {"type": "deep"}}),
                             ("gemini", thinking(thinkingBudget="some"))):
            r = self.ask_as(gateway, client, client, more, KEY)
            self.assertEqual(r.status, 403, (client, r.body))
        self.assertEqual(self.up.asked, [])


class CutTurns(Own):
    """An assistant turn that ended before its answer: with reasoning, or empty."""
    DETAILS = [{"type": "reasoning.text", "text": "Hm.", "format": "unknown", "index": 0},
               {"type": "reasoning.encrypted", "data": "AAAA", "index": 1}]

    def test_they_are_taken_by_every_provider(self):
        gateway = self.serve()
        for turn in ({"content": None, "reasoning_details": self.DETAILS},
                     {"reasoning_details": self.DETAILS}, {"reasoning_details": self.DETAILS[1:]},
                     {"content": None, "reasoning_details": []}, {"content": None}, {},
                     {"content": None, "reasoning": "Hm.", "reasoning_details": self.DETAILS},
                     {"content": "", "reasoning_details": self.DETAILS}):
            history = [*SAID, {"role": "assistant", **turn}, {"role": "user", "content": "go on"}]
            for kind in BODIES:
                self.ok(self.ask_as(gateway, "openai", kind, {"messages": history}))
                asked = self.up.asked[-1]
                if kind == "openai":
                    self.assertEqual(asked["messages"], history)
                if kind in ("openai", "ollama"):
                    continue
                for m in asked.get("messages") or asked.get("contents") or asked["input"]:
                    said = m.get("content") or m.get("parts") or m.get("summary")
                    self.assertTrue(said, (kind, turn, asked))
                    self.assertNotIn('"text": ""', json.dumps(said), (kind, turn))


class Signature(Own):
    """Gemini signs its answer in a separate part without text, at the end."""
    PARTS = {"own": [{"text": "hello"}, {"text": "", "thoughtSignature": "U0lHMQ=="}],
             "text": [{"text": "hel"}, {"text": "lo", "thoughtSignature": "U0lHMQ=="}],
             "thought": [{"text": "Hm.", "thought": True}, {"text": "hello"},
                         {"text": "", "thoughtSignature": "U0lHMQ=="}],
             "after": [{"text": "hello"}, {"text": "Hm.", "thought": True},
                       {"thoughtSignature": "U0lHMQ==", "text": ""}]}

    def streamed(self, parts, at_once):
        groups = [parts] if at_once else [[p] for p in parts]
        chunks = [{"candidates": [{"content": {"role": "model", "parts": g}, "index": 0}]}
                  for g in groups]
        chunks[-1]["candidates"][0]["finishReason"] = "STOP"
        body = "".join(f"data: {json.dumps(c)}\r\n\r\n" for c in chunks).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n" \
            b"content-length: %d\r\n\r\n%s" % (len(body), body)

    def reply(self, gateway, parts, way):
        path, body = BODIES["gemini"]
        if way == "plain":
            doc = {"candidates": [{"content": {"role": "model", "parts": parts},
                                   "finishReason": "STOP", "index": 0}]}
            self.up.reply = lambda *_: plain(200, doc)
            r = self.ok(request(path, body, {}, at=gateway))
            return json.loads(r.body)["candidates"][0]["content"]["parts"]
        self.up.reply = lambda *_: self.streamed(parts, way == "at once")
        r = self.ok(request(path.replace(":g", ":streamG") + "?alt=sse", body, {}, at=gateway))
        return [p for f in frames(r.body) for c in f.get("candidates", [])
                for p in c["content"]["parts"]]

    def test_it_reaches_the_client_and_goes_back_in_its_place(self):
        for show in (False, True):
            gateway = Again.serve(self, reasoning={"presets": "asked", "show": show}, providers={
                "gemini": {"kind": "gemini", "base_url": self.up.root + BASES["gemini"],
                           "models": {"gemini-m": "gemini-3-flash"}}})
            for name, parts in self.PARTS.items():
                want = [p for p in parts if show or not p.get("thought")]
                for way in ("plain", "streamed", "at once"):
                    got = self.reply(gateway, parts, way)
                    self.assertEqual([p for p in got if p != {"text": ""}], want, (show, name, way))
                    path, body = BODIES["gemini"]
                    history = [*body["contents"], {"role": "model", "parts": got},
                               {"role": "user", "parts": [{"text": "more"}]}]
                    self.up.reply = lambda *_: plain(200, REPLIES["gemini"])
                    self.ok(request(path, {"contents": history}, {}, at=gateway))
                    self.assertEqual(self.up.asked[-1]["contents"], history)


class Blocked(Own):
    """A prompt that Gemini blocks has no candidates: the reply has only feedback."""
    DOC = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
           "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 7}, "modelVersion": "g"}
    STOPS = {"openai": ('"finish_reason":"content_filter"',), "responses": ('"content_filter"',),
             "anthropic": ('"stop_reason":"refusal"',), "ollama": ('"done":true',)}

    def ask_blocked(self, gateway, client, stream):
        body = f"data: {json.dumps(self.DOC)}\r\n\r\n".encode()
        self.up.reply = lambda _, asked: plain(200, self.DOC) if not stream else (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body))
        if client == "gemini":
            path, asked = BODIES["gemini"]
            path = path.replace(":g", ":streamG") if stream else path
            return [self.ok(request(path + sse, asked, {}, at=gateway))
                    for sse in (("?alt=sse", "") if stream else ("",))]
        return [self.ok(self.ask_as(gateway, client, "gemini", {"stream": stream}))]

    def test_nothing_is_added_in_the_same_dialect(self):
        gateway = self.serve()
        self.assertEqual(json.loads(self.ask_blocked(gateway, "gemini", False)[0].body), self.DOC)
        sse, array = self.ask_blocked(gateway, "gemini", True)
        self.assertEqual(frames(sse.body), [self.DOC])
        self.assertEqual([d for d in json.loads(array.body) if "x-rationale-usage" not in d],
                         [self.DOC])

    def test_other_dialects_say_that_it_was_refused(self):
        gateway = self.serve()
        for client, words in self.STOPS.items():
            for stream in (False, True):
                body = self.ask_blocked(gateway, client, stream)[0].body.decode()
                for w in words:
                    self.assertIn(w, body.replace('": ', '":'), (client, stream))


class Counted(Own):
    """Token counts of a request are the same for every client if the provider gives none."""
    TOOLS = [{"name": "get_weather", "description": "Says how the weather is.", "input_schema": {
        "type": "object", "properties": {"city": {"type": "string"}}}}]
    IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": "iVBORw0KGgo" + "A" * 40000}}

    def reply_without_usage(self, _, body):
        if not body.get("stream"):
            return plain(200, REPLIES["openai"])
        out = "".join(f"data: {json.dumps(d)}\n\n" for d in (
            delta(content="Yes."), delta("stop"))).encode() + b"data: [DONE]\n\n"
        return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n" \
            b"content-length: %d\r\n\r\n%s" % (len(out), out)

    def counted(self, gateway, body):
        r = self.ok(request("/v1/messages/count_tokens", {"model": "openai-m", **body}, {}, at=gateway))
        return json.loads(r.body)["input_tokens"]

    def test_counting_and_usage_agree(self):
        self.up.reply = self.reply_without_usage
        gateway = self.serve()
        for words, more in (("hi", {}), ("Grüße, 世界 🌍. " * 300, {"tools": self.TOOLS}),
                            ("some words " * 90000, {"system": "Be brief."})):
            body = {"messages": [{"role": "user", "content": [{"type": "text", "text": words},
                                                              self.IMAGE]}], **more}
            want = self.counted(gateway, body)
            for stream in (False, True):
                r = self.ok(request("/v1/messages", {
                    "model": "openai-m", "max_tokens": 50, "stream": stream, **body}, {}, at=gateway))
                got = read("anthropic", r.body, stream)
                self.assertEqual(got.input, want)
                if stream:
                    start = frames(r.body)[0]["message"]
                    self.assertEqual(start["usage"]["input_tokens"], want)

    def test_it_is_that_of_the_vocabulary(self):
        self.up.reply = self.reply_without_usage
        gateway = self.serve()
        text = "The quick brown fox jumps over the lazy dog. " * 20
        self.assertEqual(self.counted(gateway, {"messages": [{"role": "user", "content": text}]}),
                         10 * 20 + 1 + 4)
        chat = self.ask_as(gateway, "openai", "openai", {
            "messages": [{"role": "user", "content": text}], "stream": True,
            "stream_options": {"include_usage": True}})
        self.assertEqual(frames(chat.body)[-1]["usage"]["prompt_tokens"], 10 * 20 + 1 + 4)
        r = self.ok(request("/v1beta/models/openai-m:countTokens", {
            "contents": [{"role": "user", "parts": [{"text": text}]}]}, {}, at=gateway))
        self.assertEqual(json.loads(r.body)["totalTokens"], 10 * 20 + 1 + 4)
        # Beyond a limit the count is extrapolated from the beginning.
        long = self.counted(gateway, {"messages": [{"role": "user", "content": text * 2000}]})
        self.assertAlmostEqual(long, 10 * 20 * 2000, delta=4000)


if __name__ == "__main__":
    start()
