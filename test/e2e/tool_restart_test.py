#!/usr/bin/env python3
"""The daemon is killed between a tool call and its result. Clients do not get the reasoning, so the
gateway alone can send it back, and providers refuse a result without it.

    test/e2e/tool_restart_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import sys
import unittest
from pathlib import Path

from command import BINARY, main
from gateway import Gateway, Provider, can_serve, until

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "provider"))
from task import SECRET  # noqa: E402

# model: (script, kind, path after the provider's root)
MODELS = {
    "claude-opus-5-5": ("task+strict+as:adaptive", "anthropic", ""),
    "claude-sonnet-4-5": ("task", "anthropic", ""),
    "gpt-5.5": ("task+strict", "responses", "/v1"),
    "deepseek-chat": ("task+strict", "openai", "/v1"),
    "gemini-3-pro": ("task", "gemini", ""),
}
TASK = "Add the numbers in /a/first.txt and /a/second.txt, and write the sum to /a/sum.txt."
FIELDS = {"Read": ("file_path",), "Write": ("file_path", "content")}
SCHEMAS = {name: {"type": "object", "properties": {f: {"type": "string"} for f in fields}}
           for name, fields in FIELDS.items()}
provider = None


def setUpModule():
    global provider
    provider = Provider(key="upstream-key", scripts={m: s for m, (s, _, _) in MODELS.items()})
    provider.__enter__()


def tearDownModule():
    provider.stop()


def config(model, **more):
    _, kind, path = MODELS[model]
    return {"providers": {"up": {"kind": kind, "base_url": provider.root + path, "models": [model],
                                 "api_key_env": "UPSTREAM_KEY"}}, **more}


def post(gateway, path, body, method="POST"):
    c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    c.request(method, path, json.dumps(body) if body is not None else None,
              {"content-type": "application/json", "anthropic-version": "2023-06-01"})
    r = c.getresponse()
    status, text = r.status, r.read()
    c.close()
    return status, json.loads(text or b"{}")


class Chat:
    """A client of Chat Completions that drops unknown members."""

    def __init__(self, model):
        self.model, self.messages = model, [{"role": "user", "content": TASK}]

    def turn(self, gateway):
        """Returns (status, reply, number of calls); then the calls have their results."""
        tools = [{"type": "function", "function": {"name": n, "description": n, "parameters": s}}
                 for n, s in SCHEMAS.items()]
        status, reply = post(gateway, "/v1/chat/completions", {
            "model": self.model, "messages": self.messages, "tools": tools,
            "reasoning_effort": "medium"})
        if status != 200:
            return status, reply, 0
        said = reply["choices"][0]["message"]
        calls = said.get("tool_calls") or []
        self.messages.append({"role": "assistant", "content": said["content"],
                              **({"tool_calls": calls} if calls else {})})
        self.messages += [{"role": "tool", "tool_call_id": c["id"],
                           "content": f"The number is {n}."} for n, c in enumerate(calls)]
        return status, reply, len(calls)


class Messages:
    """A client of Anthropic's Messages."""

    def __init__(self, model):
        self.model, self.messages = model, [{"role": "user", "content": TASK}]

    def turn(self, gateway):
        tools = [{"name": n, "description": n, "input_schema": s} for n, s in SCHEMAS.items()]
        # Models that choose the amount of thinking themselves refuse a budget.
        think = {"thinking": {"type": "adaptive"}} if "opus" in self.model else {
            "thinking": {"type": "enabled", "budget_tokens": 2000}}
        status, reply = post(gateway, "/v1/messages", {
            "model": self.model, "max_tokens": 8000, "messages": self.messages, "tools": tools,
            **think})
        if status != 200:
            return status, reply, 0
        calls = [b for b in reply["content"] if b["type"] == "tool_use"]
        self.messages.append({"role": "assistant", "content": [
            b for b in reply["content"] if b["type"] in ("text", "tool_use")]})
        self.messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": c["id"], "content": f"The number is {n}."}
            for n, c in enumerate(calls)]})
        return status, reply, len(calls)


def kill(gateway):
    gateway.child.kill()
    gateway.child.wait()
    gateway.start()


def journal(gateway):
    return next(gateway.path.parent.glob("*.spool"))


class Restart(unittest.TestCase):
    def run_task(self, client):
        agents = {"adder": {"model": client.model, "prompt": "Do the task.", "level": "medium"}}
        with Gateway(BINARY, config(client.model, agents=agents)) as gateway:
            for calls in (2, 1, 0):
                status, reply, n = client.turn(gateway)
                self.assertEqual((status, n), (200, calls), reply)
                if not isinstance(client, Run):  # only operators see the record of a run
                    self.assertNotIn(SECRET, json.dumps(reply))
                kill(gateway)
            self.assertNotIn(SECRET.encode(), (journal(gateway) / "vault").read_bytes())

    def test_chat_of_each_provider(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.run_task(Chat(model))

    def test_messages_of_each_provider(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.run_task(Messages(model))

    def test_an_agent_of_each_provider(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.run_task(Run(model))


class Run:
    """A run of an agent with client-side tools: it waits on disk for their results."""

    def __init__(self, model):
        self.model, self.path = model, ""

    def turn(self, gateway):
        if not self.path:
            tools = [{"name": n, "description": n, "parameters": s} for n, s in SCHEMAS.items()]
            _, run = post(gateway, "/api/v1/agents/adder/runs", {"input": TASK, "tools": tools})
            self.path = f"/api/v1/runs/{run['run_id']}"
        run = until(lambda: self.stopped(gateway))
        calls = (run.get("pending") or {}).get("calls") or []
        kill(gateway)
        for n, c in enumerate(calls):
            status, reply = post(gateway, f"{self.path}/tool_results", {
                "call_id": c["call_id"], "result": f"The number is {n}."})
            if status != 200:
                return status, reply, n
        return 200 if run["status"] in ("waiting", "done") else 500, run, len(calls)

    def stopped(self, gateway):
        """The run, or None while it is running, as it is after all results arrived."""
        run = post(gateway, self.path, None, "GET")[1]
        return run if run["status"] != "running" else None


class Kept(unittest.TestCase):
    """Configurations without a file, and when entries are deleted."""

    def test_without_a_record_nothing_is_written(self):
        with Gateway(BINARY, config("deepseek-chat", store="none")) as gateway:
            self.assertEqual(Chat("deepseek-chat").turn(gateway)[0], 200)
            self.assertEqual(list(gateway.path.parent.rglob("vault*")), [])

    def test_reasoning_that_is_not_kept_is_not_written(self):
        with Gateway(BINARY, config("deepseek-chat", reasoning={"keep": "none"})) as gateway:
            self.assertEqual(Chat("deepseek-chat").turn(gateway)[0], 200)
            self.assertEqual(list(gateway.path.parent.rglob("vault*")), [])

    def test_an_erasure_deletes_it_and_the_running_conversation_continues(self):
        with Gateway(BINARY, config("deepseek-chat")) as gateway:
            other, client = Chat("deepseek-chat"), Chat("deepseek-chat")
            self.assertEqual(other.turn(gateway)[0], 200)
            self.assertEqual(client.turn(gateway)[0], 200)
            self.assertTrue((journal(gateway) / "vault").exists())
            sessions = post(gateway, "/api/v1/history/sessions", None, "GET")[1]["sessions"]
            status, _ = post(gateway, f"/api/v1/history/sessions/{sessions[-1]['session_id']}",
                             None, "DELETE")
            self.assertEqual(status, 200)
            self.assertFalse((journal(gateway) / "vault").exists())
            self.assertEqual(client.turn(gateway)[0], 200)


if __name__ == "__main__":
    if not can_serve(BINARY):
        print("skipped: no gateway\n[  PASSED  ] 0 tests.")
        sys.exit(0)
    main()
