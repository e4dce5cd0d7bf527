#!/usr/bin/env python3
"""Runs of agents under kill -9: no effect happens twice, no run is lost, replay is equal.

    test/e2e/agent_restart_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

KILLS in the environment says how often the daemon is killed (default 20).
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import random
import re
import signal
import threading
import time
import unittest
from urllib.parse import quote

from agent_runs_test import ORDER, TOOLS, Library, tool
from command import PATIENCE, main
from gateway import until
from scripted_model import Model, last, results

KILLS = int(os.environ.get("KILLS", "20"))
STEPS = 6


def worker(ask):
    """Lends and orders books alternately, one per step, each with the run's number in its title."""
    number = re.search(r"number (\d+)", json.dumps(ask["messages"]))[1]
    done = len(results(ask))
    if done >= STEPS:
        return f"finished {number}"
    title = {"title": f"{number}-{done}"}
    return {"calls": [("order" if done % 3 == 2 else tool(ask, "lend"), title)]}


class Caller(threading.Thread):
    """A client that starts runs, executes their calls and counts them. It retries while the daemon
    is down."""

    def __init__(self, d, numbers):
        super().__init__(daemon=True)
        self.d, self.numbers, self.ids, self.ordered, self.stop = d, numbers, {}, [], False

    def ask(self, *args):
        while not self.stop:
            try:
                got = self.d.ask(*args)
                if got[1] != "":  # the head was cut by the kill: it is read as one without a body
                    return got
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.02)
        return 0, {}

    def run(self):
        for n in self.numbers:
            status, said = self.ask("POST", "/api/v1/agents/librarian/runs",
                                    {"input": f"number {n}", "background": True, "tools": [ORDER]})
            if status == 202:
                self.ids[n] = said["run_id"]
        while not self.stop:
            waiting = self.ask("GET", "/api/v1/runs?status=waiting&limit=1000")[1].get("runs", [])
            for run in waiting:
                for call in (run["pending"] or {}).get("calls", []):
                    self.ordered.append(call["call_id"])
                    self.ask("POST", f"/api/v1/runs/{run['run_id']}/tool_results",
                             {"call_id": call["call_id"], "result": "ordered"})
            time.sleep(0.01)


class Killed(unittest.TestCase):
    def test_no_effect_twice_and_no_run_lost(self):
        chance = random.Random(19)
        with Model(worker) as model, Library(model) as d:
            for round in range(max(1, KILLS // 20)):
                caller = Caller(d, range(round * 100, round * 100 + 8))
                caller.start()
                for _ in range(min(KILLS, 20)):
                    time.sleep(chance.uniform(0.0, 0.25))
                    d.signal(signal.SIGKILL)
                    d.child.wait()
                    d.start()
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end:
                    left = [r for r in caller.ask("GET", "/api/v1/runs?app=agents&limit=1000")[1]["runs"]
                            if r["status"] in ("running", "waiting")]
                    if not left:
                        break
                    time.sleep(0.05)
                caller.stop = True
                caller.join()
                self.assertEqual(left, [])
                for id in caller.ids.values():
                    self.assertIn(d.one(id)["status"], ("done", "stopped"), d.one(id))
                    self.assertTrue(d.ask("GET", f"/api/v1/runs/{id}/replay")[1]["same"])
            lent = [json.loads(x)["arguments"]["title"] for x in d.calls_log.read_text().splitlines()
                    if json.loads(x)["tool"] == "lend"]
            self.assertEqual(len(lent), len(set(lent)), "a book was lent twice")
            self.assertTrue(lent)


class Hold:
    """The first that reaches the moment waits there until it may go on."""

    def __init__(self):
        self.reached, self.free = threading.Event(), threading.Event()

    def wait(self):
        if not self.reached.is_set():
            self.reached.set()
            self.free.wait(PATIENCE)


LIBRARIAN = {"model": "m", "prompt": "Keeper of books", "tools": ["library"]}
DESK = {"model": "m", "prompt": "Desk of it", "handoff": ["librarian"]}
FLOW = {"workflows": {"flow": [{"agents": ["librarian"]}]}}
# moment, where the run starts, its agents, more of the configuration; tools that ran before
MOMENTS = (
    ("model 0", "agents/librarian", {"librarian": LIBRARIAN}, {}, []),
    ("model 1", "agents/librarian", {"librarian": LIBRARIAN}, {}, ["find"]),
    ("model 2", "agents/librarian", {"librarian": LIBRARIAN}, {}, ["find", "lend"]),
    ("tool find", "agents/librarian", {"librarian": LIBRARIAN}, {}, ["find"]),
    ("tool lend", "agents/librarian", {"librarian": LIBRARIAN}, {}, ["find", "lend"]),
    ("approval", "agents/librarian", {"librarian": {**LIBRARIAN, "approve": ["library.lend"]}}, {}, ["find"]),
    ("desk", "agents/desk", {"librarian": LIBRARIAN, "desk": DESK}, {}, []),
    ("model 1", "agents/desk", {"librarian": LIBRARIAN, "desk": DESK}, {}, ["find"]),
    ("tool lend", "agents/desk", {"librarian": LIBRARIAN, "desk": DESK}, {}, ["find", "lend"]),
    ("guard", "agents/librarian", {"librarian": {**LIBRARIAN, "guard": {"output": "guard"}},
                                   "guard": {"model": "m", "prompt": "Guard of it"}}, {}, ["find", "lend"]),
    ("tool lend", "workflows/flow", {"librarian": LIBRARIAN}, FLOW, ["find", "lend"]),
)


class AtEachMoment(unittest.TestCase):
    """The daemon is killed while a model, a tool, a person, a part or a guard is waited for."""

    def until_moment(self, moment, path, agents, more):
        hold = Hold()

        def reply(ask):
            who = ask["messages"][0]["content"].split()[0]
            done = [r for r in results(ask) if "handed_over" not in r]
            if moment in (who.lower(), f"model {len(done)}" if who == "Keeper" else ""):
                hold.wait()
            if who == "Guard":
                return '{"allow": true}'
            if who == "Desk":
                return {"calls": [(tool(ask, "handoff_to_librarian"), {"reason": "books"})]}
            calls = [[(tool(ask, name), {"title": "Dune"})] for name in ("find", "lend")]
            return {"calls": calls[len(done)]} if len(done) < 2 else "It is lent."

        model = self.enterContext(Model(reply))
        d = Library(model, agents, **more)
        tools = [{**t, "hold": str(d.folder / "free")} if moment == "tool " + t["name"] else t for t in TOOLS]
        (d.folder / "tools.json").write_text(json.dumps(tools))
        self.enterContext(d)
        id = d.ask("POST", f"/api/v1/{path}/runs", {"input": "Please lend me Dune", "background": True})[1]["run_id"]
        if moment.startswith("tool "):
            until(lambda: moment[5:] in d.called())
        elif moment == "approval":
            d.ended(id, "waiting")
        else:
            self.assertTrue(hold.reached.wait(PATIENCE))
        return d, id, hold

    def kill(self, d, hold):
        d.signal(signal.SIGKILL)
        d.child.wait()
        hold.free.set()
        (d.folder / "free").touch()
        d.start()

    def test_a_cancel_that_was_acknowledged_survives(self):
        for moment, path, agents, more, called in MOMENTS:
            with self.subTest(moment=moment, path=path):
                d, id, hold = self.until_moment(moment, path, agents, more)
                self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
                self.kill(d, hold)
                self.assertEqual(d.ended(id, "cancelled", "done")["status"], "cancelled")
                replay = d.ask("GET", f"/api/v1/runs/{id}/replay")[1]
                self.assertEqual((replay["same"], replay["status"]), (True, "cancelled"))
                until(lambda: all(r["status"] == "cancelled" for r in d.ask("GET", "/api/v1/runs")[1]["runs"]))
                self.assertEqual(d.called(), called)

    def test_a_run_resumes_and_lends_no_book_twice(self):
        for moment, path, agents, more, called in MOMENTS:
            with self.subTest(moment=moment, path=path):
                d, id, hold = self.until_moment(moment, path, agents, more)
                self.kill(d, hold)
                if moment == "approval":
                    answer = {"seq": d.ended(id, "waiting")["pending"]["seq"], "word": "approve"}
                    self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/answer", answer)[0], 200)
                said = d.ended(id)
                self.assertEqual(said["status"], "done", said)
                self.assertEqual(d.called().count("lend"), 1)
                if moment == "tool lend":  # the record says that nobody knows how the call ended
                    part = d.ask("GET", "/api/v1/runs?limit=1")[1]["runs"][0]["run_id"]
                    replay = d.ask("GET", f"/api/v1/runs/{quote(part, safe='')}/replay")[1]
                    self.assertIn("unknown", replay["trace"][1]["observation"])
                    self.assertFalse(replay["trace"][1]["ok"])
                    ended = [x for name, _, x in d.events(id) if name == "tool_result"]
                    self.assertFalse(ended[-1]["ok"])
                    self.assertIn("its end is unknown", ended[-1]["result"])


if __name__ == "__main__":
    main()
