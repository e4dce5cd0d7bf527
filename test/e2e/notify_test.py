#!/usr/bin/env python3
"""Messages about incidents to Slack, signed webhooks and e-mail, through servers as strict as the
real ones: retried, deduplicated, masked, resumed after kill -9.

    test/e2e/notify_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import email
import email.policy
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

from alerts_test import ALERT, Daemon
from command import PATIENCE, SOURCE, environment, main, run
from gateway import until
from operator_model import Operator
from receivers import CHANNEL, TOKEN, Hook, Mail, Slack, mail_python, shown, verify
from scripted_model import Model
from waiting_test import ASKING

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
MAIL = mail_python()
PUBLIC = "https://rationale.example.com"


def slack_bot(slack, **more):
    return {"slack": {"token_env": "SLACK_TOKEN", "channel": CHANNEL, "api_url": slack.root + "/api"}, **more}


def hook_target(hook, **more):
    return {"webhook": {"url": hook.root + "/hook", "secret_env": "HOOK_SECRET"}, **more}


class Telling(Daemon):
    def __init__(self, model, targets, asking=False, **more):
        super().__init__(model, notify=targets, public_url=PUBLIC + "/", **more)
        self.env.update(SLACK_TOKEN=TOKEN, HOOK_SECRET=Hook.secret, SMTP_PASSWORD="a pass word",
                        NO_CHANNEL="xoxb-wrong")
        if SERVER:  # each daemon has its own database
            name = f"notify_{os.urandom(8).hex()}"
            subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-Atqc", f"CREATE DATABASE {name}"],
                           check=True, capture_output=True)
            self.config.update(store=SERVER.replace("%s", name), spool=str(self.folder / "spool"))
        if asking:
            (self.folder / "agents.yaml").write_text(ASKING)

    def done(self, n=0, state="completed"):
        id = self.send(n)[1]["alert_id"]
        self.until(id, state)
        return id

    def told(self, id, *states, count=1):
        """The messages of an incident, once at least `count` are in one of these states."""
        def look():
            got = self.ask("GET", f"/api/v1/incidents/{id}")[1]["notifications"]
            return got if sum(m["status"] in states for m in got) >= count else None
        try:
            return until(look)
        except AssertionError as e:
            raise AssertionError(f"{self.ask('GET', f'/api/v1/incidents/{id}')[1]['notifications']}\n{self.log_tail()}") from e

    def metric(self, target, result):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        found = re.search(rf'rationale_notifications_total{{target="{target}",result="{result}"}} (\d+)', text)
        return int(found[1]) if found else None

    def counted(self, target, **results):
        """Waits for the metric of each result: a message is counted after its state is stored."""
        until(lambda: all((self.metric(target, r) or 0) >= n for r, n in results.items()))
        return {r: self.metric(target, r) for r in results}

    def waiting(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        return int(re.search(r"^rationale_notifications_waiting (\d+)", text, re.M)[1])

    def approve_all(self, id):
        while self.until(id, "waiting", "completed")["status"] != "completed":
            for q in self.ask("GET", f"/api/v1/incidents/{id}")[1]["pending"]:
                self.ask("POST", f"/api/v1/runs/{id}/answer", {"seq": q["seq"], "word": "approve"})
            time.sleep(0.05)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.child.wait()


class Sent(unittest.TestCase):
    def test_an_incoming_webhook_gets_one_message_with_the_analysis_and_a_link(self):
        with Operator() as model, Slack() as slack:
            d = Telling(model, {"ops": {"slack": {"webhook_url_env": "SLACK_URL"}}})
            d.env["SLACK_URL"] = slack.root + "/services/T0/B0/secret"
            with d:
                id = d.done()
                m = d.told(id, "sent")
                self.assertEqual([(x["target"], x["event"], x["status"], x["tries"], x["error"]) for x in m],
                                 [("ops", "completed", "sent", 1, None)])
                self.assertEqual(len(slack.posted), 1)
                text = shown(slack.posted[0])
                self.assertIn("Investigated: DiskFull (critical, ", text)
                self.assertIn("pg_wal", text)
                self.assertIn(f"<{PUBLIC}/incidents/{id}|Open the incident>", text)
                self.assertEqual(d.counted("ops", sent=1, failed=0), {"sent": 1, "failed": 0})
                self.assertNotIn("secret", d.log_tail())

    def test_a_bot_keeps_one_message_up_to_date_and_tells_the_rest_in_its_thread(self):
        events = ["started", "approval", "completed"]
        with Operator() as model, Slack() as slack, \
                Telling(model, {"bot": slack_bot(slack, events=events)}, asking=True) as d:
            id = d.send()[1]["alert_id"]
            d.until(id, "waiting")
            d.told(id, "sent", count=2)
            self.assertEqual(len(slack.top()), 1)
            self.assertIn("Waits for approval", shown(slack.top()[0]))
            self.assertIn("disk_usage", shown(slack.top()[0]))
            self.assertEqual(len(slack.replies()), 1)
            d.approve_all(id)
            until(lambda: "Investigated" in shown(slack.replies()[-1]))  # sent after the update
            self.assertIn("Investigated", shown(slack.top()[0]))
            self.assertEqual(len(slack.top()), 1)
            self.assertIn("pg_wal", shown(slack.top()[0]))

    def test_a_message_that_was_deleted_in_slack_is_posted_again(self):
        with Operator() as model, Slack() as slack, \
                Telling(model, {"bot": slack_bot(slack, events=["started", "completed"])}, asking=True) as d:
            id = d.send()[1]["alert_id"]
            d.told(id, "sent")
            with slack.lock:
                slack.messages.clear()
            d.approve_all(id)
            d.told(id, "sent", count=2)
            self.assertEqual([len(slack.top()), len(slack.replies())], [1, 0])
            self.assertIn("Investigated", shown(slack.top()[0]))

    def test_an_answer_of_slack_that_names_no_message_loses_no_later_one(self):
        for answer in ({"ok": True}, {"ok": True, "channel": "C 1", "ts": "\0"}):
            with self.subTest(answer=answer), Operator() as model, Slack() as slack, \
                    Telling(model, {"bot": slack_bot(slack, events=["started", "completed"])}, asking=True) as d:
                slack.fail.append((200, {}, answer))
                id = d.send()[1]["alert_id"]
                d.told(id, "sent")
                d.approve_all(id)
                d.told(id, "sent", count=2)
                self.assertIn("Investigated", shown(slack.top()[0]))

    def test_a_signed_webhook_can_be_verified_and_has_the_same_id_at_each_try(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook)}) as d:
            hook.fail.extend([(500, {}, "no"), (503, {"retry-after": "1"}, "later")])
            id = d.done()
            m = d.told(id, "sent")[0]
            self.assertEqual(m["tries"], 3)
            self.assertEqual(len(hook.events), 1)
            self.assertEqual({h["webhook-id"] for _, h, _ in hook.calls}, {m["id"]})
            self.assertEqual({h["idempotency-key"] for _, h, _ in hook.calls}, {m["id"]})
            event = hook.events[0][1]
            self.assertEqual(event["type"], "incident.completed")
            self.assertRegex(event["timestamp"], r"^20\d\d-\d\d-\d\dT")
            self.assertEqual(event["data"]["incident_id"], id)
            self.assertEqual(event["data"]["url"], f"{PUBLIC}/incidents/{id}")
            self.assertIn("pg_wal", event["data"]["analysis"])
            self.assertEqual(d.counted("auto", sent=1, retried=2), {"sent": 1, "retried": 2})

    def test_the_documented_check_refuses_what_was_changed_or_is_old(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook)}) as d:
            d.told(d.done(), "sent")
            _, headers, body = hook.calls[0]
            now = int(headers["webhook-timestamp"])
            self.assertTrue(verify(Hook.secret, headers, body, now))
            self.assertFalse(verify(Hook.secret, headers, body + b" ", now))
            self.assertFalse(verify(Hook.secret, {**headers, "webhook-id": "x"}, body, now))
            self.assertFalse(verify(Hook.secret, headers, body, now + 301))
            self.assertFalse(verify("whsec_" + "A" * 32, headers, body, now))

    def test_a_failed_investigation_is_told_with_its_error(self):
        with Model(lambda ask: 400) as model, Hook() as hook, \
                Telling(Provided(model), {"auto": hook_target(hook)}) as d:
            id = d.done(state="error")
            d.told(id, "sent")
            self.assertEqual(hook.events[0][1]["type"], "incident.failed")
            self.assertTrue(hook.events[0][1]["data"]["error"])


    def test_started_comes_before_completed_also_if_it_has_to_be_retried(self):
        with Operator() as model, Hook() as hook, \
                Telling(model, {"auto": hook_target(hook, events=["started", "completed"])}) as d:
            hook.fail.append((500, {}, "not now"))
            ids = [d.done(n) for n in range(3)]
            for id in ids:
                d.told(id, "sent", count=2)
                self.assertEqual([e["type"] for _, e in hook.events if e["data"]["incident_id"] == id],
                                 ["incident.started", "incident.completed"])

    def test_messages_of_an_erased_incident_do_not_count_as_waiting(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook)}) as d:
            hook.fail.extend([(500, {}, "not now")] * 3)
            id = d.done()
            until(lambda: d.waiting() == 1)
            self.assertEqual(d.ask("POST", "/api/v1/erase", {"session_id": id})[0], 200)
            until(lambda: d.waiting() == 0)


class Provided:
    """A scripted model in the form that alerts_test's daemon needs."""

    def __init__(self, model):
        self.model = model

    def provider(self):
        return {"scripted": self.model.provider()}


class Refused(unittest.TestCase):
    def test_what_will_not_change_is_given_up_at_once_and_says_what_to_do(self):
        cases = (({"slack": {"token_env": "NO_CHANNEL", "channel": CHANNEL}}, "check the bot's token"),
                 ({"slack": {"token_env": "SLACK_TOKEN", "channel": "C0NOBODY"}}, "invite the bot"),
                 ({"slack": {"webhook_url_env": "GONE_URL"}}, "make a new one"))
        with Operator() as model, Slack() as slack:
            targets = {f"t{i}": {"slack": {**t["slack"], **({"api_url": slack.root + "/api"} if "token_env" in t["slack"] else {})}}
                       for i, (t, _) in enumerate(cases)}
            d = Telling(model, targets)
            d.env["GONE_URL"] = slack.root + "/services/gone"
            with d:
                id = d.done()
                told = {m["target"]: m for m in d.told(id, "failed", count=len(cases))}
                for i, (_, help) in enumerate(cases):
                    with self.subTest(case=i):
                        self.assertEqual(told[f"t{i}"]["status"], "failed")
                        self.assertLessEqual(told[f"t{i}"]["tries"], 1)
                        self.assertIn(help, told[f"t{i}"]["error"])
                self.assertEqual(d.counted("t0", failed=1), {"failed": 1})

    def test_a_message_waits_for_the_secret_of_its_target_and_is_sent_once_it_is_there(self):
        with Operator() as model, Slack() as slack:
            api = {"channel": CHANNEL, "api_url": slack.root + "/api"}
            d = Telling(model, {"env": {"slack": {**api, "token_env": "LATER_TOKEN"}},
                                "file": {"slack": {**api, "token_file": "later"}}})
            d.env.pop("LATER_TOKEN", None)
            with d:
                id = d.done()
                told = until(lambda: (m := d.told(id, "pending", count=2)) and all(x["error"] for x in m) and m)
                told = {m["target"]: m for m in told}
                self.assertIn("LATER_TOKEN is not set", told["env"]["error"])
                self.assertEqual([m["tries"] for m in told.values()], [0, 0])
                (d.folder / "later").write_text(TOKEN)
                d.reload(d.config)
                told = {m["target"]: m for m in d.told(id, "sent")}
                self.assertEqual([(m["status"], m["tries"]) for m in (told["file"], told["env"])],
                                 [("sent", 1), ("pending", 0)])
                d.kill()
                d.env["LATER_TOKEN"] = TOKEN
                d.start()
                d.told(id, "sent", count=2)
                self.assertEqual(len(slack.top()), 2)
                counts = {"sent": 1, "failed": 0, "retried": 0}
                self.assertEqual(d.counted("env", **counts), counts)

    def test_429_is_retried_when_it_says(self):
        with Operator() as model, Slack() as slack, Telling(model, {"bot": slack_bot(slack)}) as d:
            slack.fail.extend([(429, {"retry-after": "2"}, {"ok": False, "error": "ratelimited"}),
                               (200, {}, {"ok": False, "error": "internal_error"})])
            began = time.monotonic()
            id = d.done()
            m = d.told(id, "sent")[0]
            self.assertGreaterEqual(time.monotonic() - began, 2)
            self.assertEqual(m["tries"], 3)
            self.assertEqual(len(slack.top()), 1)

    def test_retries_end(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook, retry_for="0s")}) as d:
            hook.fail.append((500, {}, "broken\r\nX-Injected: 1"))
            id = d.done()
            m = d.told(id, "failed")[0]
            self.assertIn("status 500: broken", m["error"])
            self.assertEqual(len(hook.calls), 1)
            listed = run("notify", "list", "--config", str(d.path), env=environment(**Hook_env()))
            self.assertEqual(listed.code, 0, listed.err)
            self.assertIn(b"failed", listed.out)
            self.assertIn(id.encode(), listed.out)
            as_json = json.loads(run("notify", "list", id, "--json", "--config", str(d.path),
                                     env=environment(**Hook_env())).out)
            self.assertEqual([x["incident_id"] for x in as_json["notifications"]], [id])

    def test_a_dead_target_delays_neither_investigations_nor_other_targets(self):
        with Operator() as model, Slack() as dead, Hook() as hook, \
                Telling(model, {"dead": slack_bot(dead, timeout="60s"), "auto": hook_target(hook)}) as d:
            dead.hang = True
            ids = [d.done(n) for n in range(3)]
            for id in ids:
                told = {m["target"]: m["status"] for m in d.told(id, "sent")}
                self.assertEqual(told, {"dead": "pending", "auto": "sent"})
            began = time.monotonic()
            d.signal(signal.SIGTERM)  # and it does not delay the shutdown
            d.child.wait(PATIENCE)
            self.assertLess(time.monotonic() - began, 40)

    def test_an_erased_target_is_given_up_after_a_reload_and_a_new_one_serves(self):
        with Operator() as model, Slack() as dead, Hook() as hook, \
                Telling(model, {"dead": slack_bot(dead, timeout="60s")}) as d:
            dead.hang = True
            id = d.done()
            config = {**d.config, "incidents": {**d.config["incidents"], "notify": {"auto": hook_target(hook)}}}
            d.reload(config)
            self.assertIn("not configured", d.told(id, "failed")[0]["error"])
            other = d.done(1)
            d.told(other, "sent")
            self.assertEqual(len(hook.events), 1)


def Hook_env():
    return {"HOOK_SECRET": Hook.secret, "SLACK_TOKEN": TOKEN}


class Durable(unittest.TestCase):
    def test_after_kill_9_nothing_is_lost_and_nothing_acknowledged_is_sent_again(self):
        with Operator() as model, Slack() as slack, Hook() as hook, \
                Telling(model, {"bot": slack_bot(slack), "auto": hook_target(hook)}) as d:
            slack.hang = True
            ids = [d.done(n) for n in range(3)]
            for id in ids:
                d.told(id, "sent")  # sent by the webhook, not by Slack
            d.kill()
            slack.hang = False
            d.start()
            for id in ids:
                d.told(id, "sent", count=2)
            self.assertEqual(sorted(e["data"]["incident_id"] for _, e in hook.events), sorted(ids))
            for id in ids:
                self.assertTrue(any(id in shown(m) for m in slack.top()), id)
            self.assertEqual(d.ask("GET", f"/api/v1/incidents/{ids[0]}")[1]["notifications"][0]["status"], "sent")

    def test_a_question_is_asked_once_whatever_restarts(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook)}, asking=True) as d:
            id = d.send()[1]["alert_id"]
            d.until(id, "waiting")
            d.told(id, "sent")
            d.kill()
            d.start()
            d.until(id, "waiting")
            time.sleep(0.5)
            self.assertEqual([e["type"] for _, e in hook.events], ["incident.approval"])
            self.assertIn("disk_usage", hook.events[0][1]["data"]["question"])


    def test_a_question_that_was_not_told_before_kill_9_is_told_after_it(self):
        with Operator() as model, Slack() as slack, Telling(model, {"bot": slack_bot(slack, timeout="60s")}, asking=True) as d:
            slack.hang = True
            id = d.send()[1]["alert_id"]
            d.until(id, "waiting")
            d.kill()
            slack.hang = False
            d.start()
            self.assertEqual([(m["event"], m["status"]) for m in d.told(id, "sent", "skipped")], [("approval", "sent")])
            self.assertIn("disk_usage", shown(slack.top()[-1]))

    def test_a_question_that_was_answered_meanwhile_is_not_told(self):
        with Operator() as model, Hook() as hook, Telling(model, {"auto": hook_target(hook)}, asking=True) as d:
            hook.fail.append((500, {}, "not now"))
            id = d.send()[1]["alert_id"]
            d.until(id, "waiting")
            until(lambda: hook.calls)
            d.approve_all(id)
            d.told(id, "sent", count=1)
            told = {m["status"] for m in d.told(id, "skipped") if m["event"] == "approval"}
            self.assertIn("skipped", told)
            self.assertIn("incident.completed", [e["type"] for _, e in hook.events])


class Private(unittest.TestCase):
    SECRET = "AKIAIOSFODNN7EXAMPLE"

    def test_secrets_and_thoughts_do_not_go_out(self):
        def reply(ask):
            return {"text": f"The key {self.SECRET} leaked. password=hunter2secret", "reasoning": "a private thought"}

        with Model(reply) as model, Hook() as hook, Slack() as slack, \
                Telling(Provided(model), {"auto": hook_target(hook), "bot": slack_bot(slack)}) as d:
            id = d.done()
            d.told(id, "sent", count=2)
            everything = b"".join(body for _, _, body in hook.calls + slack.calls)
            self.assertIn(b"leaked", everything)
            for word in (self.SECRET, "hunter2secret", "private thought"):
                self.assertNotIn(word.encode(), everything)

    def test_the_question_shows_the_arguments_without_secrets(self):
        # The limit of a message truncates the second secret.
        for host in (f"db-3 {self.SECRET}", "db-3 " + "x" * 470 + f" {self.SECRET}"):
            def reply(ask):
                return {"text": "", "calls": [("recorded__disk_usage", {"host": host})]}

            with self.subTest(host=host), Model(reply) as model, Hook() as hook, Slack() as slack, \
                    Telling(Provided(model), {"auto": hook_target(hook), "bot": slack_bot(slack)}, asking=True) as d:
                id = d.send()[1]["alert_id"]
                d.until(id, "waiting")
                d.told(id, "sent", count=2)
                question = hook.events[0][1]["data"]["question"]
                self.assertIn("disk_usage", question)
                self.assertIn("db-3", question)
                self.assertIn("db-3", shown(slack.top()[-1]))
                everything = b"".join(body for _, _, body in hook.calls + slack.calls)
                self.assertNotIn(self.SECRET[:8].encode(), everything)

    def test_secrets_in_the_name_of_an_alert_are_masked(self):
        with Operator() as model, Hook() as hook, \
                Telling(model, {"auto": hook_target(hook, events=["started", "completed"])},
                        default_alert_type="DiskFull") as d:
            group = {"version": "4", "status": "firing", "receiver": "r", "groupKey": "g",
                     "alerts": [{"status": "firing", "labels": {"alertname": f"Leak {self.SECRET}",
                                                                "severity": f"bad {self.SECRET}"},
                                 "annotations": {"runbook": "runbook.md"}, "startsAt": "2026-01-01T00:00:00Z",
                                 "fingerprint": "f1"}]}
            id = d.ask("POST", "/alerts", group)[1]["alerts"][0]["alert_id"]
            d.until(id, "completed")
            d.told(id, "sent", count=2)
            self.assertTrue(hook.events[0][1]["data"]["title"].startswith("Investigating: DiskFull (bad "))
            seen = b"".join(body for _, _, body in hook.calls)
            seen += json.dumps([d.ask("GET", path) for path in
                                (f"/api/v1/incidents/{id}", "/api/v1/incidents", f"/api/v1/history/sessions/{id}")]).encode()
            seen += b"".join(p.read_bytes() for p in d.folder.rglob("*") if p.is_file())
            self.assertIn(b"Leak ", seen)
            self.assertNotIn(self.SECRET.encode(), seen)

    def test_an_alert_cannot_call_a_whole_channel(self):
        with Model(lambda ask: "<!channel> see <http://evil.example|this>") as model, Slack() as slack, \
                Telling(Provided(model), {"bot": slack_bot(slack)}) as d:
            id = d.ask("POST", "/alerts", {**ALERT, "severity": "<!here>"})[1]["alert_id"]
            d.until(id, "completed")
            d.told(id, "sent")
            m = slack.top()[0]
            self.assertNotIn("<!", m["text"])
            self.assertNotIn("<!", "".join(b["text"]["text"] for b in m["blocks"] if b["type"] == "section"))
            self.assertNotIn("<http://evil", shown(m))

    def test_long_and_strange_texts_fit(self):
        # Numbers make each piece different: a model that repeats itself is stopped.
        for piece, times in (("x", 10000), ("&<>", 8000), ("ä€😀", 5000), ("\n**b** line ", 3000), ("\n```", 4000)):
            text = "# Head " + "".join(f"{piece}{n}" for n in range(times))
            with self.subTest(piece=piece), Model(lambda ask: text) as model, Slack() as slack, \
                    Telling(Provided(model), {"bot": slack_bot(slack)}) as d:
                id = d.done()
                self.assertEqual(d.told(id, "sent", "failed")[0]["error"], None)


class Proposed(unittest.TestCase):
    def test_a_silence_is_proposed_and_never_made(self):
        group = {"version": "4", "status": "firing", "receiver": "r", "externalURL": "http://am.example:9093",
                 "alerts": [{"status": "firing", "labels": {"alertname": "DiskFull", "host": 'db "3"'},
                             "annotations": {"runbook": "runbook.md"}, "startsAt": "2026-01-01T00:00:00Z",
                             "fingerprint": "f1"}]}
        with Operator() as model, Slack() as slack, Hook() as hook, \
                Telling(model, {"bot": slack_bot(slack), "auto": hook_target(hook)}, silence_proposal="90m") as d:
            r = d.ask("POST", "/alerts", group)[1]
            id = r["alerts"][0]["alert_id"]
            d.until(id, "completed")
            d.told(id, "sent", count=2)
            one = d.ask("GET", f"/api/v1/incidents/{id}")[1]["silence_proposal"]
            self.assertEqual({m["name"]: m["value"] for m in one["matchers"]}, {"alertname": "DiskFull", "host": 'db "3"'})
            self.assertTrue(all(m["isEqual"] and not m["isRegex"] for m in one["matchers"]))
            self.assertEqual(hook.events[0][1]["data"]["silence_proposal"]["matchers"], one["matchers"])
            self.assertIn(id, one["comment"])
            self.assertIn("http://am.example:9093/#/silences/new?filter=%7Balertname%3D%22DiskFull%22", shown(slack.top()[0]))


@unittest.skipUnless(MAIL, "no aiosmtpd: tools/setup test installs it")
class Mailed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="rationale-mail-")
        cls.cert, cls.key = cls.folder.name + "/cert.pem", cls.folder.name + "/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", cls.key, "-out", cls.cert],
                       check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def target(self, mail, security="plain", user=False, to=("oncall@example.com",), **more):
        return {"email": {"server": f"127.0.0.1:{mail.port}", "security": security, "from": "rationale@example.com",
                          "to": list(to), **({"username": "us er", "password_env": "SMTP_PASSWORD"} if user else {})}, **more}

    def read(self, mail):
        m = until(lambda: mail.messages)[0]
        return m, email.message_from_bytes(m["content"].encode("latin-1"), policy=email.policy.default)

    def test_each_kind_of_connection_and_login(self):
        login = ("--user", "us er", "--password", "a pass word")
        tls = ("--cert", self.cert, "--key", self.key)
        for security, args, user in (("plain", (), False), ("plain", (*login, "--auth", "PLAIN"), True),
                                     ("starttls", (*tls, "--mode", "starttls", *login, "--auth", "PLAIN"), True),
                                     ("starttls", (*tls, "--mode", "starttls", *login, "--auth", "LOGIN"), True),
                                     ("tls", (*tls, "--mode", "tls", *login), True)):
            with self.subTest(security=security, args=args), Operator() as model, Mail(*args) as mail:
                d = Telling(model, {"mail": self.target(mail, security, user)})
                d.config["ca_file"] = self.cert
                with d:
                    id = d.done()
                    self.assertEqual(d.told(id, "sent", "failed")[0]["error"], None)
                    m, message = self.read(mail)
                    self.assertEqual((m["from"], m["to"]), ("rationale@example.com", ["oncall@example.com"]))
                    self.assertEqual((m["auth"], m["tls"]), (user, security == "starttls"))  # as recorded by aiosmtpd
                    self.assertTrue(message["subject"].startswith("Investigated: DiskFull"))
                    self.assertIn(f"{PUBLIC}/incidents/{id}", message.get_content())
                    self.assertIn("pg_wal", message.get_content())

    def test_any_text_arrives_whole_and_adds_no_header(self):
        text = ".\r\n.\n..dots\n.leading\nä€😀 " + "long " * 300 + "\nBcc: x@evil.example\n tail \n"
        with Model(lambda ask: text) as model, Mail() as mail, \
                Telling(Provided(model), {"mail": self.target(mail)}) as d:
            body = {**ALERT, "severity": "ä\r\nBcc: evil@example.com"}
            status, r = d.ask("POST", "/alerts", body)
            if status == 422:  # refused; then a title with letters beyond ASCII
                status, r = d.ask("POST", "/alerts", {**ALERT, "severity": "kritisch ä€"})
            d.until(r["alert_id"], "completed")
            d.told(r["alert_id"], "sent")
            m, message = self.read(mail)
            self.assertNotIn("bcc", [k.lower() for k in message.keys()])
            self.assertIn("ä", message["subject"])
            content = message.get_content().replace("\r\n", "\n")
            for line in ("..dots", ".leading", "ä€😀 long", "Bcc: x@evil.example"):
                self.assertIn(line, content)
            self.assertTrue(all(len(l) <= 998 for l in m["content"].splitlines()))
            self.assertTrue(all(ord(c) < 128 for c in m["content"]))

    def test_refusals_are_told_apart(self):
        with Operator() as model, Mail() as mail, Telling(model, {
                "some": self.target(mail, to=("refused@example.com", "good@example.com")),
                "none": self.target(mail, to=("refused@example.com",)),
                "later": self.target(mail, to=("later@example.com",)),
                "nostart": self.target(mail, security="starttls")}) as d:
            id = d.done()
            d.told(id, "sent", "failed", count=4)
            told = {m["target"]: m for m in d.ask("GET", f"/api/v1/incidents/{id}")[1]["notifications"]}
            self.assertEqual({k: m["status"] for k, m in told.items()},
                             {"some": "sent", "none": "failed", "later": "sent", "nostart": "failed"})
            self.assertIn("refused@example.com", told["some"]["error"])
            self.assertIn("550", told["none"]["error"])
            self.assertEqual(told["later"]["tries"], 2)
            self.assertIn("STARTTLS", told["nostart"]["error"])

    def test_a_certificate_that_nobody_knows_is_refused(self):
        with Operator() as model, Mail("--cert", self.cert, "--key", self.key, "--mode", "tls") as mail, \
                Telling(model, {"mail": self.target(mail, "tls", retry_for="0s")}) as d:
            id = d.done()
            self.assertIn("not trusted", d.told(id, "failed")[0]["error"])
            self.assertEqual(mail.messages, [])


class ByHand(unittest.TestCase):
    def test_a_target_is_tried_and_listed_without_a_daemon(self):
        with Operator() as model, Hook() as hook, Slack() as slack:
            d = Telling(model, {"auto": hook_target(hook), "bot": slack_bot(slack)})
            d.write()
            env = environment(**Hook_env(), UPSTREAM_KEY="k")
            done = run("notify", "test", "auto", "--config", str(d.path), env=env)
            self.assertEqual((done.code, done.out), (0, b"auto (webhook) has the test message\n"), done.err)
            self.assertEqual(hook.events[0][1]["data"]["title"], "A test message of Rationale")
            self.assertEqual(run("notify", "test", "bot", "--config", str(d.path), env=env).code, 0)
            done = run("notify", "test", "atuo", "--config", str(d.path), env=env)
            self.assertEqual(done.code, 2)
            self.assertIn("auto, bot", done.err)
            hook.fail.append((500, {}, "out of order"))
            done = run("notify", "test", "auto", "--config", str(d.path), env=env)
            self.assertEqual(done.code, 5)
            self.assertIn("out of order", done.err)


class Configured(unittest.TestCase):
    def test_the_example_of_the_page_is_taken(self):
        page = (SOURCE / "docs/reference/notifications.md").read_text()
        example = textwrap.dedent("    incidents:\n" + page.split("    incidents:\n", 1)[1].split("\n\n", 1)[0] + "\n")
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/rationale.yaml"
            with open(path, "w", encoding="utf-8") as f:
                f.write("providers: {ollama: {}}\n" + example)
            env = environment(**Hook_env(), SLACK_BOT_TOKEN=TOKEN, SMTP_PASSWORD="p")
            done = run("config", "show", "--config", path, env=env)
            self.assertEqual(done.code, 0, done.err)
            for name in ("channel", "automation", "mail"):
                self.assertIn(f'"{name}": '.encode(), done.out)

    def test_mistakes_are_found_with_their_line_and_a_remedy(self):
        cases = (("oncall: {}", "one of slack, webhook and email"),
                 ("oncall: {slack: {channel: C1}}", "token_env"),
                 ("oncall: {slack: {token_env: SLACK_TOKEN}}", "channel"),
                 ("oncall: {slack: {token: xoxb-1}}", "_env"),
                 ("oncall: {slack: {token_env: xoxb-this-is-it, channel: C1}}", "not the key itself"),
                 ("oncall: {webhook: {url: 'http://127.0.0.1/x'}}", "secret_env"),
                 ("oncall: {webhook: {url: 'nowhere', secret_env: HOOK_SECRET}}", "must begin with http"),
                 ("oncall: {webhook: {url: 'http://127.0.0.1/x', secret_env: WEAK}}", "openssl rand"),
                 ("oncall: {email: {server: h, from: a@b}}", "needs server, from and to"),
                 ("oncall: {email: {server: 'h:0', from: a@b.c, to: [a@b.c]}}", "HOST:PORT"),
                 ("oncall: {email: {server: h, from: \"a@b.c\\r\\nX: y\", to: [a@b.c]}}", "plain address"),
                 ("oncall: {email: {server: h, from: a@b.c, to: ['a@b.c, d@e.f']}}", "plain address"),
                 ("oncall: {email: {server: h, from: a@b.c, to: [a@b.c], username: u}}", "belong together"),
                 ("oncall: {email: {server: h, from: a@b.c, to: [a@b.c]}, events: [complete]}", "completed"),
                 ("oncall: {slack: {webhook_url_env: BAD_URL}}", "no URL"))
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/rationale.yaml"
            env = environment(**Hook_env(), WEAK="short", BAD_URL="hooks.slack.example")
            for target, remedy in cases:
                with self.subTest(target=target):
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(f"providers: {{ollama: {{}}}}\nincidents:\n  notify:\n    {target}\n")
                    done = run("config", "check", "--config", path, env=env)
                    self.assertEqual(done.code, 3, done)
                    self.assertIn(":4:", done.err + done.out.decode())
                    self.assertIn(remedy, done.err + done.out.decode())

    def test_what_is_printed_has_no_secret(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/rationale.yaml"
            with open(path, "w", encoding="utf-8") as f:
                f.write("providers: {ollama: {}}\nincidents:\n  notify:\n"
                        "    bot: {slack: {token_env: SLACK_TOKEN, channel: C1}}\n"
                        "    auto: {webhook: {url: 'https://x.example/${PART}', secret_env: HOOK_SECRET, headers: {x-key: '${PART}'}}}\n")
            env = environment(**Hook_env(), PART="hidden-part")
            done = run("config", "show", "--config", path, env=env)
            self.assertEqual(done.code, 0, done.err)
            self.assertIn(b"SLACK_TOKEN", done.out)
            for secret in (TOKEN, Hook.secret, "hidden-part"):
                self.assertNotIn(secret.encode(), done.out)


if __name__ == "__main__":
    main()
