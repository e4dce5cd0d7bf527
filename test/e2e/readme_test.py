#!/usr/bin/env python3
"""The README's configuration does what the README says.

    test/e2e/readme_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

The test adds only addresses of the test provider to the configuration. Commands run as in the
README, in the configuration's folder.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import re
import unittest

from command import SOURCE, BINARY, environment, main, run
from gateway import Gateway, Provider

README = (SOURCE / "README.md").read_text(encoding="utf-8")
SCRIPTS = {"gpt-5": "think-tools+as:deepseek", "claude-sonnet-5": "think+loud", "Qwen/Qwen3-32B": "tags:think"}
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
REFUND = {"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}


def configuration():
    """The YAML below the line "# rationale.yaml"."""
    return re.search(r"^# rationale\.yaml\n(.*?)^```", README, re.M | re.S)[1]


class Readme(Gateway):
    def __init__(self, provider):
        super().__init__(BINARY, {}, env=KEYS)
        self.provider = provider

    def write(self, config=None):
        text = configuration()
        text = re.sub(r'base_url: "[^"]*"', f'base_url: "{self.provider.root}/v1"', text)
        text = text.replace("openai: {", f'openai: {{base_url: "{self.provider.root}/v1", ', 1)
        text = text.replace("anthropic: {", f'anthropic: {{base_url: "{self.provider.root}", ', 1)
        self.path.write_text(text, encoding="utf-8")


class World:
    pass


world = World()


def setUpModule():
    world.provider = Provider(scripts=SCRIPTS).__enter__()
    world.gateway = Readme(world.provider).__enter__()


def tearDownModule():
    world.gateway.stop()
    world.provider.stop()


def ask(path, body, **headers):
    c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=60)
    c.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
    r = c.getresponse()
    got = r.read()
    c.close()
    return r.status, dict(r.headers), got


class Promises(unittest.TestCase):
    def cli(self, *args):
        done = run(*args, env=environment(**KEYS), cwd=world.gateway.folder)
        self.assertEqual(done.code, 0, done)
        return done.out.decode()

    def chat(self, model, **more):
        status, headers, body = ask("/v1/chat/completions", {
            "model": model, "messages": [{"role": "user", "content": "why is that?"}], **more})
        self.assertEqual(status, 200, body)
        return headers, json.loads(body)

    def test_every_client_can_ask_for_every_model(self):
        for model in ("gpt-5", "claude-sonnet-5", "qwen"):
            self.chat(model)
            status, _, body = ask("/v1/messages", {
                "model": model, "max_tokens": 500, "messages": [{"role": "user", "content": "hi"}]})
            self.assertEqual(status, 200, body)

    def test_reasoning_in_the_text_of_a_model_is_hidden_kept_and_found(self):
        headers, reply = self.chat("qwen")
        self.assertNotIn("think", reply["choices"][0]["message"]["content"])
        self.assertNotIn("ponder", json.dumps(reply))
        self.assertRegex(headers["x-rationale-usage"], r"reasoning_tokens=[1-9]")
        self.assertIn(headers["x-rationale-session"], self.cli("search", "reasoning:ponder"))
        self.assertIn("ponder", self.cli("show", headers["x-rationale-id"]))

    def test_why_it_called_the_tool(self):
        self.chat("gpt-5", tools=[REFUND])
        self.assertRegex(self.cli("decisions", "--tool", "refund"), r"\[TOOL_CALL\] refund: .*ponder")
        self.assertIn("gpt-5", self.cli("list"))
        self.cli("audit", "verify")

    def test_cost_is_known_without_prices(self):
        _, reply = self.chat("gpt-5")
        self.assertGreater(reply["usage"]["completion_tokens"], 0)
        rows = json.loads(self.cli("prices", "--json"))["prices"]
        self.assertIn("gpt-5", {r["model"] for r in rows})
        self.assertRegex(self.cli("stats"), r"gpt-5")

    def test_the_record_is_beside_the_configuration(self):
        self.assertTrue((world.gateway.folder / "rationale.db").is_file())
        self.assertTrue((world.gateway.folder / "rationale.db.spool").is_dir())


if __name__ == "__main__":
    main()
