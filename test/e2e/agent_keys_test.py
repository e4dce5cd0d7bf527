#!/usr/bin/env python3
"""Two keys and one daemon: a run, its thread, its session and its words belong to the key that started it.

    test/e2e/agent_keys_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from agent_runs_test import ORDER, Library, approving, librarian, orders
from command import main
from gateway import digest, until
from scripted_model import Model

ANN, BOB, BOSS = "ann-key", "bob-key", "boss-key"
QUESTION = "Is Dune here?"


def keys(**more):
    """Two clients and an operator; more: members of the keys by their name."""
    return [{"name": n, "sha256": digest(n + "-key"), "role": "operator" if n == "boss" else "client",
             **more.get(n, {})} for n in ("ann", "bob", "boss")]


def waits_for_bob(d, path):
    return until(lambda: d.ask("GET", path, key=BOB)[0] == 200)


class Owners(unittest.TestCase):
    def library(self, model, agents=None, **more):
        return Library(model, agents, keys=keys(**more), key=ANN, workflows={"w": [{"agent": "librarian"}]})

    def routes(self, d, id):
        """Status and body of each route that takes a run's id, as bob gets them."""
        for method, path, body in (("GET", "", None), ("GET", "/events", None), ("GET", "/replay", None),
                                   ("POST", "/tool_results", {"call_id": "x", "result": 1}),
                                   ("POST", "/tool_results", {"results": []}),
                                   ("POST", "/answer", {"seq": 1, "word": "approve"}), ("POST", "/cancel", None)):
            status, said = d.ask(method, f"/api/v1/runs/{id}{path}", body, key=BOB)
            yield method + path, status, json.dumps(said).replace(id, "ID")

    def test_a_run_of_another_key_is_as_one_that_does_not_exist(self):
        with Model(orders) as model, self.library(model) as d:
            said = d.go("Order Dune", tools=[ORDER], thread="t")
            id, call = said["run_id"], said["pending"]["calls"][0]
            before = d.one(id)
            nobody = "0" * len(id)
            theirs, none = list(self.routes(d, id)), list(self.routes(d, nobody))
            self.assertEqual(theirs, none)
            self.assertEqual({s for _, s, _ in theirs}, {404, 403})
            chat = {"model": "agent/librarian", "tools": [{"type": "function", "function": ORDER}], "messages": [
                {"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [
                    {"id": f"{id}.{call['call_id']}", "type": "function",
                     "function": {"name": "order", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": f"{id}.{call['call_id']}", "content": "stolen"}]}
            self.assertEqual(d.ask("POST", "/v1/chat/completions", chat, key=BOB)[0], 404)
            self.assertEqual(d.one(id), before)
            self.assertEqual(d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"], [])

    def test_naming_a_session_or_a_thread_takes_nothing_over(self):
        with Model(librarian) as model, self.library(model) as d:
            said = d.go(QUESTION, thread="t", session="s")
            id, before = said["run_id"], d.one(said["run_id"])
            path = "/api/v1/history/sessions"
            until(lambda: [x["status"] for x in d.ask("GET", path)[1]["sessions"]] == ["completed"])
            sessions = d.ask("GET", path)[1]["sessions"]
            for name in (id, "s", "t"):
                for how in ({"session": name}, {"thread": name + "2", "session": name}):
                    status, mine = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "mine", **how}, key=BOB)
                    self.assertEqual((status, mine["status"]), (200, "done"))
                    waits_for_bob(d, f"/api/v1/runs/{mine['run_id']}")
                chat = {"model": "agent/librarian", "messages": [{"role": "user", "content": "mine"}]}
                self.assertEqual(d.ask("POST", "/v1/chat/completions", chat, key=BOB,
                                       headers={"x-rationale-session": name})[0], 200)
            self.assertEqual(d.ask("GET", f"/api/v1/runs/{id}", key=BOB)[0], 404)
            self.assertNotIn(id, [r["run_id"] for r in d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"]])
            self.assertEqual(d.one(id), before)
            until(lambda: len(d.ask("GET", path, key=BOB)[1]["sessions"]) == 7)  # all of "t" in one
            self.assertEqual(d.ask("GET", path)[1]["sessions"], sessions)
            self.assertEqual(d.ask("GET", path + "/s", key=BOB)[0], 404)

    def test_a_thread_of_another_key_is_refused_before_anything_starts(self):
        with Model(librarian) as model, self.library(model) as d:
            d.go(QUESTION, thread="t")
            asked, called = len(model.asked), len(d.called())
            for path in ("agents/librarian", "workflows/w"):
                status, said = d.ask("POST", f"/api/v1/{path}/runs", {"input": "lend", "thread": "t"}, key=BOB)
                self.assertEqual(status, 404, said)
                self.assertIn("choose another name", json.dumps(said))
            self.assertEqual((len(model.asked), len(d.called())), (asked, called))
            self.assertEqual(d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"], [])
            self.assertEqual(d.go("again", thread="t")["status"], "done")


class Ended(unittest.TestCase):
    def test_a_cancelled_run_takes_no_result(self):
        tools = [{"type": "function", "function": ORDER}]
        with Model(orders) as model, Library(model) as d:
            body = {"model": "agent/librarian", "messages": [{"role": "user", "content": "x"}], "tools": tools}
            first = d.ask("POST", "/v1/chat/completions", body)[1]["choices"][0]["message"]
            whole = first["tool_calls"][0]["id"]
            id, call = whole.split(".", 1)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
            asked = len(model.asked)
            body["messages"] += [first, {"role": "tool", "tool_call_id": whole, "content": "ordered"}]
            for path, sent in (("/v1/chat/completions", body),
                               (f"/api/v1/runs/{id}/tool_results", {"call_id": call, "result": "ordered"})):
                for _ in range(2):
                    status, said = d.ask("POST", path, sent)
                    self.assertEqual(status, 409, said)
                    self.assertIn("start a new", json.dumps(said))
            self.assertEqual((d.one(id)["status"], len(model.asked)), ("cancelled", asked))

    def test_an_ended_run_takes_no_answer(self):
        agents = {**approving(), "other": {**approving()["librarian"]}}
        flows = {"both": [{"agents": ["librarian", "other"], "parallel": True, "success": "all"}]}
        with Model(librarian) as model, Library(model, agents, workflows=flows) as d:
            said = d.go("Please lend me Dune")
            answer = {"seq": said["pending"]["seq"], "word": "approve"}
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/cancel")[0], 200)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)[0], 409)
            said = d.ask("POST", "/api/v1/workflows/both/runs", {"input": "Please lend me Dune"})[1]
            parts = [r for r in d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"] if "/" in r["run_id"]]
            self.assertEqual(len(parts), 2)
            paths = [f"/api/v1/runs/{p['run_id'].replace('/', '%2F')}" for p in parts]
            self.assertEqual(d.ask("POST", paths[0] + "/cancel")[0], 200)
            status, why = d.ask("POST", paths[1] + "/answer", {"seq": parts[1]["pending"]["seq"], "word": "approve"})
            self.assertEqual((status, d.one(said["run_id"])["status"]), (409, "cancelled"), why)
            self.assertNotIn("lend", d.called())


if __name__ == "__main__":
    main()
