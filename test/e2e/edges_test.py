#!/usr/bin/env python3
"""Special cases of a call: where its reasoning is cut, how it fails, how it is refused.

    test/e2e/edges_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

import asking
from asking import USAGE, comments, events, request, start
from command import BINARY
from corners_test import Refusing, Upstream, anthropic_stream, chat_reply, plain, sse
from gateway import Gateway, digest

WORD = " think"  # one token
DONE = b"data: [DONE]\n\n"
LOW = {"reasoning_effort": "low"}
SAID = [{"role": "user", "content": "hi"}]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages",
         "gemini": "/v1beta/models/{}:generateContent", "ollama": "/api/chat",
         "generate": "/generate"}


def setUpModule():
    up = asking.world.up = Upstream()
    asking.world.gateway = Gateway(BINARY, {"store": "none", "reasoning": {"presets": "always"}, "providers": {
        "chat": {"kind": "openai", "base_url": up.root + "/v1", "models": ["chat"]},
        "claude": {"kind": "anthropic", "base_url": up.root, "models": ["claude-sonnet-4-5"]},
        "gemini": {"kind": "gemini", "base_url": up.root, "models": ["gemini-2.5-flash"]},
        "mistral": {"kind": "mistral", "base_url": up.root + "/v1", "models": ["mistral"]},
        "items": {"kind": "responses", "base_url": up.root + "/v1", "models": ["items"]},
        "ollama": {"kind": "ollama", "base_url": up.root, "models": ["llama"]},
    }}).__enter__()


def tearDownModule():
    asking.world.gateway.stop()
    asking.world.up.server.shutdown()


def delta(why=None, **said):
    return {"id": "c", "created": 1, "model": "u", "choices": [
        {"index": 0, "delta": said, "finish_reason": why}]}


def gemini(text, why=None, **part):
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text, **part}]},
                            "index": 0, **({"finishReason": why} if why else {})}]}


def asks(dialect, model, **more):
    """Returns (path, body) of the smallest request in a dialect."""
    body = {"responses": {"input": "hi"}, "gemini": {"contents": [{"parts": [{"text": "hi"}]}]},
            "messages": {"messages": SAID, "max_tokens": 9},
            "generate": {"messages": SAID, "stream": False},
            "ollama": {"messages": SAID, "stream": False}}.get(dialect, {"messages": SAID})
    return PATHS[dialect].format(model), {"model": model, **body, **more}


class Cut(unittest.TestCase):
    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()

    def test_what_was_passed_on_before_the_cut_does_not_end_it(self):
        pieces = [gemini(WORD * 50, thought=True) for _ in range(4)]
        self.up.reply = lambda *_: sse(*pieces, gemini("No.", "STOP")) \
            if len(self.up.asked) == 1 else sse(gemini("Yes."), gemini("", "STOP"))
        for headers in ({}, asking.SHOW):
            self.up.asked.clear()
            r = request("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", {
                "contents": [{"parts": [{"text": "hi"}]}],
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW",
                                                        "includeThoughts": True}}}, headers)
            last = events(r.body)[-1]
            self.assertEqual(last["candidates"][0].get("finishReason"), "STOP", r.body[-900:])
            self.assertEqual(last["usageMetadata"]["thoughtsTokenCount"], 128)
            self.assertIn("cut=budget", " ".join(comments(r.body)))

    def test_exactly_the_cap_is_not_cut_and_one_token_more_is(self):
        # The last word is one token, but a prefix of it is two.
        for word in (WORD, " ponder", " thinking", " consider"):
            for size in (None, 1, 5):
                for count, cut in ((127, "none"), (128, "none"), (129, "budget")):
                    text = word * count
                    pieces = [delta(reasoning_content=text[i:i + (size or len(text))])
                              for i in range(0, len(text), size or len(text))]
                    self.up.reply = lambda *_: sse(*pieces, delta(content="Yes."), delta("stop")) \
                        if len(self.up.asked) == 1 else sse(delta(content="Yes."), delta("stop"))
                    self.up.asked.clear()
                    path, body = asks("chat", "chat", **LOW)
                    r = request(path, body, asking.SHOW)
                    with self.subTest(word, size=size, count=count):
                        tokens, *rest = USAGE.search(r.headers["x-rationale-usage"]).groups()
                        self.assertEqual(rest, ["128", cut])
                        # Tokens beyond the cap count too; a truncated word may be two.
                        self.assertIn(int(tokens), (128, 129, 130) if count > 128 else (count,))
                        said = json.loads(r.body)["choices"][0]["message"]
                        self.assertEqual((said["content"], said["reasoning"]),
                                         ("Yes.", word * min(count, 128)))

    def test_it_is_told_in_an_array_too_where_there_is_something_to_tell(self):
        for text, told in ((WORD * 200, ["reasoning_tokens=128; cap=128; cut=budget"]), (None, [])):
            self.up.reply = lambda *_: sse(delta(reasoning_content=text), delta("stop")) \
                if text and len(self.up.asked) == 1 else sse(delta(content="Yes."), delta("stop"))
            self.up.asked.clear()
            r = request("/v1beta/models/chat:streamGenerateContent", {
                "contents": [{"parts": [{"text": "hi"}]}],
                **({"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}
                   if text else {})})
            said = json.loads(r.body)
            self.assertEqual([e["x-rationale-usage"] for e in said if "x-rationale-usage" in e], told)
            self.assertIn("candidates", said[-1])

    def test_a_cut_costs_the_prompt_again(self):
        usage = {"prompt_tokens": 1000, "completion_tokens": 4, "total_tokens": 1004}
        self.up.reply = lambda *_: sse(delta(reasoning_content=WORD * 200), delta("stop")) \
            if len(self.up.asked) == 1 else sse(delta(content="Yes."), delta("stop"), {
                "id": "c", "choices": [], "usage": usage})
        path, body = asks("chat", "chat", **LOW)
        r = request(path, {**body, "stream": True, "stream_options": {"include_usage": True}})
        [got] = [e["usage"] for e in events(r.body) if e.get("usage")]
        self.assertEqual((got["prompt_tokens"], got["completion_tokens"]), (2000 - 128, 128 + 4))

    def test_a_call_that_was_made_before_the_cut_ends_the_turn(self):
        call = {"index": 0, "id": "call_a", "type": "function",
                "function": {"name": "f", "arguments": '{"x":'}}
        rest = {"index": 0, "function": {"arguments": " 1}"}}
        self.up.reply = lambda *_: sse(
            delta(reasoning_content=WORD * 100), delta(tool_calls=[call]),
            delta(tool_calls=[rest]), delta(reasoning_content=WORD * 100),
            delta(content="No."), delta("tool_calls"))
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
        for stream in (True, False):
            self.up.asked.clear()
            r = request("/v1/chat/completions", {
                "model": "chat", "messages": SAID, "tools": tools, "stream": stream, **LOW})
            if stream:
                said = [c for e in events(r.body) for c in e["choices"]]
                whys = [c["finish_reason"] for c in said if c.get("finish_reason")]
                made = "".join(t["function"]["arguments"] for c in said
                               for t in c["delta"].get("tool_calls", []))
                words = " ".join(comments(r.body))
            else:
                only = json.loads(r.body)["choices"][0]
                whys = [only["finish_reason"]]
                made = only["message"]["tool_calls"][0]["function"]["arguments"]
                words = r.headers["x-rationale-usage"]
            self.assertEqual((whys, json.loads(made), len(self.up.asked)),
                             (["tool_calls"], {"x": 1}, 1))
            self.assertEqual(USAGE.search(words).groups(), ("128" if stream else "200", "128", "budget"))
            self.assertEqual(b"No." in r.body, not stream, "a stream is let go, a plain reply keeps its answer")


    def test_a_prompt_of_ollama_goes_on_in_a_second_call(self):
        options = {"num_ctx": 8192, "temperature": 0.5, "stop": ["END"]}
        body = {"prompt": "hi", "system": "Be brief.", "keep_alive": "1h", "options": options}

        def reply(path, asked):
            first, stream = len(self.up.asked) == 1, asked.get("stream")
            paths.append(path)
            if "messages" in asked and path != "/api/chat":  # of the other provider
                return sse(delta(reasoning_content=WORD * 200), delta("length")) if first else \
                    sse(delta(content="Yes."), delta("stop"))
            said = {"thinking": WORD * 200} if first else {"content": "Yes."}
            lines = [{"model": "u", **({"message": said} if path == "/api/chat" else
                                       {"response": "", **said}), "done": not stream}]
            if stream:
                lines.append({"model": "u", "response": "", "message": {"content": ""}, "done": True})
            lines[-1]["done_reason"] = "length" if first else "stop"
            return "application/x-ndjson", b"".join(json.dumps(x).encode() + b"\n" for x in lines)
        self.up.reply = reply
        for model, at in (("llama", ["/api/generate", "/api/chat"]), ("chat", ["/v1/chat/completions"] * 2)):
            for stream in (True, False):
                with self.subTest(model=model, stream=stream):
                    paths = []
                    self.up.asked.clear()
                    r = request("/api/generate", {**body, "model": model, "stream": stream},
                                {**asking.SHOW, "x-rationale-level": "low"})
                    self.assertEqual((r.status, paths), (200, at), r.body)
                    said = [json.loads(x) for x in r.body.splitlines()]
                    self.assertEqual("".join(x.get("response", "") for x in said), "Yes.")
                    self.assertEqual("".join(x.get("thinking", "") for x in said), WORD * 128)
                    self.assertEqual([(x["done"], x.get("done_reason")) for x in said if x["done"]], [(True, "stop")])
                    self.assertFalse(any("message" in x for x in said), said)
                    second = self.up.asked[1]
                    self.assertRegex(second["messages"][0]["content"], "^Be brief[.]")
                    if model == "llama":
                        self.assertEqual((second["options"], second["keep_alive"]),
                                         ({"top_p": 0.9, **options}, "1h"))


class Starved(unittest.TestCase):
    def test_a_repair_that_fails_leaves_the_reply_as_it_was(self):
        up = asking.world.up
        usage = {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}
        starved = lambda *_: sse(delta(reasoning_content="Hm."), delta("length"),  # noqa: E731
                                 {"id": "c", "choices": [], "usage": usage})
        broken = lambda *_: sse({"error": {"message": "no", "code": 400}})  # noqa: E731
        for stream in (False, True):
            for headers in ({}, asking.SHOW):
                up.asked.clear()
                up.reply = lambda *_: (starved if len(up.asked) == 1 else broken)(*_)
                path, body = asks("messages", "chat", stream=stream)
                r = request(path, body, {**headers, "x-rationale-level": "low"})
                self.assertEqual((r.status, len(up.asked)), (200, 2), r.body)
                end = events(r.body)[-2] if stream else json.loads(r.body)
                self.assertEqual(end["usage"]["output_tokens"], 9, r.body)
                self.assertEqual((end["delta"] if stream else end)["stop_reason"], "max_tokens")
                self.assertEqual(b"Hm." in r.body, bool(headers))


class Generate(unittest.TestCase):
    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()

    def stream(self, model="chat"):
        r = request("/generate", {"model": model, "prompt": "hi"})
        self.assertEqual(r.status, 200, r.body)
        names = [line[7:] for line in r.body.decode().split("\n") if line.startswith("event: ")]
        return names, events(r.body), r

    def test_that_it_thinks_is_told_of_what_is_hidden_too(self):
        self.up.reply = chat_reply
        names, said, r = self.stream()
        self.assertEqual(names, ["analysis", "analysis", "token", "usage", "end"])
        self.assertEqual(said[:2], [{"state": "started"}, {"state": "ended", "tokens": 2, "cap": 256}])
        self.assertNotIn(b"Hm.", r.body)

    def test_a_provider_that_tells_its_usage_first_has_its_thoughts_counted(self):
        said = [{"type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": "u", "content": [],
            "usage": {"input_tokens": 5, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {
                "type": "thinking", "thinking": "Hm.", "signature": ""}},
            {"type": "content_block_stop", "index": 0}]
        _, rest = anthropic_stream("Yes.")
        kind, front = sse(*said)
        rest = rest[rest.index(b"event: content_block_start"):].replace(b'"index": 0', b'"index": 1')
        self.up.reply = lambda *_: (kind, front + rest)
        _, told, _ = self.stream("claude-sonnet-4-5")
        self.assertEqual(told[1], {"state": "ended", "tokens": 2, "cap": 256})


class Levels(unittest.TestCase):
    THINKS = {"thinking": {"type": "enabled", "budget_tokens": 3000}, "max_tokens": 5000}
    GEMINI = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 3000}}}

    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()

    def asked(self, dialect, model, level=None, **more):
        self.up.reply = lambda *_: sse(gemini("Yes.", "STOP")) if model[0] == "g" \
            else anthropic_stream("Yes.") if model[:2] == "cl" else chat_reply(*_)
        path, body = asks(dialect, model, **more)
        r = request(path, body, {"x-rationale-level": level} if level else {})
        self.assertEqual(r.status, 200, r.body)
        return self.up.asked[-1]

    def test_a_header_is_stronger_than_an_amount_in_the_body(self):
        for level, thinking, budget in (("none", {"type": "disabled"}, 0),
                                        ("low", {"type": "enabled", "budget_tokens": 1024}, 128)):
            body = self.asked("messages", "claude-sonnet-4-5", level, **self.THINKS)
            self.assertEqual(body["thinking"], thinking)
            body = self.asked("gemini", "gemini-2.5-flash", level, **self.GEMINI)
            self.assertEqual(body["generationConfig"]["thinkingConfig"]["thinkingBudget"], budget)
        body = self.asked("messages", "claude-sonnet-4-5", **self.THINKS)
        self.assertEqual(body["thinking"], self.THINKS["thinking"])

    def test_an_amount_is_a_level_for_who_knows_only_levels(self):
        for tokens, effort in ((1024, "low"), (4096, "medium"), (16000, "high"), (30000, "xhigh")):
            body = self.asked("messages", "chat", max_tokens=32000, thinking={
                "type": "enabled", "budget_tokens": tokens})
            self.assertEqual(body["reasoning_effort"], effort)

    def test_to_think_leaves_how_much_to_the_models_name(self):
        for dialect in ("generate", "ollama"):
            body = self.asked(dialect, "chat-high", **({"think": True} if dialect == "ollama" else {}))
            self.assertEqual(body["reasoning_effort"], "high")

    def test_no_level_above_its_own_words_goes_to_a_provider(self):
        body = self.asked("messages", "chat", output_config={"effort": "max"})
        self.assertEqual(body["reasoning_effort"], "xhigh")

    def test_an_amount_gets_past_no_key(self):
        up = asking.world.up
        with Gateway(BINARY, {"store": "none", "providers": {
                "chat": {"kind": "openai", "base_url": up.root + "/v1", "models": ["chat"]}},
                "llm": {"reasoning_presets": {"low": {"reasoning_max_tokens": 2000},
                                              "medium": {"reasoning_max_tokens": 4000},
                                              "high": {"reasoning_max_tokens": 8000}}},
                "keys": [{"name": "little", "levels": ["low"],
                          "sha256": digest("sk-little")}]}) as gateway:
            up.reply = chat_reply
            for tokens, status in ((1024, 200), (2000, 200), (2001, 403), (30000, 403)):
                path, body = asks("messages", "chat", max_tokens=32000, thinking={
                    "type": "enabled", "budget_tokens": tokens})
                r = request(path, body, {"x-api-key": "sk-little"}, at=gateway)
                self.assertEqual(r.status, status, r.body)


class Cited(unittest.TestCase):
    """Citations in an answer, as clients of OpenAI's dialects get them."""
    NOTE = {"start_index": 4, "end_index": 9, "title": "T", "url": "https://x"}

    def claude(self, _, body):
        said = {"type": "web_search_result_location", "url": "https://x", "title": "T",
                "encrypted_index": "e", "cited_text": "c"}
        usage = {"input_tokens": 5, "output_tokens": 1}
        if not body.get("stream"):
            return "application/json", json.dumps({
                "id": "m", "type": "message", "role": "assistant", "model": "u", "usage": usage,
                "stop_reason": "end_turn", "content": [
                    {"type": "text", "text": "Yes "},
                    {"type": "text", "text": "it is", "citations": [said]}]}).encode()
        frames = [{"type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": "u", "content": [],
            "stop_reason": None, "usage": usage}}]
        for i, deltas in enumerate(([{"type": "text_delta", "text": "Yes "}],
                                    [{"type": "text_delta", "text": "it "},
                                     {"type": "citations_delta", "citation": said},
                                     {"type": "text_delta", "text": "is"}])):
            frames.append({"type": "content_block_start", "index": i,
                           "content_block": {"type": "text", "text": "", "citations": []}})
            frames += [{"type": "content_block_delta", "index": i, "delta": d} for d in deltas]
            frames.append({"type": "content_block_stop", "index": i})
        return sse(*frames, {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                             "usage": usage}, {"type": "message_stop"})

    def test_a_web_page_is_an_annotation(self):
        asking.world.up.reply = self.claude
        for stream in (False, True):
            with self.subTest(stream=stream):
                r = request(*asks("chat", "claude-sonnet-4-5", stream=stream))
                if stream:
                    said = [n for e in events(r.body) for c in e["choices"]
                            for n in c["delta"].get("annotations", [])]
                else:
                    said = json.loads(r.body)["choices"][0]["message"]["annotations"]
                self.assertEqual(said, [{"type": "url_citation", "url_citation": self.NOTE}])
                r = request(*asks("responses", "claude-sonnet-4-5", stream=stream))
                done = events(r.body)[-1]["response"] if stream else json.loads(r.body)
                parts = [p for i in done["output"] for p in i["content"]]
                self.assertEqual("".join(p["text"] for p in parts), "Yes it is")
                self.assertEqual([p["annotations"] for p in parts if p["annotations"]], [[
                    {"type": "url_citation", **self.NOTE, "start_index": 0, "end_index": 5}]])

    def test_so_is_a_source_of_geminis(self):
        reply = gemini("\u20ac 4 it is", "STOP")
        reply["candidates"][0]["groundingMetadata"] = {
            "groundingChunks": [{"web": {"uri": "https://x", "title": "T"}}],
            "groundingSupports": [{"segment": {"startIndex": 6, "endIndex": 11, "text": "it is"},
                                   "groundingChunkIndices": [0]}]}
        asking.world.up.reply = lambda _, body: ("application/json", json.dumps(reply).encode())
        r = request(*asks("chat", "gemini-2.5-flash"))
        self.assertEqual(json.loads(r.body)["choices"][0]["message"]["annotations"],
                         [{"type": "url_citation", "url_citation": self.NOTE}])


class Refused(unittest.TestCase):
    """Provider errors of any form become errors of the client's dialect."""
    FORMS = {
        "text": {"error": "boom here"},
        "detail": {"detail": "boom here"},
        "details": {"detail": [{"loc": ["body", "x"], "msg": "boom here", "type": "missing"}]},
        "message": {"message": "boom here"},
        "list": [{"error": {"message": "boom here", "code": 400}}],
        "errors": {"errors": [{"message": "boom here"}]},
        "another's": {"error": {"message": "boom here", "type": "x"}},
        "plain": "boom here",
    }
    OWN = {
        "chat": lambda e: e["error"]["message"],
        "responses": lambda e: e["error"]["message"],
        "messages": lambda e: (e["type"] == "error" and e["error"]["type"]
                               == "invalid_request_error" and e["error"]["message"]),
        "gemini": lambda e: (e["error"]["code"] == 400 and e["error"]["status"]
                             == "INVALID_ARGUMENT" and e["error"]["message"]),
        "ollama": lambda e: e["error"],
        "generate": lambda e: e["error"]["message"],
    }
    KINDS = {"chat": ("openai", "/v1"), "responses": ("responses", "/v1"),
             "messages": ("anthropic", ""), "gemini": ("gemini", ""), "ollama": ("ollama", "")}

    def test_an_error_of_any_form_is_told_in_the_clients_dialect(self):
        for form, said in self.FORMS.items():
            body = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            with Refusing(400, body) as root, Gateway(BINARY, {"store": "none", "providers": {
                    n: {"kind": k, "base_url": root + v, "models": [f"m-{n}"]}
                    for n, (k, v) in self.KINDS.items()}}) as gateway:
                for model in self.KINDS:
                    for dialect, message in self.OWN.items():
                        with self.subTest(form, model=model, dialect=dialect):
                            path, asked = asks(dialect, f"m-{model}")
                            r = request(path, asked, {}, at=gateway)
                            self.assertEqual(r.status, 400, r.body)
                            self.assertIn("boom here", message(json.loads(r.body)), r.body)

    def test_what_is_wrong_with_a_request_is_named_where_openai_names_it(self):
        for dialect, more, param in (("chat", {"n": 0}, "n"),
                                     ("chat", {"stop": 5}, "stop"),
                                     ("responses", {"input": None}, "input")):
            path, body = asks(dialect, "chat", **more)
            r = request(path, body)
            self.assertEqual((r.status, json.loads(r.body)["error"]["param"]), (400, param), r.body)

    def test_who_finds_the_circuit_open_while_trying_again_hears_why(self):
        with Refusing(500, b'{"error": {"message": "boom here"}}') as root, Gateway(BINARY, {
                "store": "none", "breaker": {"failures": 2, "open": "60s"}, "providers": {
                    "chat": {"kind": "openai", "base_url": root + "/v1", "models": ["chat"],
                             "backoff": "1ms"}}}) as gateway:
            path, body = asks("chat", "chat")
            first, second = (request(path, body, {}, at=gateway) for _ in range(2))
        self.assertEqual((first.status, first.headers["retry-after"]), (500, "60"))
        self.assertIn(b"boom here", first.body)
        self.assertEqual(second.status, 503)
        self.assertIn(f"try again in {second.headers['retry-after']} s".encode(), second.body)

    def test_to_be_asked_for_a_pause_opens_no_circuit(self):
        with Refusing(429, b'{"error": {"message": "slow down"}}') as root, Gateway(BINARY, {
                "store": "none", "breaker": {"failures": 2, "open": "60s"}, "providers": {
                    "chat": {"kind": "openai", "base_url": root + "/v1", "models": ["chat"],
                             "backoff": "1ms", "retries": 1}}}) as gateway:
            path, body = asks("chat", "chat")
            for _ in range(4):
                r = request(path, body, {}, at=gateway)
                self.assertEqual(r.status, 429, r.body)
                self.assertIn(b"slow down", r.body)

    def test_a_provider_without_its_key_is_passed_over(self):
        asking.world.up.reply = chat_reply
        root = asking.world.up.root + "/v1"
        bare = {"kind": "openai", "base_url": root, "api_key_env": "NOT_SET_HERE"}
        words = {"messages": b"authentication_error", "gemini": b"UNAUTHENTICATED",
                 "chat": b"provider_key_missing"}
        with Gateway(BINARY, {"store": "none", "providers": {
                "alone": {**bare, "models": ["alone"]},
                "first": {**bare, "models": ["m"], "fallback": ["second", "third"]},
                "second": {**bare, "models": ["m"]},
                "third": {"kind": "openai", "base_url": root, "models": ["m"]}}}) as gateway:
            for dialect in PATHS:
                with self.subTest(dialect):
                    path, body = asks(dialect, "alone")
                    asking.world.up.asked.clear()
                    r = request(path, body, {}, at=gateway)
                    self.assertEqual(r.status, 401, r.body)
                    self.assertIn(b"the environment variable NOT_SET_HERE is not set", r.body)
                    self.assertIn(words.get(dialect, b""), r.body)
                    self.assertEqual(asking.world.up.asked, [])
                    r = request(*asks(dialect, "m"), {}, at=gateway)
                    self.assertEqual(r.status, 200, r.body)
                    self.assertIn(b"Yes.", r.body)
            self.assertEqual(gateway.log_tail(60000).count("variable NOT_SET_HERE is not set"), 3)

    def test_an_error_in_anthropics_words_names_the_request(self):
        asking.world.up.reply = chat_reply
        for body in ({"model": "chat", "messages": SAID},
                     {"model": "nobody", "messages": SAID, "max_tokens": 9}):
            r = request("/v1/messages", body)
            self.assertGreaterEqual(r.status, 400)
            self.assertEqual(json.loads(r.body)["request_id"], r.headers["x-rationale-id"])


class Counted(unittest.TestCase):
    def count(self, status, body):
        key = "kept-by-the-operator"
        with Refusing(status, body) as root, Gateway(BINARY, {"store": "none", "providers": {
                "claude": {"kind": "anthropic", "base_url": root, "models": ["claude"],
                           "api_key_env": "COUNTED_KEY"}}}, env={"COUNTED_KEY": key}) as gateway:
            r = request("/v1/messages/count_tokens", {"model": "claude", "messages": SAID}, {},
                        at=gateway)
        self.assertNotIn(key.encode(), r.body)
        return r.status, json.loads(r.body)

    def test_an_error_is_told_in_the_clients_words_and_without_the_key(self):
        status, e = self.count(401, json.dumps({"type": "error", "error": {
            "type": "authentication_error", "message": "bad: kept-by-the-operator"}}).encode())
        self.assertEqual((status, e["error"]), (401, {
            "type": "authentication_error", "message": "bad: [key]"}))
        status, e = self.count(503, b"<html>")
        self.assertEqual((status, e["type"], e["error"]["type"]), (503, "error", "overloaded_error"))

    def test_what_a_provider_does_not_count_is_counted_here(self):
        status, e = self.count(404, b'{"detail": "Not Found"}')
        self.assertEqual(status, 200)
        self.assertGreater(e["input_tokens"], 0)
        status, e = self.count(404, json.dumps({"type": "error", "error": {
            "type": "not_found_error", "message": "model: claude"}}).encode())
        self.assertEqual((status, e["error"]["type"]), (404, "not_found_error"))


class Turns(unittest.TestCase):
    """Conversations that one dialect allows and another cannot express."""
    silence = {"type": "text", "text": "(The user has said nothing yet.)"}

    def asked(self, model, path, body):
        up = asking.world.up
        up.asked.clear()
        own = {"claude-sonnet-4-5": {
            "id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Yes."}],
            "usage": {"input_tokens": 1, "output_tokens": 1}},
            "gemini-2.5-flash": gemini("Yes.", "STOP")}.get(model)
        up.reply = (lambda *_: ("application/json", json.dumps(own).encode())) if own else chat_reply
        r = request(path.format(model), {"model": model, **body} if "{}" not in path else body, {})
        self.assertEqual(r.status, 200, r.body)
        return up.asked[-1]

    def test_a_conversation_may_begin_with_the_models_words(self):
        said = [{"role": "system", "content": "Be kind."}, {"role": "assistant", "content": "Hello!"},
                *SAID]
        got = self.asked("claude-sonnet-4-5", PATHS["chat"], {"messages": said})["messages"]
        self.assertEqual([(m["role"], m["content"][0]["text"]) for m in got], [
            ("user", self.silence["text"]), ("assistant", "Hello!"), ("user", "hi")])
        got = self.asked("gemini-2.5-flash", PATHS["chat"], {"messages": said})["contents"]
        self.assertEqual([(m["role"], m["parts"][0]["text"]) for m in got], [
            ("user", self.silence["text"]), ("model", "Hello!"), ("user", "hi")])
        got = self.asked("chat", PATHS["messages"], {"max_tokens": 9, "messages": said[1:]})
        self.assertEqual(got["messages"], said[1:])

    def test_a_user_who_says_nothing_is_a_turn_all_the_same(self):
        got = self.asked("claude-sonnet-4-5", PATHS["gemini"], {
            "systemInstruction": {"parts": [{"text": "Tell a joke."}]},
            "contents": [{"role": "user", "parts": [{"text": ""}]}]})
        self.assertEqual(got["messages"], [{"role": "user", "content": [self.silence]}])

    def test_mistral_gets_the_last_word_from_the_user(self):
        words = [("user", "a"), ("system", "b"), ("assistant", "c"), ("user", "d"), ("system", "e"),
                 ("system", "f")]
        got = self.asked("mistral", PATHS["messages"], {"max_tokens": 9, "messages": [
            {"role": r, "content": t} for r, t in words]})
        self.assertEqual([(m["role"], m["content"]) for m in got["messages"]],
                         words[:4] + [("user", "e"), ("user", "f")])

    def test_details_of_reasoning_are_no_part_of_what_mistral_is_told(self):
        got = self.asked("mistral", PATHS["chat"], {"messages": [*SAID, {
            "role": "assistant", "content": "Yes.", "reasoning_details": [
                {"type": "reasoning.text", "text": "Hm.", "signature": "s"}]}, *SAID]})
        self.assertEqual(got["messages"][1]["content"], [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": "Yes."}])


class Passed(unittest.TestCase):
    """Streams to a client: unchanged in its own dialect, complete in another."""

    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()

    def ask_gemini(self, model, **more):
        return request(f"/v1beta/models/{model}:streamGenerateContent{more.pop('query', '?alt=sse')}",
                       {"contents": [{"parts": [{"text": "hi"}]}], **more}, asking.SHOW)

    def test_a_stream_of_gemini_ends_as_it_came(self):
        last = {**gemini("", "STOP"), "usageMetadata": {"promptTokenCount": 2,
                                                        "candidatesTokenCount": 1}}
        for chunks in ([gemini("hm", thought=True), gemini("Yes."), last],
                       [gemini("Yes."), gemini("", "MAX_TOKENS"), {"usageMetadata": {
                           "promptTokenCount": 2, "candidatesTokenCount": 1}}]):
            self.up.reply = lambda *_, said=chunks: sse(*said)
            self.assertEqual(events(self.ask_gemini("gemini-2.5-flash").body), chunks)
            array = json.loads(self.ask_gemini("gemini-2.5-flash", query="").body)
            self.assertEqual([c for c in array if "x-rationale-usage" not in c], chunks)

    def test_images_go_over_between_gemini_and_chat(self):
        drawn = [{"inlineData": {"mimeType": "image/webp", "data": data}} for data in ("QQ==", "Qg==")]
        images = [{"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{data}"}}
                  for data in ("QQ==", "Qg==")]
        reply = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [{"text": "Here:"}, *drawn, {
                "inlineData": {"mimeType": "image/png", "data": "Qw=="}, "thought": True}]}}]}
        said = {"role": "assistant", "content": "Here:", "images": images}
        self.up.reply = lambda *_: plain(reply)
        r = request("/v1/chat/completions", {"model": "gemini-2.5-flash", "messages": SAID})
        self.assertEqual(json.loads(r.body)["choices"][0]["message"]["images"], images)
        self.up.reply = lambda *_: sse(reply)
        r = request("/v1/chat/completions", {"model": "gemini-2.5-flash", "messages": SAID,
                                             "stream": True})
        self.assertEqual([i for e in events(r.body) for c in e["choices"]
                          for i in c["delta"].get("images", [])], images)
        self.up.reply = lambda *_: plain({"id": "c", "choices": [
            {"index": 0, "finish_reason": "stop", "message": said}]})
        path, body = asks("gemini", "chat")
        parts = json.loads(request(path, body).body)["candidates"][0]["content"]["parts"]
        self.assertEqual([p for p in parts if "inlineData" in p], drawn)
        self.up.reply = lambda *_: sse(delta(**said), delta("stop"))
        self.assertEqual([p for e in events(self.ask_gemini("chat").body) for c in e["candidates"]
                          for p in c["content"]["parts"] if "inlineData" in p], drawn)

    def test_an_image_that_a_responses_provider_draws_reaches_others(self):
        item = {"type": "image_generation_call", "id": "ig", "status": "completed",
                "output_format": "webp", "result": "QQ=="}
        whole = {"id": "r", "object": "response", "status": "completed", "model": "items",
                 "output": [item]}
        image = {"type": "image_url", "image_url": {"url": "data:image/webp;base64,QQ=="}}
        blob = {"inlineData": {"mimeType": "image/webp", "data": "QQ=="}}
        path, body = asks("gemini", "items")
        self.up.reply = lambda *_: plain(whole)
        r = request("/v1/chat/completions", {"model": "items", "messages": SAID})
        self.assertEqual(json.loads(r.body)["choices"][0]["message"]["images"], [image])
        parts = json.loads(request(path, body).body)["candidates"][0]["content"]["parts"]
        self.assertEqual([p for p in parts if "inlineData" in p], [blob])
        self.up.reply = lambda *_: sse(
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0,
             "item": {**item, "status": "in_progress", "result": None}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole})
        r = request("/v1/chat/completions", {"model": "items", "messages": SAID, "stream": True})
        self.assertEqual([i for e in events(r.body) for c in e["choices"]
                          for i in c["delta"].get("images", [])], [image])
        self.assertEqual([p for e in events(self.ask_gemini("items").body) for c in e["candidates"]
                          for p in c["content"]["parts"] if "inlineData" in p], [blob])

    def test_calls_of_two_candidates_stay_apart(self):
        def call(choice):
            return {"id": "c", "created": 1, "model": "u", "choices": [{"index": choice, "delta": {
                "tool_calls": [{"index": 0, "id": f"c{choice}", "function": {
                    "name": "f", "arguments": json.dumps({"n": choice})}}]}}]}

        self.up.reply = lambda *_: sse(call(0), call(1), *(
            {"choices": [{"index": n, "delta": {}, "finish_reason": "tool_calls"}]}
            for n in (0, 1)))
        seen = {}
        for chunk in events(self.ask_gemini("chat", generationConfig={"candidateCount": 2}).body):
            for c in chunk["candidates"]:
                seen.setdefault(c["index"], []).extend(
                    p["functionCall"]["args"] for p in c["content"]["parts"] if "functionCall" in p)
        self.assertEqual(seen, {0: [{"n": 0}], 1: [{"n": 1}]})


if __name__ == "__main__":
    start()
