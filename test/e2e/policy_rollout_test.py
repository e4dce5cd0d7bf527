#!/usr/bin/env python3
"""The switches and prompts of policies in the store: restarts, reloads, races.

    test/e2e/policy_rollout_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
    tools/postgres-run test/e2e/policy_rollout_test.py BINARY SOURCE_ROOT

On SQLite, or on PostgreSQL under tools/postgres-run.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from command import BINARY, run
from gateway import Gateway, digest, until
from policy_test import GOOD, POLICY, Case, Model, case

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
KEYS = [{"name": "user", "sha256": digest("ku")},
        {"name": "olga", "sha256": digest("ko"), "role": "operator"}]
SWITCHES = {"react_use_llm_controller", "react_shadow_mode", "react_fallback_enabled",
            "react_ab_test_ratio", "prompt_ab_test_ratio"}


class Store(Case):
    def daemon(self, store=None, **switches):
        """Starts another daemon, on the same store if one is given."""
        config = {"providers": {"m": {"kind": "openai", "base_url": f"http://127.0.0.1:{self.model.port}/v1",
                                      "models": ["scripted"], "retries": 0}},
                  "policy": {"documents": {"lumbar": "policy.md"}, "search": "bm25", **switches},
                  "keys": KEYS}
        if store:
            config["store"] = store
        g = Gateway(BINARY, config)
        if SERVER:
            g.config["spool"] = str(g.folder / "spool")
        (g.folder / "policy.md").write_text(POLICY)
        g.start()
        self.addCleanup(g.stop)
        return g

    def begin(self, **switches):
        self.model = Model(GOOD)
        self.addCleanup(self.model.close)
        self.store = None
        if SERVER:
            name = self.id().rsplit(".", 1)[1][:60]
            subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-Atqc",
                            f'CREATE DATABASE "{name}"'], check=True, capture_output=True)
            self.store = SERVER.replace("%s", name)
        self.gateway = self.daemon(self.store, **switches)

    def roll(self, method="GET", body=None, key="ko", status=200):
        got, doc = self.ask(method, "/api/v1/policy/rollout", body, key=key)
        self.assertEqual(got, status, doc)
        return doc

    def by(self, name="case-1"):
        return self.review(case(name), key="ku")["controller_version"].split("-")[0]

    def again(self, config=None, how=signal.SIGTERM):
        self.gateway.signal(how)
        self.gateway.child.wait(60)
        if config:
            self.gateway.write(config)
        self.gateway.start()

    def changed(self, **policy):
        config = json.loads(json.dumps(self.gateway.config))
        config["policy"].update(policy)
        return config


class Switches(Store):
    def test_what_an_operator_sets_outlives_the_process_with_who_and_when(self):
        self.begin()
        self.assertEqual(self.roll()["origin"], "configuration")
        self.assertIsNone(self.roll()["set_by"])
        before = time.time()
        self.roll("POST", {"react_use_llm_controller": True})
        for how in (signal.SIGTERM, signal.SIGKILL):
            self.again(how=how)
            doc = self.roll()
            self.assertTrue(doc["react_use_llm_controller"])
            self.assertEqual((doc["origin"], doc["set_by"]), ("operator", "olga"))
            self.assertGreaterEqual(doc["set_at"], time.strftime("%Y-%m-%dT%H:%M", time.gmtime(before)))
            self.assertFalse(doc["configured"]["react_use_llm_controller"])
            self.assertEqual(set(doc["configured"]), SWITCHES)
            self.assertEqual(self.by(), "react")
        self.assertEqual([c["set_by"] for c in self.roll()["changes"]], ["olga"])
        self.assertEqual(self.roll(key="ku")["changes"], [])

    def test_it_is_taken_back_in_whole_or_one_by_one_and_stays_so(self):
        self.begin(react_ab_test_ratio=0.25)
        self.roll("POST", {"react_ab_test_ratio": 1, "react_fallback_enabled": False})
        self.assertEqual(self.by(), "react")
        doc = self.roll("POST", {"react_ab_test_ratio": None})
        self.assertEqual((doc["react_ab_test_ratio"], doc["react_fallback_enabled"]), (0.25, False))
        self.roll("DELETE", key="ku", status=403)
        doc = self.roll("DELETE")
        self.assertEqual((doc["origin"], doc["react_fallback_enabled"]), ("configuration", True))
        self.again()
        self.assertEqual(self.roll()["origin"], "configuration")
        self.assertEqual([c["switches"] is None for c in self.roll()["changes"]], [True, False, False])

    def test_a_wrong_switch_changes_and_keeps_nothing(self):
        self.begin()
        for body, status in (({"react_ab_test_ratio": 1.01}, 422), ({"react_ab_test_ratio": "1"}, 422),
                             ({"react_use_llm_controller": 1}, 422), ({"react": True}, 422), ({}, 400),
                             ({"react_use_llm_controller": True, "react_ab_test_ratio": -1}, 422)):
            self.roll("POST", body, status=status)
        self.assertEqual(self.roll()["changes"], [])
        self.assertEqual(self.by(), "heuristic")

    def test_a_reload_keeps_it_until_the_configured_switches_change(self):
        self.begin()
        self.roll("POST", {"react_use_llm_controller": True})
        (self.gateway.folder / "policy.md").write_text(POLICY.replace("2026-01", "2026-02"))
        self.gateway.signal(signal.SIGHUP)
        until(lambda: self.review(case(), key="ku")["policy_version_used"] == "2026-02")
        self.assertEqual((self.roll()["origin"], self.by()), ("operator", "react"))
        old = self.changed()
        self.gateway.reload(self.changed(react_ab_test_ratio=0.001))
        until(lambda: self.roll()["origin"] == "configuration")
        self.assertEqual(self.roll()["changes"][0]["set_by"], "configuration")
        # Reloading the old configuration does not restore the operator's switches, which a changed
        # configuration had replaced.
        self.again(old)
        doc = self.roll()
        self.assertEqual((doc["origin"], doc["react_use_llm_controller"]), ("configuration", False))

    def test_a_reload_that_is_wrong_changes_neither_documents_nor_switches(self):
        self.begin()
        (self.gateway.folder / "bad.json").write_text('{"structure": [{"node_id": "0001"}]}')
        for n, bad in enumerate(({"documents": {"lumbar": "bad.json"}}, {"documents": {"lumbar": "none.md"}},
                                 {"react_ab_test_ratio": 7}), 1):
            self.gateway.reload(self.changed(react_use_llm_controller=True, **bad))
            until(lambda n=n: sum(self.gateway.log.read_text().count(said) for said in (
                "configuration read again", "the configuration is bad; the old one stays")) == n)
            self.assertEqual((self.by(), self.roll()["react_use_llm_controller"]), ("heuristic", False))
            self.assertEqual(self.review(case(), key="ku")["policy_version_used"], "2026-01")
        self.gateway.reload(self.changed(react_use_llm_controller=True, documents={"lumbar": "policy.md"},
                                         react_ab_test_ratio=0))
        until(lambda: self.by() == "react")

    def test_concurrent_changes_are_all_on_record_and_one_is_in_force(self):
        self.begin()
        ratios = [round(0.01 * i, 2) for i in range(1, 17)]
        threads = [threading.Thread(target=self.roll, args=("POST", {"react_ab_test_ratio": r}))
                   for r in ratios]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        doc = self.roll()
        self.assertEqual(sorted(c["switches"]["react_ab_test_ratio"] for c in doc["changes"]), ratios)
        self.assertEqual(doc["react_ab_test_ratio"], doc["changes"][0]["switches"]["react_ab_test_ratio"])

    def test_concurrent_changes_of_different_switches_all_hold(self):
        self.begin()
        for _ in range(8):
            self.roll("DELETE")
            changes = [{"react_ab_test_ratio": 0.5}, {"prompt_ab_test_ratio": 0.5}, {"react_use_llm_controller": True},
                       {"react_fallback_enabled": False}]
            threads = [threading.Thread(target=self.roll, args=("POST", c)) for c in changes]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            doc = self.roll()
            for c in changes:
                self.assertEqual({k: doc[k] for k in c}, c)

    def test_switches_hold_on_all_daemons(self):
        self.begin()
        if self.gateway.config["store"].startswith("sqlite:"):
            self.skipTest("a store of SQLite has one daemon")
        one = self.gateway
        other = self.daemon(one.config["store"])
        third = self.daemon(one.config["store"], react_ab_test_ratio=0.25)
        self.roll("POST", {"react_use_llm_controller": True})
        for self.gateway in (other, third):
            until(lambda: self.roll()["origin"] == "operator")
            self.assertEqual((self.by(), self.roll()["set_by"]), ("react", "olga"))
        # The third daemon's configuration differs, but has not changed since, so the operator's
        # switches remain.
        time.sleep(2)
        self.gateway = one
        self.assertEqual(self.roll()["origin"], "operator")
        self.roll("POST", {"react_shadow_mode": True})
        self.gateway = other
        self.roll("POST", {"react_fallback_enabled": False})
        doc = self.roll()
        self.assertEqual((doc["react_use_llm_controller"], doc["react_shadow_mode"], doc["react_fallback_enabled"]),
                         (True, True, False))
        self.roll("DELETE")
        for self.gateway in (one, third):
            until(lambda: self.roll()["origin"] == "configuration")

    def test_a_re_verification_is_cancelled_at_any_daemon(self):
        self.begin(react_use_llm_controller=True)
        if self.gateway.config["store"].startswith("sqlite:"):
            self.skipTest("a store of SQLite has one daemon")
        one = self.gateway
        other = self.daemon(one.config["store"])
        for i in range(3):
            self.review(case(f"case-{i}"), key="ku")
        asked = self.model.asked
        self.model.waits.clear()
        status, job = self.ask("POST", "/api/v1/policy/reverify", {"document_id": "lumbar"}, key="ko")
        self.assertEqual(status, 202, job)
        until(lambda: self.model.asked > asked)
        self.gateway = other
        status, shown = self.ask("DELETE", f"/api/v1/policy/reverify/{job['id']}", key="ko")
        self.assertEqual((status, shown["status"]), (200, "cancelled"))
        self.model.waits.set()
        self.gateway = one
        until(lambda: self.ask("POST", "/api/v1/policy/reverify", {"document_id": "lumbar"}, key="ko")[0] == 202)
        shown = self.ask("GET", f"/api/v1/policy/reverify/{job['id']}", key="ko")[1]
        self.assertEqual((shown["status"], shown["done"]), ("cancelled", 1))

    def test_a_second_daemon_on_the_store_is_refused_and_changes_nothing(self):
        self.begin()
        self.roll("POST", {"react_use_llm_controller": True})
        if not self.gateway.config["store"].startswith("sqlite:"):
            self.skipTest("daemons share PostgreSQL, see daemons_test.py")
        with self.assertRaisesRegex(RuntimeError, "in use|one owner|locked"):
            self.daemon(self.gateway.config["store"], react_ab_test_ratio=0.5)
        self.assertEqual((self.roll()["origin"], self.by()), ("operator", "react"))


class Prompts(Store):
    def add(self, text):
        g = self.gateway
        path = g.folder / "p.json"
        path.write_text(json.dumps({"system_prompt": text}))
        done = run("prompts", "add", "policy", str(path), "--config", str(g.path), "--json")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)["id"]

    def move(self, name, verb):
        return self.ask("POST", f"/api/v1/prompts/{name}/{verb}", {}, key="ko")[0]

    def states(self):
        return {p["id"]: p["state"] for p in self.ask("GET", "/api/v1/prompts", key="ko")[1]["prompts"]}

    def test_no_way_leads_around_approval(self):
        self.begin(react_use_llm_controller=True)
        built_in = self.review(case(), key="ku")["prompt_id"]
        new = self.add("One.")
        self.assertEqual(self.move(new, "activate"), 409)
        self.assertEqual(self.move(new, "retire"), 200)
        self.assertEqual(self.move(new, "activate"), 409)  # it was never approved
        self.assertEqual(self.move(new, "approve"), 409)
        self.assertEqual(self.add("One."), new)  # the same texts give the same version
        self.assertEqual(self.states()[new], "retired")
        other = self.add("Two.")
        self.assertEqual([self.move(other, v) for v in ("approve", "activate", "approve", "activate")],
                         [200, 200, 409, 200])
        self.assertEqual([self.move(other, v) for v in ("retire", "activate")], [200, 200])
        self.assertEqual(self.review(case(), key="ku")["prompt_id"], other)
        self.assertEqual(self.move(other, "retire"), 200)
        self.assertEqual(self.review(case(), key="ku")["prompt_id"], built_in)
        self.assertEqual(self.move("policy@000000000000", "approve"), 404)
        self.assertEqual(self.move(built_in, "retire") // 100, 4)

    def activate(self, i, name):
        """Activates by the daemon's route, or by the command while the daemon runs."""
        if i % 2:
            done = run("prompts", "activate", name, "--config", str(self.gateway.path),
                       env={**os.environ, "RATIONALE_KEY": "ko"})
            return 200 if done.code == 0 else done.err
        return self.ask("POST", f"/api/v1/prompts/{name}/activate", {}, key="ko")[0]

    def race(self, names):
        barrier, got = threading.Barrier(len(names)), []

        def one(i):
            barrier.wait()
            got.append(self.activate(i, names[i]))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(len(names))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(set(got), {200})

    def test_of_many_that_are_activated_at_once_one_is_active(self):
        self.begin(react_use_llm_controller=True)
        names = [self.add(f"Version {i}.") for i in range(6)]
        for n in names:
            self.assertEqual(self.move(n, "approve"), 200)
        for _ in range(5):
            self.race(names)
            states = self.states()
            active = [n for n in names if states[n] == "active"]
            self.assertEqual(len(active), 1, states)
            self.assertEqual(sorted(states[n] for n in names if n != active[0]), ["retired"] * 5)
            until(lambda a=active[0]: self.review(case(), key="ku")["prompt_id"] == a, 10)

    def test_a_version_is_what_its_id_says_for_good(self):
        self.begin()
        new = self.add("Texts.")
        doc = self.ask("GET", f"/api/v1/prompts/{new}", key="ko")[1]
        self.assertEqual(doc["components"], {"system_prompt": "Texts."})
        (self.gateway.folder / "q.json").write_text('{ "system_prompt" :"Texts." }')
        same = run("prompts", "add", "policy", str(self.gateway.folder / "q.json"), "--config",
                   str(self.gateway.path), "--json")
        self.assertEqual(json.loads(same.out)["id"], new)
        for method in ("PUT", "PATCH", "DELETE", "POST"):
            got = self.ask(method, f"/api/v1/prompts/{new}", {"components": {"system_prompt": "x"}}, key="ko")
            self.assertIn(got[0], (404, 405), method)
        self.assertEqual(self.ask("GET", f"/api/v1/prompts/{new}", key="ko")[1]["components"],
                         {"system_prompt": "Texts."})


class Shadow(Store):
    def test_every_result_has_the_prompt_it_was_made_with(self):
        self.begin(react_ab_test_ratio=0.5, ab_salt="s")
        for i in range(12):
            self.review(case(f"c{i}"), key="ku")
        kept = self.ask("GET", "/api/v1/policy/results?limit=50", key="ko")[1]["results"]
        self.assertEqual(len(kept), 12)
        for r in kept:
            self.assertRegex(r["prompt_id"], r"^policy@[0-9a-f]{12}$" if r["controller"] == "react"
                             else "^heuristic@none$")
        self.assertEqual({r["controller"] for r in kept}, {"react", "heuristic"})

    def test_shares_are_as_large_as_they_say_and_grow_without_moving_anybody(self):
        self.begin(ab_salt="t")
        names, before = [f"case-{i}" for i in range(60)], set()
        for ratio in (0.1, 0.5, 1):
            self.roll("POST", {"react_ab_test_ratio": ratio})
            now = {n for n in names if self.by(n) == "react"}
            self.assertLessEqual(before, now)
            self.assertLess(abs(len(now) - 60 * ratio), 15)
            before = now
        self.again()
        self.assertEqual({n for n in names if self.by(n) == "react"}, set(names))

    def test_discrepancies_outlive_the_process_and_a_failing_shadow_hurts_nobody(self):
        self.begin(react_shadow_mode=True)
        self.model.turns = [500]
        self.assertEqual(self.by("failing"), "heuristic")
        until(lambda: self.roll()["counts"]["shadow_compared"] == 1)
        doc = self.roll()
        self.assertEqual(doc["discrepancies"][0]["case_id"], "failing")
        self.assertEqual(doc["discrepancies"][0]["reason_code"], "llm_error")
        self.again()
        self.assertEqual(self.roll()["discrepancies"], doc["discrepancies"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
