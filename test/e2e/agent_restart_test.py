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

from agent_runs_test import Library, ORDER, tool
from command import PATIENCE, main
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
                return self.d.ask(*args)
            except (OSError, http.client.HTTPException, ValueError):
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


if __name__ == "__main__":
    main()
