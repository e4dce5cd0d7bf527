#!/usr/bin/env python3
"""A call has the same token counts everywhere: in the client's usage, the header or comment, the
record, the API's sums and the metrics, for every client with every provider.

    test/e2e/counts_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import threading
import time
import unittest

from asking import SHOW, USAGE, question, request, start
from command import BINARY, run
from gateway import BASES, Gateway, Provider, digest, until, upstream
from planted import recorded
from reading import Said, ask_in, read

CLIENTS = ("openai", "responses", "anthropic", "gemini", "ollama", "generate")
KINDS = list(BASES)
HIDE = {"x-rationale-reasoning": "hide"}
LOW = {"x-rationale-level": "low"}
MODELS = {"think": "think+loud", "lengthy": "long-think:600+loud", "plain": "plain",
          "calls": "think-tools+loud", "no-usage": "think+loud+no-usage", "slow": "think+loud+no-usage+slow:40"}
PRICE = {"input": 1000, "output": 1000000}  # USD per million tokens


class World:
    provider = gateway = None


def setUpModule():
    World.provider = Provider(key="upstream-key").__enter__()
    try:
        providers = {k: upstream(World.provider, k, {f"{k}-{n}": b for n, b in MODELS.items()},
                                 prices={f"{k}-{n}": PRICE for n in MODELS}) for k in KINDS}
        providers["secret"] = upstream(World.provider, "openai", {"secret": "long-think:2000+as:openai"},
                                       prices={"secret": {"input": 1, "output": 10}})
        World.gateway = Gateway(BINARY, {"providers": providers, "keys": [
            {"name": "all", "sha256": digest("sk-all")},
            {"name": "poor", "sha256": digest("sk-poor"), "spend_usd": 0.05}]}).__enter__()
    except BaseException:
        World.provider.stop()
        raise


def tearDownModule():
    World.gateway.stop()
    World.provider.stop()


def ask(path, body=None, headers=None, key="sk-all"):
    return request(path, body, {"authorization": f"Bearer {key}", **(headers or {})}, at=World.gateway)


def read_generate(body, stream):
    said = Said()
    if stream:
        usage = [json.loads(re.search(r"(?m)^data: ?(.*)$", b)[1]) for b in body.decode().split("\n\n")
                 if b.startswith("event: usage")][-1]
    else:
        usage = json.loads(body)["usage"]
    said.input, said.output = usage["input_tokens"], usage["output_tokens"]
    said.reasoning = usage["reasoning_tokens"]
    return said


def question_in(dialect, model, stream, usage):
    if dialect == "generate":
        return "/generate", {"model": model, "prompt": question(), "stream": stream}
    return ask_in(dialect, model, question(), stream, usage)


def metrics():
    """Token totals by kind."""
    out = {}
    text = ask("/metrics").body.decode()
    for kind, n in re.findall(r'(?m)^rationale_tokens_total\{.*?kind="(\w+)".*?\} ([0-9.e+]+)$', text):
        out[kind] = out.get(kind, 0) + int(float(n))
    return out


def record(reply):
    """The record of a call, once it is stored."""
    path = f"/api/v1/history/interactions/{reply.headers['x-rationale-id']}"
    got = until(lambda: (r := ask(path)).status == 200 and r)
    return json.loads(got.body)


class Counts(unittest.TestCase):
    maxDiff = 2000
    sums = [0, 0, 0]

    def check(self, dialect, model, stream, usage, headers):
        before = metrics()
        r = ask(*question_in(dialect, model, stream, usage), headers)
        self.assertEqual(r.status, 200, r.body[:500])
        said = (read_generate if dialect == "generate" else lambda b, s: read(dialect, b, s))(r.body, stream)
        kept = record(r)
        now = {k: v - before.get(k, 0) for k, v in metrics().items()}
        counts = (kept["input_tokens"], kept["output_tokens"], kept["reasoning_tokens"])
        for i, n in enumerate(counts):
            self.sums[i] += n or 0
        self.assertEqual((now["input_uncached"] + now["cache_read"] + now["cache_write"], now["answer"] + now["reasoning"],
                          now["reasoning"]), counts, "metrics, record")
        if dialect != "openai" or not stream or usage:
            self.assertEqual((said.input, said.output), counts[:2], "client, record")
            self.assertIn(said.reasoning, (None, counts[2]), "client, record")
        else:
            self.assertNotIn(b'"usage":', r.body.replace(b" ", b""))
        told = USAGE.search(r.headers.get("x-rationale-usage") or r.body.decode())
        if told:
            self.assertEqual((int(told[1]), told[3] == "budget"), (counts[2], bool(kept["reasoning_cut"])))
        else:  # NDJSON has no comments: without reasoning tokens nothing is added
            self.assertEqual((dialect, stream, counts[2]), ("ollama", True, 0))
        self.assertGreater(counts[1], 0)
        self.assertAlmostEqual(kept["cost_usd"], (counts[0] * PRICE["input"] + counts[1] * PRICE["output"]) / 1e6)
        return r, kept

    def test_every_client_before_every_provider(self):
        for kind in KINDS:
            for dialect in CLIENTS:
                for stream in (False, True):
                    for usage in (False, True) if dialect == "openai" and stream else (False,):
                        for headers in (SHOW, HIDE):
                            for cut in (False, True):
                                with self.subTest(kind, client=dialect, stream=stream, usage=usage, cut=cut,
                                                  shown=headers is SHOW):
                                    _, kept = self.check(dialect, f"{kind}-{'lengthy' if cut else 'think'}", stream,
                                                         usage, {**headers, **(LOW if cut else {})})
                                    self.assertEqual(bool(kept["reasoning_cut"]), cut)

    def test_calls_answers_without_reasoning_and_silent_providers(self):
        for kind in KINDS:
            for dialect in CLIENTS:
                for stream in (False, True):
                    for name in ("plain", "calls", "no-usage"):
                        with self.subTest(kind, client=dialect, stream=stream, model=name):
                            if name == "no-usage" and dialect == kind:
                                continue  # passed on unchanged
                            self.check(dialect, f"{kind}-{name}", stream, dialect == "openai", SHOW)

    def test_a_slow_stream_without_usage_has_the_counts_of_a_fast_one(self):
        for kind in KINDS:
            with self.subTest(kind):
                client = "anthropic" if kind == "openai" else "openai"
                fast, slow = (self.check(client, f"{kind}-{m}", True, False, SHOW)[1] for m in ("no-usage", "slow"))
                self.assertGreater(slow["duration_ms"], 120)  # its record was begun while it ran
                self.assertEqual(slow["output_tokens"], fast["output_tokens"])
        path, body = ask_in("openai", "openai-slow", question(), True)
        r = ask(path, body, SHOW)
        self.assertEqual(record(r)["output_tokens"], slow["output_tokens"])
        for i, name in enumerate(("input_tokens", "output_tokens", "reasoning_tokens")):
            self.sums[i] += record(r)[name]

    def test_the_sums_of_the_api_and_the_command_are_those_of_the_calls(self):
        self.check("openai", "openai-think", False, False, SHOW)
        out = run("stats", "--json", "--config", str(World.gateway.path))
        self.assertEqual(out.code, 0, out.err)
        for doc in (json.loads(ask("/api/v1/usage").body), json.loads(out.out)):
            self.assertEqual([sum(g[n] for g in doc["groups"])
                              for n in ("input_tokens", "output_tokens", "reasoning_tokens")], self.sums)


class Spending(unittest.TestCase):
    def test_a_key_is_charged_for_hidden_reasoning_of_streams_that_do_not_ask_for_usage(self):
        statuses = []
        for _ in range(8):  # 2 cents each, of which a client sees almost nothing
            path, body = ask_in("openai", "secret", question(), True)
            statuses.append(ask(path, body, key="sk-poor").status)
        self.assertEqual(statuses[0], 200)
        self.assertEqual(statuses[-1], 429, statuses)


class Killed(unittest.TestCase):
    def kill(self, g):
        """Kills the gateway in a call; returns the call's least duration in ms."""
        path, body = ask_in("openai", "late", "Hi", True)
        client = threading.Thread(target=lambda: self.assertRaises(Exception, request, path, body, SHOW, at=g))
        client.start()
        until(lambda: (s := self.sessions(g)) and s[0]["status"] == "in_progress")
        time.sleep(2)
        g.child.kill()
        g.child.wait()
        client.join(60)
        return 1000

    def check(self, kept, thought, least_ms):
        self.assertGreaterEqual(kept["reasoning_tokens"], len(thought.split()))
        self.assertGreaterEqual(kept["output_tokens"], kept["reasoning_tokens"])
        self.assertAlmostEqual(kept["cost_usd"], (kept["input_tokens"] * PRICE["input"] +
                                                  kept["output_tokens"] * PRICE["output"]) / 1e6)
        self.assertGreaterEqual(kept["duration_ms"], least_ms)

    def gateway(self):
        model = {"late": "long-think:2000+loud+no-usage+slow:15"}
        return Gateway(BINARY, {"providers": {"test": upstream(World.provider, "openai", model,
                                                               prices={"late": PRICE})}})

    def test_a_call_whose_process_was_killed_has_the_counts_and_the_duration_of_its_texts(self):
        with self.gateway() as g:
            least_ms = self.kill(g)
            g.start()
            kept = until(lambda: (s := self.sessions(g)) and s[0]["status"] == "failed" and s[0])
            doc = request(f"/api/v1/history/sessions/{kept['session_id']}", headers=SHOW, at=g).body.decode()
            thought = json.loads(re.search(r'"reasoning_content":("(?:[^"\\]|\\.)*")', doc)[1])
            self.check(kept, thought, least_ms)

    def test_a_command_that_takes_the_call_in_counts_it_as_the_daemon_does(self):
        with self.gateway() as g:
            least_ms = self.kill(g)
            config = ["--config", str(g.path)]
            self.assertEqual(run("erase", "--session", "another", "--yes", *config, cwd=g.folder).code, 1)
            call, = recorded(g.path, cwd=g.folder).values()
            self.check(call, call["reasoning_content"], least_ms)

    def sessions(self, gateway):
        return json.loads(request("/api/v1/history/sessions", at=gateway).body)["sessions"]


if __name__ == "__main__":
    start()
