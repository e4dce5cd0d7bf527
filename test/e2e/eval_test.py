#!/usr/bin/env python3
"""`rationale eval` and the replay server, with a scripted model.

    test/e2e/eval_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, environment, main, run
from operator_model import Operator

CASES = SOURCE / "example" / "incidents" / "cases"
CORPORA = Path(os.environ.get("RATIONALE_CORPORA", SOURCE / "../shared/corpora"))


class Eval(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="eval-"))
        self.model = Operator().__enter__()
        self.config = self.folder / "rationale.yaml"
        self.config.write_text(json.dumps({"store": f"sqlite:{self.folder / 'r.db'}",
                                           "providers": self.model.provider()}))

    def tearDown(self):
        self.model.__exit__()
        shutil.rmtree(self.folder)

    def eval(self, *args):
        return run("eval", *map(str, args), "--config", str(self.config))

    def json(self, *args):
        done = self.eval(*args, "--json")
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def copy(self, name):
        to = self.folder / "cases" / name
        shutil.copytree(CASES / name, to)
        return to

    def test_our_own_cases_are_run_and_scored(self):
        r = self.json(CASES, "--reasoning", "on")
        self.assertEqual([c["case"] for c in r["cases"]], ["bad-image", "disk-full", "slow-checkout"])
        for c in r["cases"]:
            self.assertEqual((c["status"], c["score"], c["tags"]), ("completed", 1, []), c)
            self.assertEqual(c["tools"]["missing"], [])
            self.assertGreater(c["input_tokens"], 0)
        self.assertEqual(r["total"]["score"], 1)
        self.assertEqual((r["total"]["facts"], r["total"]["facts_met"]), (8, 8))

    def test_the_recorded_model_needs_no_key(self):
        done = run("eval", "cases", "--config", "eval.yaml", "--reasoning", "ab", "--json", cwd=CASES.parent)
        self.assertEqual(done.code, 0, done)
        r = json.loads(done.out)
        self.assertEqual([c["error"] for c in r["cases"]], [""] * 6, "run tools/record-eval again")
        self.assertEqual(r["on"]["score"], 1)
        self.assertLess(r["off"]["score"], 1)

    def test_every_strategy_runs(self):
        for strategy in ("classic", "react", "native"):
            r = self.json(CASES, "--case", "disk-full", "--strategy", strategy)
            self.assertEqual(r["cases"][0]["score"], 1, (strategy, r))

    def test_quoted_evidence_scores_nothing(self):
        """This report would score 1.00 by its words: the outputs that it quotes contain each
        expected word."""
        self.model.server.quotes = True
        for strategy in ("classic", "react", "native"):
            r = self.json(CASES, "--strategy", strategy, "--reasoning", "on")
            for c in r["cases"]:
                self.assertIn("I cannot say what is wrong.", c["analysis"])
                self.assertLess(c["score"], 0.3, c)
                self.assertEqual((c["verdict"], c["tools"]["missing"]), ("refused", []), c)
                self.assertIn("refused", c["tags"])

    def test_a_case_of_the_old_form_is_scored_by_its_facts(self):
        case = self.copy("disk-full")
        text = (case / "test_case.yaml").read_text()
        (case / "test_case.yaml").write_text(text[text.index("expected_output"):])
        c = self.json(case)["cases"][0]
        self.assertEqual((c["scored_by"], c["score"], c["verdict"]), ("facts", 1, "found"))
        self.model.server.quotes = True
        self.assertLess(self.json(case)["total"]["score"], 0.3)

    def test_a_wrong_object_or_a_forbidden_cause_scores_low(self):
        case = self.copy("disk-full")
        text = (case / "test_case.yaml").read_text()
        for old, new, verdict in (("- db-3", "- db-4", "object_missing"), ("- upgrade caused", "- WAL files", "wrong_cause"),
                                  ("  - slot\n", "  - slot\n  - firewall\n", "cause_missing")):
            (case / "test_case.yaml").write_text(text.replace(old, new, 1))
            c = self.json(case)["cases"][0]
            self.assertEqual(c["verdict"], verdict, c)
            self.assertLess(c["score"], 0.3)

    def test_the_same_report_has_the_same_score(self):
        a, b = (self.json(CASES, "--case", "disk-full")["cases"][0] for _ in range(2))
        self.assertEqual((a["score"], a["facts"], a["report"]), (b["score"], b["facts"], b["report"]))

    def test_people_get_a_table_and_a_total(self):
        out = self.eval(CASES).out.decode().splitlines()
        self.assertTrue(out[0].startswith("CASE") and "SCORE" in out[0] and "TOKENS" in out[0], out)
        self.assertEqual([x.split()[0] for x in out[1:]], ["bad-image", "disk-full", "slow-checkout", "all"])

    def test_reasoning_is_compared_with_none(self):
        r = self.json(CASES, "--reasoning", "ab", "--out", self.folder / "out")
        self.assertEqual([c["reasoning"] for c in r["cases"]], ["off"] * 3 + ["on"] * 3)
        self.assertGreater(r["on"]["score"], r["off"]["score"])
        self.assertGreater(r["on"]["tool_calls"], r["off"]["tool_calls"])
        self.assertGreater(r["on"]["input_tokens"], r["off"]["input_tokens"])
        report = (self.folder / "out" / "report.md").read_text()
        for word in ("# Reasoning against none", "| Score |", "| Tokens |", "| Tools called |", "| Time (ms) |",
                     "| slow-checkout |", "reasoning off: Suggest raising"):
            self.assertIn(word, report)
        self.assertEqual(json.loads((self.folder / "out" / "results.json").read_text())["on"], r["on"])
        self.assertIn("pg_wal", (self.folder / "out" / "disk-full.on.md").read_text())
        self.assertTrue((self.folder / "out" / "disk-full.off.md").exists())
        self.assertIn("# Reasoning against none", self.eval(CASES, "--reasoning", "ab").out.decode())

    def test_a_score_below_the_minimum_is_exit_1(self):
        done = self.eval(CASES, "--reasoning", "off", "--min", "0.95")
        self.assertEqual(done.code, 1)
        self.assertIn("the score is 0.72, below 0.95", done.err)
        self.assertEqual(self.eval(CASES, "--reasoning", "on", "--min", "1").code, 0)
        for wrong in ("2", "-1", "x", ""):
            self.assertEqual(self.eval(CASES, "--min", wrong).code, 2, wrong)

    def test_what_is_wrong_with_a_case_is_said_with_file_and_line(self):
        good, bad = self.copy("disk-full"), self.copy("bad-image")
        (bad / "test_case.yaml").write_text("expected_output: [a\n")
        (good / "odd.txt").write_text('{"tool_name": "odd"}\nno json\n')
        done = self.eval(self.folder / "cases")
        self.assertEqual(done.code, 1, done)
        self.assertIn("bad-image/test_case.yaml:", done.err)
        self.assertIn("disk-full/odd.txt:2: ", done.err)
        self.assertIn(b"disk-full", done.out)
        (bad / "test_case.yaml").write_text("tags: [x]\n")
        self.assertIn("test_case.yaml:1: has no cause and no expected_output", self.eval(bad).err)
        for field, why in (("cause: {}", "cause must be a text"), ("cause: [the]", 'cause: "the" has no word'),
                           ("object: [db-3, x | ]", 'object: "x |" has no word'), ("not_cause: ", "not_cause must be")):
            (bad / "test_case.yaml").write_text(f"expected_output: x\n{field}\n")
            self.assertIn(why, self.eval(bad).err)
        self.assertIn("nowhere", self.eval(self.folder / "nowhere").err)
        self.assertIn('no case "x"', self.eval(CASES, "--case", "x").err)
        (self.folder / "empty").mkdir()
        self.assertIn("has no cases", self.eval(self.folder / "empty").err)
        self.assertEqual(run("eval").code, 2)

    def test_a_case_may_do_without_tools_and_may_ask_in_several_ways(self):
        case = self.folder / "cases" / "bare"
        case.mkdir(parents=True)
        (case / "test_case.yaml").write_text(
            "user_prompt: [Which disk is full?, Is a disk full?]\nexpected_output: something\n"
            "expected_sections:\n  Key Findings: False\n  Related logs: [a line of them]\n")
        c = self.json(case)["cases"][0]
        self.assertEqual((c["status"], c["tool_calls"], c["alert_type"]), ("completed", 0, "question"))
        self.assertEqual([f["fact"] for f in c["facts"]], ["something", "a line of them"])
        self.assertIn("Which disk is full?", json.dumps(self.model.asked[-1]))
        self.assertNotIn("could not be used", c["report"])

    def test_an_alert_may_do_without_a_runbook(self):
        case = self.copy("disk-full")
        alert = json.loads((case / "alert.json").read_text())
        for runbook in ({}, {"runbook": ""}, {"runbook": None}):
            alert.pop("runbook", None)
            (case / "alert.json").write_text(json.dumps({**alert, **runbook}))
            self.assertEqual(self.json(case)["total"]["score"], 1)

    def test_a_script_in_a_case_is_not_a_variable(self):
        case = self.copy("disk-full")
        text = (case / "test_case.yaml").read_text()
        (case / "test_case.yaml").write_text(text + "before_test: |\n  echo ${NOWHERE} $HOME\n")
        self.assertEqual(self.eval(case).code, 0)

    def test_a_case_that_counts_nothing_does_not_count(self):
        self.copy("disk-full")
        other = self.copy("bad-image")
        (other / "test_case.yaml").write_text("expected_output: the moon is `blue`\nevaluation:\n  correctness: 0\n")
        r = self.json(self.folder / "cases")
        self.assertEqual([c["score"] for c in r["cases"]], [0, 1])
        self.assertEqual(r["total"]["score"], 1)

    def test_defect_21_tags_come_from_the_run_and_not_from_prose(self):
        self.model.server.fails = True
        c = self.json(CASES, "--case", "disk-full")["cases"][0]
        self.assertEqual((c["status"], c["score"]), ("error", 0))
        for tag in ("failed", "facts_missing", "no_tool_called", "expected_tool_not_called"):
            self.assertIn(tag, c["tags"])
        self.model.server.fails = False
        c = self.json(CASES, "--case", "disk-full")["cases"][0]
        self.assertEqual(c["tags"], [])

    def test_runbooks_are_found_by_the_alerts_name(self):
        case = self.copy("bad-image")
        books = self.folder / "books"
        books.mkdir()
        (books / "kubernetes-PodNotReady.md").write_text("Look at the zebra first.\n")
        self.json(case, "--runbooks", books)
        self.assertIn("zebra", json.dumps(self.model.asked[0]))

    def test_the_corpus_is_loaded_and_run(self):
        folder = CORPORA / "incidents"
        if not folder.exists():
            self.skipTest("skipped: RATIONALE_CORPORA has no incidents")
        r = self.json(folder, "--runbooks", CORPORA / "runbooks", "--reasoning", "on")
        self.assertEqual(len(r["cases"]), 10)
        for c in r["cases"]:
            self.assertEqual(c["status"], "completed", c)
            self.assertGreater(c["tool_calls"], 0, c)
            self.assertNotIn("no_tool_called", c["tags"])
            self.assertEqual(c["scored_by"], "facts")
        # The model recognises none of these cases: it quotes outputs and states no cause.
        self.assertLess(r["total"]["score"], 0.3)
        self.assertLess(max(c["score"] for c in r["cases"]), 0.3)

    def test_the_schemas_of_a_kubernetes_server_are_served(self):
        folder = CORPORA / "kubernetes-mcp"
        if not folder.exists():
            self.skipTest("skipped: RATIONALE_CORPORA has no kubernetes-mcp")
        for n, file in enumerate(sorted(folder.glob("*-tools*.json"))):
            case = self.folder / f"k{n}"
            shutil.copytree(CASES / "bad-image", case)
            shutil.copy(file, case / "tools.json")
            names = {t["name"] for t in json.loads(file.read_text())}
            with Server("--replay", str(case)) as s:
                listed = {t["name"] for t in s.list()}
                self.assertLessEqual(names, listed)
                self.assertTrue(all(t["annotations"]["readOnlyHint"] for t in s.list()))


class Server:
    """`rationale mcp` over stdio, used by a client of the legacy era."""

    def __init__(self, *args):
        self.child = subprocess.Popen([BINARY, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, env=environment(), text=True)
        self.number = 0

    def __enter__(self):
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                 "clientInfo": {"name": "test", "version": "1"}})
        self.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait(PATIENCE)
        self.child.stdout.close()
        self.child.stderr.close()

    def call(self, method, params):
        self.number += 1
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                                           "params": params}) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())["result"]

    def list(self):
        out, cursor = [], None
        while True:
            r = self.call("tools/list", {"cursor": cursor} if cursor else {})
            out += r["tools"]
            cursor = r.get("nextCursor")
            if not cursor:
                return out

    def tool(self, name, **arguments):
        r = self.call("tools/call", {"name": name, "arguments": arguments})
        return r.get("isError", False), r["content"][0]["text"]


class Replay(Case):
    def test_a_recording_is_found_by_its_parameters(self):
        with Server("--replay", str(CASES / "disk-full")) as s:
            failed, text = s.tool("disk_usage", host="db-3", path="/var/lib/postgresql", more="of no matter")
            self.assertFalse(failed)
            self.assertTrue(text.startswith("SIZE   PATH\n71G"))
            failed, text = s.tool("disk_usage", host="db-4")
            self.assertTrue(failed)
            self.assertIn('The nearest is disk_usage.txt: host is "db-4" and was recorded as "db-3"; path is missing '
                          'and was recorded as "/var/lib/postgresql".', text)
            self.assertEqual(s.tool("service_logs"), (True, "service_logs: the journal of db-3 cannot be reached"))
            self.assertTrue(all(t["annotations"]["readOnlyHint"] for t in s.list()))
        with Server("--replay", str(CASES / "slow-checkout")) as s:
            self.assertEqual(s.tool("traces_find", service="checkout"), (False, "no data"))

    def test_the_newer_era_is_answered_too(self):
        done = run("mcp", "--replay", str(CASES / "disk-full"), stdin=json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}}) + "\n")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(len(json.loads(done.out.splitlines()[0])["result"]["tools"]), 4)

    def test_a_folder_that_holds_nothing_is_said(self):
        folder = tempfile.mkdtemp()
        self.assertIn("has no recordings", run("mcp", "--replay", folder).err)
        self.assertIn("open the folder", run("mcp", "--replay", folder + "/x").err)
        Path(folder, "a.txt").write_text("no\n")
        self.assertIn("a.txt:1: ", run("mcp", "--replay", folder).err)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
