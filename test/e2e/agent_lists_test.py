#!/usr/bin/env python3
"""Runs of agents as their page needs them: lists, results, visibility, a note with a decision.

    test/e2e/agent_lists_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import unittest

from agent_runs_test import Library, approving, librarian
from command import main, run
from gateway import digest
from scripted_model import Model

KEYS = {"ann": "sk-ann", "bob": "sk-bob", "boss": "sk-boss"}


class Lists(unittest.TestCase):
    def test_runs_of_an_agent_with_what_they_cost(self):
        agents = {**approving(), "other": {"model": "m", "prompt": "You keep a library.", "tools": ["library"]}}
        with Model(librarian) as model, Library(model, agents) as d:
            first = d.go("Is Dune here?", thread="t")
            d.go("Is Dune here?", agent="other")
            waiting = d.go("x" * 1000 + " lend it to me")
            runs = d.ask("GET", "/api/v1/agents/librarian/runs")[1]["runs"]
            self.assertEqual([(r["run_id"], r["status"]) for r in runs],
                             [(waiting["run_id"], "waiting"), (first["run_id"], "done")])
            self.assertEqual((runs[1]["input"], runs[1]["thread"], runs[1]["usage"]),
                             ("Is Dune here?", "t", first["usage"]))
            self.assertEqual(len(runs[0]["input"]), 300)
            page = d.ask("GET", "/api/v1/agents/librarian/runs?limit=1&offset=1")[1]["runs"]
            self.assertEqual([r["run_id"] for r in page], [first["run_id"]])
            self.assertEqual(d.ask("GET", "/api/v1/agents/librarian/runs?limit=0")[0], 400)
            self.assertEqual(d.ask("GET", "/api/v1/agents/none/runs"), (200, {"runs": []}))
            self.assertEqual(d.ask("GET", f"/api/v1/runs/{first['run_id']}/result"), (200, first))
            self.assertEqual(d.ask("GET", "/api/v1/runs/none/result")[0], 404)
            of_thread = d.ask("GET", "/api/v1/runs?session=t")[1]["runs"]
            self.assertEqual([r["run_id"] for r in of_thread], [first["run_id"]])

    def test_a_list_has_the_beginning_of_an_answer_as_plain_text(self):
        text = "## **Found** it\n\n```sh\nls #1\n```\n# Then `2 * 3` is 6, C# and **é**" + 400 * "é"
        with Model(lambda ask: text) as model, Library(model) as d:
            self.assertEqual(d.go("**x**")["text"], text)
            one = d.ask("GET", "/api/v1/agents/librarian/runs")[1]["runs"][0]
            plain = "Found it sh ls #1 Then 2 * 3 is 6, C# and é" + 400 * "é"
            self.assertEqual((one["input"], one["text"]), ("**x**", plain[:300]))

    def test_more_runs_than_are_read_at_once(self):
        with Model(lambda ask: "yes") as model, Library(model) as d:
            ids = [d.go(f"n {i}")["run_id"] for i in range(40)]
            runs = d.ask("GET", "/api/v1/agents/librarian/runs?limit=35&offset=3")[1]["runs"]
            self.assertEqual({r["run_id"] for r in runs}, set(ids[2:37]))

    def test_a_key_sees_its_own_runs_an_operator_all(self):
        keys = [{"name": n, "sha256": digest(k), **({"role": "operator"} if n == "boss" else {})} for n, k in KEYS.items()]
        with Model(librarian) as model, Library(model, key=KEYS["ann"], keys=keys) as d:
            mine = d.go("Is Dune here?")["run_id"]
            path = "/api/v1/agents/librarian/runs"
            for key, ids in (("ann", [mine]), ("bob", []), ("boss", [mine])):
                self.assertEqual([r["run_id"] for r in d.ask("GET", path, key=KEYS[key])[1]["runs"]], ids, key)
            self.assertEqual(d.ask("GET", f"/api/v1/runs/{mine}/result", key=KEYS["bob"])[0], 404)

    def test_definitions_have_level_and_guards(self):
        agents = approving(level="low", guard={"input": "check", "output": "http://127.0.0.1:1/hook?key=secret"})
        agents["check"] = {"model": "m", "prompt": "You check."}
        with Model(librarian) as model, Library(model, agents) as d:
            one = d.ask("GET", "/api/v1/agents/librarian")[1]
            self.assertEqual((one["level"], one["guard"]), ("low", {"input": "check", "output": "http://127.0.0.1:1/hook"}))


class Notes(unittest.TestCase):
    def answered(self, d, note):
        said = d.go("lend it to me")
        answer = {"seq": said["pending"]["seq"], "word": "deny", "note": note}
        status, _ = d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)
        return said["run_id"], status

    def test_the_model_reads_the_note_of_a_denied_call(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            id, status = self.answered(d, " the card has expired; sk-proj-" + "a1B2" * 12 + " ")
            self.assertEqual(status, 200)
            text = d.ended(id)["result"]["text"]
            self.assertIn("denied: a person did not allow this call: the card has expired", text)
            decided = next(e[2]["answer"] for e in d.events(id) if e[0] == "decided")
            self.assertEqual(decided["word"], "deny")
            self.assertTrue(decided["note"].startswith("the card has expired"))
            self.assertNotIn("a1B2a1B2", str(d.one(id)))
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{id}/replay")[1]["same"])

    def test_a_note_is_a_text_of_limited_size(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            self.assertEqual(self.answered(d, 7)[1], 422)
            id, _ = self.answered(d, "é" * 5000)
            decided = next(e[2]["answer"] for e in d.events(id) if e[0] == "decided")
            self.assertEqual(decided["note"], "é" * 2000)

    def test_the_command_takes_a_note(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            said = d.go("lend it to me")
            done = run("runs", "deny", said["run_id"], str(said["pending"]["seq"]), "--note", "not today", cwd=d.folder)
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("not today", d.ended(said["run_id"])["result"]["text"])


if __name__ == "__main__":
    main()
