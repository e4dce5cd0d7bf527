#!/usr/bin/env python3
"""Runs of agents that wait, and their events.

    test/e2e/agent_waits_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import threading
import unittest

from agent_runs_test import Library, ORDER, TOOLS, approving, events_of, librarian, tool
from command import PATIENCE, main
from gateway import until
from scripted_model import Model, last, results


def two(ask):
    """Two calls at once, then an answer."""
    if results(ask):
        return "; ".join(results(ask))
    return {"text": "Both.", "calls": [(tool(ask, "lend"), {"title": x}) for x in ("Dune", "Emma")]}


class Waits(unittest.TestCase):
    def answer(self, d, id, seq, word="approve", **more):
        return d.ask("POST", f"/api/v1/runs/{id}/answer", {"seq": seq, "word": word, **more})

    def test_the_first_of_two_results_leaves_the_run_waiting(self):
        orders = [("order", {"title": "Dune"}), ("order", {"title": "Emma"})]
        with Model(lambda ask: "done" if results(ask) else {"calls": orders}) as model, Library(model) as d:
            said = d.go("x", tools=[ORDER])
            path = f"/api/v1/runs/{said['run_id']}/tool_results"
            calls = [c["call_id"] for c in said["pending"]["calls"]]
            one = d.ask("POST", path, {"call_id": calls[0], "result": "ok"})[1]
            self.assertEqual((one["status"], [c["call_id"] for c in one["pending"]["calls"]]),
                             ("waiting", calls[1:]))
            d.ask("POST", path, {"call_id": calls[1], "result": "ok"})
            self.assertEqual(d.ended(said["run_id"])["result"]["text"], "done")

    def test_two_results_at_once(self):
        orders = [("order", {"title": str(i)}) for i in range(8)]
        with Model(lambda ask: "done" if results(ask) else {"calls": orders}) as model, Library(model) as d:
            said = d.go("x", tools=[ORDER])
            path = f"/api/v1/runs/{said['run_id']}/tool_results"
            threads = [threading.Thread(target=d.ask, args=("POST", path, {"call_id": c["call_id"], "result": "ok"}))
                       for c in said["pending"]["calls"]]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(d.ended(said["run_id"])["result"]["text"], "done")

    def test_all_calls_that_wait_are_shown(self):
        with Model(two) as model, Library(model, approving()) as d:
            said = d.go("x")
            first, more = said["pending"], said["pending"]["more"]
            self.assertEqual([p["arguments"]["title"] for p in (first, *more)], ["Dune", "Emma"])
            names = [e[0] for e in d.events(said["run_id"])]
            self.assertEqual(names.count("approval"), 2)
            for p in (more[0], first):
                self.assertEqual(self.answer(d, said["run_id"], p["seq"])[0], 200)
            self.assertEqual(d.ended(said["run_id"])["status"], "done")
            self.assertEqual(d.called(), ["lend", "lend"])
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])

    def test_changed_arguments_must_be_valid(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            said = d.go("Please lend me Dune")
            id, seq = said["run_id"], said["pending"]["seq"]
            status, refused = self.answer(d, id, seq, "change", arguments={"title": 7})
            self.assertEqual(status, 422, refused)
            self.assertIn("title", json.dumps(refused))
            self.assertEqual(d.one(id)["status"], "waiting")
            self.assertEqual(self.answer(d, id, seq, "change", arguments={"title": "Emma"})[0], 200)
            self.assertIn("Emma", d.ended(id)["result"]["text"])

    def test_a_part_is_answered_by_its_own_path(self):
        def desk(ask):
            if ask["messages"][0]["content"].startswith("front"):
                return {"calls": [(tool(ask, "handoff_to_librarian"), {"reason": "a loan"})]}
            return "lent" if any("Dune" in x for x in results(ask)) else {"calls": [(tool(ask, "lend"), {"title": "Dune"})]}
        agents = {"front": {"model": "m", "prompt": "front desk, kind", "handoff": ["librarian"]}, **approving()}
        with Model(desk) as model, Library(model, agents) as d:
            p = d.go("lend me Dune", "front")["pending"]
            self.assertEqual(d.ask("GET", f"/api/v1/runs/{p['run_id']}")[1]["run_id"], p["run_id"])
            self.assertEqual(self.answer(d, p["run_id"], p["seq"])[0], 200)
            self.assertEqual(d.ended(p["run_id"].split("/")[0])["result"]["text"], "lent")

    def test_a_run_that_waits_in_a_thread_ends_beside_an_active_one(self):
        held, release = threading.Event(), threading.Event()

        def model_of(ask):
            if last(ask, "user") == "hold on":
                held.set()
                release.wait(PATIENCE)
                return "I held."
            return librarian({**ask, "messages": [m for m in ask["messages"] if m.get("content") != "hold on"]})

        with Model(model_of) as model, Library(model, approving()) as d:
            one, two = (d.go("Please lend me Dune", thread="t") for _ in range(2))
            active = d.go("hold on", thread="t", background=True)["run_id"]
            until(held.is_set)
            try:
                self.assertEqual((one["status"], two["status"]), ("waiting", "waiting"))
                self.assertEqual(d.ask("POST", f"/api/v1/runs/{one['run_id']}/cancel")[0], 200)
                d.ended(one["run_id"], "cancelled")
                self.assertEqual(self.answer(d, two["run_id"], two["pending"]["seq"])[0], 200)
                self.assertEqual(d.ended(two["run_id"])["status"], "done")
                self.assertEqual(d.one(active)["status"], "running")
            finally:
                release.set()
            self.assertEqual(d.ended(active)["result"]["text"], "I held.")

    def test_a_call_that_runs_is_not_said_to_have_ended(self):
        with Model(librarian) as model:
            d = Library(model)
            d.config["tools"]["library"]["timeout"] = "9m"
            (d.folder / "tools.json").write_text(json.dumps([{**TOOLS[0], "annotations": {}, "slow": PATIENCE},
                                                             TOOLS[1]]))
            with d:
                id = d.go("x", background=True)["run_id"]
                until(lambda: d.called())
                run = d.one(id)
                self.assertEqual(run["status"], "running")
                self.assertNotIn("process ended", json.dumps(run["trace"]))
                d.ask("POST", f"/api/v1/runs/{id}/cancel")
                d.ended(id, "cancelled")


class Events(unittest.TestCase):
    def test_calls_that_are_refused_have_events(self):
        turns = iter([[("no_such_tool", {})], [("library__find", {"title": 7})], [("library__lend", {"title": "Dune"})]])

        def clumsy(ask):
            call = next(turns, None)
            return {"calls": call} if call else "sorry"
        with Model(clumsy) as model, Library(model, approving()) as d:
            said = d.go("x")
            d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", {"seq": said["pending"]["seq"], "word": "deny"})
            d.ended(said["run_id"])
            events = d.events(said["run_id"])
            calls = [e[2] for e in events if e[0] == "tool_call"]
            ends = {e[2]["call_id"]: e[2] for e in events if e[0] == "tool_result"}
            self.assertEqual([c["tool"] for c in calls], ["no_such_tool", "library__find", "library__lend"])
            for c, words in zip(calls, ("there is no tool", "title", "denied")):
                self.assertFalse(ends[c["call_id"]]["ok"])
                self.assertIn(words, json.dumps(ends[c["call_id"]]["result"]))
            named = [t["name"] for e in events if e[0] == "message" for t in e[2]["tool_calls"]]
            self.assertEqual(named, [c["tool"] for c in calls])
            self.assertEqual(d.called(), [])
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])

    def test_a_stream_of_a_parallel_workflow_goes_on_from_any_event(self):
        agents = {n: {"model": "m", "prompt": "You help.", "tools": ["library"]} for n in ("a", "b", "c")}
        flows = {"flow": [{"agents": ["a", "b"], "parallel": True}, {"agent": "c"}]}
        with Model(librarian) as model, Library(model, agents, workflows=flows) as d:
            text = d.ask("POST", "/api/v1/workflows/flow/runs", {"input": "x", "stream": True})[1]
            live = events_of(text)
            id = live[0][2]["run_id"]
            later = {(e[2]["run_id"], e[2]["number"]): e[2] for e in d.events(id)}
            self.assertEqual({(e[2]["run_id"], e[2]["number"]): e[2] for e in live}, later)
            for i, e in enumerate(live):
                rest = [(x[2]["run_id"], x[2]["number"]) for x in d.events(id, e[1])]
                seen = [(x[2]["run_id"], x[2]["number"]) for x in live[:i + 1]]
                self.assertEqual(sorted(rest + seen), sorted(later))


if __name__ == "__main__":
    main()
