#!/usr/bin/env python3
"""A session's title is the person's question, whatever else the client adds to its requests.

    test/e2e/titles_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import subprocess
import sys
import unittest

from command import BINARY
from gateway import Gateway, Provider, upstream

REMINDER = "<system-reminder>\nAs you answer, you can use this context:\n# claudeMd\nBe brief.\n</system-reminder>"


class World:
    provider = gateway = None


world = World()


def setUpModule():
    world.provider = Provider()
    world.provider.start()
    world.gateway = Gateway(BINARY, {
        "providers": {"claude": upstream(world.provider, "anthropic", {"claude": "plain"}),
                      "codex": upstream(world.provider, "responses", {"codex": "plain"}),
                      "chat": upstream(world.provider, "openai", {"chat": "plain"})}})
    world.gateway.start()


def tearDownModule():
    for p in (world.gateway, world.provider):
        if p:
            p.stop()


def http_json(method, path, body=None, session=None):
    c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=60)
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    c.request(method, path, body and json.dumps(body), {**headers, **({"x-rationale-session": session} if session else {})})
    r = c.getresponse()
    data = r.read()
    c.close()
    assert r.status == 200, (r.status, data)
    return data


def title(session):
    return json.loads(http_json("GET", f"/api/v1/history/sessions/{session}"))["title"]


def text(t):
    return {"type": "text", "text": t}


def claude(session, *messages, **more):
    http_json("POST", "/v1/messages", {"model": "claude", "max_tokens": 100, "messages": list(messages), **more}, session)


def user(*parts):
    return {"role": "user", "content": list(parts)}


CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "total 0"}
BASH = [{"name": "Bash", "description": "runs", "input_schema": {"type": "object", "properties": {}}}]


class Titles(unittest.TestCase):
    def test_claude_code(self):
        first = user(text(REMINDER), text("fix the flaky test\nin test_io.py"), text(REMINDER))
        claude("cc", user(text("quota")), max_tokens=1)
        self.assertIsNone(title("cc"))
        claude("cc", user(text("fix the flaky test")), system=[text("Generate a concise, sentence-case title.")])
        self.assertIsNone(title("cc"))
        claude("cc", user(text(REMINDER)), tools=BASH)
        self.assertIsNone(title("cc"))
        claude("cc", first, {"role": "system", "content": "You have tools."}, tools=BASH, model="chat",
               system=[text("You are Claude Code.\n# Tone\nBe brief.")])
        self.assertEqual(title("cc"), "fix the flaky test")
        claude("cc", first, CALLED, user(RESULT, text(REMINDER)), tools=BASH)
        claude("cc", first, CALLED, user(RESULT), {"role": "assistant", "content": "Done."}, user(text("thanks")), tools=BASH)
        self.assertEqual(title("cc"), "fix the flaky test")

    def test_codex(self):
        def item(role, t):
            return {"type": "message", "role": role, "content": [{"type": "input_text", "text": t}]}

        before = [item("developer", "<permissions instructions>\nread-only\n</permissions instructions>"),
                  item("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
                  item("user", "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>")]
        for items, want in ((before, None), (before + [item("user", "add a --quiet flag")], "add a --quiet flag")):
            http_json("POST", "/v1/responses", {"model": "codex", "instructions": "# You are Codex\nBe brief.",
                                                "input": items}, "codex")
            self.assertEqual(title("codex"), want)

    def test_a_prompts_heading_is_no_title(self):
        http_json("POST", "/v1/chat/completions", {"model": "chat", "messages": [
            {"role": "system", "content": "# Role"},
            {"role": "user", "content": "# Task\n\n## Now\n\nWrite the release notes.\n\n# Style\nShort."}]}, "prompt")
        self.assertEqual(title("prompt"), "Write the release notes.")

    def test_the_audit_log_agrees(self):
        http_json("POST", "/v1/chat/completions", {"model": "chat", "messages": [
            {"role": "user", "content": "one line\nand " + "x" * 300}]}, "lines")
        http_json("POST", "/v1/chat/completions", {"model": "chat", "messages": [
            {"role": "user", "content": "y" * 300}]}, "long")
        self.assertEqual((title("lines"), title("long")), ("one line", "y" * 79 + "…"))
        done = subprocess.run([BINARY, "audit", "verify", "--config", str(world.gateway.path)], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
