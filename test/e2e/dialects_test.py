#!/usr/bin/env python3
"""Features that dialects express differently: requests and replies of any client with any provider.

    test/e2e/dialects_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import unittest

import asking
from asking import events, request, start
from command import BINARY
from corners_test import Refusing, Upstream, plain, sse
from gateway import BASES, FAMILIES, Gateway, digest
from parameters import ONE_DIALECT, PARAMETERS, leaf
from reading import ask_in, read

KINDS = list(BASES)
PDF = "JVBERi0="
WAV = "UklGRg=="
PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages",
         "ollama": "/api/chat"}


def chunk(delta, why=None, **more):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u", **more,
            "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}


def said(path, body):
    """The reply "Yes." of any provider, whole or streamed."""
    if "generatecontent" in path.lower():
        doc = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [{"text": "Yes."}]}}], "usageMetadata": {"promptTokenCount": 5}}
        return sse(doc) if "stream" in path else plain(doc)
    if path.endswith("/responses"):
        return plain({"id": "r", "object": "response", "status": "completed", "model": "u", "output": [
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Yes.", "annotations": []}]}]})
    if path.endswith("/messages"):
        return plain({"id": "m", "type": "message", "role": "assistant", "model": "u", "stop_reason": "end_turn",
                      "content": [{"type": "text", "text": "Yes."}], "usage": {"input_tokens": 5, "output_tokens": 1}})
    if path.endswith("/api/chat"):
        return plain({"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True, "done_reason": "stop",
                      "message": {"role": "assistant", "content": "Yes."}})
    if path.endswith("/api/generate"):
        return plain({"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True, "done_reason": "stop",
                      "response": "Yes."})
    return plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]})


def setUpModule():
    up = asking.world.up = Upstream()
    asking.world.gateway = Gateway(BINARY, {"store": "none", "reasoning": {"show": True}, "providers": {
        k: {"kind": k, "base_url": up.root + BASES[k], "models": {k: FAMILIES.get(k, "u")}, "retries": 0}
        for k in KINDS}}).__enter__()


def tearDownModule():
    asking.world.gateway.stop()
    asking.world.up.server.shutdown()


class Case(unittest.TestCase):
    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()
        self.up.reply = said

    def ask(self, dialect, kind, body, stream=False, status=200):
        """Returns the reply, and the request that the provider received, or None."""
        self.up.asked.clear()
        if dialect == "gemini":
            verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
            r = request(f"/v1beta/models/{kind}:{verb}", body, {})
        else:
            r = request(PATHS[dialect], {**body, "model": kind, "stream": stream}, {})
        self.assertEqual(r.status, status, r.body)
        return r, self.up.asked[-1] if self.up.asked else None


class Dialects(Case):
    def test_calls_whose_arguments_come_by_turns_are_one_block_after_the_other(self):
        piece = lambda i, text, **more: {"index": i, "function": {"arguments": text}, **more}  # noqa: E731
        begin = lambda i, id, name: {"index": i, "id": id, "type": "function",  # noqa: E731
                                     "function": {"name": name, "arguments": ""}}
        frames = [chunk({"tool_calls": [begin(0, "a", "f")]}), chunk({"tool_calls": [begin(1, "b", "g")]}),
                  chunk({"tool_calls": [begin(2, "c", "h")]}), chunk({"content": "So."}),
                  chunk({"tool_calls": [piece(1, '{"b"'), piece(0, '{"a":'), piece(2, '{"c"')]}),
                  chunk({"tool_calls": [piece(1, ":2}"), piece(0, "1"), piece(2, ":3}")]}),
                  chunk({"tool_calls": [begin(3, "d", "i")]}),
                  chunk({"tool_calls": [piece(0, "}")]}), chunk({}, "tool_calls")]
        self.up.reply = lambda *_: sse(*frames)
        r, _ = self.ask("anthropic", "openai", {"max_tokens": 9, "messages": [
            {"role": "user", "content": "hi"}]}, stream=True)
        blocks, running = [], None
        for e in events(r.body):
            if e["type"] == "content_block_start":
                self.assertIsNone(running)
                running = e["index"]
                self.assertEqual(running, len(blocks))
                blocks.append([e["content_block"].get("name"), ""])
            elif e["type"] == "content_block_delta":
                self.assertEqual(e["index"], running)
                blocks[-1][1] += e["delta"].get("partial_json") or e["delta"].get("text") or ""
            elif e["type"] == "content_block_stop":
                self.assertEqual(e["index"], running)
                running = None
        self.assertIsNone(running)
        self.assertEqual(blocks, [["f", '{"a":1}'], ["g", '{"b":2}'], ["h", '{"c":3}'], [None, "So."], ["i", ""]])

    def test_calls_of_responses_that_come_by_turns_are_whole_for_chat(self):
        item = lambda i: {"type": "function_call", "id": f"fc{i}", "call_id": f"c{i}", "name": "f",  # noqa: E731
                          "arguments": "", "status": "in_progress"}
        more = lambda i, text: {"type": "response.function_call_arguments.delta", "item_id": f"fc{i}",  # noqa: E731
                                "output_index": i, "delta": text}
        whole = {"id": "r", "object": "response", "status": "completed", "model": "u", "output": [
            {**item(i), "arguments": f'{{"x":{i}}}', "status": "completed"} for i in (0, 1)]}
        frames = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
                  *({"type": "response.output_item.added", "output_index": i, "item": item(i)} for i in (0, 1)),
                  more(1, '{"x"'), more(0, '{"x":'), more(1, ":1}"), more(0, "0}"),
                  *({"type": "response.output_item.done", "output_index": i, "item": whole["output"][i]}
                    for i in (1, 0)), {"type": "response.completed", "response": whole}]
        self.up.reply = lambda *_: sse(*frames)
        r, _ = self.ask("openai", "responses", {"messages": [{"role": "user", "content": "hi"}]}, stream=True)
        calls = {}
        for e in events(r.body):
            for d in e["choices"][0]["delta"].get("tool_calls", []) if e["choices"] else []:
                calls[d["index"]] = calls.get(d["index"], "") + d["function"]["arguments"]
        self.assertEqual(calls, {0: '{"x":0}', 1: '{"x":1}'})

    def test_texts_of_an_answer_are_joined_as_they_are(self):
        blocks = [("text", "First."), ("thinking", "hm"), ("text", "Then."), ("text", " More.")]
        doc = {"id": "m", "type": "message", "role": "assistant", "model": "u", "stop_reason": "end_turn",
               "content": [{"type": k, k: t, **({"signature": "s"} if k == "thinking" else {})} for k, t in blocks],
               "usage": {"input_tokens": 5, "output_tokens": 9}}
        frames = [{"type": "message_start", "message": {**doc, "content": [], "stop_reason": None}}]
        for i, (k, t) in enumerate(blocks):
            frames += [{"type": "content_block_start", "index": i, "content_block": {"type": k, k: ""}},
                       *({"type": "content_block_delta", "index": i, "delta": {"type": f"{k}_delta", k: c}} for c in t),
                       {"type": "content_block_stop", "index": i}]
        frames += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
                   {"type": "message_stop"}]
        want = "First.Then. More."
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        for show in "show", "hide":
            head = {"x-rationale-reasoning": show}
            self.up.reply = lambda *_: plain(doc)
            r = request(PATHS["openai"], {**hi, "model": "anthropic"}, head)
            self.assertEqual(asking.said_in(r)[0], want)
            r = request(PATHS["ollama"], {**hi, "model": "anthropic", "stream": False}, head)
            self.assertEqual(json.loads(r.body)["message"]["content"], want)
            self.up.reply = lambda *_: sse(*frames)
            r = request(PATHS["openai"], {**hi, "model": "anthropic", "stream": True}, head)
            self.assertEqual("".join(e["choices"][0]["delta"].get("content") or "" for e in events(r.body)
                                     if e["choices"]), want)
            r = request(PATHS["ollama"], {**hi, "model": "anthropic"}, head)
            self.assertEqual("".join(json.loads(line)["message"]["content"] for line in r.body.splitlines()), want)
        r = request(PATHS["anthropic"], {**hi, "model": "anthropic", "max_tokens": 9, "stream": True},
                    {"x-rationale-reasoning": "show"})
        self.assertEqual([e for e in events(r.body) if e["type"] != "ping"], frames)

    def test_what_a_provider_does_not_have_is_named(self):
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        more = {**hi, "stop": ["x"], "seed": 1, "logit_bias": {"5": 1}, "logprobs": True, "top_logprobs": 2,
                "response_format": {"type": "json_object"}, "presence_penalty": 0.5}
        named = {"openai": None, "responses": "stop, seed, presence_penalty, logit_bias",
                 "anthropic": "seed, presence_penalty, logit_bias, logprobs, response_format",
                 "gemini": "logit_bias", "ollama": "logit_bias", "mistral": "logit_bias, logprobs"}
        for kind, names in named.items():
            for stream in (False, True):
                r, asked = self.ask("openai", kind, more, stream)
                self.assertEqual(r.headers.get("x-rationale-dropped"), names, kind)
                self.assertEqual("stop" in asked, kind in ("openai", "mistral"))
        tools = [{"type": "function", "name": "f"}, {"type": "tool_search", "execution": "client"},
                 {"type": "web_search"}, {"type": "mcp", "name": "a b"}]
        r, asked = self.ask("responses", "openai", {"input": "hi", "tools": tools})
        self.assertEqual(r.headers["x-rationale-dropped"], "tools.tool_search, tools.web_search, tools")
        self.assertEqual(len(asked["tools"]), 1)
        tool = [{"type": "function", "function": {"name": "f"}}]
        for kind, names in (("ollama", "tool_choice, parallel_tool_calls"), ("gemini", "parallel_tool_calls"),
                            ("anthropic", None)):
            r, _ = self.ask("openai", kind, {**hi, "tools": tool, "tool_choice": "required",
                                             "parallel_tool_calls": False})
            self.assertEqual(r.headers.get("x-rationale-dropped"), names)
        r, _ = self.ask("gemini", "openai", {"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": {
            "responseModalities": ["IMAGE"]}})
        self.assertEqual(r.headers["x-rationale-dropped"], "responseModalities")
        r, _ = self.ask("ollama", "gemini", {**hi, "logprobs": True})
        self.assertEqual(r.headers["x-rationale-dropped"], "logprobs")
        r, _ = self.ask("gemini", "ollama", {"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": {
            "responseLogprobs": True}})
        self.assertEqual(r.headers["x-rationale-dropped"], "logprobs")
        document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
        for on, names in ((True, "citations"), (False, None)):
            r, _ = self.ask("anthropic", "openai", {"max_tokens": 9, "messages": [{"role": "user", "content": [
                {**document, "citations": {"enabled": on}}]}]})
            self.assertEqual(r.headers.get("x-rationale-dropped"), names)
        titled = {**document, "title": "T", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
        for kind, names in (("gemini", "filename"), ("openai", None)):
            r, _ = self.ask("anthropic", kind, {"max_tokens": 9, "messages": [{"role": "user", "content": [titled]}]})
            self.assertEqual(r.headers.get("x-rationale-dropped"), names)
        r, _ = self.ask("anthropic", "openai", {**hi, "max_tokens": 9, "tools": [
            {"name": "f", "input_schema": {"type": "object"}, "input_examples": [{"a": 1}], "defer_loading": False}]})
        self.assertEqual(r.headers["x-rationale-dropped"], "input_examples")
        spoken = [*hi["messages"], {"role": "assistant", "content": None, "audio": {"id": "a"}}, *hi["messages"]]
        r, _ = self.ask("openai", "anthropic", {"messages": spoken})
        self.assertEqual(r.headers["x-rationale-dropped"], "audio")
        r, _ = self.ask("gemini", "openai", {"contents": [{"parts": [{"text": "hi", "videoMetadata": {"fps": 1}}]}]})
        self.assertEqual(r.headers["x-rationale-dropped"], "videoMetadata")
        self.assertEqual(self.ask("openai", "anthropic", hi)[1]["max_tokens"], 32000)
        for kind in ("anthropic", "gemini", "ollama", "responses"):
            plain = self.ask("openai", kind, hi)[1]
            r, asked = self.ask("openai", kind, {**hi, "top_k": -1})
            self.assertEqual((asked, r.headers.get("x-rationale-dropped")), (plain, None))
        for more, names in (({"temperature": 0.5, "top_p": 0.5}, "top_p"),
                            ({"temperature": 0.5, "top_k": 5, "reasoning_effort": "high"}, "temperature, top_k")):
            r, asked = self.ask("openai", "anthropic", {**hi, **more})
            self.assertEqual(r.headers["x-rationale-dropped"], names, asked)

    def test_values_that_a_translation_changes_are_named(self):
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        cases = [
            ("openai", "anthropic", {"temperature": 1.5}, "temperature=1"),
            ("openai", "anthropic", {"temperature": 1}, None),
            ("openai", "responses", {"max_tokens": 5}, "max_tokens=16"),
            ("openai", "responses", {"max_tokens": 16}, None),
            ("openai", "anthropic", {"max_tokens": 500, "reasoning_effort": "low"}, "max_tokens=2548"),
            ("openai", "anthropic", {"max_tokens": 5000, "reasoning_effort": "low"}, None),
            ("openai", "anthropic", {"max_tokens": 5000, "reasoning": {"max_tokens": 100}}, "budget_tokens=1024"),
            ("openai", "mistral", {"reasoning_effort": "low"}, "reasoning_effort=high"),
            ("openai", "mistral", {"reasoning_effort": "high"}, None),
            ("openai", "ollama", {"reasoning_effort": "low"}, "reasoning_effort=true"),
            ("openai", "ollama", {"reasoning_effort": "none"}, None),
            ("openai", "gemini", {"reasoning_effort": "low"}, None),
            ("openai", "responses", {"reasoning_effort": "max"}, "reasoning_effort=xhigh"),
            ("anthropic", "openai", {"max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 3000}},
             "budget_tokens"),
            ("anthropic", "gemini", {"max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 3000}}, None),
            ("ollama", "openai", {"think": True}, None)]
        for dialect, kind, more, names in cases:
            for stream in (False, True):
                with self.subTest(dialect=dialect, kind=kind, more=more):
                    r, asked = self.ask(dialect, kind, {**hi, **more}, stream)
                    self.assertEqual(r.headers.get("x-rationale-dropped"), names, asked)
        failed = [{"role": "user", "content": "hi"},
                  {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
                  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no",
                                                "is_error": True}]}]
        for kind in set(KINDS) - {"anthropic"}:
            r, _ = self.ask("anthropic", kind, {"max_tokens": 90, "messages": failed})
            self.assertEqual(r.headers.get("x-rationale-dropped"), None if kind == "gemini" else "is_error")

    def test_parameters_that_a_provider_refuses_are_named(self):
        hi = {"messages": [{"role": "user", "content": "hi"}]}

        def refuse(path, body):
            if body.get("temperature") is None and body.get("reasoning_effort") is None:
                return said(path, body)
            name = "temperature" if body.get("temperature") is not None else "reasoning_effort"
            return 400, "application/json", json.dumps({"error": {
                "message": f"Unsupported parameter: '{name}' is not supported with this model.", "param": name,
                "type": "invalid_request_error", "code": "unsupported_parameter"}}).encode()
        self.up.reply = refuse
        for dialect, more, names in (
                ("openai", {"temperature": 0.5}, "temperature"), ("openai", {"reasoning_effort": "low"},
                                                                  "reasoning_effort"),
                ("ollama", {"options": {"temperature": 0.5}}, "temperature"), ("openai", {}, None)):
            for _ in range(2):  # the second call is sent without it at once
                r, _ = self.ask(dialect, "openai", {**hi, **more})
                self.assertEqual(r.headers.get("x-rationale-dropped"), names)

    def test_every_parameter_is_carried_refused_or_named(self):
        bodies = {"openai": {"messages": [{"role": "user", "content": "hi"}]}, "responses": {"input": "hi"},
                  "anthropic": {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
                  "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
                  "ollama": {"messages": [{"role": "user", "content": "hi"}]}}
        for dialect, params in PARAMETERS.items():
            self.assertEqual(len({json.dumps(p) for p in params}), len(params))
            for kind in set(KINDS) - {dialect}:
                plain = self.ask(dialect, kind, bodies[dialect])[1]
                for more in params:
                    what = f"{dialect} to {kind}: {more}"
                    body = {**bodies[dialect], **more}
                    self.up.asked.clear()
                    r = (request(f"/v1beta/models/{kind}:generateContent", body, {}) if dialect == "gemini" else
                         request(PATHS[dialect], {"stream": False, **body, "model": kind}, {}))
                    self.assertIn(r.status, (200, 400), f"{what}: {r.body}")
                    if r.status == 200:
                        names = (r.headers.get("x-rationale-dropped") or "").split(", ")
                        self.assertTrue(names != [""] or self.up.asked[-1] != plain, what)
                        if leaf(more) in ONE_DIALECT:
                            self.assertIn(leaf(more), names, what)

    def test_log_probabilities_of_gemini_and_ollama_go_over(self):
        odds = [{"token": "Yes", "logprob": -0.5, "bytes": None, "top_logprobs": [
            {"token": "Yes", "logprob": -0.5, "bytes": None}, {"token": "No", "logprob": -1, "bytes": None}]},
            {"token": ".", "logprob": 0, "bytes": None, "top_logprobs": []}]
        token = lambda o: {"token": o["token"], "tokenId": 7, **(  # noqa: E731
            {"logProbability": o["logprob"]} if o["logprob"] else {})}
        result = {"chosenCandidates": [token(o) for o in odds],
                  "topCandidates": [{"candidates": [token(t) for t in o["top_logprobs"]]} for o in odds]}
        candidate = {"index": 0, "finishReason": "STOP", "logprobsResult": result,
                     "content": {"role": "model", "parts": [{"text": "Yes."}]}}
        thought = {"index": 0, "content": {"role": "model", "parts": [{"text": "Secret", "thought": True}]},
                   "logprobsResult": {"chosenCandidates": [{"token": "Secret", "logProbability": -3}]}}
        line = {"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True, "done_reason": "stop",
                "message": {"role": "assistant", "content": "Yes."}, "logprobs": odds}
        hidden = {**line, "done": False, "message": {"role": "assistant", "content": "", "thinking": "Secret"},
                  "logprobs": [{"token": "Secret", "logprob": -3, "bytes": None}]}

        def provider(path, body):
            if "generatecontent" in path.lower():
                frames = [{"candidates": [c]} for c in (thought, candidate)]
                return sse(*frames) if "stream" in path else plain(frames[1])
            lines = [hidden, line] if body["stream"] else [line]
            return "application/x-ndjson", b"".join(json.dumps(x).encode() + b"\n" for x in lines)
        self.up.reply = provider
        chat = {"messages": [{"role": "user", "content": "hi"}], "logprobs": True, "top_logprobs": 2}
        responses = {"input": "hi", "include": ["message.output_text.logprobs"], "top_logprobs": 2}
        for kind in ("gemini", "ollama"):
            for stream in (False, True):
                for show in ("show", "hide"):
                    head = {"x-rationale-reasoning": show}
                    r = request(PATHS["openai"], {**chat, "model": kind, "stream": stream}, head)
                    told = events(r.body) if stream else [json.loads(r.body)]
                    found = [c["logprobs"]["content"] for e in told for c in e["choices"] if c.get("logprobs")]
                    if stream and show == "show":
                        self.assertEqual(found.pop(0)[0]["token"], "Secret")
                    self.assertEqual(found, [odds])
                    r = request(PATHS["responses"], {**responses, "model": kind, "stream": stream}, head)
                    doc = events(r.body)[-1]["response"] if stream else json.loads(r.body)
                    part = next(i for i in doc["output"] if i["type"] == "message")["content"][0]
                    self.assertEqual(part["logprobs"][-2:], odds)
                    self.assertEqual(b"Secret" in r.body, stream and show == "show")
                asked = self.up.asked[-1]
                if kind == "gemini":
                    config = asked["generationConfig"]
                    self.assertEqual((config["responseLogprobs"], config["logprobs"]), (True, 2))
                else:
                    self.assertEqual((asked["logprobs"], asked["top_logprobs"]), (True, 2))
                _, asked = self.ask("openai", kind, {"messages": chat["messages"]}, stream)
                self.assertNotIn("ogprobs", json.dumps(asked))

    def test_the_context_of_a_document_is_told(self):
        pdf = {"type": "document", "title": "T", "context": "Of 1999.",
               "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
        body = {"max_tokens": 9, "messages": [{"role": "user", "content": [pdf, {"type": "text", "text": "hi"}]}]}
        _, asked = self.ask("anthropic", "openai", body)
        context, document, text = asked["messages"][0]["content"]
        self.assertEqual((context["text"], document["file"]["filename"], text["text"]), ("Of 1999.", "T", "hi"))
        _, asked = self.ask("anthropic", "gemini", body)
        self.assertEqual([p.get("text") for p in asked["contents"][0]["parts"]], ["Of 1999.", None, "hi"])
        _, asked = self.ask("anthropic", "anthropic", body)
        self.assertEqual(asked["messages"][0]["content"][0], pdf)

    def test_tools_that_take_a_text_are_functions_elsewhere(self):
        grammar = {"type": "grammar", "syntax": "lark", "definition": "start: LINE+"}
        custom = {"type": "custom", "name": "patch", "description": "apply it", "format": grammar}
        boxed = {"type": "custom", "custom": {"name": "patch", "description": "apply it", "format": {
            "type": "grammar", "grammar": {"syntax": "lark", "definition": "start: LINE+"}}}}
        text = '*** "Begin"\n\u00e9 \\ end'
        arguments = json.dumps({"input": text})
        halves = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "patch", "arguments": ""}},
                  {"index": 0, "function": {"arguments": arguments[:9]}},
                  {"index": 0, "function": {"arguments": arguments[9:]}}]

        def mistral(_, body):
            if body.get("stream"):
                return sse(*(chunk({"tool_calls": [h]}) for h in halves), chunk({}, "tool_calls"))
            return plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
                {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None,
                 "tool_calls": [{**halves[0], "function": {"name": "patch", "arguments": arguments}}]}}]})
        self.up.reply = mistral
        past = [{"role": "user", "content": "hi"},
                {"type": "custom_tool_call", "call_id": "c0", "name": "patch", "input": text},
                {"type": "custom_tool_call_output", "call_id": "c0", "output": "done"}]
        for stream in (False, True):
            body = {"input": past, "tools": [custom], "tool_choice": {"type": "custom", "name": "patch"}}
            r, asked = self.ask("responses", "mistral", body, stream)
            function = asked["tools"][0]["function"]
            self.assertEqual((function["name"], function["parameters"]["required"]), ("patch", ["input"]))
            self.assertIn("start: LINE+", function["description"])
            self.assertEqual(asked["tool_choice"], {"type": "function", "function": {"name": "patch"}})
            call, result = asked["messages"][1:3]
            self.assertEqual(json.loads(call["tool_calls"][0]["function"]["arguments"]), {"input": text})
            self.assertEqual(result["content"], "done")
            if stream:
                told = events(r.body)
                self.assertEqual("".join(e["delta"] for e in told
                                         if e["type"] == "response.custom_tool_call_input.delta"), text)
                self.assertEqual([e["input"] for e in told
                                  if e["type"] == "response.custom_tool_call_input.done"], [text])
                self.assertFalse([e for e in told if "function_call" in e["type"]])
                added = next(e["item"] for e in told if e["type"] == "response.output_item.added")
                done = next(e["item"] for e in told if e["type"] == "response.output_item.done")
                self.assertEqual((added["type"], added["input"], added["id"]), ("custom_tool_call", "", done["id"]))
                doc = told[-1]["response"]
            else:
                doc = json.loads(r.body)
            self.assertEqual([(i["type"], i["call_id"], i["name"], i["input"]) for i in doc["output"]],
                             [("custom_tool_call", "c1", "patch", text)])
            r, asked = self.ask("openai", "mistral", {"messages": [past[0]], "tools": [boxed]}, stream)
            self.assertIn("start: LINE+", asked["tools"][0]["function"]["description"])
            calls = [c for e in events(r.body) for c in e["choices"][0]["delta"].get("tool_calls", [])] if stream \
                else json.loads(r.body)["choices"][0]["message"]["tool_calls"]
            self.assertEqual((calls[0]["type"], calls[0]["custom"]["name"]), ("custom", "patch"))
            self.assertEqual("".join(c["custom"]["input"] for c in calls), text)

    def test_calls_in_a_text_are_calls_of_their_kind_beside_the_providers_own(self):
        calls = [{"name": "f", "arguments": {"input": 'a "b"'}}, {"name": "g", "arguments": {"a": 1}}]
        text = "<think>Hm.</think>\n" + "".join(f"<tool_call>\n{json.dumps(c)}\n</tool_call>\n" for c in calls)
        own = {"id": "own", "type": "custom", "custom": {"name": "f", "input": "native"}}
        body = {"messages": [{"role": "user", "content": "hi"}], "tools": [
            {"type": "custom", "custom": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]}
        for owns in ([], [own]):
            pieces = [{"index": 0, **own, "custom": {"name": "f", "input": ""}}, {"index": 0, "custom": {"input": "nat"}},
                      {"index": 0, "custom": {"input": "ive"}}] if owns else []

            def reply(_, asked):
                if asked.get("stream"):
                    return sse(*(chunk({"tool_calls": [p]}) for p in pieces),
                               *(chunk({"content": text[i:i + 5]}) for i in range(0, len(text), 5)), chunk({}, "stop"))
                return plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {
                        "role": "assistant", "content": text, **({"tool_calls": owns} if owns else {})}}]})
            self.up.reply = reply
            r, _ = self.ask("openai", "openai", body)
            whole = json.loads(r.body)["choices"][0]["message"]["tool_calls"]
            r, _ = self.ask("openai", "openai", body, True)
            streamed = []
            for e in events(r.body):
                for piece in e["choices"][0]["delta"].get("tool_calls") or []:
                    if "id" in piece:
                        self.assertEqual(piece.pop("index"), len(streamed))
                        streamed.append(piece)
                    else:
                        (kind, more), = ((k, v) for k, v in piece.items() if k != "index")
                        for key, more in more.items():
                            streamed[piece["index"]][kind][key] += more
            for told in (whole, streamed):
                self.assertEqual([{k: v for k, v in c.items() if k != "id"} for c in told[len(owns):]], [
                    {"type": "custom", "custom": {"name": "f", "input": 'a "b"'}},
                    {"type": "function", "function": {"name": "g", "arguments": '{"a": 1}'}}])
                self.assertEqual(told[:len(owns)], owns)

    def test_a_piece_of_a_call_that_says_nothing_begins_none(self):
        self.up.reply = lambda *_: sse(chunk({"content": "Yes."}), chunk({"tool_calls": [{"index": 0}]}), chunk({}, "stop"))
        for client in ("anthropic", "ollama", "responses"):
            body = {"input": "hi"} if client == "responses" else {"messages": [{"role": "user", "content": "hi"}]}
            r, _ = self.ask(client, "openai", {**body, **({"max_tokens": 9} if client == "anthropic" else {})}, True)
            told = read(client, r.body, True)
            self.assertEqual((told.text, told.calls), ("Yes.", []))

    def test_a_call_of_ollama_without_a_name_is_none(self):
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        calls = [None, {"function": None}, {"function": {"name": "f", "arguments": {"a": 1}}}]
        self.up.reply = lambda *_: plain({"model": "u", "done": True, "message": {"content": "", "tool_calls": calls}})
        r, _ = self.ask("openai", "ollama", hi)
        self.assertEqual(read("openai", r.body, False).calls, [("f", {"a": 1})])

    def test_a_tag_that_the_request_asks_for_is_part_of_the_answer(self):
        text = "<analysis>Two parts.</analysis>\nDone."

        def reply(_, asked):
            if not asked.get("stream"):
                return plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
                    {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
            return sse(chunk({"role": "assistant", "content": ""}), *(
                chunk({"content": text[i:i + size]}) for i in range(0, len(text), size)), chunk({}, "stop"))
        self.up.reply = reply
        user = {"role": "user", "content": "Report."}
        asks = [{"messages": [{"role": "system", "content": "Use <analysis> and </analysis>."}, user]},
                {"messages": [{"role": "user", "content": 'An "<Analysis>" please.'}]}]
        for size in (1, 4, 100):
            for stream in (False, True):
                for show in ("show", "hide"):
                    for client in ("openai", "ollama", "anthropic"):
                        for body, want in [(a, text) for a in asks] + [({"messages": [user]}, "Done.")]:
                            if client == "anthropic":
                                first = body["messages"][0]["content"]
                                body = {"max_tokens": 99, "system": first, "messages": [user]}
                            with self.subTest(size=size, stream=stream, show=show, client=client, body=body):
                                data = json.dumps({**body, "model": "openai", "stream": stream}).encode()
                                for sent in (data, data.replace(b"<", b"\\u003c")):
                                    r = request(PATHS[client], sent, {"x-rationale-reasoning": show})
                                    self.assertEqual(read(client, r.body, stream).text, want)
        r = request(PATHS["openai"], {**asks[0], "model": "openai", "stream": True}, {})
        raw = reply("", {"stream": True})[1]
        self.assertIn(raw.split(b"data: [DONE]")[0].strip(), r.body)

    def test_tools_of_a_namespace_are_functions_elsewhere(self):
        schema = {"type": "object", "properties": {"q": {"type": "string"}}}
        tools = [{"type": "function", "name": "find", "parameters": schema},
                 {"type": "namespace", "name": "crm", "description": "customers", "tools": [
                     {"type": "function", "name": "find", "description": "one", "parameters": schema},
                     {"type": "custom", "name": "ask"}]},
                 {"type": "namespace", "name": "n" * 200, "tools": [{"type": "function", "name": "f"}]},
                 {"type": "namespace", "name": "odd", "tools": [{"type": "web_search"}]}]
        past = [{"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "c0", "namespace": "crm", "name": "find", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c0", "output": "done"}]
        said = [("c1", "crm__find", '{"q": "x"}'), ("c2", "crm__ask", '{"input": "who"}'), ("c3", "find", "{}")]
        want = [("function_call", "c1", "crm", "find", '{"q": "x"}'), ("custom_tool_call", "c2", "crm", "ask", "who"),
                ("function_call", "c3", None, "find", "{}")]
        calls = [{"index": i, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
                 for i, (id, name, arguments) in enumerate(said)]
        self.up.reply = lambda _, body: sse(*(chunk({"tool_calls": [c]}) for c in calls), chunk({}, "tool_calls")) \
            if body.get("stream") else plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
                {"index": 0, "finish_reason": "tool_calls",
                 "message": {"role": "assistant", "content": None, "tool_calls": calls}}]})
        for stream in (False, True):
            r, asked = self.ask("responses", "openai", {"input": past, "tools": tools}, stream)
            self.assertEqual([t["function"]["name"] for t in asked["tools"]], ["find", "crm__find", "crm__ask"])
            self.assertEqual([t["function"].get("description") for t in asked["tools"]],
                             [None, "one\n\nAbout all tools of crm: customers", None])
            self.assertEqual(asked["messages"][1]["tool_calls"][0]["function"]["name"], "crm__find")
            doc = events(r.body)[-1]["response"] if stream else json.loads(r.body)
            got = [doc["output"]]
            if stream:
                got += [[e["item"] for e in events(r.body) if e["type"] == "response.output_item.done"]]
                added = [e["item"] for e in events(r.body) if e["type"] == "response.output_item.added"]
                self.assertEqual([(i.get("namespace"), i["name"]) for i in added], [w[2:4] for w in want])
            for items in got:
                self.assertEqual([(i["type"], i["call_id"], i.get("namespace"), i["name"],
                                   i.get("arguments", i.get("input"))) for i in items], want)

    def refused(self, dialect, kind, body, *words):
        r, asked = self.ask(dialect, kind, body, status=400)
        self.assertIsNone(asked)
        for word in words:
            self.assertIn(word, r.body.decode())
        return json.loads(r.body)["error"]

    def test_tools_that_are_not_allowed_are_not_given(self):
        names = ("f", "g", "h")
        hi = [{"role": "user", "content": "hi"}]
        chat = {"messages": hi, "tools": [{"type": "function", "function": {"name": n}} for n in names],
                "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
                    {"type": "function", "function": {"name": n}} for n in ("f", "h")]}}}
        responses = {"input": "hi", "tools": [{"type": "function", "name": n} for n in names],
                     "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [
                         {"type": "function", "name": n} for n in ("f", "h")]}}
        gemini = {"contents": [{"parts": [{"text": "hi"}]}], "tools": [
            {"functionDeclarations": [{"name": n} for n in names]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "h"]}}}
        for dialect, body in (("openai", chat), ("responses", responses), ("gemini", gemini)):
            for kind in KINDS:
                _, asked = self.ask(dialect, kind, body)
                if kind == dialect:
                    self.assertEqual({k: asked[k] for k in body}, body)
                    continue
                with self.subTest(dialect=dialect, kind=kind):
                    tools = asked["tools"]
                    tools = tools[0]["functionDeclarations"] if kind == "gemini" else tools
                    self.assertEqual([t.get("function", t)["name"] for t in tools],
                                     list(names) if kind == "gemini" else ["f", "h"])
                    choice = asked.get("tool_choice") or asked.get("toolConfig")
                    must = {"openai": "required", "responses": "required", "mistral": "any", "ollama": None,
                            "anthropic": {"type": "any"}, "gemini": {"functionCallingConfig": {
                                "mode": "ANY", "allowedFunctionNames": ["f", "h"]}}}
                    self.assertEqual(choice, must[kind])

    def test_a_tool_that_must_be_called_and_cannot_be_is_told(self):
        search = {"type": "web_search_20250305", "name": "web_search"}
        body = {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": [search]}
        for kind in KINDS:
            if kind != "anthropic":
                _, asked = self.ask("anthropic", kind, {**body, "tool_choice": {"type": "auto"}})
                self.assertNotIn("tools", asked)
                self.assertNotIn("tool_choice", asked)
                self.refused("anthropic", kind, {**body, "tool_choice": {"type": "tool", "name": "web_search"}},
                             "tool_choice")

                self.refused("anthropic", kind, {**body, "tool_choice": {"type": "any"}}, "tool_choice", "no tool")

    def test_calls_in_a_text_before_the_providers_own_have_other_indices(self):
        text = '<think>Hm.</think><tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
        own = lambda i, name: [  # noqa: E731
            chunk({"tool_calls": [{"index": i, "id": f"own{i}", "type": "function",
                                   "function": {"name": name, "arguments": ""}}]}),
            *(chunk({"tool_calls": [{"index": i, "function": {"arguments": a}}]}) for a in ('{"b":', " 2}"))]
        frames = [*(chunk({"content": c}) for c in text), *own(0, "g"), *(chunk({"content": c}) for c in text[18:]),
                  *own(1, "h"), chunk({}, "tool_calls")]
        self.up.reply = lambda *_: sse(*frames)
        for dialect in (*PATHS, "gemini"):
            with self.subTest(dialect):
                r = request(*ask_in(dialect, "openai", "hi", True), {})
                self.assertEqual(read(dialect, r.body, True).calls,
                                 [("f", {"a": 1}), ("g", {"b": 2}), ("f", {"a": 1}), ("h", {"b": 2})], r.body)

    def test_an_input_that_the_provider_does_not_count_is_counted_here(self):
        usage = {"completion_tokens": 7}
        whole = {"id": "c", "object": "chat.completion", "model": "u", "usage": usage, "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}
        frames = [chunk({"content": "Yes."}), chunk({}, "stop"), {**chunk({}), "choices": [], "usage": usage}]
        self.up.reply = lambda _, asked: sse(*frames) if asked.get("stream") else plain(whole)
        counted = lambda: sum(float(n) for n in re.findall(  # noqa: E731
            r'(?m)^rationale_tokens_total\{.*kind="input_uncached".*\} (\S+)$', request("/metrics", None, {}).body.decode()))
        for dialect in (*PATHS, "gemini"):
            for stream in (True, False):
                with self.subTest(dialect, stream=stream):
                    before = counted()
                    r = request(*ask_in(dialect, "openai", "hi", stream), {})
                    self.assertGreater(counted(), before)
                    got = read(dialect, r.body, stream)
                    self.assertEqual((got.output, bool(got.input)), (None, False) if dialect == "openai" and stream
                                     else (7, dialect != "openai"), r.body)

    def test_a_reply_without_anything_of_its_dialect_is_an_error(self):
        for kind in KINDS:
            for dialect in (*PATHS, "gemini"):
                with self.subTest(kind, client=dialect):
                    for doc in ({}, {"message": "no such route"}):
                        self.up.reply = lambda *_: plain(doc)
                        r = request(*ask_in(dialect, kind, "hi", False), {})
                        self.assertEqual(r.status, 502, r.body)
        self.up.reply = lambda *_: ("text/event-stream", b"data: {}\n\ndata: [DONE]\n\n")
        for dialect in PATHS:
            for kind in KINDS:
                if kind not in (dialect, "ollama"):
                    self.assertIn(b"error", request(*ask_in(dialect, kind, "hi", True), {}).body)

    def test_calls_before_an_unknown_end_are_calls(self):
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        replies = {
            "openai": {"id": "c", "choices": [{"index": 0, "finish_reason": "brand_new", "message": {
                "role": "assistant", "content": None, "tool_calls": [call]}}]},
            "gemini": {"candidates": [{"index": 0, "finishReason": "BRAND_NEW", "content": {
                "role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}}]},
            "anthropic": {"id": "m", "type": "message", "role": "assistant", "model": "u", "stop_reason": "brand_new",
                          "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
                          "usage": {"input_tokens": 5, "output_tokens": 1}}}
        stops = {"openai": lambda d: d["choices"][0]["finish_reason"], "anthropic": lambda d: d["stop_reason"]}
        for kind, doc in replies.items():
            self.up.reply = lambda *_: plain(doc)
            for dialect, stop in stops.items():
                with self.subTest(kind, client=dialect):
                    r = request(*ask_in(dialect, kind, "hi", False), {})
                    self.assertEqual(stop(json.loads(r.body)), "brand_new" if kind == dialect else {
                        "openai": "tool_calls", "anthropic": "tool_use"}[dialect])

    def test_a_byte_order_mark_passes_and_is_no_part_of_an_event(self):
        kind, body = sse(chunk({"content": "Yes."}), chunk({}, "stop"))
        self.up.reply = lambda *_: (kind, b"\xef\xbb\xbf" + body + b"data: [DONE]\n\n")
        r = request(*ask_in("openai", "openai", "hi", True), {})
        self.assertEqual(r.body, b"\xef\xbb\xbf" + body + b"data: [DONE]\n\n")
        for dialect in (*PATHS, "gemini"):
            r = request(*ask_in(dialect, "openai", "hi", True), {})
            self.assertEqual((r.body.count(b"\xef\xbb\xbf"), read(dialect, r.body, True).text),
                             (dialect == "openai", "Yes."), r.body)

    def test_blocks_keep_their_numbers_in_a_stream_that_passes(self):
        start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "u",
                                                      "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}
        text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}}
        blocks = [f for i in (1, 4) for f in (
            {"type": "content_block_start", "index": i, "content_block": {"type": "tool_use", "id": f"t{i}", "name": "f",
                                                                          "input": {}}},
            {"type": "content_block_stop", "index": i})]
        ends = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"}]
        for front in ([], [text]):  # a text without a start
            kind, body = sse(start, *front, *blocks, *ends)
            self.up.reply = lambda *_: (kind, body)
            self.assertEqual(request(*ask_in("anthropic", "anthropic", "hi", True), {}).body, body)

    def test_a_file_by_url_goes_where_it_can_and_is_refused_elsewhere(self):
        url = "https://example.org/a.pdf"
        asks = {"anthropic": {"max_tokens": 9, "messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "url", "url": url}}]}]},
            "responses": {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": url}]}]}}
        for dialect, body in asks.items():
            for kind in KINDS:
                with self.subTest(dialect, kind=kind):
                    if kind in ("openai", "ollama"):
                        self.refused(dialect, kind, body, "not by URL" if kind == "openai" else "no files")
                    else:
                        self.assertIn(url, json.dumps(self.ask(dialect, kind, body)[1]))

    def test_items_that_would_be_lost_are_refused(self):
        hi = {"role": "user", "content": "hi"}
        for item in ({"type": "compaction", "encrypted_content": "E"}, {"type": "brand_new", "text": "x"},
                     {"type": "shell_call_output", "call_id": "c", "output": []}):
            for kind in KINDS:
                if kind != "responses":
                    self.refused("responses", kind, {"input": [item, hi]}, "this type: ", item["type"])

    def test_what_a_provider_cannot_be_told_is_refused(self):
        wav = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
        pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
        kept = {"type": "file", "file": {"file_id": "file-1"}}
        saying = lambda p: {"messages": [{"role": "user", "content": [p]}]}  # noqa: E731
        self.refused("openai", "ollama", saying(pdf), "no files")
        self.refused("openai", "ollama", saying(wav), "no files")
        self.refused("openai", "anthropic", saying(wav), "sound")
        for kind in KINDS:
            if kind not in ("openai", "mistral"):
                self.refused("openai", kind, saying(kept), "this type")
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        for kind in ("anthropic", "responses", "ollama"):
            error = self.refused("openai", kind, {**hi, "n": 2}, "one answer")
            self.assertEqual((error["param"], error["code"]), ("n", "unsupported_parameter"))
            self.refused("gemini", kind, {"contents": [{"parts": [{"text": "hi"}]}],
                                          "generationConfig": {"candidateCount": 2}}, "candidateCount")
            self.ask("openai", kind, {**hi, "n": 1})
        for name in ("cachedContent", "cached_content"):
            self.refused("gemini", "openai", {"contents": [{"parts": [{"text": "hi"}]}], name: "cachedContents/1"},
                         name)
        claude = {"max_tokens": 9, **hi}
        self.refused("anthropic", "gemini", {**claude, "container": "c_1"}, "container")
        self.refused("anthropic", "gemini", {**claude, "mcp_servers": [{"type": "url", "name": "m", "url": "u"}]},
                     "mcp_servers")
        self.ask("anthropic", "gemini", {**claude, "container": None, "mcp_servers": []})
        self.refused("responses", "openai", {"input": "hi", "background": True}, "background")
        self.ask("responses", "openai", {"input": "hi", "background": False})
        self.refused("openai", "gemini", {**hi, "modalities": ["text", "audio"]}, "modalities")
        self.ask("openai", "gemini", {**hi, "modalities": ["text"]})

    def test_a_fallback_that_cannot_be_told_is_passed_over(self):
        body = {"model": "openai", "messages": [{"role": "user", "content": "hi"}], "n": 2}
        for others, status in ((["anthropic", "mistral"], 200), (["anthropic", "ollama"], 503)):
            config = json.loads(json.dumps(asking.world.gateway.config))
            for name in others:
                config["providers"][name]["models"]["openai"] = FAMILIES.get(name, "u")
            self.up.asked.clear()
            with Refusing(503, b'{"error":{"message":"busy"}}') as busy:
                config["providers"]["openai"].update(base_url=busy + "/v1", fallback=others)
                with Gateway(BINARY, config) as g:
                    r = request("/v1/chat/completions", body, {}, at=g)
            self.assertEqual((r.status, [a["n"] for a in self.up.asked]), (status, [2] if status == 200 else []))
            self.assertEqual(b"busy" in r.body, status == 503)

    def test_sound_goes_over(self):
        wav = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
        _, asked = self.ask("openai", "responses", {"messages": [{"role": "user", "content": [wav]}]})
        self.assertEqual(asked["input"][0]["content"], [wav])
        _, asked = self.ask("responses", "openai", {"input": [{"role": "user", "content": [wav]}]})
        self.assertEqual(asked["messages"][0]["content"], [wav])
        _, asked = self.ask("responses", "gemini", {"input": [{"role": "user", "content": [wav]}]})
        self.assertEqual(asked["contents"][0]["parts"], [{"inlineData": {"mimeType": "audio/wav", "data": WAV}}])

    def test_documents_in_pieces_and_what_was_found_are_read_by_all(self):
        blocks = [{"type": "document", "title": "T", "source": {"type": "content", "content": [
            {"type": "text", "text": "piece one"}, {"type": "text", "text": "piece \u00e9"}]}},
            {"type": "document", "source": {"type": "content", "content": "in one"}},
            {"type": "document", "title": "Menu", "context": "of Monday", "source": {
                "type": "text", "media_type": "text/plain", "data": "soup"}},
            {"type": "search_result", "source": "https://s.example", "title": "Found", "content": [
                {"type": "text", "text": "found words"}]}]
        for kind in KINDS:
            if kind == "anthropic":
                continue
            for content in (blocks, [{"type": "tool_result", "tool_use_id": "t", "content": blocks}]):
                _, asked = self.ask("anthropic", kind, {"max_tokens": 9, "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
                    {"role": "user", "content": content}]})
                for words in ("piece one", "piece \u00e9", "in one", "https://s.example", "Found", "found words",
                              "Menu", "of Monday", "soup"):
                    self.assertIn(words, json.dumps(asked, ensure_ascii=False))

    def test_what_only_another_host_could_say_leaves_no_empty_message(self):
        body = {"input": [{"role": "user", "content": "hi"}, {"type": "reasoning", "id": "rs", "summary": []},
                          {"type": "web_search_call", "id": "ws", "status": "completed"},
                          {"role": "user", "content": "go"}]}
        for kind in KINDS:
            if kind != "responses":
                _, asked = self.ask("responses", kind, body)
                told = asked.get("messages") or asked["contents"]
                self.assertEqual([m["role"] for m in told if m["role"] != "system"], ["user", "user"], kind)

    def test_a_message_to_go_on_from_is_a_prefix_for_mistral(self):
        _, asked = self.ask("anthropic", "mistral", {"max_tokens": 9, "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": "one"},
            {"role": "user", "content": "json"}, {"role": "assistant", "content": "{"}]})
        self.assertEqual([m.get("prefix") for m in asked["messages"]], [None, None, None, True])

    def test_sources_and_odds_go_over_between_chat_and_responses(self):
        found = {"url": "https://e.example", "title": "E \u00e9", "start_index": 0, "end_index": 2}
        odds = [{"token": t, "logprob": -0.5, "bytes": None, "top_logprobs": []} for t in ("Y", "es")]
        part = {"type": "output_text", "text": "Yes", "logprobs": odds, "annotations": [
            {"type": "url_citation", **found}, {"type": "file_citation", "file_id": "f", "index": 1}]}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}
        doc = {"id": "r", "object": "response", "status": "completed", "model": "u", "output": [item, call]}
        self.up.reply = lambda *_: ("application/json", json.dumps(doc, indent=1).encode())
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        r, asked = self.ask("openai", "responses", {**hi, "logprobs": True, "top_logprobs": 2})
        self.assertIn("message.output_text.logprobs", asked["include"])
        self.assertEqual(asked["top_logprobs"], 2)
        choice = json.loads(r.body)["choices"][0]
        self.assertEqual(choice["message"]["annotations"], [{"type": "url_citation", "url_citation": found}])
        self.assertEqual(choice["logprobs"]["content"], odds)
        self.up.reply = lambda *_: sse(
            {"type": "response.created", "response": {**doc, "status": "in_progress", "output": []}},
            {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "Yes"},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**doc, "output": [item]}})
        r, _ = self.ask("openai", "responses", hi, stream=True)
        told = [e["choices"][0] for e in events(r.body) if e["choices"]]
        self.assertEqual([c["delta"]["annotations"] for c in told if "annotations" in c["delta"]],
                         [choice["message"]["annotations"]])
        self.assertEqual([c["logprobs"]["content"] for c in told if c.get("logprobs")], [odds])
        # And in the other direction.
        message = {"role": "assistant", "content": "Yes", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            "annotations": choice["message"]["annotations"]}
        self.up.reply = lambda *_: plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
            {"index": 0, "message": message, "logprobs": {"content": odds}, "finish_reason": "tool_calls"}]})
        r, asked = self.ask("responses", "openai", {"input": "hi", "include": ["message.output_text.logprobs"],
                                                    "top_logprobs": 2})
        self.assertEqual((asked["logprobs"], asked["top_logprobs"]), (True, 2))
        output = json.loads(r.body)["output"]
        self.assertEqual([i["type"] for i in output], ["message", "function_call"])
        same = {"annotations": [{"type": "url_citation", **found}], "logprobs": odds}
        self.assertEqual({k: output[0]["content"][0][k] for k in same}, same)
        self.up.reply = lambda *_: sse(
            {**chunk({"content": "Y"}), "choices": [{"index": 0, "delta": {"content": "Y"}, "finish_reason": None,
                                                     "logprobs": {"content": odds[:1]}}]},
            {**chunk({"content": "es"}), "choices": [{"index": 0, "delta": {"content": "es"}, "finish_reason": None,
                                                      "logprobs": {"content": odds[1:]}}]},
            chunk({"annotations": choice["message"]["annotations"]}), chunk({}, "stop"))
        r, _ = self.ask("responses", "openai", {"input": "hi"}, stream=True)
        told = events(r.body)
        self.assertEqual([e["sequence_number"] for e in told], list(range(len(told))))
        kinds = [e["type"].removeprefix("response.") for e in told]
        self.assertLess(kinds.index("output_text.annotation.added"), kinds.index("output_text.done"))
        self.assertEqual([e["annotation"] for e in told if "annotation" in e], same["annotations"])
        last = told[-1]["response"]["output"][0]["content"][0]
        self.assertEqual({k: last[k] for k in same}, same)

    def test_a_schema_for_anthropic_says_that_its_objects_have_no_other_members(self):
        inner = {"type": ["object", "null"], "properties": {"type": {"type": "string"}}}
        open_ = {"type": "object", "additionalProperties": {"type": "string"}}
        schema = {"type": "object", "properties": {"a": inner, "b": {"type": "array", "items": {"type": "object"}},
                                                   "c": open_}}
        body = {"messages": [{"role": "user", "content": "hi"}], "response_format": {
            "type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}
        _, asked = self.ask("openai", "anthropic", body)
        no = {"additionalProperties": False}
        self.assertEqual(asked["output_config"]["format"]["schema"], {**schema, **no, "properties": {
            "a": {**inner, **no}, "b": {"type": "array", "items": {"type": "object", **no}}, "c": open_}})

    def test_a_schema_is_strict_for_openai_only_if_it_is_one(self):
        inner = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"],
                 "additionalProperties": False}
        good = {**inner, "properties": {"b": {"type": "array", "items": inner}}}
        bad = [{**good, "required": []}, {**good, "additionalProperties": True}, {"type": "object"},
               {**good, "properties": {"b": {"type": "array", "items": {**inner, "required": ["c"]}}}}]
        for schema, strict in [(good, True)] + [(b, False) for b in bad]:
            body = {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
                    "tools": [{"name": "f", "input_schema": schema, "strict": True}],
                    "output_config": {"format": {"type": "json_schema", "schema": schema}}}
            _, asked = self.ask("anthropic", "openai", body)
            self.assertEqual(asked["tools"][0]["function"]["strict"], strict)
            self.assertEqual(asked["response_format"]["json_schema"].get("strict", False), strict)
            _, asked = self.ask("anthropic", "responses", body)
            self.assertEqual((asked["tools"][0]["strict"], asked["text"]["format"]["strict"]), (strict, strict))

    def test_ollamas_clients_are_told_how_long_it_took(self):
        r, _ = self.ask("ollama", "openai", {"messages": [{"role": "user", "content": "hi"}]})
        doc = json.loads(r.body)
        self.assertTrue(0 < doc["eval_duration"] <= doc["total_duration"] < 600e9)

    def test_a_model_is_loaded_without_a_call(self):
        for body in ({}, {"messages": None}, {"messages": []}, {"messages": [], "keep_alive": 0}):
            for stream in (False, True):
                r, asked = self.ask("ollama", "openai", body, stream)
                doc = json.loads(r.body)
                self.assertEqual((asked, doc["done"], doc["message"]["content"], doc["done_reason"]),
                                 (None, True, "", "unload" if "keep_alive" in body else "load"))
        _, asked = self.ask("ollama", "ollama", {"messages": []})
        self.assertEqual(asked["messages"], [])

    def test_a_prompt_of_ollama_goes_to_every_provider(self):
        PNG = "iVBORw0KGgo="
        body = {"prompt": "hi", "system": "Be brief.", "images": [PNG], "options": {"temperature": 0.5, "num_ctx": 9},
                "suffix": "", "template": "", "context": None, "raw": False}
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind=kind, stream=stream):
                    self.up.asked.clear()
                    r = request("/api/generate", {**body, "model": kind, "stream": stream}, {})
                    self.assertEqual(r.status, 200, r.body)
                    lines = [json.loads(x) for x in r.body.splitlines()]
                    self.assertEqual("".join(x["response"] for x in lines), "Yes.")
                    if kind != "ollama":
                        self.assertNotIn("message", lines[0])
                        self.assertEqual(r.headers["x-rationale-dropped"], "num_ctx")
                        self.assertEqual((lines[-1]["done"], lines[-1]["done_reason"]), (True, "stop"))
                    asked = self.up.asked[-1]
                    for word in ("hi", "Be brief.", PNG):
                        self.assertIn(word, json.dumps(asked))
                    if kind == "ollama":
                        self.assertEqual(asked, {**body, "model": "u", "stream": stream})
        own = {"prompt": "a", "suffix": "b", "raw": True, "context": [1, 2], "template": "{{ .Prompt }}"}
        for name, value in own.items():
            r = request("/api/generate", {"prompt": "a", "model": "openai", name: value}, {})
            self.assertEqual((r.status, name == "prompt" or name in json.loads(r.body).get("error", "")),
                             (200 if name == "prompt" else 400, True), r.body)
        paths = []

        def reply(path, asked):
            paths.append(path)
            return "application/x-ndjson", b"".join(json.dumps({"model": "u", "response": w, "done": w == ""}).encode() + b"\n"
                                                    for w in ("<think>", "Hm.", "</think>", "Yes.", ""))
        self.up.reply = reply
        for show, words in (("show", ("Hm.", "Yes.")), ("hide", ("", "Yes."))):
            r = request("/api/generate", {**own, "model": "ollama"}, {"x-rationale-reasoning": show})
            lines = [json.loads(x) for x in r.body.splitlines()]
            self.assertEqual(tuple("".join(x.get(k, "") for x in lines) for k in ("thinking", "response")), words)
            self.assertEqual((paths[-1], self.up.asked[-1]), ("/api/generate", {**own, "model": "u"}))
        for more, reason in (({}, "load"), ({"prompt": "", "keep_alive": 0}, "unload")):
            self.up.asked.clear()
            r = request("/api/generate", {"model": "openai", **more}, {})
            doc = json.loads(r.body)
            self.assertEqual((self.up.asked, doc["response"], doc["done_reason"], doc["done"]), ([], "", reason, True))
        for more, name in (({"prompt": 5}, "prompt"), ({"prompt": "a", "images": "x"}, "images"),
                           ({"prompt": "a", "images": [5]}, "images[0]"), ({"prompt": "a", "system": []}, "system")):
            r = request("/api/generate", {"model": "openai", **more}, {})
            self.assertEqual((r.status, json.loads(r.body)["error"].split(":")[0]), (400, name), r.body)

    def test_a_member_that_is_wrong_is_named(self):
        hi = {"messages": [{"role": "user", "content": "hi"}]}
        for body, name in (({**hi, "n": 0}, "n"), ({"messages": []}, "messages")):
            self.assertEqual(self.refused("openai", "openai", body)["param"], name)
        self.assertEqual(self.refused("openai", "anthropic", {"messages": [{"role": "x", "content": ""}]})["param"],
                         "messages[0].role")
        self.assertEqual(self.refused("openai", "mistral", {**hi, "temperature": 3})["param"], "temperature")
        self.assertEqual(self.refused("responses", "openai", {"input": "hi", "max_output_tokens": 0})["param"],
                         "max_output_tokens")

    def test_mistrals_own_parts_reach_it(self):
        part = {"type": "document_url", "document_url": "https://x.example/a.pdf", "document_name": "a"}
        odd = {"type": "file", "file_id": "f1"}
        _, asked = self.ask("openai", "mistral", {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "see"}, part, odd]}]})
        self.assertEqual(asked["messages"][0]["content"][1:], [part, odd])
        _, asked = self.ask("openai", "gemini", {"messages": [{"role": "user", "content": [part]}]})
        self.assertEqual(asked["contents"][0]["parts"][0]["fileData"]["fileUri"], part["document_url"])


class Routes(Case):
    """Client requests besides model calls."""

    def get(self, path, status=200, headers=None, method="GET", body=None, at=None):
        r = request(path, body, headers or {}, method, at)
        self.assertEqual(r.status, status, r.body)
        return json.loads(r.body) if r.body else r.headers

    def test_a_model_is_told_by_itself_in_each_dialect(self):
        self.assertEqual(self.get("/v1/models/mist%72al")["id"], "mistral")
        self.assertEqual(self.get("/v1beta/models/ollama")["name"], "models/ollama")
        self.assertIn("countTokens", self.get("/v1beta/models/ollama")["supportedGenerationMethods"])
        version = {"anthropic-version": "2023-06-01"}
        self.assertEqual(self.get("/v1/models/openai", headers=version)["type"], "model")
        self.assertEqual(self.get("/v1/models/none", 404, version)["error"]["type"], "not_found_error")
        self.assertEqual(self.get("/v1/models/none", 404, version)["type"], "error")
        self.assertEqual(self.get("/v1beta/models/none", 404)["error"]["status"], "NOT_FOUND")
        page = self.get("/v1/models", headers=version)
        self.assertEqual((page["first_id"], page["last_id"], page["has_more"]),
                         (page["data"][0]["id"], page["data"][-1]["id"], False))

    def test_ollamas_clients_may_look_at_a_model(self):
        for name in ("model", "name"):
            doc = self.get("/api/show", method="POST", body={name: "gemini"})
            self.assertIn("tools", doc["capabilities"])
            self.assertIn("family", doc["details"])
        self.assertIn("none", self.get("/api/show", 404, method="POST", body={"model": "none"})["error"])
        self.assertIn("model", self.get("/api/show", 400, method="POST", body={})["error"])
        self.assertEqual(self.get("/api/ps"), {"models": []})

    def test_tokens_are_counted_for_clients_of_gemini(self):
        words = {"contents": [{"role": "user", "parts": [{"text": "one two three"}]}]}
        boxed = {"generateContentRequest": {"model": "models/x", **words, "systemInstruction": {
            "parts": [{"text": "four five six seven"}]}}}
        few = self.get("/v1beta/models/openai:countTokens", method="POST", body=words)["totalTokens"]
        more = self.get("/v1beta/models/openai:countTokens", method="POST", body=boxed)["totalTokens"]
        self.assertTrue(2 < few < more < 40)
        self.assertEqual(self.up.asked, [])
        asked = []
        self.up.reply = lambda path, _: asked.append(path) or plain({"totalTokens": 42})
        for body in (words, boxed):
            self.assertEqual(self.get("/v1beta/models/gemini:countTokens", method="POST", body=body),
                             {"totalTokens": 42})
        self.assertEqual(asked, 2 * [f"/v1beta/models/{FAMILIES['gemini']}:countTokens"])
        self.assertEqual(self.up.asked[0], words)
        self.assertEqual(self.up.asked[1]["generateContentRequest"]["model"], f"models/{FAMILIES['gemini']}")
        for body in ({}, {"generateContentRequest": 1}, {"generateContentRequest": {}}):
            self.assertEqual(self.get("/v1beta/models/gemini:countTokens", 400, method="POST", body=body)
                             ["error"]["status"], "INVALID_ARGUMENT")
        self.get("/v1beta/models/none:countTokens", 404, method="POST", body=words)

    def test_options_say_what_may_be_asked(self):
        self.assertEqual(self.get("/v1/chat/completions", 204, method="OPTIONS")["allow"], "POST")
        page = {"origin": "https://page.example", "access-control-request-method": "POST",
                "access-control-request-headers": "authorization, x-stainless-lang"}
        self.assertNotIn("access-control-allow-origin",
                         self.get("/v1/responses", 204, page, method="OPTIONS"))
        self.get("/v1/nothing", 404, page, method="OPTIONS")

    def test_a_page_of_another_site_may_ask_with_a_key(self):
        question = {"contents": [{"parts": [{"text": "hi"}]}]}
        config = {**asking.world.gateway.config, "keys": [{"name": "page", "sha256": digest("sk-page")}]}
        page = {"origin": "https://page.example"}
        with Gateway(BINARY, config) as g:
            h = self.get("/v1beta/models/gemini:generateContent", 204, {
                **page, "access-control-request-method": "POST",
                "access-control-request-headers": "x-goog-api-key"}, method="OPTIONS", at=g)
            self.assertEqual(h["access-control-allow-origin"], "*")
            self.assertIn("POST", h["access-control-allow-methods"])
            self.assertEqual(h["access-control-allow-headers"], "x-goog-api-key")
            for key, status in (("sk-page", 200), ("sk-other", 401), ("", 401)):
                r = request(f"/v1beta/models/gemini:generateContent?alt=json&key={key}", question, page, at=g)
                self.assertEqual((r.status, r.headers["access-control-allow-origin"]), (status, "*"))
            r = request("/v1/chat/completions?key=sk-page", {}, {}, at=g)
            self.assertEqual(r.status, 401, "only Gemini has it there")
            self.assertNotIn("access-control-allow-origin", r.headers)
            self.assertNotIn("sk-", g.log.read_text())
            r = request("/api/v1/levels", None, {**page, "authorization": "Bearer sk-page"}, at=g)
            self.assertNotIn("access-control-allow-origin", r.headers)


if __name__ == "__main__":
    start()
