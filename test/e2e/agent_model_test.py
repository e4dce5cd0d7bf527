#!/usr/bin/env python3
"""An agent as a model: agent/NAME in every dialect, whole and streamed.

    test/e2e/agent_model_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from agent_runs_test import Library, approving, librarian, orders, plain
from command import main
from gateway import digest
from scripted_model import Model, last, results

STEP, ANSWER = "I look it up.", "Done: Dune is on shelf 7"
QUESTION = "Is Dune here?"
MESSAGES = [{"role": "user", "content": QUESTION}]
GEMINI = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}

# Path, body of a whole request, additions for a stream.
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

    def test_what_an_agent_cannot_do_is_refused(self):
        contents = [{"role": "user", "parts": [{"text": "hi"}]}]
        path = "/v1beta/models/agent/librarian"
        with Model(librarian) as model, Library(model) as d:
            for at, body, word in (
                    ("/v1/chat/completions", {"model": "agent/librarian", "messages": MESSAGES, "n": 2}, "n: "),
                    (path + ":generateContent", {"contents": contents, "generationConfig": {"candidateCount": 2}},
                     "candidateCount"),
                    ("/v1/messages/count_tokens", {"model": "agent/librarian", "messages": MESSAGES}, "counted"),
                    (path + ":countTokens", {"contents": contents}, "counted")):
                with self.subTest(at):
                    status, said = d.ask("POST", at, body)
                    self.assertEqual(status, 400)
                    self.assertIn(word, said["error"]["message"])
            status, said = d.ask("POST", "/v1/messages/count_tokens", {"model": "agent/nobody", "messages": MESSAGES})
            self.assertEqual(status, 404, said)

    def test_the_history_is_the_conversation(self):
        with Model(lambda ask: str([m["content"] for m in ask["messages"][1:]])) as model, Library(model) as d:
            said = d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": [
                {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"},
                {"role": "user", "content": "three"}]})[1]
            self.assertEqual(said["choices"][0]["message"]["content"], "['one', 'two', 'three']")
            status, said = d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": [
                {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]})
            self.assertEqual((status, len(model.asked)), (400, 1), said)
            self.assertIn("end with a message of the user", said["error"]["message"])

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

    def test_a_reply_waits_for_a_person_and_the_next_request_goes_on(self):
        for path, stream in (("/v1/chat/completions", False), ("/v1/chat/completions", True)):
            with self.subTest(stream=stream), Model(librarian) as model, Library(model, approving()) as d:
                messages = [{"role": "user", "content": "lend me Dune"}]
                body = {"model": "agent/librarian", "messages": messages}
                first = d.ask("POST", path, body)[1]["choices"][0]
                self.assertEqual(first["finish_reason"], "stop")
                waiting = d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"][0]
                self.assertIn(f"rationale runs approve '{waiting['run_id']}' {waiting['pending']['seq']}",
                              first["message"]["content"])
                messages += [first["message"], {"role": "user", "content": "go on"}]
                again = d.ask("POST", path, body)[1]["choices"][0]["message"]["content"]
                self.assertEqual(again, first["message"]["content"])
                d.ask("POST", f"/api/v1/runs/{waiting['run_id']}/answer",
                      {"seq": waiting["pending"]["seq"], "word": "approve"})
                said = d.ask("POST", path, {**body, "stream": stream})[1]
                self.assertIn("Done: lent", json.dumps(said))
                self.assertEqual(d.called(), ["find", "lend"])
                self.assertEqual(len(d.ask("GET", "/api/v1/runs?app=agents")[1]["runs"]), 1)


ORDERED = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in ("order", "pay")]


def two_orders(ask):
    """Two calls of the caller's tools, one more, and an answer with all results."""
    done = results(ask)
    if not done:
        return {"calls": [("order", {"title": "Dune"}), ("pay", {"usd": 7})]}
    if len(done) == 2:
        return {"calls": [("order", {"title": "Emma"})]}
    return "; ".join([plain(x) for x in done] + [last(ask, "user")])


class ClientTools(unittest.TestCase):
    def chat(self, d, messages, status=200, agent="librarian"):
        got, said = d.ask("POST", "/v1/chat/completions", {"model": "agent/" + agent, "messages": messages,
                                                           "tools": ORDERED})
        self.assertEqual(got, status, said)
        return said

    def answered(self, message, *texts):
        return [message] + [{"role": "tool", "tool_call_id": c["id"], "content": t}
                            for c, t in zip(message["tool_calls"], texts)]

    def test_the_same_request_gets_the_same_reply_again(self):
        with Model(two_orders) as model, Library(model) as d:
            first = self.chat(d, MESSAGES)
            self.assertEqual(first["usage"]["prompt_tokens"], 100)
            one = MESSAGES + self.answered(first["choices"][0]["message"], "ordered", "paid")
            replies = [self.chat(d, one) for _ in range(2)]
            call = replies[0]["choices"][0]["message"]["tool_calls"]
            self.assertEqual(json.loads(call[0]["function"]["arguments"]), {"title": "Emma"})
            two = one + self.answered(replies[0]["choices"][0]["message"], "sold out")
            ends = [self.chat(d, two) for _ in range(2)]
            replies.append(self.chat(d, one))
            for r in replies[1:]:
                self.assertEqual((r["choices"], r["usage"]), (replies[0]["choices"], replies[0]["usage"]))
            self.assertEqual(replies[0]["usage"]["prompt_tokens"], 100)
            self.assertEqual([r["choices"][0]["message"]["content"] for r in ends],
                             ["ordered; paid; sold out; " + QUESTION] * 2)
            self.assertEqual(ends[1]["usage"]["prompt_tokens"], 100)
            self.assertEqual(len(model.asked), 3)

    def test_what_is_missing_is_named(self):
        agents = {n: {"model": "m", "prompt": "You keep a library."} for n in ("librarian", "other")}
        with Model(two_orders) as model, Library(model, agents) as d:
            message = self.chat(d, MESSAGES)["choices"][0]["message"]
            said = self.chat(d, MESSAGES + self.answered(message, "ordered"), 400)
            self.assertIn(message["tool_calls"][1]["id"], said["error"]["message"])
            self.assertIn("pay", said["error"]["message"])
            said = self.chat(d, MESSAGES + self.answered(message, "ordered", "paid"), 400, "other")
            self.assertIn("agent/librarian", said["error"]["message"])
            stray = {**message, "tool_calls": [{**message["tool_calls"][0], "id": "x" * 36 + ".y"}]}
            said = self.chat(d, MESSAGES + self.answered(stray, "ordered"), 404)
            self.assertEqual(said["error"]["code"], "run_not_found")
            self.assertTrue(self.chat(d, MESSAGES + self.answered(message, "ordered", "paid")))

    def test_words_beside_results_are_part_of_the_conversation(self):
        tools = [{"name": t["function"]["name"], "input_schema": {"type": "object"}} for t in ORDERED]
        with Model(two_orders) as model, Library(model) as d:
            def say(messages):
                status, said = d.ask("POST", "/v1/messages", {"model": "agent/librarian", "max_tokens": 99,
                                                              "tools": tools, "messages": messages})
                self.assertEqual(status, 200, said)
                return said["content"]
            messages = list(MESSAGES)
            for words in ("quick", "please"):
                content = say(messages)
                messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [
                    *({"type": "tool_result", "tool_use_id": c["id"], "content": "ok"}
                      for c in content if c["type"] == "tool_use"), {"type": "text", "text": words}]}]
            ends = [say(messages) for _ in range(2)]
            self.assertEqual([e[-1]["text"] for e in ends], ["ok; ok; ok; please"] * 2)
            self.assertIn("quick", [m["content"] for m in model.asked[1]["messages"]])
            self.assertEqual((len(model.asked), len(d.ask("GET", "/api/v1/runs?app=agents")[1]["runs"])), (3, 1))
            id = d.ask("GET", "/api/v1/runs?app=agents")[1]["runs"][0]["run_id"]
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{id}/replay")[1]["same"])

    def test_gemini_calls_without_ids(self):
        tools = [{"functionDeclarations": [{"name": "order"}, {"name": "pay"}]}]
        with Model(two_orders) as model, Library(model) as d:
            contents = list(GEMINI["contents"])
            for n in (2, 1, 0):
                status, said = d.ask("POST", "/v1beta/models/agent/librarian:generateContent",
                                     {"contents": contents, "tools": tools})
                self.assertEqual(status, 200, said)
                parts = said["candidates"][0]["content"]["parts"]
                calls = [p["functionCall"] for p in parts if "functionCall" in p]
                self.assertEqual(len(calls), n)
                contents += [{"role": "model", "parts": [{"functionCall": {k: c[k] for k in ("name", "args")}}
                                                         for c in calls]},
                             {"role": "user", "parts": [{"functionResponse": {"name": c["name"], "response": {
                                 "output": c["name"] + "ed"}}} for c in reversed(calls)]}]
            self.assertEqual(parts[-1]["text"], "ordered; payed; ordered; " + QUESTION)

    def test_previous_response_id_goes_on(self):
        tools = [{"type": "function", **t["function"]} for t in ORDERED]
        with Model(lambda ask: two_orders(ask) if "Order" in json.dumps(ask["messages"])
                   else str([m["content"] for m in ask["messages"][1:]])) as model, Library(model) as d:
            def say(input, previous=None, status=200, **more):
                got, said = d.ask("POST", "/v1/responses", {"model": "agent/librarian", "input": input, **more,
                                                            **({"previous_response_id": previous} if previous else {})})
                self.assertEqual(got, status, said)
                return said
            one = say("one")
            two = say("two", one["id"])
            self.assertEqual(two["output"][-1]["content"][0]["text"], str(["one", "['one']", "two"]))
            asks = say("Order it", two["id"], tools=tools)
            for _ in range(2):
                calls = [x for x in asks["output"] if x["type"] == "function_call"]
                asks = say([{"type": "function_call_output", "call_id": c["call_id"], "output": "ok"} for c in calls],
                           asks["id"], tools=tools)
            self.assertEqual(asks["output"][-1]["content"][0]["text"], "ok; ok; ok; Order it")
            self.assertIn("resp_nothing", say("x", "resp_nothing", 404)["error"]["message"])


class Messages(unittest.TestCase):
    IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}

    def test_images_reach_the_model(self):
        agents = {"librarian": {"model": "m", "prompt": "You help."},
                  "guarded": {"model": "m", "prompt": "You help.", "guard": {"input": "librarian"}}}
        with Model(lambda ask: "seen") as model, Library(model, agents) as d:
            for content in ([{"type": "text", "text": "What is it?"}, self.IMAGE], [self.IMAGE]):
                messages = [{"role": "user", "content": content}]
                status, said = d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": messages})
                self.assertEqual((status, said["choices"][0]["message"]["content"]), (200, "seen"), said)
                self.assertEqual(model.asked[-1]["messages"][-1]["content"][-1]["type"], "image_url")
                self.assertEqual(len(model.asked[-1]["messages"]), 2)
            status, said = d.ask("POST", "/v1/chat/completions", {"model": "agent/guarded", "messages": messages})
            self.assertEqual(status, 400, said)
            self.assertIn("guard", said["error"]["message"])

    def test_the_system_message_of_the_client_is_added_to_the_prompt(self):
        with Model(lambda ask: "fine") as model, Library(model) as d:
            d.ask("POST", "/v1/chat/completions", {"model": "agent/librarian", "messages": [
                {"role": "system", "content": "Answer in French."}, *MESSAGES]})
            self.assertEqual([m["role"] for m in model.asked[0]["messages"]], ["system", "user"])
            system = model.asked[0]["messages"][0]["content"]
            self.assertTrue(system.startswith("You keep a library.\n\nAnswer in French."), system)


if __name__ == "__main__":
    main()
