#!/usr/bin/env python3
"""Investigations that wait for a person's approval of a call, and those that a command left
waiting.

    test/e2e/waiting_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import signal
import subprocess
import time
import unittest
import urllib.parse

from alerts_test import AGENTS, ALERT, CASE, Daemon
from command import BINARY, PATIENCE, environment, main, run
from gateway import digest, until
from operator_model import Operator
from watcher import Watcher

ASKING = AGENTS.replace("    connection_params:", "    approval: [disk_usage]\n    connection_params:")


class Asking(Daemon):
    """disk_usage needs an approval."""

    def __init__(self, model, strategy="native", **more):
        super().__init__(model, **more)
        (self.folder / "agents.yaml").write_text(ASKING.replace("native", strategy))

    def question(self, id, key=None):
        return self.ask("GET", f"/api/v1/incidents/{id}", key=key)[1]["pending"]

    def answer(self, run_id, seq, word="approve", key=None, **more):
        return self.ask("POST", f"/api/v1/runs/{urllib.parse.quote(run_id, safe='')}/answer",
                        {"seq": seq, "word": word, **more}, key)

    def waiting(self, n=0):
        id = self.send(n)[1]["alert_id"]
        self.until(id, "waiting")
        return id, self.question(id)[0]


class Waiting(unittest.TestCase):
    def test_it_says_what_it_waits_for_and_goes_on_with_the_word(self):
        for strategy in ("native", "react", "classic"):
            with self.subTest(strategy=strategy), Operator() as model, Asking(model, strategy) as d:
                id, asked = d.waiting()
                s = d.ask("GET", f"/processing-status/{id}")[1]
                self.assertEqual((s["status"], s["current_step"]),
                                 ("waiting", "waiting for approval of recorded.disk_usage"))
                self.assertLess(s["progress"], 100)
                one = d.ask("GET", f"/api/v1/incidents/{id}")[1]
                self.assertEqual([x["status"] for x in one["stages"]], ["waiting"])
                self.assertEqual((asked["agent"], asked["why"]), ("DiskAgent", "approval"))
                self.assertIn("disk_usage", asked["tool"])
                self.assertEqual(asked["arguments"]["host"], "db-3")
                listed = d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"]
                self.assertEqual([r["run_id"] for r in listed], [asked["run_id"]])
                self.assertEqual(d.ask("GET", "/api/v1/incidents?status=waiting")[1]["incidents"][0]["alert_id"], id)
                self.assertEqual(d.answer(asked["run_id"], asked["seq"]),
                                 (200, {"run_id": asked["run_id"], "resumed": True}))
                s = self.through(d, id)
                self.assertEqual(s["status"], "completed", s)
                self.assertIn("71G", s["result"])
                self.assertEqual(d.answer(asked["run_id"], asked["seq"])[0], 409)

    def through(self, d, id, word="approve"):
        """Answers each question until the investigation ends."""
        while True:
            s = d.until(id, "completed", "error", "waiting")
            asked = d.question(id) if s["status"] == "waiting" else []
            if s["status"] != "waiting":
                return s
            for q in asked:
                d.answer(q["run_id"], q["seq"], word)
            time.sleep(0.02)

    def test_what_is_denied_is_not_called(self):
        with Operator() as model, Asking(model) as d:
            id, _ = d.waiting()
            s = self.through(d, id, "deny")
            self.assertEqual(s["status"], "completed")
            self.assertNotIn("71G", s["result"])

    def test_arguments_may_be_changed(self):
        with Operator() as model, Asking(model) as d:
            id, asked = d.waiting()
            status, said = d.answer(asked["run_id"], asked["seq"], "change", arguments={"host": 7})
            self.assertEqual(status, 422)
            self.assertIn("host", json.dumps(said))
            self.assertEqual(d.answer(asked["run_id"], asked["seq"], "change", arguments={"host": "db-9"})[0], 200)
            s = self.through(d, id)
            self.assertEqual(s["status"], "completed")

    def test_the_alerts_own_id_will_do_where_one_part_waits(self):
        with Operator() as model, Asking(model) as d:
            id, asked = d.waiting()
            self.assertEqual(d.answer(id, asked["seq"])[0], 200)
            self.assertEqual(self.through(d, id)["status"], "completed")
            self.assertEqual(d.answer(id, asked["seq"])[0], 409)

    def test_it_is_in_nobodys_way_and_its_time_does_not_run(self):
        with Operator() as model, Asking(model, max_concurrent_alerts=1, max_queue_size=1, timeout="3s") as d:
            ids = [d.waiting(n)[0] for n in range(3)]
            self.assertEqual(d.send(0)[1]["status"], "duplicate")
            self.assertEqual(d.ask("GET", "/api/v1/incidents")[1]["queue"]["waiting"], 3)
            time.sleep(3.2)
            for id in ids:
                self.assertEqual(self.through(d, id)["status"], "completed")

    def test_a_question_about_it_has_to_wait(self):
        with Operator() as model, Asking(model) as d:
            id, _ = d.waiting()
            status, r = d.ask("POST", f"/api/v1/incidents/{id}/chat", {"question": "Why?"})
            self.assertEqual((status, r["detail"]["status"]), (409, "waiting"))

    def test_cancelled_while_it_waits_nothing_stays_open(self):
        with Operator() as model, Asking(model) as d:
            for n, path in enumerate(("/api/v1/incidents/{alert}/cancel", "/api/v1/runs/{run}/cancel")):
                with self.subTest(path=path):
                    id, asked = d.waiting(n)
                    status, _ = d.ask("POST", path.format(alert=id, run=urllib.parse.quote(asked["run_id"], safe="")), {})
                    self.assertEqual(status, 200)
                    s = d.until(id, "cancelled")
                    self.assertEqual((s["status"], s["current_step"]), ("cancelled", "cancelled"))
                    self.assertEqual(d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"], [])
                    self.assertEqual(d.ask("GET", "/api/v1/runs?status=running")[1]["runs"], [])
                    self.assertEqual(d.answer(asked["run_id"], asked["seq"])[0], 409)
            self.assertEqual(d.ask("GET", "/api/v1/incidents")[1]["queue"]["waiting"], 0)

    def test_after_kill_9_it_waits_on_and_then_goes_on(self):
        with Operator() as model, Asking(model) as d:
            id, asked = d.waiting()
            d.signal(signal.SIGKILL)
            d.child.wait()
            d.start()
            d.until(id, "waiting")
            self.assertEqual(d.question(id), [asked])
            self.assertEqual(self.through(d, id)["status"], "completed")

    def test_a_word_that_is_written_down_while_nobody_serves_counts(self):
        with Operator() as model, Asking(model) as d:
            id, asked = d.waiting()
            d.signal(signal.SIGTERM)
            d.child.wait(PATIENCE)
            done = run("runs", "approve", asked["run_id"], str(asked["seq"]), "--config", str(d.path))
            self.assertEqual(done.code, 0, done.err)
            d.start()
            self.assertEqual(self.through(d, id)["status"], "completed")

    def test_a_command_gives_the_word_through_the_daemon(self):
        with Operator() as model, Asking(model) as d:
            id, asked = d.waiting()
            d.config["listen"] = f"127.0.0.1:{d.port}"
            d.write()
            done = run("runs", "approve", asked["run_id"], str(asked["seq"]), "--config", str(d.path))
            self.assertEqual((done.code, done.out), (0, b"the run resumes\n"), done.err)
            self.assertEqual(self.through(d, id)["status"], "completed")

    def test_who_watches_is_told_and_only_an_operator_decides(self):
        keys = [{"name": n, "sha256": digest(n), **({"role": "operator"} if n == "boss" else {})}
                for n in ("one", "two", "boss")]
        with Operator() as model, Asking(model, keys=keys) as d:
            id = d.send(key="one")[1]["alert_id"]
            d.until(id, "waiting", key="one")
            with Watcher(d.port, path=f"/ws/{id}", headers={"Authorization": "Bearer one"}) as w:
                m = w.next()
                while m["data"]["status"] == "processing":  # the table may be ahead of the messages
                    m = w.next()
                self.assertEqual(m["data"]["status"], "waiting")
                asked = d.question(id, "one")[0]
                self.assertEqual(d.answer(asked["run_id"], asked["seq"], key="two")[0], 403)
                self.assertEqual(d.answer(asked["run_id"], asked["seq"], key="one")[0], 403)
                self.assertEqual(d.answer(asked["run_id"], asked["seq"], key="boss")[0], 200)
                m = w.next()
                while m["data"]["status"] in ("waiting", "processing"):
                    for q in d.question(id, "one"):
                        d.answer(q["run_id"], q["seq"], key="boss")
                    m = w.next()
                self.assertEqual(m["data"]["status"], "completed")

    def test_two_agents_may_wait_side_by_side(self):
        with Operator() as model, Asking(model) as d:
            (d.folder / "agents.yaml").write_text(ASKING + """
  Other:
    mcp_servers: [recorded]
    strategy: native
chains:
  both:
    alert_types: [Pair]
    stages:
      - {name: look, agents: [DiskAgent, Other]}
      - {name: sum, agent: Other}
""")
            d.signal(signal.SIGTERM)
            d.child.wait(PATIENCE)
            d.start()
            id = d.ask("POST", "/alerts", {**ALERT, "alert_type": "Pair"})[1]["alert_id"]
            d.until(id, "waiting")
            asked = d.question(id)
            self.assertEqual(sorted(q["agent"] for q in asked), ["DiskAgent", "Other"])
            self.assertEqual(d.answer(id, asked[0]["seq"])[0], 409)  # ambiguous: two questions
            self.assertEqual(d.answer(asked[0]["run_id"], asked[0]["seq"])[0], 200)
            end = time.monotonic() + PATIENCE
            while asked[0] in d.question(id) or not d.question(id):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            self.assertEqual(self.through(d, id)["status"], "completed")


class Commands(unittest.TestCase):
    """`rationale investigate` while a daemon runs on the same store."""

    def files(self, d):
        d.write()
        (d.folder / "alert.json").write_text(json.dumps(ALERT))
        return str(d.folder / "alert.json")

    def test_it_says_what_it_waits_for_and_how_it_goes_on(self):
        with Operator() as model:
            d = Asking(model)
            alert = self.files(d)
            done = run("investigate", alert, "--run", "mine", "--config", str(d.path), "--json")
            told = json.loads(done.out)
            self.assertEqual((done.code, told["status"], told["pending"][0]["agent"]), (7, "waiting", "DiskAgent"))
            done = run("investigate", "--run", "mine", "--config", str(d.path))
            self.assertEqual(done.code, 7, done.err)
            self.assertIn("it waits for approval of recorded", done.err)
            self.assertIn("rationale investigate --run mine", done.err)
            for _ in range(9):
                waiting = json.loads(run("runs", "--status", "waiting", "--json", "--config", str(d.path)).out)["runs"]
                if not waiting:
                    break
                shown = json.loads(run("runs", "show", waiting[0]["run_id"], "--json", "--config", str(d.path)).out)
                said = run("runs", "approve", waiting[0]["run_id"], str(shown["pending"]["seq"]), "--config", str(d.path))
                self.assertEqual(said.code, 0, said.err)
                done = run("investigate", "--run", "mine", "--config", str(d.path))
            self.assertEqual(done.code, 0, done.err)
            self.assertIn(b"71G", done.out)

    def begin(self, d, model, *args):
        alert = self.files(d)
        model.hold()
        child = subprocess.Popen([BINARY, "investigate", alert, "--run", "cut", "--config", str(d.path), *args],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), cwd=d.folder)
        until(lambda: model.asked)
        return child

    def test_a_daemon_goes_on_with_what_a_killed_command_was_at(self):
        with Operator() as model:
            d = Daemon(model)
            child = self.begin(d, model, "--strategy", "react", "--runbook", str(CASE / "runbook.md"))
            child.kill()
            child.wait()
            model.free()
            listed = run("runs", "--config", str(d.path))
            self.assertEqual(listed.code, 0, listed.err)
            self.assertIn("rationale investigate --run cut", listed.err)
            with d:
                s = d.until("cut", "completed", "error")
                self.assertEqual(s["status"], "completed", s)
                self.assertIn("pg_wal", s["result"])
                one = d.ask("GET", "/api/v1/runs/cut")[1]
                self.assertEqual((one["status"], one["app"]), ("done", "incidents"))
                self.assertEqual(d.ask("GET", "/api/v1/incidents/cut")[1]["alert"]["host"], "db-3")

    def test_what_was_left_on_purpose_stays_until_somebody_goes_on_with_it(self):
        with Operator() as model:
            d = Daemon(model)
            child = self.begin(d, model)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(PATIENCE), 130)
            model.free()
            with d:
                self.assertEqual(d.ask("GET", "/processing-status/cut")[0], 404)
                row = d.ask("GET", "/api/v1/runs/cut")[1]
                self.assertEqual((row["status"], row["reason"]), ("running", "left"))
                self.assertIn("rationale investigate --run", d.log_tail())
                d.signal(signal.SIGTERM)
                d.child.wait(PATIENCE)
                done = run("investigate", "--run", "cut", "--config", str(d.path))
                self.assertEqual(done.code, 0, done.err)

    def test_an_evaluation_that_was_killed_is_nobodys(self):
        with Operator() as model:
            d = Daemon(model)
            self.files(d)
            model.hold()
            child = subprocess.Popen([BINARY, "eval", str(CASE), "--config", str(d.path)], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env=environment())
            until(lambda: model.asked)
            child.kill()
            child.wait()
            model.free()
            with d:
                self.assertEqual(d.ask("GET", "/api/v1/incidents")[1]["incidents"], [])


if __name__ == "__main__":
    main()
