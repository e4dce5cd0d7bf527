#!/usr/bin/env python3
"""The gateway from outside: raw HTTP in front, the test provider behind, the real binary between.

    test/e2e/gateway_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

What the official SDKs make of it is test/sdk's business; here it is bytes, headers and promises.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import itertools
import json
import re
import signal
import socket
import sqlite3
import sys
import threading
import time
import unittest
from collections import namedtuple

from command import BINARY, main
from gateway import BASES, Gateway, Provider, can_serve, digest, upstream

KEY = "sk-test-client"
AUTH = {"authorization": f"Bearer {KEY}"}
SHOW = {"x-rationale-reasoning": "show"}
MARK = "ponder"
KINDS = list(BASES)
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
USAGE = re.compile(r"reasoning_tokens=(\d+); cap=(none|\d+); cut=(budget|none)")

Reply = namedtuple("Reply", "status headers body")
numbers = itertools.count(1)

# Every behaviour of the provider that is asked for here, as KIND-NAME.
MODELS = {
    "plain": "plain", "think": "think+loud", "quiet": "think", "tools": "tools",
    "keeps": "refuse-signature", "lengthy": "long-think:600+loud", "starved": "starve+loud",
    "rejects": "reject-reasoning", "stalls": "long:50+stall:60000", "slow": "long:40+slow:50",
    "twice500": "plain+error:500:times=2", "once429": "plain+error:429:times=1:retry-after=1",
    "never": "error:500", "full": "error:429:retry-after=7", "cut": "long:300+cut:6000",
    "reset": "long:300+rst:6000", "mid": "long:60+error-mid", "html": "html",
    "broken": "long:30+badjson", "void": "empty-body", "hush": "plain+hush:2600",
    "silent": "plain+silent:2600", "ids": "plain+same-id", "no-usage": "think+loud+no-usage",
    "bad-usage": "think+loud+bad-usage", "endless": "long:3000+slow:20",
}
# Odd but good ways to send a stream: all must give the same answer.
ODD = ("drip", "random-cuts", "split-utf8", "crlf", "cr", "bom", "comments", "no-space",
       "until-close", "wrong-type", "double-done", "after-done", "huge-line:200000")
MODELS.update({f"odd-{o.split(':')[0]}": f"think+loud+{o}" for o in ODD})

provider = gateway = None


def config(**more):
    """Every kind with every behaviour, and a few providers for one test each."""
    p = {f"test-{k}": upstream(provider, k, {f"{k}-{n}": b for n, b in MODELS.items()})
         for k in KINDS}
    p["exact-openai"] = upstream(provider, "openai", ["plain"])
    p["exact-anthropic"] = upstream(provider, "anthropic", ["think+loud"])
    p["tags"] = upstream(provider, "openai", {"in-tags": "tags:think", "in-qwen": "tags:qwen3"},
                         format="think")
    p["inside"] = upstream(provider, "openai", {"in-r1": "tags:deepseek_r1"}, format="deepseek_r1",
                           starts_in_reasoning=True)
    p["convention"] = upstream(provider, "openai", {"asked": "obedient"}, enable_reasoning=True)
    p["second"] = upstream(provider, "anthropic", {"falls": "plain+tag:second"})
    p["first"] = upstream(provider, "openai", {"falls-first": "error:503"}, retries=0,
                          fallback=["second"])
    p["hasty"] = upstream(provider, "openai", {"stalls": "long:50+stall:60000",
                                               "mute": "plain+silent:60000"},
                          retries=0, stall_timeout="300ms", first_token_timeout="300ms")
    return {"providers": p, "keys": [
        {"name": "tests", "sha256": digest(KEY)},
        {"name": "few", "sha256": digest("sk-few"), "models": ["openai-plain"],
         "reasoning": "hide"},
        {"name": "slow", "sha256": digest("sk-slow"), "rpm": 2}], **more}


def setUpModule():
    global provider, gateway
    provider = Provider(key="upstream-key")
    provider.__enter__()
    gateway = Gateway(BINARY, config())
    try:
        gateway.__enter__()
    except BaseException:
        provider.stop()
        raise


def tearDownModule():
    gateway.stop()
    provider.stop()


# ---- asking ----

def question():
    return f"question-{next(numbers)}-{time.time_ns()}"


def answer_to(said):
    return f"You said: {said} Grüße, 世界 🌍."


def request(path, body=None, headers=AUTH, method=None, at=None):
    c = http.client.HTTPConnection("127.0.0.1", (at or gateway).port, timeout=60)
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    c.request(method or ("POST" if body is not None else "GET"), path, data,
              {"content-type": "application/json", **headers})
    r = c.getresponse()
    got = Reply(r.status, {k.lower(): v for k, v in r.getheaders()}, r.read())
    c.close()
    return got


def chat(model, said, at=None, headers=None, **more):
    return request("/v1/chat/completions", {"model": model, "messages": [
        {"role": "user", "content": said}], **more}, {**AUTH, **(headers or {})}, at=at)


def events(body):
    """The data of an event stream, parsed; without [DONE]."""
    out = []
    for block in re.split(r"\n\n", body.decode()):
        data = [line[5:].strip() for line in block.split("\n") if line.startswith("data:")]
        if data and data != ["[DONE]"]:
            out.append(json.loads("\n".join(data)))
    return out


def comments(body):
    return [line[1:].strip() for line in body.decode().split("\n") if line.startswith(":")]


def said_in(reply):
    """(answer, reasoning) of a chat completion, whole or streamed."""
    if reply.headers["content-type"].startswith("application/json"):
        message = json.loads(reply.body)["choices"][0]["message"]
        return message["content"] or "", message.get("reasoning_content") or ""
    deltas = [e["choices"][0]["delta"] for e in events(reply.body) if e.get("choices")]
    return "".join(d.get("content") or "" for d in deltas), \
        "".join(d.get("reasoning_content") or "" for d in deltas)


def facts(reply):
    """(reasoning tokens, cap, cut) as the reply tells them."""
    words = reply.headers.get("x-rationale-usage") or " ".join(comments(reply.body))
    found = USAGE.search(words)
    if not found:
        raise AssertionError(f"no usage told: {words!r}")
    return int(found[1]), None if found[2] == "none" else int(found[2]), found[3]


def system_text(entry):
    """What the upstream was told as system prompt, in whatever dialect."""
    doc = entry["json"]
    parts = [doc.get("system"), doc.get("instructions"), doc.get("systemInstruction")]
    parts += [m for m in doc.get("messages") or doc.get("input") or []
              if isinstance(m, dict) and m.get("role") in ("system", "developer")]
    return json.dumps(parts, ensure_ascii=False)


class GatewayCase(unittest.TestCase):
    maxDiff = 4000

    def ok(self, reply):
        self.assertEqual(reply.status, 200, reply.body[:2000])
        return reply

    def upstream(self, said, count=None):
        """What the provider was asked for this question."""
        entries = provider.log(said)
        if count is not None:
            self.assertEqual(len(entries), count, [(e["model"], e["status"]) for e in entries])
        return entries

    def check_error(self, reply, status, *words):
        self.assertEqual(reply.status, status, reply.body[:2000])
        text = json.dumps(json.loads(reply.body))
        for word in words:
            self.assertIn(word, text)


class Doors(GatewayCase):
    """Who gets in, and what everybody is told."""

    def test_each_way_to_show_a_key_is_taken(self):
        for headers in ({"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer {KEY}"},
                        {"x-api-key": KEY}, {"x-goog-api-key": KEY}):
            self.ok(request("/v1/chat/completions", {"model": "openai-plain", "messages": [
                {"role": "user", "content": "x"}]}, headers))

    def test_no_key_and_a_wrong_key_are_refused_in_each_dialect(self):
        shapes = {"/v1/chat/completions": ("error", "message"), "/v1/responses": ("error", "message"),
                  "/v1/messages": ("error", "type"), "/api/chat": ("error",),
                  "/v1beta/models/gemini-plain:generateContent": ("error", "status")}
        for path, members in shapes.items():
            for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": ""}):
                r = request(path, {"model": "openai-plain"}, headers)
                self.check_error(r, 401)
                doc = json.loads(r.body)
                for name in members:
                    self.assertIn(name, doc)
                    doc = doc[name] if isinstance(doc[name], dict) else doc
                self.assertNotIn(b"wrong", r.body)

    def test_a_key_may_be_bound_to_models_and_to_silence(self):
        few = {"authorization": "Bearer sk-few"}
        self.ok(chat("openai-plain", question(), headers=few))
        self.assertEqual(chat("openai-think", question(), headers=few).status, 403)

    def test_a_key_has_so_many_requests_a_minute(self):
        slow = {"authorization": "Bearer sk-slow"}
        replies = [chat("openai-plain", question(), headers=slow) for _ in range(4)]
        self.assertEqual([r.status for r in replies][:2], [200, 200])
        self.check_error(replies[-1], 429)
        self.assertGreaterEqual(int(replies[-1].headers["retry-after"]), 1)

    def test_every_reply_has_an_id_of_its_own(self):
        seen = set()
        for r in (chat("openai-plain", "x"), chat("openai-plain", "x", stream=True),
                  chat("openai-ids", "x"), chat("openai-ids", "x"), chat("nobody", "x"),
                  request("/health"), request("/nowhere"), request("/v1/models", headers={}),
                  request("/v1/chat/completions", b"{")):
            self.assertIn("x-rationale-id", r.headers, r.status)
            seen.add(r.headers["x-rationale-id"])
        self.assertEqual(len(seen), 9)

    def test_the_clients_key_stays_here(self):
        said = question()
        self.ok(chat("openai-plain", said, headers={"x-api-key": KEY, "cookie": "a=b"}))
        [entry] = self.upstream(said, 1)
        self.assertNotIn(KEY, json.dumps(entry["headers"]))
        self.assertNotIn("cookie", entry["fields"])
        self.assertEqual(entry["fields"]["authorization"], "Bearer upstream-key")

    def test_wrong_requests_are_told_what_is_wrong(self):
        self.check_error(request("/v1/chat/completions", b"{nope"), 400)
        self.check_error(request("/v1/chat/completions", {"model": "openai-plain"}), 400, "messages")
        self.check_error(chat("nobody", "x"), 404, "nobody")
        self.check_error(request("/nowhere"), 404)
        r = request("/v1/chat/completions")
        self.check_error(r, 405)
        self.assertIn("POST", r.headers["allow"])

    def test_health_ready_and_metrics(self):
        self.assertEqual(json.loads(self.ok(request("/health", headers={})).body)["status"], "ok")
        self.assertTrue(json.loads(self.ok(request("/ready", headers={})).body)["ready"])
        self.ok(chat("openai-think", question()))
        text = self.ok(request("/metrics")).body.decode()
        for name in ("rationale_requests_total", "rationale_tokens_total",
                     "rationale_request_duration_seconds_bucket", "rationale_build_info"):
            self.assertRegex(text, rf"(?m)^{name}[{{ ]")
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE|UNIT|EOF).*|[a-zA-Z_:][\w:]*(\{.*\})? \S+.*)?$")
        self.assertNotIn(KEY, text)

    def test_the_models_are_listed_in_each_dialect(self):
        ids = [m["id"] for m in json.loads(self.ok(request("/v1/models")).body)["data"]]
        self.assertIn("openai-plain", ids)
        names = [m["name"] for m in json.loads(self.ok(request("/v1beta/models")).body)["models"]]
        self.assertIn("models/gemini-plain", names)
        names = [m["name"] for m in json.loads(self.ok(request("/api/tags")).body)["models"]]
        self.assertIn("ollama-plain", names)
        self.assertEqual(json.loads(self.ok(request("/v1/models/openai-plain")).body)["id"],
                         "openai-plain")


class Bytes(GatewayCase):
    """With the same dialect on both sides nothing is written anew."""

    ODD_BODY = ('{"zeta": 1.0, "model":"plain","temperature":1e0 ,"messages":[{"role":"user",'
                '"content":"caf\\u00e9 \\ud83c\\udf0d %s","name":"n"}],"big":12345678901234567890123,'
                '"alpha":{"b":[1.50,-0.0,1E+2],"a":{}},\n\t"stream":%s,"last":null}')

    def test_a_request_goes_through_to_the_byte(self):
        for stream in ("false", "true"):
            said = question()
            body = (self.ODD_BODY % (said, stream)).encode()
            self.ok(request("/v1/chat/completions", body))
            [entry] = self.upstream(said, 1)
            self.assertEqual(entry["body"].encode(), body)

    def test_only_the_model_is_changed_if_it_has_another_name(self):
        said = question()
        body = (self.ODD_BODY % (said, "false")).replace('"plain"', '"openai-plain"').encode()
        self.ok(request("/v1/chat/completions", body))
        [entry] = self.upstream(said, 1)
        self.assertEqual(entry["body"].encode(), body.replace(b'"openai-plain"', b'"plain"'))

    def test_a_whole_reply_goes_through_to_the_byte(self):
        said = question()
        r = self.ok(chat("plain", said))
        [entry] = self.upstream(said, 1)
        self.assertEqual(r.body.decode(), entry["reply"])

    def test_a_stream_goes_through_to_the_byte_but_for_comments(self):
        said = question()
        r = self.ok(chat("plain", said, stream=True))
        [entry] = self.upstream(said, 1)
        without = re.sub(r"(?m)^:.*\n\n?", "", r.body.decode())
        self.assertEqual(without, entry["reply"])

    def test_signed_thinking_goes_through_to_the_byte(self):
        for stream in (False, True):
            said = question()
            r = self.ok(request("/v1/messages", {
                "model": "think+loud", "max_tokens": 5000, "stream": stream,
                "messages": [{"role": "user", "content": said}]},
                {**AUTH, **SHOW, "anthropic-version": "2023-06-01"}))
            [entry] = self.upstream(said, 1)
            self.assertEqual(re.sub(r"(?m)^:.*\n\n?", "", r.body.decode()), entry["reply"])

    def test_an_error_goes_through_in_the_providers_words(self):
        r = chat("openai-full", question())
        self.check_error(r, 429, "This model always answers 429.")

    def test_streams_say_that_nobody_should_hold_them_back(self):
        r = self.ok(chat("openai-plain", question(), stream=True))
        self.assertTrue(r.headers["content-type"].startswith("text/event-stream"))
        self.assertEqual(r.headers["x-accel-buffering"], "no")
        self.assertIn("no-cache", r.headers["cache-control"])


class Reasoning(GatewayCase):
    """Hidden unless it may be seen, told apart wherever it stands, counted in any case."""

    def test_it_is_hidden_unless_asked_for(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-think", said, stream=stream))
                    self.assertEqual(said_in(r), (answer_to(said), ""))
                    self.assertNotIn(MARK.encode(), r.body)
                    self.assertGreater(facts(r)[0], 3)

    def test_it_is_shown_under_both_names(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-think", said, stream=stream, headers=SHOW))
                    text, thought = said_in(r)
                    self.assertEqual(text, answer_to(said))
                    self.assertTrue(thought.startswith("Let me ponder this."), thought)
                    self.assertEqual(r.body.count(b'"reasoning"'),
                                     r.body.count(b'"reasoning_content"'))

    def test_a_key_that_hides_is_stronger_than_a_header_that_shows(self):
        r = self.ok(chat("openai-plain", question(),
                         headers={"authorization": "Bearer sk-few", **SHOW}))
        self.assertNotIn(b"reasoning_content", r.body)

    def test_tags_are_taken_out(self):
        for model in ("in-tags", "in-qwen", "in-r1"):
            for stream in (False, True):
                with self.subTest(model, stream=stream):
                    said = question()
                    r = self.ok(chat(model, said, stream=stream))
                    self.assertEqual(said_in(r)[0].strip(), answer_to(said))
                    self.assertNotIn(b"think>", r.body)
                    r = self.ok(chat(model, said, stream=stream, headers=SHOW))
                    self.assertIn(MARK, said_in(r)[1])

    def test_a_model_that_cannot_think_is_asked_to(self):
        for stream in (False, True):
            said = question()
            r = self.ok(chat("asked", said, stream=stream))
            self.assertEqual(said_in(r)[0].strip(), answer_to(said))
            [entry] = self.upstream(said, 1)
            self.assertIn("<thinking>", system_text(entry))
            self.assertIn(MARK, said_in(self.ok(chat("asked", said, stream=stream,
                                                     headers=SHOW)))[1])

    def test_the_usage_is_told_before_the_end(self):
        r = self.ok(chat("openai-think", question(), stream=True))
        lines = [line for line in r.body.decode().split("\n") if line]
        at = next(i for i, line in enumerate(lines) if line.startswith(": reasoning_tokens="))
        self.assertLess(at, lines.index("data: [DONE]"))
        self.assertEqual(facts(r)[1:], (None, "none"))

    def test_reasoning_is_counted_where_nobody_says_how_much(self):
        for model in ("openai-no-usage", "openai-bad-usage", "ollama-think"):
            tokens = facts(self.ok(chat(model, question())))[0]
            self.assertTrue(3 < tokens < 100, (model, tokens))


class Levels(GatewayCase):
    """low, medium and high: asked for in any way, they mean sampling, words and a cap."""

    def ways(self, kind, level):
        yield f"{kind}-plain", {}, {"reasoning_effort": level}
        yield f"{kind}-plain-{level}", {}, {}
        yield f"{kind}-plain", {"x-rationale-level": level}, {}

    def test_each_way_to_ask_brings_the_preset(self):
        presets = {"low": (0.6, 0.9, 128), "medium": (0.7, 0.92, 256), "high": (0.85, 0.95, 512)}
        for level, (temperature, top_p, cap) in presets.items():
            for model, headers, body in self.ways("openai", level):
                with self.subTest(level, model=model, headers=headers):
                    said = question()
                    r = self.ok(chat(model, said, headers=headers, **body))
                    self.assertEqual(facts(r)[1], cap)
                    doc = self.upstream(said, 1)[0]["json"]
                    self.assertEqual((doc["temperature"], doc["top_p"]), (temperature, top_p))
                    self.assertEqual(doc["reasoning_effort"], level)
                    self.assertEqual(doc["model"], "plain")

    def test_the_words_stand_in_the_system_prompt_once(self):
        for kind in KINDS:
            with self.subTest(kind):
                said = question()
                self.ok(chat(f"{kind}-plain", said, reasoning_effort="low"))
                words = system_text(self.upstream(said)[-1])
                self.assertEqual(words.count("[REASONING LEVEL]"), 1, words)
                self.assertIn("effort: LOW", words)
        said = question()
        self.ok(request("/v1/chat/completions", {
            "model": "openai-plain", "reasoning_effort": "low", "messages": [
                {"role": "system", "content": "[REASONING LEVEL] ours"},
                {"role": "user", "content": said}]}))
        self.assertEqual(system_text(self.upstream(said, 1)[0]).count("[REASONING LEVEL]"), 1)

    def test_the_clients_own_settings_stay(self):
        said = question()
        self.ok(chat("openai-plain", said, reasoning_effort="low", temperature=0.123))
        self.assertEqual(self.upstream(said, 1)[0]["json"]["temperature"], 0.123)

    def test_the_header_is_stronger_than_the_body(self):
        r = self.ok(chat("openai-plain", question(), reasoning_effort="high",
                         headers={"x-rationale-level": "low"}))
        self.assertEqual(facts(r)[1], 128)

    def test_a_level_that_is_none_of_them_is_refused(self):
        self.check_error(chat("openai-plain", question(), headers={"x-rationale-level": "lots"}),
                         400, "lots")

    def test_without_a_level_nothing_is_added(self):
        said = question()
        self.ok(chat("openai-plain", said))
        doc = self.upstream(said, 1)[0]["json"]
        self.assertEqual(set(doc), {"model", "messages"})

    def test_the_cap_is_kept_and_the_answer_comes(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-lengthy", said, stream=stream, headers=SHOW,
                                     reasoning_effort="low"))
                    text, thought = said_in(r)
                    self.assertEqual(text, answer_to(said))
                    self.assertTrue(20 < len(thought.split()) <= 128, len(thought.split()))
                    tokens, cap, cut = facts(r)
                    self.assertEqual((cap, cut), (128, "budget"))
                    self.assertLessEqual(tokens, 128)
                    first, *rest = self.upstream(said)
                    self.assertFalse(first["done"], "the first call was left to run")
                    self.assertEqual(len(rest), 1)

    def test_a_cut_shows_in_the_usage_once(self):
        r = self.ok(chat("openai-lengthy", question(), headers=SHOW, reasoning_effort="low"))
        usage = json.loads(r.body)["usage"]
        thought = usage["completion_tokens_details"]["reasoning_tokens"]
        self.assertLessEqual(thought, 128)
        self.assertLess(thought, usage["completion_tokens"])

    def test_what_fits_under_the_cap_is_not_touched(self):
        r = self.ok(chat("openai-think", question(), headers=SHOW, reasoning_effort="low"))
        self.assertEqual(facts(r)[2], "none")
        self.assertTrue(said_in(r)[1].endswith("So I know."))

    def test_a_starved_answer_is_repaired(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-starved", said, stream=stream, max_tokens=200))
                    self.assertIn("You said:", said_in(r)[0])
                    self.assertNotIn(MARK.encode(), r.body)
                    self.assertEqual(len(self.upstream(said)), 2)
                    words = r.headers.get("x-rationale-usage") or " ".join(comments(r.body))
                    self.assertIn("starved=repaired", words)


class Failures(GatewayCase):
    """What providers do on bad days."""

    def test_a_server_error_is_tried_again(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    provider.forget()
                    said = question()
                    self.assertEqual(said_in(self.ok(chat(f"{kind}-twice500", said,
                                                          stream=stream)))[0], answer_to(said))
                    self.assertEqual([e["status"] for e in self.upstream(said)], [500, 500, 200])

    def test_retry_after_is_kept_to(self):
        provider.forget()
        said = question()
        self.ok(chat("openai-once429", said))
        first, second = self.upstream(said, 2)
        self.assertGreaterEqual(second["at"] - first["end_ms"], 990)

    def test_an_error_that_stays_is_told(self):
        for kind in KINDS:
            with self.subTest(kind):
                r = chat(f"{kind}-never", question())
                self.assertIn(r.status, (500, 502), r.body)
                self.assertIn("message", json.loads(r.body)["error"])

    def test_too_many_requests_says_when_to_come_back(self):
        r = chat("openai-full", question())
        self.assertEqual(r.status, 429)
        self.assertGreaterEqual(int(r.headers["retry-after"]), 1)

    def test_nothing_is_tried_again_once_the_client_has_seen_some(self):
        for kind in KINDS:
            for name in ("cut", "reset", "mid"):
                with self.subTest(kind, name=name):
                    said = question()
                    body = b""
                    try:
                        r = chat(f"{kind}-{name}", said, stream=True)
                        body = r.body
                        self.assertIn(b'"error"', body)
                        self.assertNotIn(b"[DONE]", body)
                    except http.client.IncompleteRead as cut:
                        body = cut.partial
                    self.assertIn(b"You", body)
                    self.upstream(said, 1)

    def test_nonsense_is_an_error_and_not_an_answer(self):
        for kind in KINDS:
            for name in ("html", "void", "broken"):
                with self.subTest(kind, name=name):
                    r = chat(f"{kind}-{name}", question())
                    self.assertGreaterEqual(r.status, 500, r.body)
                    self.assertIn("message", json.loads(r.body)["error"])

    def test_odd_streams_are_read_all_the_same(self):
        for kind in KINDS:
            for name in ODD:
                name = name.split(":")[0]
                if kind == "ollama" and name in ("cr", "crlf", "bom", "after-done", "double-done"):
                    continue
                with self.subTest(kind, odd=name):
                    said = question()
                    text, thought = said_in(self.ok(chat(f"{kind}-odd-{name}", said, stream=True,
                                                         headers=SHOW)))
                    self.assertTrue(text.startswith(answer_to(said)), text[:200])
                    self.assertTrue(thought.endswith("So I know."), thought)
                    self.assertEqual(text.count("You said"), 1)

    def test_a_fallback_takes_over(self):
        for stream in (False, True):
            said = question()
            r = self.ok(chat("falls-first", said, stream=stream))
            self.assertEqual(said_in(r)[0], answer_to(said))
            self.assertEqual([e["status"] for e in self.upstream(said)], [503, 200])

    def test_refused_parameters_are_left_out_the_second_time(self):
        for kind in KINDS:
            with self.subTest(kind):
                said = question()
                r = self.ok(chat(f"{kind}-rejects", said, reasoning_effort="low"))
                self.assertEqual(said_in(r)[0], answer_to(said))
                first, second = self.upstream(said, 2)
                self.assertIn(first["status"], (400, 422))
                self.assertNotIn("temperature", json.dumps(second["json"]))

    def test_silence_has_an_end(self):
        for model in ("stalls", "mute"):
            began = time.monotonic()
            try:
                r = chat(model, question(), stream=True)
                self.assertTrue(r.status >= 500 or b'"error"' in r.body, r.body)
            except http.client.IncompleteRead:
                pass
            self.assertLess(time.monotonic() - began, 10)

    def test_a_client_that_leaves_ends_the_upstream(self):
        for kind in KINDS:
            with self.subTest(kind):
                said = question()
                body = json.dumps({"model": f"{kind}-endless", "stream": True, "messages": [
                    {"role": "user", "content": said}]}).encode()
                s = socket.create_connection(("127.0.0.1", gateway.port))
                s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
                          b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n%s"
                          % (KEY.encode(), len(body), body))
                have = b""
                while b"You" not in have:
                    have += s.recv(65536)
                left = time.time() * 1000
                s.close()
                until = time.monotonic() + 5
                while not (entry := self.upstream(said, 1)[0])["closed_ms"]:
                    self.assertLess(time.monotonic(), until, "the upstream still runs")
                    time.sleep(0.02)
                late = entry["closed_ms"] - left
                print(f"  {kind}: upstream closed {late:.1f} ms after the client left")
                self.assertLess(late, 1000)


class Vault(GatewayCase):
    """What a provider wants back comes back, though the client threw it away."""

    def test_a_client_that_drops_reasoning_goes_on(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    history = [{"role": "user", "content": said}]
                    r = self.ok(chat(f"{kind}-keeps", said, tools=[TOOL], stream=stream))
                    if stream:
                        calls = {}
                        for e in events(r.body):
                            for d in (e.get("choices") or [{"delta": {}}])[0]["delta"].get(
                                    "tool_calls") or []:
                                c = calls.setdefault(d["index"], {"type": "function", "function": {
                                    "name": "", "arguments": ""}})
                                c["id"] = d.get("id") or c["id"]
                                for name, piece in d["function"].items():
                                    c["function"][name] += piece
                        calls = list(calls.values())
                    else:
                        calls = json.loads(r.body)["choices"][0]["message"]["tool_calls"]
                    self.assertEqual(len(calls), 1)
                    history += [{"role": "assistant", "content": None, "tool_calls": calls},
                                {"role": "tool", "tool_call_id": calls[0]["id"], "content": "sun"}]
                    r = self.ok(request("/v1/chat/completions", {
                        "model": f"{kind}-keeps", "messages": history, "tools": [TOOL],
                        "stream": stream}))
                    self.assertEqual(said_in(r)[0], "The tools said: sun.")

    def test_nothing_signed_goes_to_another_model(self):
        said = question()
        r = self.ok(chat("anthropic-keeps", said, tools=[TOOL]))
        calls = json.loads(r.body)["choices"][0]["message"]["tool_calls"]
        for kind in KINDS:
            with self.subTest(kind):
                self.ok(request("/v1/chat/completions", {
                    "model": f"{kind}-plain", "tools": [TOOL], "messages": [
                        {"role": "user", "content": said},
                        {"role": "assistant", "content": None, "tool_calls": calls},
                        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "sun"}]}))
                self.assertNotIn(MARK, self.upstream(said)[-1]["body"])


class Generate(GatewayCase):
    """Our own /generate: events by name."""

    def named(self, body):
        out = []
        for block in body.decode().split("\n\n"):
            name = re.search(r"(?m)^event: ?(.*)$", block)
            data = re.search(r"(?m)^data: ?(.*)$", block)
            if name and data:
                out.append((name[1], json.loads(data[1])))
        return out

    def test_tokens_usage_and_end(self):
        said = question()
        r = self.ok(request("/generate", {"model": "openai-think", "prompt": said, "stream": True}))
        got = self.named(r.body)
        names = [n for n, _ in got]
        self.assertEqual(names[-2:], ["usage", "end"])
        self.assertGreater(names.count("token"), 3)
        self.assertNotIn(MARK.encode(), r.body)
        usage = dict(got)["usage"]
        for name in ("reasoning_tokens", "final_tokens", "reasoning_ratio"):
            self.assertIn(name, usage)

    def test_reasoning_is_an_event_for_who_may_see_it(self):
        r = self.ok(request("/generate", {"model": "openai-think", "prompt": question(),
                                          "stream": True}, {**AUTH, **SHOW}))
        self.assertIn("analysis", [n for n, _ in self.named(r.body)])

    def test_an_error_is_an_event_or_a_status(self):
        r = request("/generate", {"model": "openai-never", "prompt": "x", "stream": True})
        self.assertTrue(r.status >= 500 or "error" in [n for n, _ in self.named(r.body)], r)


class Life(GatewayCase):
    """Signals, limits, and what outlives a crash: each with a gateway of its own."""

    def own(self, **more):
        g = Gateway(BINARY, config(**more))
        self.addCleanup(g.stop)
        g.start()
        return g

    def test_a_body_that_is_too_large_is_refused(self):
        g = self.own(body_max="64KiB")
        r = request("/v1/chat/completions", {"model": "openai-plain", "messages": [
            {"role": "user", "content": "x" * 70000}]}, at=g)
        self.check_error(r, 413)
        self.assertIn("x-rationale-id", r.headers)
        self.ok(chat("openai-plain", "small", at=g))

    def test_a_silent_stream_gives_signs_of_life(self):
        g = self.own(timeouts={"keepalive": 1})
        for model in ("openai-hush", "openai-silent", "anthropic-silent"):
            with self.subTest(model):
                said = question()
                r = self.ok(chat(model, said, at=g, stream=True))
                text = r.body.decode()
                first = text.index("data:")
                self.assertGreaterEqual(sum(line.startswith(":") for line in
                                            text[:first].split("\n")), 2, text[:300])
                self.assertEqual(said_in(r)[0], answer_to(said))

    def stream_in_background(self, g, said, model="openai-slow"):
        out = []
        thread = threading.Thread(target=lambda: out.append(chat(model, said, at=g, stream=True)))
        thread.start()
        until = time.monotonic() + 20
        while not provider.log(said):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        time.sleep(0.3)
        return thread, out

    def test_sigterm_lets_streams_end_and_takes_no_more(self):
        g = self.own()
        said = question()
        thread, out = self.stream_in_background(g, said)
        g.signal(signal.SIGTERM)
        time.sleep(0.3)
        try:
            self.assertEqual(request("/ready", at=g).status, 503)
        except OSError:
            pass  # not even listening is an answer
        thread.join(30)
        self.assertTrue(out and said_in(out[0])[0].startswith(answer_to(said)), out)
        self.assertEqual(g.child.wait(10), 0)

    def test_a_second_sigterm_does_not_wait(self):
        g = self.own()
        thread, _ = self.stream_in_background_quietly(g, question())
        g.signal(signal.SIGTERM)
        time.sleep(0.2)
        g.signal(signal.SIGTERM)
        g.child.wait(5)
        thread.join(10)

    def stream_in_background_quietly(self, g, said):
        def ask():
            try:
                chat("openai-endless", said, at=g, stream=True)
            except (OSError, http.client.HTTPException):
                pass
        thread = threading.Thread(target=ask)
        thread.start()
        until = time.monotonic() + 20
        while not provider.log(said) and time.monotonic() < until:
            time.sleep(0.02)
        return thread, None

    def test_sighup_takes_a_good_configuration_and_leaves_a_bad_one(self):
        g = self.own()
        said = question()
        thread, out = self.stream_in_background(g, said)
        new = json.loads(json.dumps(g.config))
        new["providers"]["added"] = upstream(provider, "openai", {"brand-new": "plain"})
        self.assertEqual(chat("brand-new", "x", at=g).status, 404)
        g.reload(new)
        until = time.monotonic() + 10
        while chat("brand-new", "x", at=g).status != 200:
            self.assertLess(time.monotonic(), until, g.log_tail())
            time.sleep(0.05)
        g.reload({**new, "provders": {}})
        time.sleep(0.5)
        self.ok(chat("brand-new", "x", at=g))
        self.assertIn("provders", g.log_tail())
        thread.join(30)
        self.assertTrue(said_in(out[0])[0].startswith(answer_to(said)), "a reload cut a stream")

    def rows(self, g):
        with sqlite3.connect(f"file:{g.folder / 'history.db'}?mode=ro", uri=True) as db:
            return db.execute("SELECT interaction_id, status FROM llm_interactions").fetchall()

    def test_what_was_answered_is_on_record_after_kill_9(self):
        g = self.own()
        for _ in range(3):
            acked, lock, stop = [], threading.Lock(), threading.Event()

            def ask():
                while not stop.is_set():
                    try:
                        r = chat("openai-plain", question(), at=g, stream=bool(len(acked) % 2))
                    except (OSError, http.client.HTTPException):
                        return
                    with lock:
                        acked.append(r.headers["x-rationale-id"])

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for t in threads:
                t.start()
            time.sleep(1)
            g.signal(signal.SIGKILL)
            stop.set()
            for t in threads:
                t.join(30)
            g.child.wait()
            g.start()
            until = time.monotonic() + 20
            while True:
                ids = [i for i, _ in self.rows(g)]
                lost = set(acked) - set(ids)
                if not lost or time.monotonic() > until:
                    break
                time.sleep(0.1)
            self.assertFalse(lost, f"{len(lost)} of {len(acked)} answered calls are not on record")
            self.assertEqual(len(ids), len(set(ids)))
            self.assertTrue(acked)

    def test_secrets_are_in_no_file(self):
        g = self.own()
        self.ok(chat("openai-think", question(), at=g))
        g.signal(signal.SIGTERM)
        self.assertEqual(g.child.wait(10), 0)
        for path in g.folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                self.assertNotIn(KEY.encode(), data, path)
                self.assertNotIn(b"upstream-key", data, path)

    def test_a_bad_configuration_does_not_start(self):
        g = Gateway(BINARY, {"providers": {"a": {"kind": "opnai"}}})
        self.addCleanup(g.stop)
        with self.assertRaises(RuntimeError):
            g.start()
        self.assertEqual(g.child.returncode, 3)
        self.assertIn("providers.a.kind", g.log_tail())


if __name__ == "__main__":
    if not can_serve(BINARY):
        print("skipped: rationale serve is not there")
        print("[  PASSED  ] 0 test(s).")
        sys.exit(0)
    main()
