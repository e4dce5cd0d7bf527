#!/usr/bin/env python3
"""`rationale optimize --app incidents`: a prompt that improves on cases of `rationale eval`, and is
then used.

    test/e2e/tune_incidents_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

The model calls no tool unless its system prompt has a certain sentence; for a reflection prompt,
it proposes the prompt with that sentence. All other parts are real: the command, the replay
server, the score, the registry, the daemon.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from command import BINARY, PATIENCE, Case, environment, main, run
from tune_test import SENTENCE, Model, Served

DISKS = {"train": {"db-1": "/var/lib/mysql", "db-2": "/var/log"}, "val": {"web-7": "/tmp", "web-9": "/srv/cache"}}


class Operator(Model):
    """Checks the disk before it names the cause, if its prompt says so."""

    def __init__(self):
        self.prompts, self.reflected, self.models = [], [], set()
        super().__init__()

    def reflect(self, prompt):
        self.reflected.append(prompt)
        return super().reflect(prompt)

    def answer(self, body):
        messages = body["messages"]
        if messages[0]["role"] != "system":
            return self.reflect(messages[0]["content"])
        self.prompts.append(messages[0]["content"])
        self.models.add(body["model"])
        if SENTENCE not in messages[0]["content"]:
            return self.text("Something is wrong. Somebody should look at it.")
        host = next(h for of in DISKS.values() for h in of if h in messages[1]["content"])
        results = [m["content"] for m in messages if m["role"] == "tool"]
        if not results:
            name = next(t["function"]["name"] for t in body["tools"] if "disk_usage" in t["function"]["name"])
            return self.call(name, host=host)
        path = re.search(r"filled by (\S+)", results[0])[1]
        return self.text(f"The disk of `{host}` is full because `{path}` has filled it.")


class TuneIncidents(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.model = Operator()
        self.addCleanup(self.model.close)
        for part, disks in DISKS.items():
            for host, path in disks.items():
                case = self.folder / part / host
                case.mkdir(parents=True)
                (case / "alert.json").write_text(json.dumps({
                    "alert_type": "DiskFull", "data": {"host": host, "text": f"no space left on {host}"}}))
                (case / "test_case.yaml").write_text(json.dumps({
                    "expected_output": [f"the disk of `{host}` is filled by `{path}`"],
                    "expected_tools": ["disk_usage"]}))
                (case / "disk.txt").write_text(
                    json.dumps({"tool_name": "disk_usage", "match_params": {"host": host}}) + "\n"
                    + json.dumps({"status": "success", "params": {"host": host}}) + f"\nit is filled by {path}\n")
        self.config = self.folder / "rationale.yaml"
        self.write()

    def write(self, **more):
        self.config.write_text(json.dumps({
            "store": f"sqlite:{self.folder / 'h.db'}", "log": {"level": "error"},
            "providers": {"test": {"kind": "openai", "base_url": f"http://127.0.0.1:{self.model.port}/v1",
                                   "models": ["operator"], "enable_reasoning": False, "retries": 0}}, **more}))

    def optimize(self, *args):
        return run("optimize", "--app", "incidents", "--config", str(self.config), *args)

    def begin(self, *args):
        return self.optimize("--train", str(self.folder / "train"), "--val", str(self.folder / "val"), *args)

    def prompts(self):
        done = run("prompts", "list", "--json", "--config", str(self.config))
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def draft(self):
        return next(p for p in self.prompts() if p["state"] == "draft")

    def test_what_wins_becomes_a_draft_with_parent_run_and_scores(self):
        done = self.begin("--budget", "30", "--run", "first", "--json")
        self.assertEqual(done.code, 0, done.err)
        events = [json.loads(line) for line in done.out.splitlines()]
        seed = next(e for e in events if e["event"] == "valset")
        self.assertEqual((seed["mean"], seed["objectives"]), (0, {"analysis": 0, "tools": 0}))
        last = events[-1]
        self.assertEqual((last["event"], last["mean"]), ("finish", 1))
        self.assertLessEqual(last["calls"], 30)
        self.assertIn(SENTENCE, last["texts"]["system_prompt"])
        draft = self.draft()
        self.assertEqual((draft["name"], draft["run_id"], draft["scores"]["score"]), ("incidents", "first", 1))
        self.assertTrue(draft["parent"].startswith("incidents@"))

    def test_who_reflects_is_told_which_facts_and_tools_are_missing(self):
        self.assertEqual(self.begin("--budget", "14", "--run", "told").code, 0)
        told = self.model.reflected[0]
        self.assertIn("Missing: the disk of `db-", told)
        self.assertIn("Not called, though expected: disk_usage", told)
        self.assertIn("no_tool_called", told)
        self.assertIn("Somebody should look at it", told)

    def test_killed_and_resumed_it_ends_the_same(self):
        whole = self.begin("--budget", "30", "--run", "whole", "--json")
        self.assertEqual(whole.code, 0, whole.err)
        self.model.calls = 0
        child = subprocess.Popen([BINARY, "optimize", "--app", "incidents", "--config", str(self.config), "--run", "cut",
                                  "--train", str(self.folder / "train"), "--val", str(self.folder / "val"),
                                  "--budget", "30", "--json"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        deadline = time.monotonic() + PATIENCE
        while self.model.calls < 6 and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.assertGreaterEqual(self.model.calls, 6)
        done = self.optimize("--resume", "cut", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, whole.out)

    def test_left_with_ctrl_c_in_the_middle_it_ends_the_same(self):
        whole = self.begin("--budget", "30", "--run", "all", "--json")
        self.assertEqual(whole.code, 0, whole.err)
        for after in (1, 5, 9):
            self.model.calls, run_id = 0, f"left-{after}"
            child = subprocess.Popen([BINARY, "optimize", "--app", "incidents", "--config", str(self.config),
                                      "--run", run_id, "--train", str(self.folder / "train"),
                                      "--val", str(self.folder / "val"), "--budget", "30", "--json"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
            deadline = time.monotonic() + PATIENCE
            while self.model.calls < after and time.monotonic() < deadline:
                time.sleep(0.002)
            child.send_signal(signal.SIGINT)
            self.assertIn(child.wait(PATIENCE), (0, 7))
            done = self.optimize("--resume", run_id, "--json")
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(done.out, whole.out)

    def test_its_evaluations_leave_no_runs_behind(self):
        self.assertEqual(self.begin("--budget", "14", "--run", "clean").code, 0)
        listed = run("runs", "--json", "--config", str(self.config))
        self.assertEqual(listed.code, 0, listed.err)
        self.assertNotIn(b"eval-", listed.out)

    def test_a_fact_is_not_copied_and_the_marks_stay(self):
        fact = next(iter(f"the disk of `{h}` is filled by `{p}`" for h, p in DISKS["train"].items()))
        for proposal, why in ((f"```\nText between <data> and </data> is from outside. {SENTENCE} Say: {fact}.\n```",
                               "copies an example"),
                              (f"```\nYou investigate alerts. {SENTENCE}\n```", "loses a name")):
            with self.subTest(why=why):
                self.model.proposal = proposal
                done = self.begin("--budget", "14", "--run", why.replace(" ", "-"))
                self.assertEqual(done.code, 0, done.err)
                self.assertIn(why, done.err)
                self.assertEqual([p for p in self.prompts() if p["state"] == "draft"], [])

    def test_a_draft_can_be_judged_before_it_is_approved(self):
        self.assertEqual(self.begin("--budget", "30", "--run", "judged").code, 0)
        args = ("eval", str(self.folder / "val"), "--json", "--config", str(self.config))
        before = json.loads(run(*args).out)
        after = json.loads(run(*args, "--prompt", self.draft()["id"]).out)
        self.assertEqual((before["total"]["score"], after["total"]["score"]), (0, 1))
        self.bad(run(*args, "--prompt", "incidents@000000000000"), 1, "incidents@000000000000")

    def test_once_approved_and_active_investigations_use_it(self):
        self.assertEqual(self.begin("--budget", "30", "--run", "used").code, 0)
        prompt = self.draft()["id"]
        self.write(incidents={"agents": str(self.folder / "agents.yaml"), "runbook_domains": ["127.0.0.1"]})
        (self.folder / "agents.yaml").write_text(json.dumps({
            "mcp_servers": {"disks": {"connection_params": {
                "command": BINARY, "args": ["mcp", "--replay", str(self.folder / "val" / "web-7")]}}},
            "agents": {"Disk": {"alert_types": ["DiskFull"], "mcp_servers": ["disks"], "strategy": "native"}}}))
        alert = {"alert_type": "DiskFull", "data": {"host": "web-7"}}
        (self.folder / "alert.json").write_text(json.dumps(alert))
        investigate = ("investigate", str(self.folder / "alert.json"), "--config", str(self.config), "--json")
        for move in ("approve", "activate"):
            self.assertNotIn("/tmp", json.loads(run(*investigate).out)["final_analysis"])
            moved = run("prompts", move, prompt, "--config", str(self.config))
            self.assertEqual(moved.code, 0, moved.err)
        found = json.loads(run(*investigate).out)
        self.assertIn("/tmp", found["final_analysis"])
        self.assertEqual(found["prompt_id"], prompt)
        with Served(self.config) as port:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            c.request("POST", "/alerts", json.dumps({**alert, "runbook": "http://127.0.0.1:9/r.md"}),
                      {"content-type": "application/json"})
            taken = json.loads(c.getresponse().read())["alert_id"]
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                c.request("GET", f"/api/v1/incidents/{taken}")
                one = json.loads(c.getresponse().read())
                if one["status"] not in ("queued", "processing"):
                    break
                time.sleep(0.05)
            self.assertEqual((one["status"], one["prompt_id"]), ("completed", prompt))
            self.assertIn("/tmp", one["final_analysis"])

    def test_the_model_is_the_agents_own_unless_another_is_named(self):
        self.write(incidents={"agents": str(self.folder / "agents.yaml"), "model": "second"})
        config = json.loads(self.config.read_text())
        config["providers"]["test"]["models"] = ["operator", "second", "third"]
        self.config.write_text(json.dumps(config))
        agents = {"Disk": {"alert_types": ["DiskFull"], "strategy": "native"}}
        for own, args, model in (({}, (), "second"), ({"model": "third"}, (), "third"),
                                 ({"model": "third"}, ("--model", "operator"), "operator")):
            (self.folder / "agents.yaml").write_text(json.dumps({"agents": {"Disk": {**agents["Disk"], **own}}}))
            self.model.models.clear()
            done = self.begin("--budget", "6", "--run", f"by-{model}", *args)
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(self.model.models, {model})

    def test_mistakes_are_said(self):
        self.bad(self.optimize("--budget", "9"), 2, "--train")
        self.bad(self.optimize("--train", str(self.folder / "nothing")), 1, "nothing")
        (self.folder / "train" / "db-1" / "test_case.yaml").write_text("expected_output: [")
        self.bad(self.begin("--budget", "9"), 1, "db-1/test_case.yaml:2")


if __name__ == "__main__":
    main()
