#!/usr/bin/env python3
"""The test provider itself: strict about requests, and faulty exactly as its script says.

    test/e2e/upstream_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import gzip
import http.client
import json
import socket
import threading
import time
import unittest

from command import main
from gateway import Provider, until, within

ANSWER = "You said: hi Grüße, 世界 🌍."
FIELDS = {"authorization": "Bearer k", "x-api-key": "k", "x-goog-api-key": "k",
          "anthropic-version": "2023-06-01", "content-type": "application/json"}
PATHS = {"openai": "/v1/chat/completions", "mistral": "/mistral/v1/chat/completions",
         "responses": "/v1/responses", "anthropic": "/v1/messages", "ollama": "/api/chat"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER = {"role": "user", "content": "hi"}

provider = None


def setUpModule():
    global provider
    provider = Provider(key="k").__enter__()


def tearDownModule():
    provider.stop()


def body_of(kind, model, stream=False, **more):
    """The smallest request of each dialect."""
    out = {"model": model, "stream": stream}
    if kind == "responses":
        out["input"] = "hi"
    else:
        out["messages"] = [USER]
    if kind == "anthropic":
        out["max_tokens"] = 5000
    if kind == "gemini":
        out = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    return {**out, **more}


def ask(kind, model, stream=False, headers=None, **more):
    path = PATHS.get(kind) or f"/v1beta/models/{model}:" + \
        ("streamGenerateContent?alt=sse" if stream else "generateContent")
    c = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=20)
    c.request("POST", path, json.dumps(body_of(kind, model, stream, **more)),
              {**FIELDS, **(headers or {})})
    r = c.getresponse()
    try:
        return r.status, r.headers, r.read()
    finally:
        c.close()


# Members that a real service refuses, by dialect.
REFUSED = {
    "openai": [
        {"messages": []}, {"messages": [{"role": "nobody", "content": "x"}]},
        {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}]},
        {"messages": [USER, {"role": "assistant", "tool_calls": [CALL]}, USER]},
        {"messages": [USER, {"role": "tool", "tool_call_id": "c1", "content": "x"}]},
        {"messages": [USER, {"role": "assistant", "content": None}]},
        {"tools": [{"name": "f"}]}, {"tool_choice": "auto"}, {"temperature": 3},
        {"max_tokens": 1, "max_completion_tokens": 1}, {"reasoning_effort": "lots"},
        {"stream_options": {"include_usage": True}}],
    "mistral": [
        {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]},
                      {"role": "tool", "tool_call_id": "c1", "content": "x"}]},
        {"stream_options": {}}, {"reasoning_content": "x"}, {"max_completion_tokens": 5},
        {"messages": [USER, {"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x", "reasoning_content": "y"}]}],
    "responses": [
        {"messages": [USER]}, {"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"tools": [TOOL]}, {"max_output_tokens": 5}, {"reasoning_effort": "low"},
        {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
        {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
        {"input": [USER, {"type": "reasoning", "summary": []}]}],
    "anthropic": [
        {"max_tokens": None}, {"messages": [USER, USER]}, {"frequency_penalty": 1},
        {"messages": [{"role": "system", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        {"messages": [USER, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}, USER]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]},
        {"messages": [USER, {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "x", "signature": "forged"}]}, USER]},
        {"thinking": {"type": "enabled", "budget_tokens": 100}},
        {"thinking": {"type": "enabled", "budget_tokens": 5000}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 0.6},
        {"tools": [TOOL]}, {"tool_choice": "auto"}],
    "gemini": [
        {"contents": []}, {"messages": []}, {"contents": [{"role": "assistant", "parts": [{}]}]},
        {"contents": [{"role": "user", "parts": []}]},
        {"tools": [{"functionDeclarations": [{"name": "f", "parameters": {
            "type": "object", "$schema": "x"}}]}]},
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}}},
        {"generationConfig": {"max_tokens": 5}},
        {"contents": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [
            {"functionCall": {"name": "f", "args": {}}}]}, {"role": "user", "parts": [
                {"text": "x"}]}]}],
    "ollama": [
        {"messages": []}, {"think": "lots"}, {"messages": [{"role": "user", "content": [1]}]},
        {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}]}],
}


class Strict(unittest.TestCase):
    def test_the_least_request_is_taken_by_each(self):
        for kind in REFUSED:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    status, _, body = ask(kind, "plain", stream)
                    self.assertEqual(status, 200, body)

    def test_what_the_real_ones_refuse_is_refused(self):
        for kind, cases in REFUSED.items():
            for more in cases:
                with self.subTest(kind, more=more):
                    status, _, body = ask(kind, "plain", **more)
                    self.assertIn(status, (400, 422), body)
                    self.assertIn(b"essage" if kind != "ollama" else b"error", body)

    def test_a_wrong_key_is_refused(self):
        wrong = {"authorization": "Bearer x", "x-api-key": "x", "x-goog-api-key": "x"}
        for kind in REFUSED:
            self.assertEqual(ask(kind, "plain", headers=wrong)[0], 401, kind)

    def test_anthropic_wants_its_version(self):
        self.assertEqual(ask("anthropic", "plain", headers={"anthropic-version": ""})[0], 400)

    def test_a_model_that_is_no_script_is_not_found(self):
        for kind in REFUSED:
            self.assertEqual(ask(kind, "mystery-99")[0], 404, kind)


# Rules of the step "strict": the model, and members (and headers) that are accepted and refused.
ADAPTIVE, CLEAR = {"type": "adaptive"}, {"edits": [{"type": "clear_thinking_20251015"}]}
BUDGET = {"type": "enabled", "budget_tokens": 1024}
CONTEXT = {"anthropic-beta": "x,context-management-2025-06-27"}
UPDATES = {"anthropic-beta": "thinking-display-updates-2026-08-18"}
SYSTEM = {"role": "system", "content": "Today is Monday."}
NEW, OLD, GPT = "plain+strict+as:adaptive", "plain+strict", "plain+strict+as:openai"
RULES = [
    ("anthropic", OLD, {"thinking": BUDGET, "context_management": CLEAR, "headers": CONTEXT},
     [{"context_management": CLEAR, "headers": CONTEXT},
      {"thinking": BUDGET, "context_management": CLEAR},
      {"thinking": {"type": "disabled"}, "context_management": CLEAR, "headers": CONTEXT},
      {"thinking": BUDGET, "headers": CONTEXT, "context_management": {
          "edits": [{"type": "clear_tool_uses_20250919"}, *CLEAR["edits"]]}}]),
    ("anthropic", OLD, {"thinking": BUDGET, "temperature": 1, "top_p": 0.95},
     [{"thinking": BUDGET, "temperature": 0.5}, {"thinking": BUDGET, "top_p": 0.9},
      {"thinking": BUDGET, "top_k": 5}, {"messages": [USER, SYSTEM]},
      {"thinking": BUDGET, "messages": [USER, {"role": "assistant", "content": "x"}]},
      {"thinking": {"type": "enabled", "budget_tokens": 1023}},
      {"thinking": {"type": "enabled", "budget_tokens": 5000}},
      {"thinking": BUDGET, "tools": [{"name": "f", "input_schema": {"type": "object"}}],
       "tool_choice": {"type": "any"}}]),
    ("anthropic", NEW, {"thinking": {**ADAPTIVE, "display": "updates"}, "headers": UPDATES,
                        "messages": [USER, SYSTEM]},
     [{"thinking": {**ADAPTIVE, "display": "updates"}}, {"thinking": BUDGET}, {"temperature": 0.7},
      {"top_p": 0.97}, {"top_k": 5}, {"messages": [USER, {"role": "assistant", "content": "x"}]},
      {"messages": [SYSTEM, USER]}, {"messages": [USER, {**SYSTEM, "output_config": {}}]},
      {"thinking": ADAPTIVE, "context_management": CLEAR}]),
    ("responses", OLD, {"include": ["reasoning.encrypted_content"], "temperature": 1},
     [{"include": ["everything"]}, {"temperature": 0.7}, {"top_p": 0.9},
      {"reasoning": {"effort": "minimal"}}, {"store": False, "input": [
          {"type": "item_reference", "id": "rs_1"}, {"type": "message", **USER}]},
      {"input": [{"id": "msg_1", **USER}, {"id": "msg_1", **USER}]}]),
    ("openai", GPT, {"max_completion_tokens": 50, "temperature": 1, "reasoning_effort": "xhigh"},
     [{"max_tokens": 50}, {"temperature": 0}, {"top_p": 0.9}, {"reasoning_effort": "minimal"}]),
]


class Rules(unittest.TestCase):
    def test_what_providers_document_is_refused(self):
        for kind, model, good, bad in RULES:
            status, _, body = ask(kind, model, **good)
            self.assertEqual(status, 200, body)
            for more in bad:
                with self.subTest(kind, model=model, more=more):
                    self.assertEqual(ask(kind, model, **more)[0], 400)


class Task(unittest.TestCase):
    """The model of a coding agent requires the reasoning of its calls back, unchanged."""
    words = "Add the numbers in /a and /b, and write the sum to /c."

    def steps(self, kind, first, turn, changes, **more):
        """Sends the first request, then the second with the whole history, and again with a changed
        history."""
        status, _, body = ask(kind, "task+strict", **{**more, **first})
        self.assertEqual(status, 200, body)
        doc = json.loads(body)
        status, _, body = ask(kind, "task+strict", **{**more, **turn(doc)})
        self.assertEqual(status, 200, body)
        self.assertIn(b"42417", body)
        for change in changes:
            other = json.loads(json.dumps(doc))
            change(other)
            with self.subTest(kind, change=changes.index(change)):
                self.assertEqual(ask(kind, "task+strict", **{**more, **turn(other)})[0], 400)

    def test_anthropic(self):
        tools = [{"name": n, "input_schema": {"type": "object"}} for n in ("Read", "Write")]
        user = {"role": "user", "content": self.words}

        def turn(doc):
            numbers = iter(("30211", "12206"))
            return {"messages": [user, {"role": "assistant", "content": doc["content"]}, {
                "role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": b["id"],
                     "content": f"The number is {next(numbers)}."}
                    for b in doc["content"] if b["type"] == "tool_use"]}]}

        self.steps("anthropic", {"messages": [user]}, turn, [
            lambda d: d["content"].pop(0),
            lambda d: d["content"][0].update(thinking=d["content"][0]["thinking"] + " "),
            lambda d: d["content"][0].update(thinking=""),
            lambda d: d["content"][0].update(signature="A" + d["content"][0]["signature"][1:]),
        ], tools=tools, thinking={"type": "enabled", "budget_tokens": 2000})

    def test_responses(self):
        tools = [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}]
        user = {"role": "user", "content": self.words}

        def turn(doc):
            numbers = iter(("30211", "12206"))
            return {"input": [user, *doc["output"], *(
                {"type": "function_call_output", "call_id": i["call_id"],
                 "output": f"The number is {next(numbers)}."}
                for i in doc["output"] if i["type"] == "function_call")]}

        self.steps("responses", {"input": [user]}, turn, [
            lambda d: d["output"].pop(0),
            lambda d: d["output"][0].update(encrypted_content="cHJvdmlkZXIuAAAA"),
            lambda d: d["output"][0].pop("encrypted_content"),
        ], tools=tools, store=False)

    def test_chat(self):
        tools = [{"type": "function", "function": {"name": n}} for n in ("read", "write")]
        user = {"role": "user", "content": self.words}

        def turn(doc):
            message = doc["choices"][0]["message"]
            numbers = iter(("30211", "12206"))
            return {"messages": [user, message, *(
                {"role": "tool", "tool_call_id": c["id"],
                 "content": f"The number is {next(numbers)}."} for c in message["tool_calls"])]}

        message = lambda d: d["choices"][0]["message"]  # noqa: E731
        self.steps("openai", {"messages": [user]}, turn, [
            lambda d: message(d).pop("reasoning_content"),
            lambda d: message(d).update(reasoning_content=""),
        ], tools=tools)


class Says(unittest.TestCase):
    def test_a_model_told_not_to_think_answers_at_once(self):
        off = {"openai": {"reasoning_effort": "none"}, "mistral": {"reasoning_effort": "none"},
               "responses": {"reasoning": {"effort": "none"}},
               "anthropic": {"thinking": {"type": "disabled"}}, "ollama": {"think": False},
               "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}}
        for kind, more in off.items():
            with self.subTest(kind):
                self.assertIn(b"ponder", ask(kind, "long-think:300+loud")[2])
                self.assertNotIn(b"ponder", ask(kind, "long-think:300+loud", **more)[2])

    def test_a_starved_model_says_nothing(self):
        doc = json.loads(ask("openai", "starve", max_tokens=50)[2])
        self.assertEqual((doc["choices"][0]["message"]["content"],
                          doc["choices"][0]["finish_reason"]), ("", "length"))

    def test_parameters_are_rejected_by_name(self):
        self.assertEqual(ask("openai", "reject-reasoning")[0], 200)
        status, _, body = ask("openai", "reject-reasoning", reasoning_effort="low")
        self.assertEqual((status, json.loads(body)["error"]["param"]), (400, "reasoning_effort"))


class Fails(unittest.TestCase):
    def test_errors_come_as_often_as_told(self):
        provider.forget()
        got = [ask("openai", "plain+error:500:times=2")[0] for _ in range(3)]
        self.assertEqual(got, [500, 500, 200])
        status, headers, _ = ask("openai", "error:429:retry-after=3")
        self.assertEqual((status, headers["retry-after"]), (429, "3"))

    def test_odd_streams_hold_the_same_events(self):
        for odd in ("drip", "random-cuts", "split-utf8", "crlf", "cr", "bom", "comments", "no-space",
                    "until-close", "wrong-type"):
            with self.subTest(odd):
                text = ask("openai", f"plain+{odd}", True)[2].decode("utf-8-sig")
                text = text.replace("\r\n", "\n").replace("\r", "\n")
                data = [line[5:].strip() for line in text.split("\n") if line.startswith("data:")]
                self.assertEqual(data.pop(), "[DONE]")
                said = "".join(json.loads(d)["choices"][0]["delta"].get("content") or ""
                               for d in data)
                self.assertEqual(said, ANSWER)

    def test_a_cut_is_a_cut(self):
        with self.assertRaises(http.client.IncompleteRead) as cut:
            ask("openai", "long:100+cut:300", True)
        self.assertLessEqual(len(cut.exception.partial), 300)
        with self.assertRaises((ConnectionResetError, http.client.IncompleteRead)):
            ask("openai", "long:100+rst:300", True)

    def test_other_mishaps(self):
        self.assertIn(b"<html>", ask("openai", "html")[2])
        self.assertEqual(ask("openai", "empty-body")[2], b"")
        self.assertNotIn(b"[DONE]", ask("openai", "plain+no-done", True)[2])
        self.assertEqual(ask("openai", "plain+double-done", True)[2].count(b"[DONE]"), 2)
        with self.assertRaises(ValueError):
            json.loads(ask("openai", "plain+badjson")[2])
        body = ask("openai", "plain+gzip", headers={"accept-encoding": "gzip"})[2]
        self.assertIn(ANSWER, json.loads(gzip.decompress(body))["choices"][0]["message"]["content"])

    def leave(self, model):
        """The milliseconds until the provider noticed the disconnect."""
        provider.forget()
        body = json.dumps(body_of("openai", model, True)).encode()
        s = socket.create_connection(("127.0.0.1", provider.port))
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k"
                  b"\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        until(lambda: provider.log(model))
        time.sleep(0.05)
        left = time.time() * 1000
        s.close()
        return until(lambda: provider.log(model)[-1]["closed_ms"]) - left

    def test_a_client_that_leaves_is_noticed_at_once(self):
        for model in ("long:500+slow:20", "plain+silent:60000", "plain+hush:60000",
                      "plain+stall:60000", "plain+hold:1"):
            with self.subTest(model):
                within(500, lambda: self.leave(model))

    def test_what_is_held_goes_on_when_it_is_told_to(self):
        model, out = "long:20+hold:3:9", []
        thread = threading.Thread(target=lambda: out.append(ask("openai", model, True)[2]))
        provider.forget()
        thread.start()
        for nth in (1, 2):
            provider.held(model, nth)
            self.assertFalse(out)
            self.assertFalse(provider.log(model)[0]["done"])
            provider.go_on("of another")
            provider.go_on(model)
        thread.join(60)
        self.assertIn(b"[DONE]", out[0])
        provider.go_on(model)
        provider.go_on(model)  # before the request
        self.assertIn(b"[DONE]", ask("openai", model, True)[2])

    def control(self, **body):
        c = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=20)
        c.request("POST", PATHS["openai"] + "/control", json.dumps(body), FIELDS)
        r = c.getresponse()
        try:
            return r.status, json.loads(r.read())
        finally:
            c.close()

    def test_what_thinks_may_be_told_to_end(self):
        model, out = "long-think:60+loud+control:9", []
        thread = threading.Thread(target=lambda: out.append(
            ask("openai", model, True, reasoning_control=True)[2]))
        provider.forget()
        thread.start()
        until(lambda: provider.log(model) and provider.log(model)[0]["reply"].count("data:") == 9)
        first = json.loads(provider.log(model)[0]["reply"].split("\n")[0][6:])["id"]
        self.assertFalse(self.control(id="chatcmpl-other", action="reasoning_end")[1]["success"])
        self.assertEqual(self.control(action="reasoning_end")[0], 400)
        self.assertEqual(self.control(id=first, action="dance")[0], 400)
        self.assertFalse(out)
        self.assertEqual(self.control(id=first, action="reasoning_end"), (200, {"success": True}))
        thread.join(60)
        self.assertEqual(out[0].count(b"reasoning_content"), 8 + 3)
        self.assertIn(b"[DONE]", out[0])
        self.assertFalse(self.control(id=first, action="reasoning_end")[1]["success"])
        # A request without reasoning_control is not paused.
        self.assertEqual(ask("openai", model, True)[2].count(b"reasoning_content"), 60)

    def test_what_was_asked_is_told(self):
        provider.forget()
        self.assertEqual(provider.log(), [])
        ask("openai", "plain", metadata={"mark": "xyzzy"})
        [entry] = provider.log("xyzzy")
        self.assertEqual((entry["model"], entry["status"], entry["done"]), ("plain", 200, True))
        self.assertIn("You said", entry["reply"])
        self.assertEqual(provider.log("plugh"), [])


if __name__ == "__main__":
    main()
