#!/usr/bin/env python3
"""Several daemons on one PostgreSQL share work, live events, limits and logins.

    tools/postgres-run test/e2e/replicas_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from alerts_test import Daemon
from agent_runs_test import Library, ORDER, approving, librarian, tool
from command import BINARY, PATIENCE, SOURCE, environment
from gateway import digest, until, upstream
from on_postgres import SERVER, OnPostgres, psql
from operator_model import Operator
from receivers import Hook
from scripted_model import Model, results
from signature_test import Chat
from watcher import Watcher

KEY, SMALL = "sk-operator", "sk-small"
KEYS = [{"name": "operator", "sha256": digest(KEY), "role": "operator"},
        {"name": "small", "sha256": digest(SMALL), "rpm": 60}]
STEPS = 12
COFFEE = {"item_id": "hd-01", "item_name": "Coffee", "category_name": "Hot Drinks", "quantity": 1}


def worker(ask):
    """Lends a book per step, each with the run's number in its title."""
    number = re.search(r"number (\d+)", json.dumps(ask["messages"]))[1]
    done = len(results(ask))
    time.sleep(0.1)
    if done >= STEPS:
        return f"finished {number}"
    return {"calls": [(tool(ask, "lend"), {"title": f"{number}-{done}"})]}


class Slow:
    """A gate of the model that opens after a delay, for each call."""

    def __init__(self, seconds):
        self.seconds = seconds

    def wait(self, _):
        time.sleep(self.seconds)

    def set(self):
        pass


class Replicas(unittest.TestCase):
    def setUp(self):
        self.database = self.id().rsplit(".", 1)[1][:60]
        psql(f'CREATE DATABASE "{self.database}"')

    @contextlib.contextmanager
    def daemons(self, reply, count=2, agents=None, **more):
        """Daemons of one store that know each other, with one log of their tools' calls."""
        with Model(reply) as model, contextlib.ExitStack() as stack:
            all = []
            for _ in range(count):
                d = Library(model, agents, KEY, keys=KEYS,
                            store=SERVER.replace("%s", self.database), **more)
                d.config["spool"] = str(d.folder / "spool")
                if all:
                    d.config["tools"] = all[0].config["tools"]
                    d.calls_log = all[0].calls_log
                d.model = model
                all.append(stack.enter_context(d))
            self.meet(all)
            yield all

    def meet(self, all):
        """Waits until each daemon knows the others: after a logout at one, all refuse the login."""
        def known():
            c = self.login(all[0])
            ok = all_accept = [self.page(d, c) for d in all] == [200] * len(all)
            self.cookie(all[0], "/api/v1/logout", c, "POST")
            time.sleep(0.1)
            return ok and all_accept and [self.page(d, c) for d in all] == [401] * len(all)
        until(known)

    def cookie(self, d, path, cookie, method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE)
        c.request(method, path, "{}" if method == "POST" else None,
                  {"cookie": cookie, "content-type": "application/json"})
        r = c.getresponse()
        r.read()
        c.close()
        return r.status

    def page(self, d, cookie):
        return self.cookie(d, "/api/v1/history/sessions", cookie)

    def login(self, d):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE)
        c.request("POST", "/api/v1/login", json.dumps({"key": KEY}), {"content-type": "application/json"})
        r = c.getresponse()
        r.read()
        c.close()
        self.assertEqual(r.status, 200)
        return r.headers["set-cookie"].split(";")[0]

    def lent(self, d):
        return [json.loads(x)["arguments"]["title"] for x in d.calls_log.read_text().splitlines()
                if json.loads(x)["tool"] == "lend"]

    def owner(self, run):
        return psql(f"SELECT daemon_id FROM agent_runs WHERE run_id = '{run}'", self.database)

    # ---- runs ----

    def test_a_call_is_approved_at_another_daemon(self):
        with self.daemons(librarian, agents=approving()) as (a, b):
            run = a.go("lend me Dune", background=True)["run_id"]
            until(lambda: b.one(run)["status"] == "waiting")
            pending = b.one(run)["pending"]
            status, said = b.ask("POST", f"/api/v1/runs/{run}/answer",
                                 {"word": "approve", "seq": pending["seq"]})
            self.assertEqual(status, 200, said)
            self.assertTrue(said["resumed"])
            self.assertEqual(b.ended(run)["status"], "done")
            self.assertEqual(a.called().count("lend"), 1)

    def test_results_of_the_callers_tools_go_to_any_daemon(self):
        def orderer(ask):
            return f"Ordered: {results(ask)[-1]}" if results(ask) else {"calls": [("order", {"title": "Dune"})]}
        with self.daemons(orderer) as (a, b):
            run = a.go("order Dune", background=True, tools=[ORDER])["run_id"]
            until(lambda: b.one(run)["status"] == "waiting")
            call = b.one(run)["pending"]["calls"][0]["call_id"]
            status, said = b.ask("POST", f"/api/v1/runs/{run}/tool_results",
                                 {"call_id": call, "result": "two copies"})
            self.assertEqual(status, 200, said)
            self.assertIn("two copies", json.dumps(b.ended(run)))

    def test_a_run_is_watched_and_cancelled_at_another_daemon(self):
        with self.daemons(worker) as (a, b):
            run = a.go("number 1", background=True)["run_id"]
            seen = []
            watch = threading.Thread(target=lambda: seen.extend(b.events(run)))
            watch.start()
            until(lambda: len(self.lent(a)) > 2 if a.calls_log.exists() else False)
            status, said = b.ask("POST", f"/api/v1/runs/{run}/cancel")
            self.assertEqual((status, said["status"]), (200, "cancelling"))
            b.ended(run, "cancelled")
            watch.join(PATIENCE)
            self.assertGreater(len([x for x in seen if "tool" in str(x[0])]), 2, seen)
            self.assertLess(len(self.lent(a)), STEPS)

    def test_a_cancel_that_finds_the_run_waiting_ends_it(self):
        """The other daemon gets the cancel while the run is running; it takes effect after the run
        began to wait."""
        def orderer(_):
            return {"calls": [("order", {"title": "Dune"})]}
        for reply, more in (librarian, {}), (orderer, {"tools": [ORDER]}):
            with self.subTest(reply.__name__), self.daemons(reply, agents=approving()) as (a, b):
                run = a.go("lend me Dune", background=True, **more)["run_id"]
                until(lambda: b.one(run)["status"] == "waiting")
                psql(f"UPDATE agent_runs SET due = 'cancel' WHERE run_id = '{run}'", self.database)
                b.ended(run, "cancelled")
                self.assertIsNone(b.one(run)["pending"])
                self.assertEqual(a.called().count("lend"), 0)

    @contextlib.contextmanager
    def away(self):
        """The database refuses connections, and all existing ones are closed."""
        psql(f'ALTER DATABASE "{self.database}" ALLOW_CONNECTIONS false')
        psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")
        yield
        psql(f'ALTER DATABASE "{self.database}" ALLOW_CONNECTIONS true')

    def test_runs_outlive_a_database_that_is_away(self):
        """The outage is longer than a call waits for its record: the call is refused, and retried."""
        with self.daemons(worker, durability="replicated") as (a, b):
            runs = [d.go(f"number {n}", background=True)["run_id"] for n, d in enumerate((a, b, a, b))]
            until(lambda: a.calls_log.exists() and len(self.lent(a)) > 8)
            with self.away():
                time.sleep(13)
            for run in runs:
                self.assertEqual(b.ended(run)["status"], "done")
            lent = self.lent(a)
            self.assertEqual((len(lent), len(set(lent))), (4 * STEPS, 4 * STEPS))

    def test_alerts_outlive_a_database_that_is_away(self):
        with self.investigators(max_concurrent_alerts=2) as (a, b):
            ids = [d.send(n)[1]["alert_id"] for n, d in enumerate((a, b) * 3)]
            until(lambda: psql("SELECT count(*) FROM alerts WHERE state = 'processing'", self.database) != ["0"])
            with self.away():
                time.sleep(3)
            for id in ids:
                self.assertEqual(b.until(id, "completed", "error", "cancelled")["status"], "completed")

    def test_another_daemon_finishes_the_runs_of_a_killed_one(self):
        with self.daemons(worker, count=3) as (a, b, c):
            runs = [a.go(f"number {n}", background=True)["run_id"] for n in range(4)]
            until(lambda: a.calls_log.exists() and len(self.lent(a)) > 8)
            a.signal(signal.SIGKILL)
            a.child.wait()
            killed = time.monotonic()
            before = len(self.lent(a))
            until(lambda: len(self.lent(a)) > before)
            self.assertLess(time.monotonic() - killed, 10)
            for run in runs:
                self.assertIn(b.ended(run)["status"], ("done", "stopped"), b.one(run))
            lent = self.lent(a)
            self.assertEqual(len(lent), len(set(lent)), "a book was lent twice")
            self.assertEqual(len({x[0] for x in map(self.owner, runs)}), 1)

    def test_a_stopped_daemon_goes_on_with_nothing_that_was_taken_over(self):
        with self.daemons(worker) as (a, b):
            runs = [a.go(f"number {n}", background=True)["run_id"] for n in range(3)]
            until(lambda: a.calls_log.exists() and len(self.lent(a)) > 6)
            a.signal(signal.SIGSTOP)
            for run in runs:
                b.ended(run)
            a.signal(signal.SIGCONT)
            until(lambda: "another daemon took over the work" in a.log.read_text())
            time.sleep(1)
            lent = self.lent(a)
            self.assertEqual(len(lent), len(set(lent)), "a book was lent twice")
            for run in runs:
                self.assertTrue(b.ask("GET", f"/api/v1/runs/{run}/replay")[1]["same"])
            again = a.go("number 9", background=True)["run_id"]
            self.assertEqual(a.ended(again)["status"], "done")

    def test_a_thread_has_one_run_at_a_time(self):
        with self.daemons(worker) as (a, b):
            run = a.go("number 1", background=True, thread="t")["run_id"]
            status, said = b.ask("POST", "/api/v1/agents/librarian/runs", {"input": "number 2", "thread": "t"})
            self.assertEqual((status, said["detail"]["error"]), (409, "run_in_progress"))
            a.ended(run)
            self.assertEqual(b.go("number 3", thread="t")["status"], "done")

    def test_a_drained_daemon_hands_its_runs_over(self):
        with self.daemons(worker) as (a, b):
            runs = [a.go(f"number {n}", background=True)["run_id"] for n in range(3)]
            until(lambda: a.calls_log.exists() and len(self.lent(a)) > 3)
            a.signal(signal.SIGTERM)
            a.child.wait(PATIENCE)
            ended, before = time.monotonic(), len(self.lent(a))
            until(lambda: len(self.lent(a)) > before or all(b.one(run)["status"] == "done" for run in runs))
            self.assertLess(time.monotonic() - ended, 4, "a drain needs no lease to run out")
            for run in runs:
                self.assertIn(b.ended(run)["status"], ("done", "stopped"))
            lent = self.lent(a)
            self.assertEqual(len(lent), len(set(lent)), "a book was lent twice")

    def test_turns_of_an_order_on_two_daemons_replace_none_of_each_other(self):
        """Both turns continue from the same order: one of them fails, and the acknowledged one
        stays."""
        both = threading.Barrier(2)

        def waiter(ask):
            turn = ask["messages"][max(i for i, m in enumerate(ask["messages"]) if m["role"] == "user"):]
            steps = sum(m["role"] == "tool" for m in turn)
            if steps == 0:
                with contextlib.suppress(threading.BrokenBarrierError):
                    both.wait(5)
                return {"text": "<reasoning>I look it up.</reasoning>",
                        "calls": [("lookup_menu_item", {"item_name": "coffee"})]}
            if steps == 1:
                return {"text": "<reasoning>They want a coffee.</reasoning>", "calls": [("add_item_to_order", COFFEE)]}
            return "<reasoning>It is in the order.</reasoning>One coffee."
        orders = {"menu": str(SOURCE / "example/orders/menu.json"), "model": "m"}
        with self.daemons(waiter, orders=orders) as (a, b):
            said = []

            def say(d):
                said.append(d.ask("POST", "/api/v1/orders/lane/say", {"text": "one coffee"})[0])
            for _ in range(4):
                threads = [threading.Thread(target=say, args=(d,)) for d in (a, b)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
            items = a.ask("GET", "/api/v1/orders/lane")[1]["current_order"]["items"]
            self.assertLessEqual(set(said), {200, 409}, said)
            self.assertGreaterEqual(said.count(200), 4, said)
            self.assertGreaterEqual(sum(i["quantity"] for i in items), said.count(200), said)

    # ---- alerts ----

    @contextlib.contextmanager
    def investigators(self, count=2, slow=0.3, env=None, **more):
        with Operator() as model, contextlib.ExitStack() as stack:
            model.server.gate = Slow(slow)
            all = []
            for _ in range(count):
                d = Daemon(model, **more)
                d.env.update(env or {})
                d.config["store"] = SERVER.replace("%s", self.database)
                d.config["spool"] = str(d.folder / "spool")
                all.append(stack.enter_context(d))
            time.sleep(1.5)
            yield all

    def test_alerts_of_a_killed_daemon_are_investigated_by_another(self):
        with self.investigators(max_concurrent_alerts=2) as (a, b):
            ids = [a.send(n)[1]["alert_id"] for n in range(5)]
            until(lambda: psql("SELECT count(*) FROM alerts WHERE state = 'processing'", self.database) != ["0"])
            a.signal(signal.SIGKILL)
            a.child.wait()
            for id in ids:
                self.assertEqual(b.until(id, "completed", "error", "cancelled")["status"], "completed")
            self.assertEqual(psql("SELECT count(*) FROM alerts", self.database), ["5"])
            # All effects have finished, and each place of a run has one, so none happened twice.
            self.assertEqual(psql("SELECT count(*) FROM agent_effects WHERE state = 0 AND kind <> 'approval'",
                                  self.database), ["0"])

    def test_an_idle_daemon_claims_what_waits_and_a_repeat_attaches_anywhere(self):
        with self.investigators(slow=1.0, max_concurrent_alerts=1, max_queue_size=20) as (a, b):
            ids = [a.send(n)[1]["alert_id"] for n in range(4)]
            status, again = b.send(3)
            self.assertEqual((status, again["alert_id"]), (200, ids[3]), again)
            for id in ids:
                b.until(id, "completed")
            owners = set(psql("SELECT daemon_id FROM alerts", self.database))
            self.assertEqual(len(owners), 2, owners)
            self.assertEqual(psql("SELECT count(*) FROM alerts", self.database), ["4"])

    def test_one_message_about_an_alert_whichever_daemons_had_it(self):
        with Hook() as hook, self.investigators(
                slow=0.5, max_concurrent_alerts=1, env={"HOOK_SECRET": Hook.secret},
                notify={"ops": {"webhook": {"url": hook.root + "/hook", "secret_env": "HOOK_SECRET"}}}) as (a, b):
            ids = [a.send(n)[1]["alert_id"] for n in range(4)]
            a.until(ids[0], "processing", "completed")
            a.signal(signal.SIGKILL)
            a.child.wait()
            for id in ids:
                b.until(id, "completed")
            until(lambda: psql("SELECT count(*) FROM notifications WHERE state = 'pending'", self.database) == ["0"])
            time.sleep(1)
            told = [body["data"]["incident_id"] if "incident_id" in body.get("data", {}) else json.dumps(body)
                    for _, body in hook.events]
            for id in ids:
                self.assertEqual(sum(id in x for x in told), 1, told)

    def test_an_alert_is_cancelled_at_another_daemon(self):
        with self.investigators(slow=1.0, max_concurrent_alerts=1) as (a, b):
            id = a.send()[1]["alert_id"]
            a.until(id, "processing")
            status, said = b.ask("POST", f"/api/v1/incidents/{id}/cancel")
            self.assertEqual(status // 100, 2, said)
            b.until(id, "cancelled")

    def test_a_resolve_at_another_daemon_ends_a_queued_incident(self):
        def hook(status):
            return {"version": "4", "groupKey": "g", "alerts": [{
                "status": status, "labels": {"alertname": "DiskFull"}, "fingerprint": "f1",
                "startsAt": "2026-05-01T10:00:00Z", "endsAt": "2026-05-01T10:30:00Z"}]}
        with self.investigators(slow=3.0, max_concurrent_alerts=1) as (a, b):
            for n, d in enumerate((a, b)):
                d.until(d.send(n)[1]["alert_id"], "processing")
            id = a.ask("POST", "/alerts", hook("firing"))[1]["alerts"][0]["alert_id"]
            said = b.ask("POST", "/alerts", hook("resolved"))[1]["alerts"][0]
            self.assertEqual((said["status"], said["alert_id"]), ("resolved", id))
            b.until(id, "cancelled")
            self.assertEqual(b.ask("GET", f"/api/v1/incidents/{id}")[1]["reason"], "resolved")

    def test_a_drained_daemon_hands_its_alerts_over(self):
        with self.investigators(max_concurrent_alerts=1) as (a, b):
            ids = [a.send(n)[1]["alert_id"] for n in range(3)]
            a.until(ids[0], "processing", "completed")
            a.signal(signal.SIGTERM)
            a.child.wait(PATIENCE)
            for id in ids:
                self.assertEqual(b.until(id, "completed", "error", "cancelled")["status"], "completed")

    # ---- live ----

    def test_calls_of_one_daemon_are_live_at_another(self):
        def slow(ask):
            time.sleep(0.5)
            return {"text": "forty-two", "reasoning": "I count."}
        with self.daemons(slow) as (a, b):
            auth = {"authorization": f"Bearer {KEY}"}
            with Watcher(b.port, headers=auth) as w:
                w.subscribe("dashboard_updates")
                w.subscribe("session_s1")
                time.sleep(0.3)
                a.ask("POST", "/v1/chat/completions", {"model": "m", "stream": False, "messages": [
                    {"role": "user", "content": "how many?"}]}, headers={"x-rationale-session": "s1"})
                got = w.until(lambda m: m.get("channel") == "session_s1" and
                              m["data"]["type"] == "llm_interaction")
                self.assertTrue(got["data"]["success"])
                seen = [m["data"] for m in w.seen if m.get("channel") == "session_s1" and "data" in m]
                types = [m["type"] for m in seen]
                self.assertIn("llm_started", types)
                self.assertIn("forty-two", "".join(m.get("text", "") for m in seen
                                                   if m["type"] == "answer_delta"))
                self.assertTrue([m for m in w.seen if m.get("channel") == "dashboard_updates"])

    def test_tail_shows_calls_of_all_daemons(self):
        with self.daemons(lambda _: "forty-two") as (a, b):
            path = b.folder / "tail.yaml"
            path.write_text(json.dumps({**b.config, "listen": f"127.0.0.1:{b.port}"}))
            child = subprocess.Popen([BINARY, "tail", "--config", str(path)], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True,
                                     env=environment(RATIONALE_KEY=KEY, **b.env))
            seen = []
            threading.Thread(target=lambda: seen.extend(iter(child.stdout.readline, "")), daemon=True).start()

            def ended():
                return len([line for line in seen if line.startswith("done") and "tailed" in line])

            def call():  # the first may fail before it listens
                a.ask("POST", "/v1/chat/completions", {"model": "m", "messages": [
                    {"role": "user", "content": "how many?"}]}, headers={"x-rationale-session": "tailed"})
                time.sleep(0.2)
                return ended()
            try:
                until(call)
                time.sleep(1)
                before = ended()
                until(lambda: call() > before)
                time.sleep(1)
                calls = psql("SELECT count(*) FROM llm_interactions", self.database)
                self.assertLessEqual(ended(), int(calls[0]), "a call is shown once, though two daemons know of it")
            finally:
                child.kill()
                child.communicate()

    def test_who_comes_late_sees_the_running_calls_of_all(self):
        go = threading.Event()

        def held(ask):
            go.wait(PATIENCE)
            return "done"
        with self.daemons(held) as (a, b):
            def ask():
                with contextlib.suppress(OSError, http.client.HTTPException):  # the daemon is killed
                    a.ask("POST", "/v1/chat/completions", {
                        "model": "m", "messages": [{"role": "user", "content": "hold on"}]})
            threading.Thread(target=ask, daemon=True).start()
            auth = {"authorization": f"Bearer {KEY}"}
            with Watcher(b.port, headers=auth) as w:
                w.subscribe("dashboard_updates")
                got = w.until(lambda m: m.get("data", {}).get("type") == "llm_started")
                self.assertEqual(got["data"]["asked"], "hold on")
                # When a daemon dies, its calls end for viewers at other daemons.
                a.signal(signal.SIGKILL)
                got = w.until(lambda m: m.get("data", {}).get("type") == "llm_interaction")
                self.assertIn("has ended", got["data"]["error_message"])
            go.set()

    # ---- state ----

    def test_a_login_is_accepted_by_all_and_ends_for_all(self):
        with self.daemons(librarian, count=3) as all:
            cookie = self.login(all[1])
            self.assertEqual([self.page(d, cookie) for d in all], [200] * 3)
            self.cookie(all[2], "/api/v1/logout", cookie, "POST")
            until(lambda: [self.page(d, cookie) for d in all] == [401] * 3)
            # A daemon that starts later refuses it too.
            until(lambda: psql("SELECT count(*) FROM login_ends", self.database) != ["0"])
            all[0].signal(signal.SIGTERM)
            all[0].child.wait(PATIENCE)
            all[0].start()
            until(lambda: self.page(all[0], cookie) == 401)
            forged = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
            self.assertEqual(self.page(all[1], forged), 401)

    def test_a_limit_holds_across_daemons(self):
        with self.daemons(lambda _: "yes", count=2) as all:
            began = time.monotonic()
            said = []
            for d in all:  # 50 at one daemon and then, after the other has received its counts, 50 there
                for _ in range(50):
                    said.append(d.ask("POST", "/v1/chat/completions", {"model": "m", "messages": [
                        {"role": "user", "content": "?"}]}, SMALL)[0])
                time.sleep(3)
            passed = said.count(200)
            refill = time.monotonic() - began + 1
            self.assertEqual(said[:50].count(200), 50)
            self.assertGreaterEqual(passed, 60)
            self.assertLess(passed, 60 + refill + 5, said)
            self.assertIn(429, said)

    def test_a_conversation_goes_on_at_any_daemon(self):
        def echo(ask):
            return "heard: " + " / ".join(m["content"] if isinstance(m["content"], str) else
                                          "".join(p.get("text", "") for p in m["content"])
                                          for m in ask["messages"] if m["role"] == "user")
        with self.daemons(echo) as all:
            id = None
            for n in range(6):
                status, said = all[n % 2].ask("POST", "/v1/responses", {
                    "model": "m", "input": f"word {n}", "previous_response_id": id})
                self.assertEqual(status, 200, said)
                id = said["id"]
                self.assertIn(" / ".join(f"word {k}" for k in range(n + 1)), json.dumps(said))
            # The turns are one session because of their history alone.
            messages, sessions = [], set()
            for n in range(4):
                messages.append({"role": "user", "content": f"turn {n}"})
                c = http.client.HTTPConnection("127.0.0.1", all[n % 2].port, timeout=PATIENCE)
                c.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": messages}),
                          {"authorization": f"Bearer {KEY}", "content-type": "application/json"})
                r = c.getresponse()
                said = json.loads(r.read())
                c.close()
                sessions.add(r.headers["x-rationale-session"])
                messages.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
                time.sleep(0.2)
            self.assertEqual(len(sessions), 1, sessions)


class Signatures(OnPostgres):
    def test_a_turn_that_was_signed_goes_on_at_any_daemon(self):
        """The client does not send the signature back, and the provider refuses the turn without
        it."""
        models = {"says": "claude-opus-4-7+refuse-signature+as:adaptive"}

        def started(stack):
            g = self.gateway(providers={"claude": upstream(self.provider, "anthropic", models)})
            return stack.enter_context(g)

        def second(g, chat):
            status, data = self.ask(g, "POST", chat.path, chat.body)
            return status == 200 and "18 degrees" in chat.text(chat.read(data))

        with contextlib.ExitStack() as stack:
            a, b = started(stack), started(stack)
            numbers = iter(range(1000))

            def asked():
                chat = Chat("says", False, True, f"question {next(numbers)}")
                chat.next(chat.read(self.ask(a, "POST", chat.path, chat.body)[1]))
                return chat
            until(lambda: second(b, asked()))
            late = asked()
            c = started(stack)  # it receives what the others have
            until(lambda: second(c, late))


if __name__ == "__main__":
    if not SERVER:
        print("skipped: this runs under tools/postgres-run")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
