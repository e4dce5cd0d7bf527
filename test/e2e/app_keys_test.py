#!/usr/bin/env python3
"""A call that an application makes belongs to the key that requested it, and counts against its
limits.

    test/e2e/app_keys_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import signal
import threading
import urllib.parse

import alerts_test
import policy_test
from command import BINARY, Case, main
from gateway import Gateway, digest, until
from operator_model import Operator
from order_test import ADD, DONE, LOOK, Model, config_of, get, http_ask, say, text
from watcher import Watcher

KEYS = [{"name": "a", "sha256": digest("ka")}, {"name": "b", "sha256": digest("kb")},
        {"name": "boss", "sha256": digest("kc"), "role": "operator"}]


def keys(**a):
    """The same keys, with additional members for the first."""
    return [{**KEYS[0], **a}, *KEYS[1:]]


class Keyed(Case):
    def owned(self, ask, session, calls):
        """Checks that key a has the session with so many calls, that b has nothing, and that an
        operator has all of it."""
        path = f"/api/v1/history/sessions/{urllib.parse.quote(session)}"

        def whole():
            status, doc = ask("GET", path, "ka")[:2]
            return status == 200 and doc["llm_interaction_count"] >= calls and doc
        doc = until(whole)
        self.assertEqual(doc["key_name"], "a")
        self.assertEqual(ask("GET", path, "kb")[0], 404)
        self.assertEqual(ask("GET", path, "kc")[0], 200)
        for key, seen in (("ka", 1), ("kb", 0), ("kc", 1)):
            found = ask("GET", "/api/v1/history/sessions", key)[1]["sessions"]
            self.assertEqual([s["session_id"] for s in found], [session] * seen, key)
            sums = ask("GET", "/api/v1/usage?group_by=key", key)
            self.assertEqual(sums[0], 200, sums)
            self.assertEqual([g["key"] for g in sums[1]["groups"]],
                             ["a"] * seen, sums)
        return doc


class Orders(Keyed):
    def test_a_key_sees_the_session_of_its_order_and_no_other_does(self):
        with Model(LOOK, ADD, DONE) as model, Gateway(BINARY, config_of(model, keys=KEYS)) as g:
            watchers = {k: Watcher(g.port, headers={"Authorization": f"Bearer {k}"})
                        for k in ("ka", "kb", "kc")}
            for w in watchers.values():
                w.subscribe("dashboard_updates")
            self.assertEqual(say(g, "lane 1", "two coffees", "ka")[0], 200)
            self.owned(lambda m, p, k: http_ask(g, m, p, key=k), "lane 1", 3)
            for key in ("ka", "kc"):
                watchers[key].until(lambda m: "lane 1" in str(m))
            model.replies.append(text("Hi"))
            self.assertEqual(say(g, "lane b", "hello", "kb")[0], 200)
            watchers["kb"].until(lambda m: "lane b" in str(m))
            self.assertNotIn("lane 1", str(watchers["kb"].seen))
            for w in watchers.values():
                w.sock.close()

    def test_an_operator_may_speak_in_it_and_it_stays_the_keys(self):
        with Model(text("Hi"), text("Hello")) as model, \
                Gateway(BINARY, config_of(model, keys=KEYS)) as g:
            say(g, "t", "hello", "ka")
            self.assertEqual(say(g, "t", "hello?", "kc")[1]["reply"], "Hello")
            path = "/api/v1/history/sessions/t"
            until(lambda: get(g, path, "ka")[1].get("llm_interaction_count") == 2)
            self.assertEqual(get(g, path, "ka")[1]["key_name"], "a")

    def test_the_models_of_a_key_hold(self):
        with Model(text("Hi")) as model, \
                Gateway(BINARY, config_of(model, keys=keys(models=["other"]))) as g:
            status, doc, _ = say(g, "t", "hello", "ka")
            self.assertEqual((status, doc["detail"]["error"]), (502, "model_unavailable"))
            self.assertIn("may not use the model", doc["detail"]["message"])
            self.assertEqual(model.asked, [])
            self.assertEqual(say(g, "u", "hello", "kb")[0], 200)

    def test_the_limits_of_a_key_hold(self):
        with Model(*[text("Hi")] * 4) as model, \
                Gateway(BINARY, config_of(model, keys=keys(rpm=1))) as g:
            self.assertEqual(say(g, "t", "hello", "ka")[0], 200)
            status, doc, fields = say(g, "t", "hello", "ka")
            self.assertEqual((status, doc["detail"]["error"]), (503, "model_unavailable"))
            self.assertGreater(int({k.lower(): v for k, v in fields.items()}["retry-after"]), 1)
            self.assertEqual(len(model.asked), 1)
            self.assertEqual(say(g, "u", "hello", "kb")[0], 200)

    def test_a_turn_of_a_key_that_was_taken_away_is_not_made_up(self):
        with Model(LOOK, "hang", DONE) as model:
            with Gateway(BINARY, config_of(model, keys=KEYS)) as g:
                asker = threading.Thread(target=lambda: say(g, "t", "two coffees", "ka"))
                asker.start()
                until(lambda: len(model.asked) == 2)
                g.signal(signal.SIGKILL)
                g.child.wait()
                asker.join()
                g.config["keys"] = KEYS[1:]
                g.start()
                until(lambda: "is not known any more" in g.log_tail())
                self.assertEqual(len(model.asked), 2)
                self.assertEqual(get(g, "/api/v1/orders/t", "kc")[0], 200)

    def test_the_model_thinks_for_a_key_that_may_not_see_it(self):
        for setting in ({"reasoning": "hide"}, {}):
            with Model({**text("Hi"), "reasoning_content": "they greet"}) as model, \
                    Gateway(BINARY, config_of(model, keys=keys(**setting))) as g:
                self.assertEqual(say(g, "t", "hello", "ka")[1]["reasoning"], [])
                self.assertEqual(get(g, "/api/v1/orders/t", "kc")[1]["reasoning"], ["[DIRECT] they greet"])
                for path in ("threads/t/state", "threads/t/checkpoints", "threads/t/checkpoints/latest",
                             "checkpoints", "history/sessions/t"):
                    for key, seen in (("ka", False), ("kc", True)):
                        got = str(get(g, "/api/v1/" + path, key))
                        self.assertIn("Hi", got)
                        self.assertEqual("they greet" in got, seen, path)

    def test_a_key_that_may_see_reasoning_sees_the_reasons_of_its_orders(self):
        with Model({**text("Hi"), "reasoning_content": "they greet"}) as model, \
                Gateway(BINARY, config_of(model, keys=keys(), reasoning={"show": True})) as g:
            self.assertEqual(say(g, "t", "hello", "ka")[1]["reasoning"], ["[DIRECT] they greet"])
            for path in ("orders/t", "threads/t/state"):
                for asked, seen in ((None, True), ("show", True), ("hide", False)):
                    header = {"x-rationale-reasoning": asked} if asked else {}
                    got = http_ask(g, "GET", "/api/v1/" + path, key="ka", **header)
                    self.assertEqual("they greet" in str(got), seen, (path, asked))


class Policy(policy_test.Case, Keyed):
    def test_a_key_sees_the_session_of_its_case_and_no_other_does(self):
        self.start(keys=KEYS, react_use_llm_controller=True)
        self.review(key="ka")
        run = self.until(lambda: self.ask("GET", "/api/v1/history/sessions", key="kc")[1]["sessions"])
        self.owned(lambda m, p, k: self.ask(m, p, key=k), run[0]["session_id"], 3)

    def test_the_model_thinks_for_a_key_that_may_not_see_it(self):
        self.start(keys=keys(reasoning="hide"), react_use_llm_controller=True)
        self.hides_the_thoughts()

    def test_without_a_setting_a_key_sees_no_thoughts_either(self):
        self.start(keys=KEYS, react_use_llm_controller=True)
        self.hides_the_thoughts()

    def hides_the_thoughts(self):
        got = self.review(key="ka")
        self.assertIn({"step": 1, "action": "think", "observation": ""}, got["results"][0]["reasoning_trace"])
        run = self.ask("GET", "/api/v1/policy/results", key="kc")[1]["results"][0]["result_id"]
        item = urllib.parse.quote(run, safe="")
        for path in ("policy/results", "policy/review/item?result_id=" + item, "runs/" + run.rpartition("/")[0]):
            for key, seen in (("ka", False), ("kc", True)):
                status, doc = self.ask("GET", "/api/v1/" + path, key=key)
                self.assertEqual((status, "Let me look." in str(doc)), (200, seen), path)
        self.assertNotIn("Let me look.", str(got))

    def test_the_shadow_is_the_operators(self):
        self.start(keys=KEYS, react_shadow_mode=True)
        self.review(key="ka")
        found = self.until(lambda: self.ask("GET", "/api/v1/history/sessions", key="kc")[1]["sessions"])
        self.assertTrue(found[0]["session_id"].endswith("-shadow"))
        self.assertEqual(self.ask("GET", "/api/v1/history/sessions", key="ka")[1]["sessions"], [])


class Incidents(Keyed):
    def test_a_key_sees_the_session_of_its_alert_and_no_other_does(self):
        with Operator() as model, alerts_test.Daemon(model, keys=KEYS) as d:
            _, r = d.send(key="ka")
            d.until(r["alert_id"], "completed", key="ka")
            _, one = d.ask("GET", f"/api/v1/incidents/{r['alert_id']}", key="ka")
            self.owned(lambda m, p, k: d.ask(m, p, key=k), one["session_id"], 2)


if __name__ == "__main__":
    main()
