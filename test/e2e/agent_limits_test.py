#!/usr/bin/env python3
"""Limits of agents count all work of a run, and apply while a part of it hangs; runs keep their
definition.

    test/e2e/agent_limits_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import signal
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_runs_test import Library, ORDER, TOOLS, approving, librarian, orders, plain, tool
from command import PATIENCE, main
from gateway import until
from scripted_model import Model, last, results


def team(**more):
    """An agent with an input guard and an output guard, which hands the conversation over."""
    return {"front": {"model": "m", "prompt": "front desk, kind", "handoff": ["back"],
                      "guard": {"input": "check", "output": "check"}, **more},
            "back": {"model": "m", "prompt": "back office, kind"},
            "check": {"model": "m", "prompt": "guard of all"}}


def at_the_desk(ask):
    system = ask["messages"][0]["content"]
    if system.startswith("guard"):
        return json.dumps({"allow": True})
    if system.startswith("front"):
        return {"calls": [(tool(ask, "handoff_to_back"), {"reason": "not mine"})]}
    return "answered"


class Time(unittest.TestCase):
    def stopped_in_time(self, d, **more):
        begin = time.monotonic()
        said = d.go("x", **more)
        self.assertEqual((said["status"], said["reason"]), ("stopped", "time_limit_exceeded"), said)
        self.assertIn("ms", said["detail"])
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)
        replay = d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]
        self.assertTrue(replay["same"], replay)
        return said

    def test_a_model_that_hangs_is_stopped(self):
        release = threading.Event()
        agents = {"librarian": {"model": "m", "prompt": "You help.", "limits": {"time": "500ms"}}}
        with Model(lambda ask: release.wait(PATIENCE) and "late") as model, Library(model, agents) as d:
            self.stopped_in_time(d)
            release.set()

    def test_a_tool_that_hangs_is_stopped(self):
        agents = {"librarian": {"model": "m", "prompt": "You help.", "tools": ["library"],
                                "limits": {"time": "2s"}}}
        with Model(librarian) as model:
            d = Library(model, agents)
            d.config["tools"]["library"]["timeout"] = "9m"
            (d.folder / "tools.json").write_text(json.dumps([{**TOOLS[0], "slow": 2 * PATIENCE}, TOOLS[1]]))
            with d:
                said = self.stopped_in_time(d)
                ends = [e[2]["ok"] for e in d.events(said["run_id"]) if e[0] == "tool_result"]
                self.assertEqual(ends, [False])

    def test_a_guard_that_hangs_is_stopped(self):
        release = threading.Event()

        class Hook(BaseHTTPRequestHandler):
            def do_POST(self):
                release.wait(PATIENCE)
        hook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        hook.daemon_threads = True
        threading.Thread(target=hook.serve_forever, args=(0.02,), daemon=True).start()
        agents = {"librarian": {"model": "m", "prompt": "You help.", "limits": {"time": "300ms"},
                                "guard": {"input": f"http://127.0.0.1:{hook.server_port}/"}}}
        with Model(lambda ask: "fine") as model, Library(model, agents) as d:
            said = d.go("x")
            self.assertEqual((said["status"], said["reason"]), ("stopped", "guard_denied"))
            self.assertIn("no verdict", said["detail"])
            release.set()
        hook.shutdown()
        hook.server_close()

    def ends_in_guard(self, guard, waits, release):
        """Cancels a run, and stops the daemon, while the guard decides."""
        agents = {"librarian": {"model": "m", "prompt": "You help.", "guard": guard},
                  "check": {"model": "m", "prompt": "guard of all"}}

        def answer(ask):
            if not ask["messages"][0]["content"].startswith("guard"):
                return "fine"
            waits.append(1)
            release.wait(PATIENCE)
            return '{"allow": true}'
        with Model(answer) as model, Library(model, agents) as d:
            for stop in (False, True):
                waits.clear()
                id = d.go("x", background=True)["run_id"]
                until(lambda: waits)
                if not stop:
                    self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
                    said = d.ended(id, "cancelled", "stopped", "failed")
                    self.assertEqual((said["status"], said["reason"]), ("cancelled", "cancelled"))
                    continue
                d.signal(signal.SIGTERM)
                d.child.wait(PATIENCE)
                release.set()
                d.start()
                self.assertEqual(d.ended(id)["status"], "done")

    def test_a_run_that_ends_while_an_agent_guards_it(self):
        for place in ("input", "output"):
            with self.subTest(place):
                self.ends_in_guard({place: "check"}, [], threading.Event())

    def test_a_run_that_ends_while_a_hook_guards_it(self):
        for place in ("input", "output"):
            waits, release = [], threading.Event()

            class Hook(BaseHTTPRequestHandler):
                def do_POST(self):
                    self.rfile.read(int(self.headers["content-length"]))
                    waits.append(1)
                    release.wait(PATIENCE)
                    try:
                        self.send_response(200)
                        self.send_header("content-length", "15")
                        self.end_headers()
                        self.wfile.write(b'{"allow": true}')
                    except BrokenPipeError:
                        pass  # the daemon was stopped

                def log_message(self, *_):
                    pass
            hook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
            hook.daemon_threads = True
            threading.Thread(target=hook.serve_forever, args=(0.02,), daemon=True).start()
            with self.subTest(place):
                self.ends_in_guard({place: f"http://127.0.0.1:{hook.server_port}/"}, waits, release)
            hook.shutdown()
            hook.server_close()

    def test_time_of_a_part_is_time_of_the_run(self):
        release = threading.Event()

        def desk(ask):
            if ask["messages"][0]["content"].startswith("back"):
                release.wait(PATIENCE)
            return at_the_desk(ask)
        with Model(desk) as model, Library(model, team(limits={"time": "2s"})) as d:
            said = d.go("x", "front")
            self.assertEqual((said["status"], said["reason"]), ("stopped", "time_limit_exceeded"))
            release.set()


class All(unittest.TestCase):
    """A model call has 110 tokens, and the team makes four: guard, front, back, guard."""

    def test_usage_has_guards_and_handoffs(self):
        with Model(at_the_desk) as model, Library(model, team()) as d:
            said = d.go("x", "front")
            self.assertEqual((said["status"], said["text"]), ("done", "answered"))
            self.assertEqual(said["usage"]["model_calls"], 4)
            self.assertEqual(said["usage"]["input_tokens"] + said["usage"]["output_tokens"], 440)
            events = d.events(said["run_id"])
            self.assertEqual(sum(e[2]["usage"]["input_tokens"] for e in events if e[0] == "message"), 400)
            self.assertEqual(events[-1][2]["result"]["tokens"], {"input": 400, "output": 40, "reasoning": 0})
            chat = d.ask("POST", "/v1/chat/completions", {"model": "agent/front", "messages": [
                {"role": "user", "content": "x"}]})[1]
            self.assertEqual(chat["usage"]["prompt_tokens"], 400)
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])

    def test_a_denied_input_has_the_guards_usage(self):
        with Model(lambda ask: '{"allow": false, "reason": "no"}') as model, Library(model, team()) as d:
            said = d.go("x", "front")
            self.assertEqual((said["reason"], said["usage"]["model_calls"], said["usage"]["input_tokens"]),
                             ("guard_denied", 1, 100))

    def test_guards_that_hand_over_to_those_they_guard_come_to_an_end(self):
        """An agent hands over to another whose input it guards."""
        def passes_on(ask):
            return {"calls": [(tool(ask, "handoff_to_b"), {"reason": "round and round"})]}

        agents = {"a": {"model": "m", "prompt": "You are a.", "handoff": ["b"], "limits": {"steps": 1000}},
                  "b": {"model": "m", "prompt": "You are b.", "guard": {"input": "a"}, "limits": {"steps": 1000}}}
        with Model(passes_on) as model, Library(model, agents) as d:
            said = d.go("x", agent="a")
            self.assertEqual((said["status"], said["reason"]), ("stopped", "guard_denied"))
            self.assertIn("handoff_limit_exceeded", json.dumps(said))
            self.assertLess(len(model.asked), 20)

    def test_limits_count_all_work_of_the_run(self):
        for calls in (1, 2, 3):
            for limits, reason in (({"tokens": 110 * calls}, "token_budget_exceeded"),
                                   ({"steps": calls}, "max_iterations_reached"),
                                   ({"usd": 0.001 * calls}, "cost_limit_exceeded")):
                with self.subTest(reason=reason, calls=calls), Model(at_the_desk) as model:
                    d = Library(model, team(limits=limits))
                    d.config["providers"]["scripted"]["prices"] = {"m": {"input": 10, "output": 0}}
                    with d:
                        said = d.go("x", "front")
                        self.assertEqual((said["status"], said["reason"], said["usage"]["model_calls"]),
                                         ("stopped", reason, calls), said)
                        self.assertEqual(len(model.asked), calls)
                        if calls > 1:  # else the run had no effect of its own
                            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])


class Kept(unittest.TestCase):
    """A waiting run resumes with the definition that it started with."""

    def change(self, d, restart, **agent):
        d.config["agents"]["librarian"].update(agent)
        # Adds a source before the old one, which changes the order of the configuration.
        d.config["tools"] = {"again": {"http": {"method": "GET", "url": "http://127.0.0.1:1/"}},
                             **d.config["tools"]}
        d.write()
        if restart:
            d.signal(signal.SIGKILL)
            d.child.wait()
            d.start()
        else:
            d.signal(signal.SIGHUP)
            until(lambda: "again" in json.dumps(d.ask("GET", "/api/v1/agents")[1]))

    def test_a_changed_definition_is_for_new_runs_only(self):
        for restart in (False, True):
            with self.subTest(restart=restart), Model(librarian) as model:
                with Library(model, approving(handoff=["other"]) | {"other": {"model": "m", "prompt": "You help."}},
                             ) as d:
                    waits = d.go("Please lend me Dune")
                    self.assertEqual(waits["status"], "waiting")
                    before = len(model.asked)
                    self.change(d, restart, prompt="You sell books.", tools=["again", "library.lend"], handoff=[],
                                approve=[], limits={"steps": 1}, level="high",
                                output={"type": "object", "required": ["never"]})
                    d.config["agents"]["other"]["description"] = "another"
                    answer = {"seq": waits["pending"]["seq"], "word": "approve"}
                    self.assertEqual(d.ask("POST", f"/api/v1/runs/{waits['run_id']}/answer", answer)[0], 200)
                    said = d.ended(waits["run_id"])
                    self.assertEqual((said["status"], said["reason"]), ("done", ""), said)
                    self.assertEqual(d.called(), ["find", "lend"])
                    self.assertEqual(model.asked[before]["tools"], model.asked[0]["tools"])
                    self.assertIn("You keep a library.", model.asked[before]["messages"][0]["content"])

    def test_a_run_that_waits_for_its_caller_keeps_it_too(self):
        with Model(orders) as model, Library(model) as d:
            waits = d.go("Order Dune", tools=[ORDER])
            self.change(d, False, prompt="You sell books.", tools=["again"])
            call = waits["pending"]["calls"][0]["call_id"]
            d.ask("POST", f"/api/v1/runs/{waits['run_id']}/tool_results", {"call_id": call, "result": "ordered"})
            self.assertEqual(d.ended(waits["run_id"])["result"]["text"], "It is ordered")

    def test_a_workflow_keeps_its_stages(self):
        def flow(ask):
            who = ask["messages"][0]["content"].split()[0]
            if who == "lender" and not results(ask):
                return {"calls": [(tool(ask, "lend"), {"title": "Dune"})]}
            return f"{who}: {plain(results(ask)[-1]) if results(ask) else last(ask).split()[0]}"
        agents = {n: {"model": "m", "prompt": n + " is your name", "tools": ["library"], "approve": ["library.lend"]}
                  for n in ("lender", "judge", "other")}
        flows = {"flow": [{"agent": "lender"}, {"agent": "judge"}]}
        with Model(flow) as model, Library(model, agents, workflows=flows) as d:
            waits = d.ask("POST", "/api/v1/workflows/flow/runs", {"input": "lend"})[1]
            self.assertEqual(waits["status"], "waiting")
            d.config["workflows"]["flow"] = [{"agents": ["other", "lender"]}]
            d.write()
            d.signal(signal.SIGHUP)
            until(lambda: "other" in json.dumps(d.ask("GET", "/api/v1/workflows")[1]))
            d.ask("POST", f"/api/v1/runs/{waits['run_id']}/answer", {"seq": waits["pending"]["seq"], "word": "approve"})
            self.assertEqual(d.ended(waits["run_id"])["result"]["text"], "judge: lend")

    def gone(self, change):
        with Model(librarian) as model, Library(model, approving() | {"other": {"model": "m", "prompt": "You help."}},
                                                ) as d:
            waits = d.go("Please lend me Dune")
            change(d.config)
            d.config["agents"]["last"] = {"model": "m", "prompt": "You help."}
            d.write()
            d.signal(signal.SIGHUP)
            until(lambda: "last" in json.dumps(d.ask("GET", "/api/v1/agents")[1]))
            d.ask("POST", f"/api/v1/runs/{waits['run_id']}/answer", {"seq": waits["pending"]["seq"], "word": "approve"})
            said = d.ended(waits["run_id"])
            self.assertEqual(d.called(), ["find"])
            return said["status"], said["reason"], said["result"]["detail"]

    def test_what_is_gone_is_named(self):
        status, reason, detail = self.gone(lambda c: c["agents"].pop("librarian"))
        self.assertEqual((status, reason), ("failed", "agent_not_found"))
        self.assertIn('"librarian"', detail)

        def without_tools(c):
            c["agents"]["librarian"] = {"model": "m", "prompt": "You help."}
            c["tools"] = {}
        status, reason, detail = self.gone(without_tools)
        self.assertEqual((status, reason), ("failed", "tools_error"))
        self.assertIn('"library"', detail)


if __name__ == "__main__":
    main()
