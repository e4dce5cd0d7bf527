#!/usr/bin/env python3
"""A provider that closes the connection at any byte of its reply: the call is on record once,
complete up to the last byte, and marked as truncated.

    test/e2e/cut_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import unittest
from concurrent.futures import ThreadPoolExecutor

from asking import BINARY, start
from gateway import Gateway, Provider, upstream
from planted import recorded

WHAT = "think+loud+no-usage"
SAID = "hi"
# Events have similar heads and tails, so after the first bytes the test uses only every STEP-th
# offset.
EVERY, STEP = 1500, 7


class Cut(unittest.TestCase):
    def offsets(self, provider, path, body):
        """The offsets at which to close: requests a whole reply to learn its size."""
        c = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=120)
        c.request("POST", path, json.dumps(body), {"authorization": "Bearer k", "x-api-key": "k",
                                                   "anthropic-version": "2023-06-01"})
        size = len(c.getresponse().read())
        c.close()
        return [n for n in range(size) if n < EVERY or n % STEP == 0]

    def ask(self, gateway, model):
        c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
        c.request("POST", "/v1/chat/completions", json.dumps({
            "model": model, "stream": True, "messages": [{"role": "user", "content": SAID}]}),
            {"x-rationale-reasoning": "show"})
        r = c.getresponse()
        body = r.read()
        c.close()
        text = thought = ""
        for line in body.split(b"\n"):
            if line.startswith(b"data: {"):
                for choice in json.loads(line[6:]).get("choices", []):
                    text += choice["delta"].get("content") or ""
                    thought += choice["delta"].get("reasoning_content") or ""
        return r.headers["x-rationale-id"], r.status, text, thought, b"[DONE]" in body

    def rows(self, gateway):
        gateway.child.terminate()
        self.assertEqual(gateway.child.wait(120), 0)
        return {call: (c["complete"], c["error_code"] or "", c["response"] or "",
                       c["reasoning_content"] or "")
                for call, c in recorded(gateway.path, env=gateway.env).items()}

    def check(self, kind, path, body):
        with Provider() as provider:
            cuts = self.offsets(provider, path, body)
            models = {f"cut{n}": f"{body['model']}+cut:{n}" for n in cuts}
            with Gateway(BINARY, {"reasoning": {"keep": "text"}, "keys": [], "providers": {
                    "up": upstream(provider, kind, {**models, "whole": body["model"]}, retries=0)},
                    "breaker": {"failures": 1000}, "threads": 1}) as gateway:
                whole = self.ask(gateway, "whole")
                self.assertTrue(whole[4] and whole[2] and whole[3], whole)
                with ThreadPoolExecutor(8) as pool:
                    told = list(pool.map(lambda n: self.ask(gateway, f"cut{n}"), cuts))
                rows = self.rows(gateway)
        self.assertEqual(len(rows), len(cuts) + 1)
        before = 0
        for at, (call, status, text, thought, done) in zip(cuts, told):
            with self.subTest(at=at):
                complete, error, kept, pondered = rows[call]
                self.assertTrue(whole[2].startswith(text) and whole[3].startswith(thought))
                self.assertEqual((kept, pondered), (text, thought))
                self.assertEqual(done, bool(complete))
                self.assertEqual(done, not error)
                self.assertTrue(status == 200 or not text + thought)
                self.assertGreaterEqual(len(text) + len(thought), before, "less came of more")
                before = len(text) + len(thought)
        self.assertGreater(before, 0)

    def test_openai(self):
        self.check("openai", "/v1/chat/completions", {
            "model": WHAT, "stream": True, "messages": [{"role": "user", "content": SAID}]})

    def test_anthropic(self):
        self.check("anthropic", "/v1/messages", {
            "model": f"claude-sonnet-4-5+{WHAT}", "stream": True, "max_tokens": 1000,
            "messages": [{"role": "user", "content": SAID}]})


if __name__ == "__main__":
    start()
