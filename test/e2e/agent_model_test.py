#!/usr/bin/env python3
"""An agent as a model: agent/NAME in every dialect, whole and streamed.

    test/e2e/agent_model_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import threading
import unittest

from agent_runs_test import Library, librarian, orders, approving
from command import main
from gateway import digest, until
from scripted_model import Model

STEP, ANSWER = "I look it up.", "Done: Dune is on shelf 7"
QUESTION = "Is Dune here?"
MESSAGES = [{"role": "user", "content": QUESTION}]
GEMINI = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}

# Path, body: whole and streamed.
DIALECTS = {
    "chat": ("/v1/chat/completions", {"model": "agent/librarian", "messages": MESSAGES}, {"stream": True}),
    "responses": ("/v1/responses", {"model": "agent/librarian", "input": QUESTION}, {"stream": True}),
    "messages": ("/v1/messages", {"model": "agent/librarian", "max_tokens": 100, "messages": MESSAGES},
                 {"stream": True}),
    "ollama": ("/api/chat", {"model": "agent/librarian", "messages": MESSAGES, "stream": False}, {"stream": True}),
}


class AsModel(unittest.TestCase):
    def say(self, d, path, body, show):
        status, said = d.ask("POST", path, body, headers={"x-rationale-reasoning": "show" if show else "hide"})
        self.assertEqual(status, 200, (said, d.log_tail()))
        return said if isinstance(said, str) else json.dumps(said)

    def test_every_dialect_whole_and_streamed(self):
        with Model(librarian) as model, Library(model) as d:
            for name, (path, body, stream) in DIALECTS.items():
                for more in ({}, stream):
                    for show in (True, False):
                        with self.subTest(dialect=name, stream=bool(more), show=show):
                            said = self.say(d, path, {**body, **more}, show)
                            self.assertIn(ANSWER, said)
                            (self.assertIn if show else self.assertNotIn)(STEP, said)
            for method in ("generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"):
                for show in (True, False):
                    with self.subTest(dialect="gemini", method=method, show=show):
                        said = self.say(d, f"/v1beta/models/agent/librarian:{method}", GEMINI, show)
                        self.assertIn(ANSWER, said)
                        (self.assertIn if show else self.assertNotIn)(STEP, said)

    def test_usage_is_the_sum_of_the_run(self):
        with Model(librarian) as model, Library(model) as d:
            path, body, _ = DIALECTS["chat"]
            said = d.ask("POST", path, body)[1]
            self.assertEqual(said["usage"]["prompt_tokens"], 200)
            self.assertEqual(said["choices"][0]["message"]["content"], ANSWER)
            self.assertEqual(said["choices"][0]["finish_reason"], "stop")
            self.assertEqual(said["model"], "agent/librarian")

    def test_agents_are_listed_as_models(self):
        with Model(librarian) as model, Library(model) as d:
            self.assertIn("agent/librarian", [m["id"] for m in d.ask("GET", "/v1/models")[1]["data"]])
            self.assertEqual(d.ask("GET", "/v1/models/agent/librarian")[1]["id"], "agent/librarian")
            self.assertIn("models/agent/librarian", [m["name"] for m in d.ask("GET", "/v1beta/models")[1]["models"]])
            self.assertIn("agent/librarian", [m["name"] for m in d.ask("GET", "/api/tags")[1]["models"]])

    def test_errors_are_in_the_dialects_words(self):
        with Model(lambda ask: 400) as model, Library(model) as d:
            status, said = d.ask("POST", "/v1/chat/completions", {"model": "agent/nobody", "messages": MESSAGES})
            self.assertEqual((status, said["error"]["code"]), (404, "model_not_found"))
            status, said = d.ask("POST", "/v1/messages", {"model": "agent/librarian", "max_tokens": 9,
                                                          "messages": MESSAGES})
            self.assertEqual((status, said["type"]), (502, "error"))

    def test_the_history_is_the_conversation(self):
        with Model(lambda ask: str([m["content"] for m in ask["messages"][1:]])) as model, Library(model) as d:
            said = d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": [
                {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"},
                {"role": "user", "content": "three"}]})[1]
            self.assertEqual(said["choices"][0]["message"]["content"], "['one', 'two', 'three']")

    def test_runs_of_one_conversation_have_one_session(self):
        with Model(lambda ask: f"answer {len(ask['messages'])}") as model, Library(model) as d:
            said = []
            for words in ("one", "two", "three"):
                said.append({"role": "user", "content": words})
                said.append(d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": said})
                            [1]["choices"][0]["message"])
            sessions = [r["session_id"] for r in d.ask("GET", "/api/v1/runs?app=agents")[1]["runs"]]
            self.assertEqual((len(sessions), len(set(sessions))), (3, 1))

    def test_a_run_is_its_keys_own(self):
        keys = [{"name": n, "sha256": digest(n + "-key"), "role": "operator" if n == "boss" else "client"} for n in ("ann", "bob", "boss")]
        with Model(librarian) as model, Library(model, keys=keys, key="ann-key") as d:
            id = d.go(QUESTION)["run_id"]
            for key, status in (("ann-key", 200), ("bob-key", 404), ("boss-key", 200)):
                self.assertEqual(d.ask("GET", f"/api/v1/runs/{id}/events", key=key)[0], status)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/tool_results", {"call_id": "x", "result": 1},
                                   key="bob-key")[0], 404)
            self.assertEqual(d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "x"}, key="none")[0], 401)

    def test_tools_of_the_request_are_the_clients(self):
        tools = [{"type": "function", "function": {"name": "order", "parameters": {"type": "object"}}}]
        with Model(orders) as model, Library(model) as d:
            body = {"model": "agent/librarian", "messages": list(MESSAGES), "tools": tools}
            first = d.ask("POST", "/v1/chat/completions", body)[1]["choices"][0]
            self.assertEqual(first["finish_reason"], "tool_calls")
            call = first["message"]["tool_calls"][0]
            self.assertEqual((call["function"]["name"], json.loads(call["function"]["arguments"])),
                             ("order", {"title": "Dune"}))
            body["messages"] += [first["message"], {"role": "tool", "tool_call_id": call["id"], "content": "ordered"}]
            said = d.ask("POST", "/v1/chat/completions", body)[1]["choices"][0]
            self.assertEqual(said["message"]["content"], "It is ordered")
            self.assertEqual(len(d.ask("GET", "/api/v1/runs?app=agents")[1]["runs"]), 1)

    def test_approval_is_waited_for(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            got = []
            body = {"model": "agent/librarian", "messages": [{"role": "user", "content": "lend me Dune"}]}
            t = threading.Thread(target=lambda: got.append(d.ask("POST", "/v1/chat/completions", body)))
            t.start()
            waiting = until(lambda: d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"])[0]
            d.ask("POST", f"/api/v1/runs/{waiting['run_id']}/answer",
                  {"seq": waiting["pending"]["seq"], "word": "approve"})
            t.join()
            self.assertIn("lent", got[0][1]["choices"][0]["message"]["content"])


if __name__ == "__main__":
    main()
