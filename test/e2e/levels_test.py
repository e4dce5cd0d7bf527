#!/usr/bin/env python3
"""The origin of a level and its effect: a provider's own parameters pass unchanged, ours select a
preset, and the gateway remembers parameters that a provider refused.

    test/e2e/levels_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import signal

from again_test import SAID, WORD, Again, answer, delta, error, plain, provider, stream, whole
from asking import SHOW, comments, events, request, start
from command import BINARY
from gateway import Gateway, digest, until

MARK = "[REASONING LEVEL]"
LEVELS = ("minimal", "low", "medium", "high", "xhigh", "max")
LOW = {"x-rationale-level": "low"}
CLAUDE = "claude-opus-4-6"
TOOLS = [{"name": "Bash", "description": "Run a command.", "input_schema": {
    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}]
CLEAR = {"type": "clear_thinking_20251015", "keep": "all"}


def spaced(doc):
    """JSON in a form that no writer of ours produces, so equal bytes prove that it was passed on."""
    return json.dumps(doc, ensure_ascii=False, indent=1).replace("\n", "\n\t ").encode()


def claude_code(**more):
    """A short form of Claude Code's request."""
    return {"model": CLAUDE, "max_tokens": 32000, "stream": True,
            "system": [{"type": "text", "text": "You are Claude Code.",
                        "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>Grüße</system-reminder>"},
                {"type": "text", "text": "List the files."}]}],
            "tools": TOOLS, "metadata": {"user_id": "user_1_account__session_2"},
            "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"},
            "context_management": {"edits": [CLEAR]}, **more}


def codex(**more):
    """A short form of Codex's request."""
    return {"model": "gpt-5", "instructions": "You are Codex.", "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List."}]}],
        "tools": [{"type": "function", "name": "shell", "strict": False, "parameters": {
            "type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}}}],
        "tool_choice": "auto", "parallel_tool_calls": False,
        "reasoning": {"effort": "xhigh", "summary": "auto"}, "store": False, "stream": True,
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k", **more}


def sse(*frames):
    body = b"".join(b"event: %s\ndata: %s\n\n" % (f["type"].encode(), json.dumps(f).encode())
                    for f in frames)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n" \
        b"content-length: %d\r\n\r\n%s" % (len(body), body)


def message(text, thinking="", usage=None):
    """A stream of Anthropic's."""
    blocks = ([("thinking", thinking)] if thinking else []) + [("text", text)]
    frames = [{"type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "model": CLAUDE, "content": [],
        "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}}}]
    for i, (kind, said) in enumerate(blocks):
        frames += [{"type": "content_block_start", "index": i, "content_block": {"type": kind, kind: ""}},
                   {"type": "content_block_delta", "index": i, "delta": {"type": kind + "_delta", kind: said}},
                   {"type": "content_block_stop", "index": i}]
    return sse(*frames, {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                         "usage": usage or {"output_tokens": 20}}, {"type": "message_stop"})


def response(text, reasoning=""):
    """A stream of Responses."""
    frames = [{"type": "response.created", "response": {"id": "r", "object": "response", "output": [],
                                                        "status": "in_progress", "model": "gpt-5"}}]
    if reasoning:
        frames += [{"type": "response.output_item.added", "output_index": 0, "item": {
            "type": "reasoning", "id": "rs_1", "summary": []}},
            {"type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0,
             "content_index": 0, "delta": reasoning}]
    out = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": text, "annotations": []}]}]
    i = 1 if reasoning else 0
    frames += [{"type": "response.output_item.added", "output_index": i, "item": {**out[0], "content": []}},
               {"type": "response.content_part.added", "item_id": "msg_1", "output_index": i,
                "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}},
               {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": i,
                "content_index": 0, "delta": text},
               {"type": "response.completed", "response": {
                   "id": "r", "object": "response", "status": "completed", "model": "gpt-5",
                   "output": out, "usage": {"input_tokens": 5, "output_tokens": 20, "total_tokens": 25}}}]
    return sse(*frames)


def lines(*docs):
    """A stream of Ollama's."""
    body = b"".join(json.dumps({"model": "m", "created_at": "2025-01-01T00:00:00Z", **d}).encode() + b"\n"
                    for d in docs)
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n" \
        b"content-length: %d\r\n\r\n%s" % (len(body), body)


def gemini(text):
    doc = {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"},
                           "finishReason": "STOP", "index": 0}],
           "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}}
    return lambda stream_up: sse_data(doc) if stream_up else plain(200, doc)


def sse_data(doc):
    body = b"data: " + json.dumps(doc).encode() + b"\n\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n" \
        b"content-length: %d\r\n\r\n%s" % (len(body), body)


def told(r):
    """The text of x-rationale-usage."""
    return r.headers.get("x-rationale-usage") or " ".join(comments(r.body))


class Levels(Again):
    """With default settings a provider's own parameters select no preset."""

    def serve(self, env=None, **more):
        config = {"store": "none", "providers": {"chat": provider(self.up)}, **more}
        gateway = Gateway(BINARY, config, env=env).__enter__()
        self.addCleanup(gateway.stop)
        return gateway

    def one(self, kind, name=None, **more):
        base = self.up.root + ("" if kind in ("anthropic", "gemini", "ollama") else "/v1")
        return {name or f"test-{kind}": {"kind": kind, "base_url": base, "backoff": "10ms", **more}}

    def chat(self, gateway, headers=None, **more):
        return request("/v1/chat/completions", {"model": "m", "messages": SAID, **more},
                       headers or {}, at=gateway)


class Allowed(Levels):
    def test_a_key_may_ask_for_what_its_levels_list(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        for listed in (["medium", "high"], ["none", "low"], ["none"]):
            gateway = self.serve(keys=[{"name": "k", "sha256": digest("sk-k"), "levels": listed}])
            key = {"authorization": "Bearer sk-k"}
            for level in ("none", *LEVELS):
                own = self.chat(gateway, key, reasoning_effort=level)
                ours = self.chat(gateway, {**key, "x-rationale-level": level})
                want = 200 if level in listed else 403
                self.assertEqual((own.status, ours.status), (want, want), (listed, level))


class AsTheyAre(Levels):
    def passes(self, gateway, path, doc, said=b"Yes."):
        """Checks that the provider gets one request with the client's bytes, and that nothing is
        cut."""
        self.up.forget()
        body = spaced(doc)
        r = self.ok(request(path, body, SHOW, at=gateway))
        self.assertEqual(self.up.raw, [body])
        self.assertIn(said, r.body)
        self.assertNotIn("cut=budget", told(r))
        self.assertNotIn("cap=1", told(r))
        return r

    def test_claude_code(self):
        self.up.reply = lambda *_: message("Yes.", WORD * 700)
        gateway = self.serve(providers=self.one("anthropic", models=[CLAUDE]))
        for effort in LEVELS[1:]:
            r = self.passes(gateway, "/v1/messages?beta=true", claude_code(output_config={"effort": effort}))
            thought = "".join(e["delta"].get("thinking", "") for e in events(r.body)
                              if e["type"] == "content_block_delta")
            self.assertEqual(thought, WORD * 700)
        self.passes(gateway, "/v1/messages", claude_code(output_config=None))
        self.passes(gateway, "/v1/messages", claude_code(thinking={"type": "enabled", "budget_tokens": 31999}))
        self.passes(gateway, "/v1/messages", claude_code(thinking={"type": "disabled"}))

    def test_codex(self):
        self.up.reply = lambda *_: response("Yes.", WORD * 700)
        gateway = self.serve(providers=self.one("responses", models=["gpt-5"]))
        for effort in LEVELS:
            self.passes(gateway, "/v1/responses", codex(reasoning={"effort": effort, "summary": "auto"}))
        self.passes(gateway, "/v1/responses", codex(reasoning={"effort": "none"}))

    def test_chat_completions_whoever_the_host_is(self):
        self.up.reply = lambda *_: stream(delta(reasoning_content=WORD * 700), delta(content="Yes."),
                                          delta("stop"))
        words = [{"reasoning_effort": w} for w in ("none", *LEVELS)] + [
            {"thinking": {"type": "enabled"}}, {"reasoning": {"effort": "high", "exclude": False}},
            {"chat_template_kwargs": {"enable_thinking": True}}, {"reasoning": {"max_tokens": 2000}}]
        for name in ("chat", "vllm", "sglang", "llama.cpp", "deepseek", "openrouter"):
            gateway = self.serve(providers=self.one("openai", name, models=["m"]))
            for more in words:
                self.passes(gateway, "/v1/chat/completions", {
                    "model": "m", "messages": SAID, "stream": True, "temperature": 1,
                    "stream_options": {"include_usage": True}, **more})

    def test_ollama_and_gemini(self):
        self.up.reply = lambda *_: lines({"message": {"role": "assistant", "thinking": WORD * 700, "content": ""}},
                                         {"message": {"role": "assistant", "content": "Yes."}, "done": True,
                                          "done_reason": "stop"})
        gateway = self.serve(providers=self.one("ollama", models=["m"]))
        for think in (True, False, "low", "high"):
            self.passes(gateway, "/api/chat", {"model": "m", "messages": SAID, "think": think})
        self.up.reply = lambda *_: gemini("Yes.")(True)
        gateway = self.serve(providers=self.one("gemini", models=["gemini-3-flash"]))
        for config in ({"thinkingLevel": "HIGH", "includeThoughts": True}, {"thinkingBudget": 9000}):
            self.passes(gateway, "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse", {
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "generationConfig": {"thinkingConfig": config}})

    def test_to_another_dialect_they_are_translated_and_bring_nothing_else(self):
        self.up.reply = lambda _, body: answer("Yes.", body, reasoning_content=WORD * 700)
        gateway = self.serve(providers=self.one("openai", models=[CLAUDE]))
        for effort, sent in (("low", "low"), ("high", "high"), ("xhigh", "xhigh")):
            self.up.forget()
            r = self.ok(request("/v1/messages", claude_code(output_config={"effort": effort}), SHOW, at=gateway))
            [body] = self.up.asked
            self.assertEqual(body["reasoning_effort"], sent)
            self.assertFalse({"temperature", "top_p"} & set(body))
            self.assertNotIn(MARK, self.up.raw[0].decode())
            self.assertIn("cap=none; cut=none", told(r))
        self.up.reply = lambda *_: message("Yes.", WORD * 700)
        gateway = self.serve(providers=self.one("anthropic", models={"m": "claude-sonnet-4-5"}))
        self.up.forget()
        self.ok(self.chat(gateway, reasoning_effort="high", stream=True, max_tokens=900))
        [body] = self.up.asked
        self.assertEqual(body["thinking"], {"type": "enabled", "budget_tokens": 16384})
        self.assertNotIn(MARK, self.up.raw[0].decode())

    def test_with_presets_for_all_words_they_bring_them(self):
        self.up.reply = lambda n, body: stream(delta(reasoning_content=WORD * 700), delta("stop")) \
            if n == 1 else answer("Yes.", body)
        gateway = self.serve(reasoning={"presets": "always"})
        r = self.ok(self.chat(gateway, reasoning_effort="high", stream=True))
        self.assertIn("reasoning_tokens=512; cap=512; cut=budget", told(r))
        self.assertEqual((self.up.asked[0]["temperature"], self.up.asked[0]["top_p"]), (0.85, 0.95))
        self.assertIn(MARK, self.up.raw[0].decode())


class Ours(Levels):
    """Our own parameters select presets; levels above high have their own presets."""

    def test_every_way_to_ask(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        key = {"authorization": "Bearer sk-low"}
        gateway = self.serve(
            providers={**self.one("openai", "chat", models=["m"]),
                       **self.one("openai", "deep", models=["d"], level="xhigh")},
            keys=[{"name": "low", "sha256": digest("sk-low"), "level": "low"},
                  {"name": "any", "sha256": digest("sk-any")}])
        any_key = {"authorization": "Bearer sk-any"}
        for cap, headers, more in (
                (128, {**any_key, "x-rationale-level": "minimal"}, {}),
                (256, {**any_key, "x-rationale-reasoning-effort": "medium"}, {}),
                (512, {**any_key, "x-reasoning-effort": "high"}, {}),
                (2048, {**any_key, "x-rationale-level": "xhigh"}, {}),
                (8192, {**any_key, "x-rationale-level": "max"}, {"reasoning_effort": "low"}),
                (512, any_key, {"model": "m-high"}),
                (128, key, {}), (128, key, {"model": "d"}), (2048, any_key, {"model": "d"}),
                (512, key, {"model": "m-high"})):
            self.up.forget()
            r = self.ok(self.chat(gateway, headers, **more))
            self.assertIn(f"cap={cap}; cut=none", told(r), (headers, more))
            self.assertIn(MARK, self.up.raw[0].decode())
            self.assertIn("temperature", self.up.asked[0])
        r = self.ok(request("/generate", {"model": "m", "prompt": "hi", "stream": False}, any_key, at=gateway))
        self.assertIn("cap=256", told(r))

    def test_the_prompt_says_which(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        gateway = self.serve()
        for level in ("xhigh", "max"):
            self.up.forget()
            self.ok(self.chat(gateway, {"x-rationale-level": level}))
            self.assertIn(f"effort: {level.upper()}.", self.up.asked[0]["messages"][0]["content"])

    def test_a_key_has_its_highest_level_if_it_asks_for_none(self):
        self.up.reply = lambda n, body: stream(delta(reasoning_content=WORD * 700), delta("stop")) \
            if n == 1 else answer("Yes.", body)
        gateway = self.serve(keys=[
            {"name": "few", "sha256": digest("sk-few"), "levels": ["none", "low"]},
            {"name": "off", "sha256": digest("sk-off"), "levels": ["none"]}])
        few, off = ({"authorization": f"Bearer sk-{k}"} for k in ("few", "off"))
        r = self.ok(self.chat(gateway, few))  # a whole reply: reasoning beyond the cap is billed
        self.assertIn("reasoning_tokens=700; cap=128; cut=budget", told(r))
        self.assertEqual(self.up.asked[0]["reasoning_effort"], "low")
        self.up.forget()
        r = self.ok(request("/generate", {"model": "m", "prompt": "hi", "stream": False}, few, at=gateway))
        self.assertIn("cap=128; cut=budget", told(r))
        self.assertEqual(self.chat(gateway, few, reasoning_effort="high").status, 403)
        self.up.forget()
        self.up.reply = lambda _, body: answer("Yes.", body)
        self.ok(self.chat(gateway, off))
        self.assertEqual(self.up.asked[0]["reasoning_effort"], "none")


class Agents(Levels):
    """A cut in an agent's turn: the second call may call tools, and its body is valid without
    thinking."""

    def check_tail(self, raw):
        self.assertIn(b"tool call that comes next", raw)
        self.assertNotIn(b"Give the final answer now", raw)

    def test_messages(self):
        self.up.reply = lambda n, _: message("No.", WORD * 200) if n == 1 else message("Yes.")
        gateway = self.serve(providers=self.one("anthropic", models=[CLAUDE]))
        other = {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 3}}
        for management, left in (({"edits": [CLEAR]}, None), ({"edits": [CLEAR, other]}, {"edits": [other]}),
                                 ({"edits": [other]}, {"edits": [other]})):
            self.up.forget()
            r = self.ok(request("/v1/messages", claude_code(
                context_management=management, tool_choice={"type": "auto"}), LOW, at=gateway))
            first, second = self.up.asked
            self.assertEqual(first["context_management"], management)
            self.assertEqual(second.get("context_management"), left)
            self.assertEqual(second["thinking"], {"type": "disabled"})
            self.assertEqual((first["output_config"], second["output_config"]),
                             ({"effort": "low"}, {"effort": "high"}))  # valid without thinking
            self.assertEqual((second["tools"], second["tool_choice"]), (TOOLS, {"type": "auto"}))
            self.check_tail(self.up.raw[1])
            self.assertIn(b"Yes.", r.body)

    def test_responses(self):
        self.up.reply = lambda n, _: response("No.", WORD * 200) if n == 1 else response("Yes.")
        gateway = self.serve(providers=self.one("responses", models=["gpt-5"]))
        for include, left in ((["reasoning.encrypted_content"], None),
                              (["reasoning.encrypted_content", "file_search_call.results"],
                               ["file_search_call.results"])):
            self.up.forget()
            self.ok(request("/v1/responses", codex(include=include), LOW, at=gateway))
            first, second = self.up.asked
            self.assertEqual(first["reasoning"], {"effort": "low", "summary": "auto"})
            self.assertEqual(second["reasoning"], {"effort": "none"})
            self.assertEqual(second.get("include"), left)
            self.assertEqual((second["tools"], second["tool_choice"]), (first["tools"], "auto"))
            self.check_tail(self.up.raw[1])

    def test_chat_by_prefill_and_restated_and_starved(self):
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
        for name, why, words in (("chat", "stop", 200), ("vllm", "stop", 200), ("chat", "length", 20)):
            self.up.reply = lambda n, body: stream(
                delta(reasoning_content=WORD * words), delta(why)) if n == 1 \
                else answer("Yes.", body)
            gateway = self.serve(providers=self.one("openai", name, models=["m"]))
            for given in ({}, {"tools": tools}, {"tools": tools, "tool_choice": "none"}):
                self.up.forget()
                self.ok(self.chat(gateway, LOW, stream=True, **given))
                tail = self.up.asked[1]["messages"][-1]["content"]
                agent = len(given) == 1
                self.assertEqual("tool" in tail, agent, tail)
                self.assertEqual("final answer now" in tail, not agent, tail)
                self.assertEqual(self.up.asked[1].get("tools"), given.get("tools"))


class Refused(Levels):
    """If a provider refuses a parameter, the gateway retries without it, and remembers that."""

    def four(self, gateway, calls, headers=None, **more):
        """Four calls cause `calls` requests; returns the last one, which later calls will look
        like."""
        self.up.forget()
        for _ in range(4):
            self.ok(self.chat(gateway, headers, **more))
        self.assertEqual(len(self.up.asked), calls, [sorted(b) for b in self.up.asked])
        return self.up.asked[-1]

    def refusing(self, **params):
        """Refuses these parameters, each with its error text."""
        def reply(_, body):
            for name, words in params.items():
                if name in body:
                    return error(400, words)
            return answer("Yes.", body)
        return reply

    def test_the_clients_own_sampling(self):
        self.up.reply = self.refusing(
            temperature="Unsupported value: 'temperature' does not support 0.2 with this model. "
                        "Only the default (1) value is supported.",
            top_p="Unsupported parameter: 'top_p' is not supported with this model.")
        for listed in (True, False):
            one = self.one("openai", "chat", **({"models": ["m"]} if listed else {}))
            gateway = self.serve(providers=one)
            body = self.four(gateway, 5, temperature=0.2, seed=7)
            self.assertEqual((body.get("seed"), "temperature" in body), (7, False))
            self.assertNotIn("top_p", self.four(gateway, 5, temperature=0.2, top_p=0.5))
            self.four(gateway, 5, LOW)  # another level; both parameters of the preset are removed at once
            self.four(gateway, 4, LOW)

    def test_a_value_that_is_wrong_is_the_clients_to_mend(self):
        self.up.reply = self.refusing(temperature="Invalid 'temperature': decimal above maximum value. "
                                                  "Expected a value <= 1, but got 1.9 instead.")
        gateway = self.serve()
        for _ in range(2):
            self.up.forget()
            r = self.chat(gateway, temperature=1.9)
            self.assertEqual((r.status, len(self.up.asked)), (400, 1))
            self.assertIn(b"above maximum", r.body)

    def test_other_dialects(self):
        words = "`temperature` is deprecated for this model."
        refuses = plain(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})
        self.up.reply = lambda _, body: refuses if "temperature" in body else message("Yes.")
        gateway = self.serve(providers=self.one("anthropic", models=[CLAUDE]))
        for asked in (2, 1):
            self.up.forget()
            self.ok(request("/v1/messages", claude_code(temperature=0.5), {}, at=gateway))
            self.assertEqual(len(self.up.asked), asked)
            self.assertEqual(self.up.asked[-1]["thinking"], {"type": "adaptive"})

    def test_reasoning_params(self):
        self.up.reply = self.refusing(top_k_reasoning="Unrecognized request argument: top_k_reasoning")
        gateway = self.serve(providers=self.one("openai", "chat", models=["m"],
                                                reasoning_params={"top_k_reasoning": 5}))
        self.assertNotIn("top_k_reasoning", self.four(gateway, 5))
        body = self.four(gateway, 5, LOW)  # another level, for which no refusal is known
        self.assertEqual(body["reasoning_effort"], "low")

    def test_every_reasoning_parameter(self):
        self.up.reply = self.refusing(reasoning_effort="Unsupported parameter: 'reasoning_effort' is not "
                                                       "supported with this model.")
        gateway = self.serve()
        self.four(gateway, 5, LOW)
        self.four(gateway, 5, reasoning_effort="high")
        self.up.forget()
        gateway.child.send_signal(signal.SIGHUP)  # a reload forgets refusals
        until(lambda: self.ok(self.chat(gateway, LOW)) and len(self.up.asked) > 1 and
              "reasoning_effort" in self.up.asked[-2])

    def test_what_is_no_word_about_parameters_is_the_clients(self):
        self.up.reply = lambda *_: error(400, "messages.1: `thinking` blocks cannot be modified.")
        gateway = self.serve()
        r = self.chat(gateway, reasoning_effort="high")
        self.assertEqual((r.status, len(self.up.asked)), (400, 1))

    def test_none_becomes_the_least_that_there_is(self):
        listed = "Unsupported value: '{}' is not supported with the 'gpt-5' model. Supported values are: {}."
        gpt5 = "'minimal', 'low', 'medium', and 'high'"
        for supported, words, sent, calls in (
                (("minimal", "low", "high"), lambda e: listed.format(e, gpt5), "minimal", 5),
                (("low", "high"), lambda e: listed.format(e, "'low', 'medium', and 'high'"), "low", 5),
                (("high",), lambda e: listed.format(e, "'high'"), "high", 5),
                (("low", "high"), lambda e: f"reasoning effort {e} is not supported", "low", 6)):
            self.up.reply = lambda _, body: answer("Yes.", body) \
                if body.get("reasoning_effort") in (None, *supported) \
                else error(400, words(body["reasoning_effort"]))
            for headers, more in (({"x-rationale-level": "none"}, {}), ({}, {"reasoning_effort": "none"})):
                body = self.four(self.serve(), calls, headers, **more)
                self.assertEqual(body["reasoning_effort"], sent)

    def test_an_effort_that_it_does_not_take_becomes_the_nearest(self):
        self.up.reply = lambda _, body: answer("Yes.", body) if body["reasoning_effort"] == "high" else error(
            400, "Unsupported value: 'xhigh' is not supported with this model. Supported values are: "
                 "'none', 'low', 'medium', and 'high'.")
        self.four(self.serve(), 5, reasoning_effort="xhigh")

    def test_an_engine_stays_off(self):
        self.up.reply = lambda _, body: answer("Yes.", body) if body["reasoning_effort"] != "none" else error(
            400, "reasoning_effort: Input should be 'low', 'medium' or 'high'")
        gateway = self.serve(providers=self.one("openai", "vllm", models=["m"]))
        body = self.four(gateway, 5, {"x-rationale-level": "none"})
        self.assertEqual((body["reasoning_effort"], body["chat_template_kwargs"]["enable_thinking"]),
                         ("low", False))


class Bounded(Levels):
    """Reasoning that is billed but not visible: the whole output is limited, and the difference is
    reported."""

    def test_a_maximum_goes_along_where_there_is_no_budget(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        gateway = self.serve(providers={**self.one("openai", "chat", models=["m"]),
                                        **self.one("openai", "vllm", models=["v"])})
        for headers, more, sent in ((LOW, {}, 128 + 8192), (LOW, {"max_tokens": 900}, None),
                                    (LOW, {"model": "v"}, None), ({}, {"reasoning_effort": "low"}, None),
                                    ({}, {}, None)):
            self.up.forget()
            self.ok(self.chat(gateway, headers, **more))
            self.assertEqual(self.up.asked[0].get("max_completion_tokens"), sent, more)
            self.assertEqual(self.up.asked[0].get("max_tokens"), more.get("max_tokens"))
        for room, sent in ((100, 228), (0, None)):
            self.up.forget()
            self.ok(self.chat(self.serve(reasoning={"answer_tokens": room}), LOW))
            self.assertEqual(self.up.asked[0].get("max_completion_tokens"), sent)

    def test_it_is_left_out_where_it_is_too_much(self):
        self.up.reply = lambda _, body: answer("Yes.", body) if "max_completion_tokens" not in body else error(
            400, "max_completion_tokens is too large: 8320. This model supports at most 4096 completion "
                 "tokens, whereas you provided 8320.")
        gateway = self.serve()
        for _ in range(4):
            self.ok(self.chat(gateway, LOW))
        self.assertEqual(len(self.up.asked), 5)
        self.assertEqual(self.up.asked[-1]["reasoning_effort"], "low")

    def test_what_passed_the_cap_unseen_is_told(self):
        usage = {"prompt_tokens": 10, "completion_tokens": 3010, "total_tokens": 3020,
                 "completion_tokens_details": {"reasoning_tokens": 3000}}
        self.up.reply = lambda _, body: stream(
            delta(content="Yes."), delta("stop"), {"id": "c", "choices": [], "usage": usage}) \
            if body.get("stream") else plain(200, {**json.loads(whole("Yes.").split(b"\r\n\r\n")[1]), "usage": usage})
        gateway = self.serve()
        self.assertTrue(told(self.ok(self.chat(gateway, LOW))).endswith(
            "reasoning_tokens=3000; cap=128; cut=none; over=2872"))
        self.assertTrue(told(self.ok(self.chat(gateway, reasoning_effort="low"))).endswith(
            "reasoning_tokens=3000; cap=none; cut=none"))

    def test_a_reply_that_the_maximum_starved_is_repaired(self):
        usage = {"prompt_tokens": 10, "completion_tokens": 8320, "total_tokens": 8330,
                 "completion_tokens_details": {"reasoning_tokens": 8320}}
        self.up.reply = lambda n, body: answer("Yes.", body) if n > 1 else stream(
            delta("length"), {"id": "c", "choices": [], "usage": usage})
        r = self.ok(self.chat(self.serve(), LOW))
        self.assertIn(b"Yes.", r.body)
        self.assertIn("starved=repaired", told(r))


class Counted(Levels):
    def test_thoughts_of_a_second_call_are_no_answer(self):
        details = {"completion_tokens_details": {"reasoning_tokens": 1540}}
        usage = {"prompt_tokens": 10, "completion_tokens": 1545, "total_tokens": 1555}
        for more in (details, {}):
            self.up.reply = lambda n, body: stream(delta(reasoning_content=WORD * 200), delta("stop")) \
                if n % 2 else stream(delta(reasoning_content=WORD * 1540), delta(content="Yes."), delta("stop"),
                                     {"id": "c", "choices": [], "usage": {**usage, **more}}, whole=False)
            gateway = self.serve(store="sqlite:history.db")
            self.up.forget()
            for _ in range(3):
                r = self.ok(self.chat(gateway, LOW, stream=True, stream_options={"include_usage": True}))
                got = events(r.body)[-1]["usage"]
                self.assertEqual((got["completion_tokens"], got["completion_tokens_details"]["reasoning_tokens"]),
                                 (1545 + 128, 1540 + 128))
                self.assertIn("reasoning_tokens=1668; cap=128; cut=budget", told(r))
            page = request("/metrics", headers={}, at=gateway).body.decode()
            count = lambda kind: sum(int(n) for n in re.findall(  # noqa: E731
                rf'^rationale_tokens_total\{{[^}}]*kind="{kind}"[^}}]*\}} (\d+)', page, re.M))
            self.assertEqual((count("answer"), count("reasoning")), (15, 3 * 1668), page)


class Gemini(Levels):
    def ask_gemini(self, gateway, headers=None, **config):
        return request("/v1beta/models/m:generateContent", {
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            **({"generationConfig": config} if config else {})}, headers or {}, at=gateway)

    def setUp(self):
        super().setUp()
        self.up.reply = lambda *_: gemini("Yes.")(True)

    def sent(self):
        return self.up.asked[-1]["generationConfig"]["thinkingConfig"]

    def test_params_go_into_the_configuration_and_are_merged(self):
        for params, level, want in (
                ({"thinkingConfig": {"includeThoughts": True}}, None, {"includeThoughts": True}),
                ({"thinkingConfig": {"thinkingBudget": 2000}}, None, {"thinkingBudget": 2000}),
                ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 2000}}}, None,
                 {"thinkingBudget": 2000}),
                ({"thinkingConfig": {"x": {"y": 1}}}, "high",
                 {"thinkingLevel": "HIGH", "includeThoughts": True, "x": {"y": 1}}),
                ({"thinkingConfig": {"thinkingBudget": 2000}}, "high",
                 {"thinkingBudget": 2000, "includeThoughts": True})):
            gateway = self.serve(providers=self.one("gemini", models={"m": "gemini-3-flash"},
                                                    reasoning_params=params))
            self.ok(self.ask_gemini(gateway, {"x-rationale-level": level} if level else {}, topK=5))
            self.assertEqual(self.sent(), want, params)
            self.assertEqual(self.up.asked[-1]["generationConfig"]["topK"], 5)
            self.assertNotIn("thinkingConfig", self.up.asked[-1])

    def test_a_name_that_says_nothing_gets_its_level_too(self):
        gateway = self.serve(providers=self.one("gemini", models={"m": "tuned-7"}))
        self.ok(self.ask_gemini(gateway, {"x-rationale-level": "high"}))
        self.assertEqual(self.sent(), {"thinkingLevel": "HIGH", "includeThoughts": True})
        self.up.forget()
        self.ok(self.chat(gateway, reasoning_effort="low"))
        self.assertEqual(self.sent()["thinkingLevel"], "LOW")

    def test_the_other_way_is_found_and_remembered(self):
        refuses = plain(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                                        "Thinking level is not supported for this model."}})
        self.up.reply = lambda _, body: refuses if "thinkingLevel" in json.dumps(body) else gemini("Yes.")(True)
        gateway = self.serve(providers=self.one("gemini", models={"m": "tuned-7"}))
        for _ in range(4):
            self.ok(self.chat(gateway, reasoning_effort="high"))
        self.assertEqual(len(self.up.asked), 5)
        self.assertEqual(self.sent(), {"thinkingBudget": 16384, "includeThoughts": True})


if __name__ == "__main__":
    start()
