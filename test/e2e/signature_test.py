#!/usr/bin/env python3
"""Thinking of which a provider sends only a signature, without text, is kept through every dialect
and turn.

    test/e2e/signature_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

The upstream is the test provider's Anthropic: it refuses a turn that called a tool with 400
unless its thinking blocks come back unchanged. Each client sends back what its SDK would:
everything it received, or only the members of its own dialect.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import itertools
import json
import subprocess
import sys
import unittest

from asking import events
from command import BINARY
from gateway import Gateway, Provider, upstream

MARK = "ponder"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
RESULT = "18 degrees"
MODELS = {"omits": "claude-opus-4-7+refuse-signature+omitted+as:adaptive",
          "redacts": "claude-opus-4-7+refuse-signature+omitted+redacted+as:adaptive",
          "says": "claude-opus-4-7+refuse-signature+as:adaptive"}
LONG = {"anthropic": {"long": "claude-sonnet-4-5+refuse-signature+long-think:900",
                      "long-redacts": "claude-sonnet-4-5+refuse-signature+long-think:900+redacted"},
        "responses": {"long-responses": "refuse-signature+long-think:900+loud"},
        "gemini": {"long-gemini": "gemini-2.5-flash+refuse-signature+long-think:900+loud"}}
numbers = itertools.count(1)


class World:
    provider = None
    gateways = {}


world = World()


def setUpModule():
    world.provider = Provider()
    world.provider.start()
    for name, show in (("shown", True), ("hidden", False)):
        g = world.gateways[name] = Gateway(BINARY, {
            "reasoning": {"show": show, "keep": "text"},
            "providers": {"claude": upstream(world.provider, "anthropic", MODELS),
                          **{kind: upstream(world.provider, kind, models) for kind, models in LONG.items()}}})
        g.start()


def tearDownModule():
    for p in (*world.gateways.values(), world.provider):
        if p:
            p.stop()


def post(at, path, body, session, **headers):
    c = http.client.HTTPConnection("127.0.0.1", world.gateways[at].port, timeout=60)
    c.request("POST", path, json.dumps(body), {"content-type": "application/json", "x-rationale-session": session,
                                               "anthropic-version": "2023-06-01", **headers})
    r = c.getresponse()
    data = r.read()
    c.close()
    assert r.status == 200, (path, r.status, data[:2000], json.dumps(body)[:3000])
    return data


class Anthropic:
    path = "/v1/messages"

    def __init__(self, model, stream, bare, said):
        self.body = {"model": model, "max_tokens": 4096, "stream": stream, "thinking": {"type": "adaptive"},
                     "messages": [{"role": "user", "content": said}],
                     "tools": [{"name": "weather", "input_schema": CITY}]}

    def at(self):
        return self.path

    def read(self, data):
        if not self.body["stream"]:
            return json.loads(data)["content"]
        blocks = {}
        for e in events(data):
            if e["type"] == "content_block_start":
                blocks[e["index"]] = {**e["content_block"], "partial": ""}
            elif e["type"] == "content_block_delta":
                b, d = blocks[e["index"]], e["delta"]
                for k in ("thinking", "signature", "text"):
                    b[k] = b.get(k, "") + d[k] if k in d else b.get(k)
                b["partial"] += d.get("partial_json", "")
        for b in blocks.values():
            if b["type"] == "tool_use":
                b["input"] = json.loads(b["partial"] or "{}")
            del b["partial"]
        return [{k: v for k, v in b.items() if v is not None} for _, b in sorted(blocks.items())]

    def next(self, content):
        call = next(b for b in content if b["type"] == "tool_use")
        self.body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call["id"], "content": RESULT}]}]

    def text(self, content):
        return "".join(b.get("text") or "" for b in content)


class Chat:
    path = "/v1/chat/completions"

    def __init__(self, model, stream, bare, said):
        self.bare = bare
        self.body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": said}],
                     "tools": [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]}

    at = Anthropic.at

    def read(self, data):
        if not self.body["stream"]:
            return json.loads(data)["choices"][0]["message"]
        out = {"role": "assistant", "content": ""}
        for e in events(data):
            for d in (c["delta"] for c in e["choices"]):
                out["content"] += d.get("content") or ""
                if d.get("reasoning_content"):
                    out["reasoning_content"] = out.get("reasoning_content", "") + d["reasoning_content"]
                if d.get("reasoning_details"):
                    out.setdefault("reasoning_details", []).extend(d["reasoning_details"])
                for c in d.get("tool_calls") or ():
                    calls = out.setdefault("tool_calls", [])
                    if c["index"] == len(calls):
                        calls.append({"id": c["id"], "type": "function", "function": {"name": c["function"]["name"], "arguments": ""}})
                    calls[c["index"]]["function"]["arguments"] += c["function"].get("arguments") or ""
        return out

    def next(self, m):
        kept = {k: m[k] for k in ("role", "content", "tool_calls")} if self.bare else m
        self.body["messages"] += [kept, {"role": "tool", "tool_call_id": m["tool_calls"][0]["id"], "content": RESULT}]

    def text(self, m):
        return m["content"] or ""


class Responses:
    path = "/v1/responses"

    def __init__(self, model, stream, bare, said):
        self.bare = bare
        self.body = {"model": model, "stream": stream, "store": False, "include": ["reasoning.encrypted_content"],
                     "input": [{"role": "user", "content": said}],
                     "tools": [{"type": "function", "name": "weather", "parameters": CITY, "strict": False}]}

    at = Anthropic.at

    def read(self, data):
        if not self.body["stream"]:
            return json.loads(data)["output"]
        return next(e for e in events(data) if e["type"] == "response.completed")["response"]["output"]

    def next(self, items):
        call = next(i for i in items if i["type"] == "function_call")
        self.body["input"] += [i for i in items if not self.bare or i["type"] != "reasoning"]
        self.body["input"] += [{"type": "function_call_output", "call_id": call["call_id"], "output": RESULT}]

    def text(self, items):
        return "".join(p["text"] for i in items if i["type"] == "message" for p in i["content"])


class Gemini:
    def __init__(self, model, stream, bare, said):
        self.bare, self.stream, self.model = bare, stream, model
        self.body = {"contents": [{"role": "user", "parts": [{"text": said}]}],
                     "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
                     "tools": [{"functionDeclarations": [{"name": "weather", "parameters": CITY}]}]}

    def at(self):
        return f"/v1beta/models/{self.model}:" + ("streamGenerateContent?alt=sse" if self.stream else "generateContent")

    def read(self, data):
        docs = events(data) if self.stream else [json.loads(data)]
        return [p for d in docs for c in d.get("candidates", ()) for p in c.get("content", {}).get("parts", ())]

    def next(self, parts):
        call = next(p["functionCall"] for p in parts if "functionCall" in p)
        kept = [{"functionCall": p["functionCall"]} for p in parts if "functionCall" in p] if self.bare else parts
        result = {"name": "weather", "response": {"result": RESULT}, **({"id": call["id"]} if "id" in call else {})}
        self.body["contents"] += [{"role": "model", "parts": kept}, {"role": "user", "parts": [{"functionResponse": result}]}]

    def text(self, parts):
        return "".join(p.get("text", "") for p in parts if not p.get("thought"))


class Ollama:
    path = "/api/chat"

    def __init__(self, model, stream, bare, said):
        self.bare = bare
        self.body = {"model": model, "stream": stream, "think": True, "messages": [{"role": "user", "content": said}],
                     "tools": [{"type": "function", "function": {"name": "weather", "description": "w", "parameters": CITY}}]}

    at = Anthropic.at

    def read(self, data):
        out = {"role": "assistant", "content": ""}
        for d in (json.loads(line)["message"] for line in data.splitlines() if line.strip()):
            out["content"] += d.get("content") or ""
            for k in ("thinking", "tool_calls"):
                if d.get(k):
                    out[k] = out.get(k, type(d[k])()) + d[k]
        return out

    def next(self, m):
        kept = {k: v for k, v in m.items() if not self.bare or k != "thinking"}
        self.body["messages"] += [kept, {"role": "tool", "tool_name": "weather", "content": RESULT}]

    def text(self, m):
        return m["content"]


CLIENTS = (Anthropic, Chat, Responses, Gemini, Ollama)
WAYS = [(c, stream, bare) for c in CLIENTS for stream in (False, True) for bare in (False, True)
        if not (c is Anthropic and bare)]  # Anthropic's client always sends its blocks back


class Turns(unittest.TestCase):
    def trip(self, client, stream, bare, model, at):
        """A question, a call with its result, the answer; returns what was read of both replies."""
        session = f"s{next(numbers)}"
        c = client(model, stream, bare, f"question {session}")
        raw = [post(at, c.at(), c.body, session)]
        first = c.read(raw[0])
        c.next(first)
        raw.append(post(at, c.at(), c.body, session))
        self.assertEqual(c.text(c.read(raw[1])), f"The tools said: {RESULT}." if client is not Gemini else
                         c.text(c.read(raw[1])))
        self.assertIn(RESULT, c.text(c.read(raw[1])))
        return session, first, raw

    def test_every_dialect_brings_the_blocks_back(self):
        for at in world.gateways:
            for model in MODELS:
                for client, stream, bare in WAYS:
                    with self.subTest(at=at, model=model, client=client.__name__, stream=stream, bare=bare):
                        _, _, raw = self.trip(client, stream, bare, model, at)
                        if at == "hidden" or model != "says":
                            self.assertNotIn(MARK.encode(), b"".join(raw))

    def test_anthropic_clients_get_the_blocks_as_they_are(self):
        for stream in (False, True):
            for model, kinds in (("omits", ["thinking", "tool_use"]), ("redacts", ["redacted_thinking", "thinking", "tool_use"])):
                _, first, _ = self.trip(Anthropic, stream, False, model, "shown")
                self.assertEqual([b["type"] for b in first], kinds)
                thinking = first[-2]
                self.assertEqual(thinking["thinking"], "")
                self.assertTrue(thinking["signature"])


class Truncated(unittest.TestCase):
    """A whole reply over its cap: the client gets less than was signed, and the provider gets all
    of it back."""
    LOW = {"x-rationale-level": "low", "x-rationale-reasoning": "show"}

    def trip(self, client, model, bare=False):
        session = f"s{next(numbers)}"
        c = client(model, False, bare, f"question {session}")
        c.body.pop("thinking", None)
        first = c.read(post("shown", c.at(), c.body, session, **self.LOW))
        c.next(first)
        self.assertIn(RESULT, c.text(c.read(post("shown", c.at(), c.body, session, **self.LOW))))
        return first

    def test_an_anthropic_client_has_a_signature_of_ours(self):
        for model in ("long", "long-redacts"):
            first = self.trip(Anthropic, model)
            thinking = next(b for b in first if b["type"] == "thinking")
            self.assertIn(MARK, thinking["thinking"])
            self.assertLess(len(thinking["thinking"].split()), 600)
            self.assertTrue(thinking["signature"].startswith("rationale."), thinking["signature"])

    def test_every_dialect_and_provider_goes_on(self):
        for model in (m for models in LONG.values() for m in models):
            for client, stream, bare in WAYS:
                if not stream:
                    with self.subTest(model=model, client=client.__name__, bare=bare):
                        self.assertIn(MARK, json.dumps(self.trip(client, model, bare)))


class Shown(unittest.TestCase):
    def test_the_record_says_that_the_provider_keeps_it(self):
        for at in world.gateways:
            for client in CLIENTS:
                for stream in (False, True):
                    with self.subTest(at=at, client=client.__name__, stream=stream):
                        self.check(at, client, stream)

    def check(self, at, client, stream):
        session, _, _ = Turns.trip(self, client, stream, False, "omits", at)
        g = world.gateways[at]
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
        c.request("GET", f"/api/v1/history/sessions/{session}")
        first = json.loads(c.getresponse().read())["chronological_timeline"][0]["details"]
        c.close()
        self.assertEqual((first["has_reasoning"], first["reasoning_state"], first["reasoning_source"],
                          first["reasoning_absent"], first["reasoning_content"]),
                         (True, "opaque", "opaque", "provider_keeps_it", None))
        self.assertEqual([(s["kind"], s["state"]) for s in first["segments"]],
                         [("reasoning", "opaque"), ("tool_call", "complete")])
        said = subprocess.run([BINARY, "show", first["interaction_id"], "--config", str(g.path)], capture_output=True,
                              timeout=60, check=True).stdout.decode()
        self.assertIn("the provider keeps this reasoning to itself", said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
