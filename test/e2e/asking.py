"""Requests to a gateway in front of the test provider; shared by gateway_test.py, reasoning_test.py
and failures_test.py. A test file imports setUpModule and tearDownModule from here, and ends with
start().
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import itertools
import json
import re
import sys
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

# All behaviours of the provider that the tests use, as KIND-NAME.
MODELS = {
    "plain": "plain", "think": "think+loud", "quiet": "think", "tools": "tools",
    "keeps": "refuse-signature", "lengthy": "long-think:600+loud+slow:2", "starved": "starve+loud",
    "rejects": "reject-reasoning", "stalls": "long:50+stall:60000", "held": "long:40+hold:20",
    "twice500": "plain+error:500:times=2", "once429": "plain+error:429:times=1:retry-after=1",
    "never": "error:500", "full": "error:429:retry-after=7", "cut": "long:300+cut:6000",
    "reset": "long:300+rst:6000", "mid": "long:60+stall:100+error-mid", "html": "html",
    "broken": "long:30+badjson", "void": "empty-body", "hush": "plain+hush:2600",
    "silent": "plain+silent:2600", "ids": "plain+same-id", "no-usage": "think+loud+no-usage",
    "bad-usage": "think+loud+bad-usage", "endless": "long:3000+slow:20",
}
# Unusual but valid streams: all must give the same answer.
ODD = ("drip", "random-cuts", "split-utf8", "crlf", "cr", "bom", "comments", "no-space",
       "until-close", "wrong-type", "double-done", "after-done", "huge-line:200000")
MODELS.update({f"odd-{o.split(':')[0]}": f"think+loud+{o}" for o in ODD})


class World:
    """Shared by all tests of a file: one provider, and one gateway in front of it."""
    provider = gateway = None


world = World()


def config(**more):
    """Every kind with every behaviour, and some providers for single tests."""
    p = {f"test-{k}": upstream(world.provider, k, {f"{k}-{n}": b for n, b in MODELS.items()})
         for k in KINDS}
    p["new-anthropic"] = upstream(world.provider, "anthropic", {
        "new-claude": "claude-opus-4-7+think+as:adaptive"})
    p["new-gemini"] = upstream(world.provider, "gemini", {
        "new-gemini": "gemini-3-pro+think+as:gemini3"})
    p["exact-openai"] = upstream(world.provider, "openai", ["plain"])
    p["exact-anthropic"] = upstream(world.provider, "anthropic", ["think+loud"])
    p["tags"] = upstream(world.provider, "openai", {"in-tags": "tags:think", "in-qwen": "tags:qwen3"},
                         format="think")
    p["inside"] = upstream(world.provider, "openai", {"in-r1": "tags:deepseek_r1"}, format="deepseek_r1",
                           starts_in_reasoning=True)
    p["convention"] = upstream(world.provider, "openai", {"asked": "obedient"}, enable_reasoning=True)
    p["second"] = upstream(world.provider, "anthropic", {"falls": "plain+tag:second"})
    p["first"] = upstream(world.provider, "openai", {"falls-first": "error:503"}, retries=0,
                          fallback=["second"])
    p["hasty"] = upstream(world.provider, "openai", {"stalls": "long:50+stall:60000",
                                               "mute": "plain+silent:60000"},
                          retries=0, stall_timeout="300ms", first_token_timeout="300ms")
    return {"providers": p, "keys": [
        {"name": "tests", "sha256": digest(KEY)},
        {"name": "few", "sha256": digest("sk-few"), "models": ["openai-plain"],
         "reasoning": "hide"},
        {"name": "slow", "sha256": digest("sk-slow"), "rpm": 2}], **more,
        # With "always", an effort in any dialect's own parameter selects a preset; repair works
        # without.
        "reasoning": {"presets": "always", "repair_starved": True, **more.get("reasoning", {})}}


def setUpModule():
    world.provider = Provider(key="upstream-key").__enter__()
    try:
        world.gateway = Gateway(BINARY, config()).__enter__()
    except BaseException:
        world.provider.stop()
        raise


def tearDownModule():
    world.gateway.stop()
    world.provider.stop()


# ---- requests ----

def question():
    return f"question-{next(numbers)}-{time.time_ns()}"


def answer_to(said):
    return f"You said: {said} Grüße, 世界 🌍."


def request(path, body=None, headers=AUTH, method=None, at=None):
    c = http.client.HTTPConnection("127.0.0.1", (at or world.gateway).port, timeout=60)
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
    """The parsed data of an event stream, without [DONE], with any kind of line end."""
    out = []
    for block in re.split(r"\n\n", re.sub(r"\r\n?", "\n", body.decode("utf-8-sig"))):
        data = [line[5:].strip() for line in block.split("\n") if line.startswith("data:")]
        if data and data != ["[DONE]"]:
            out.append(json.loads("\n".join(data)))
    return out


def comments(body):
    return [line[1:].strip() for line in body.decode().split("\n") if line.startswith(":")]


def said_in(reply):
    """Returns (answer, reasoning) of a chat completion, whole or streamed."""
    if reply.headers["content-type"].startswith("application/json"):
        message = json.loads(reply.body)["choices"][0]["message"]
        return message["content"] or "", message.get("reasoning_content") or ""
    deltas = [e["choices"][0]["delta"] for e in events(reply.body) if e.get("choices")]
    return "".join(d.get("content") or "" for d in deltas), \
        "".join(d.get("reasoning_content") or "" for d in deltas)


def facts(reply):
    """Returns (reasoning tokens, cap, cut) from the reply."""
    words = reply.headers.get("x-rationale-usage") or " ".join(comments(reply.body))
    found = USAGE.search(words)
    if not found:
        raise AssertionError(f"no usage told: {words!r}")
    return int(found[1]), None if found[2] == "none" else int(found[2]), found[3]


def system_text(entry):
    """The system prompt that the upstream received, in any dialect."""
    doc = entry["json"]
    parts = [doc.get("system"), doc.get("instructions"), doc.get("systemInstruction")]
    parts += [m for m in doc.get("messages") or doc.get("input") or []
              if isinstance(m, dict) and m.get("role") in ("system", "developer")]
    return json.dumps(parts, ensure_ascii=False)


class GatewayCase(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        if world.gateway.child.poll() is not None:
            world.gateway.start()

    def tearDown(self):
        code = world.gateway.child.poll()
        self.assertIsNone(code, f"the gateway died of {code}:\n{world.gateway.log_tail(2000)}")

    def ok(self, reply):
        self.assertEqual(reply.status, 200, reply.body[:2000])
        return reply

    def upstream(self, said, count=None):
        """The provider's log entries for this question."""
        entries = world.provider.log(said)
        if count is not None:
            self.assertEqual(len(entries), count, [(e["model"], e["status"]) for e in entries])
        return entries

    def check_error(self, reply, status, *words):
        self.assertEqual(reply.status, status, reply.body[:2000])
        text = json.dumps(json.loads(reply.body))
        for word in words:
            self.assertIn(word, text)


def start():
    """Runs the tests of this file if the binary has `serve`."""
    if can_serve(BINARY):
        main()
    print("skipped: rationale serve is not there\n[  PASSED  ] 0 test(s).")
    sys.exit(0)
