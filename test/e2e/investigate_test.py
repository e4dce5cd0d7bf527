#!/usr/bin/env python3
"""`rationale investigate` on the recordings of example/incidents: reports, decisions, kills, mistakes.

    test/e2e/investigate_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, environment, main, run


class Example(Case):
    """A copy of the example, in which the commands run."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCE / "example/incidents", self.folder / "incidents")
        self.work = self.folder / "incidents"

    def investigate(self, *args, **more):
        return run("investigate", *args, "--config", "incidents.yaml", cwd=self.work, **more)

    def report(self, alert, *args):
        done = self.investigate(f"alerts/{alert}.json", *args)
        self.assertEqual(done.code, 0, done.err)
        return done.out.decode()


class Reports(Example):
    def test_each_alert_becomes_a_report_with_its_facts(self):
        for alert, agent, words in (
                ("pod-crash", "PodAgent", ("db-primary.shop.svc", "cluster.configmap_get", "classic")),
                ("node-disk", "NodeAgent", ("logrotate.service", "cluster.disk_usage", "native")),
                ("error-rate", "ErrorRate", ("inventory-84f9c7d55-zt8nn", "metrics.traces_errors", "react"))):
            text = self.report(alert)
            self.assertTrue(text.startswith("# Incident report: "), text)
            for word in (f"| Investigated by | {agent} |", "## Analysis", "## Evidence",
                         "## How it was decided", "## Figures", *words):
                self.assertIn(word, text)

    def test_only_the_report_is_on_stdout_and_each_decision_with_its_reasons_on_stderr(self):
        done = self.investigate("alerts/pod-crash.json")
        self.assertNotIn(b"thought:", done.out)
        self.assertIn("[PodAgent] cluster.pods_log(", done.err)
        self.assertIn("because: The last lines before the container died", done.err)
        self.assertIn("thought: A pod of checkout restarts again and again.", done.err)
        self.assertEqual(done.err.count("thought: A pod of checkout"), 1)

    def test_secrets_in_tool_output_are_nowhere(self):
        done = self.investigate("alerts/pod-crash.json", "--json")
        self.assertNotIn(b"Zq7-vL2p", done.out)
        self.assertIn(b"[MASKED:password]", done.out)
        for file in self.work.glob("incidents.db*"):
            if file.is_file():
                self.assertNotIn(b"Zq7-vL2p", file.read_bytes(), file)

    def test_json_has_report_decisions_and_figures(self):
        got = json.loads(self.investigate("alerts/error-rate.json", "--json", "--run", "one").out)
        self.assertEqual((got["run"], got["status"], got["reason"]), ("one", "completed", ""))
        self.assertEqual(got["tools"], ["pods_list", "metrics_query", "metrics_query", "traces_errors"])
        self.assertEqual(got["tool_calls"], 4)
        self.assertIn("one in twenty", got["summary"])
        agents = {(d["agent"], d["action"].split("(")[0]) for d in got["decisions"]}
        self.assertIn(("MetricsAgent", "metrics.traces_errors"), agents)
        stage, = got["stages"]
        self.assertEqual([(a["name"], a["strategy"], a["status"]) for a in stage["agents"]],
                         [("PodAgent", "classic", "done"), ("MetricsAgent", "react", "done")])

    def test_a_runbook_of_ones_own_stands_in_for_the_alerts(self):
        (self.work / "own.md").write_text((self.work / "runbooks/pod-crash.md").read_text())
        alert = json.loads((self.work / "alerts/pod-crash.json").read_text())
        del alert["runbook"]
        (self.work / "alerts/bare.json").write_text(json.dumps(alert))
        text = self.report("bare", "--runbook", "own.md")
        self.assertIn("| Runbook | given with the alert |", text)
        self.assertIn("db-main", text)

    def test_reasoning_is_compared_with_none(self):
        text = self.report("pod-crash", "--ab")
        rows = {cells[0]: cells[1:] for cells in
                (re.split(r" *\| *", line.strip("| ")) for line in text.splitlines() if line.startswith("|"))}
        self.assertEqual(rows["status"], ["completed", "completed"])
        self.assertEqual(rows["score"], ["1.00", "0.33"])
        self.assertEqual(rows["tool calls"], ["5", "2"])
        self.assertGreater(int(rows["reasoning tokens"][0]), 0)
        self.assertEqual(rows["reasoning tokens"][1], "0")
        for row in ("input tokens", "output tokens", "time (ms)", "model calls", "tools called"):
            self.assertIn(row, rows)


class Interrupted(Example):
    def start(self, *args):
        return subprocess.Popen([BINARY, "investigate", *args, "--config", "incidents.yaml"], cwd=self.work,
                                env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_killed_after_any_decision_it_goes_on_to_the_same_report(self):
        whole = self.report("error-rate", "--run", "whole")
        for count in (1, 3, 6):
            child = self.start("alerts/error-rate.json", "--run", f"run-{count}")
            seen = 0
            while seen < count:
                seen += child.stderr.readline().startswith("[")
            child.kill()
            child.communicate(timeout=PATIENCE)
            done = self.investigate("--run", f"run-{count}")
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(done.out.decode(), whole)

    def test_ctrl_c_leaves_it_to_be_gone_on_with(self):
        whole = self.report("pod-crash", "--run", "whole")
        child = self.start("alerts/pod-crash.json", "--run", "left")
        while not child.stderr.readline().startswith("["):
            pass
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)
        self.assertEqual((child.returncode, out), (130, ""), err)
        self.assertIn("--run left", err)
        self.assertEqual(self.investigate("--run", "left").out.decode(), whole)

    def test_an_ended_run_gives_its_report_again(self):
        first = self.report("node-disk", "--run", "again")
        self.assertEqual(self.investigate("--run", "again").out.decode(), first)


class Mistakes(Example):
    def wrong(self, code, *words, args=("alerts/pod-crash.json",)):
        done = self.investigate(*args)
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(done.out, b"")
        for word in words:
            self.assertIn(word, done.err)

    def test_what_is_missing_is_named(self):
        self.wrong(2, "needs an alert", args=())
        self.wrong(1, "nothing.json", args=("nothing.json",))
        self.wrong(1, 'no run "x"', args=("--run", "x"))
        self.wrong(1, "missing.md", args=("alerts/pod-crash.json", "--runbook", "missing.md"))
        self.wrong(1, 'model "nope"', args=("alerts/pod-crash.json", "--model", "nope"))
        self.wrong(2, "--ab", args=("alerts/pod-crash.json", "--ab", "--reasoning", "on"))
        self.wrong(2, "classic", args=("alerts/pod-crash.json", "--strategy", "clasic"))

    def test_an_alert_that_is_none_is_told_by_its_field(self):
        for text, word in (("[]", "alert"), ("{", "alerts/x.json"), ('{"data": {}}', "alert_type"),
                           ('{"alert_type": "Unheard"}', "PodCrashLooping")):
            (self.work / "alerts/x.json").write_text(text)
            self.wrong(1, word, args=("alerts/x.json",))

    def test_agents_that_are_wrong_are_told_with_file_and_line(self):
        text = (self.work / "agents.yaml").read_text()
        (self.work / "agents.yaml").write_text(text.replace("mcp_servers: [metrics]", "mcp_servers: [metric]"))
        self.wrong(3, "agents.yaml:", 'no server "metric", did you mean "metrics"?')
        (self.work / "incidents.yaml").write_text("providers: {p: {kind: ollama}}\n")
        self.wrong(3, "incidents.agents")

    def test_a_model_that_cannot_be_reached_is_a_failed_investigation(self):
        text = (self.work / "incidents.yaml").read_text()
        (self.work / "incidents.yaml").write_text(re.sub(
            r"  recorded: .*", "  down: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m], retries: 0}",
            text))
        done = self.investigate("alerts/pod-crash.json")
        self.assertEqual(done.code, 5, done.err)
        self.assertIn(b"| Status | failed |", done.out)
        self.assertIn(b"llm_error", done.out)


if __name__ == "__main__":
    main()
