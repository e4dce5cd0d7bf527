#!/usr/bin/env python3
"""Alerts over HTTP to a daemon with a scripted model: accepted, watched, cancelled, found after
kill -9.

    test/e2e/alerts_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hmac
import http.client
import http.server
import json
import signal
import sqlite3
import threading
import time
import unittest

from command import BINARY, PATIENCE, SOURCE, main
from gateway import Gateway, digest
from operator_model import Operator
from watcher import Watcher

CASE = SOURCE / "example" / "incidents" / "cases" / "disk-full"
ALERT = json.loads((CASE / "alert.json").read_text())
AGENTS = f"""
mcp_servers:
  recorded:
    connection_params:
      command: {BINARY}
      args: [mcp, --replay, {CASE}]
agents:
  DiskAgent:
    alert_types: [DiskFull, kubernetes]
    mcp_servers: [recorded]
    strategy: native
"""


class Daemon(Gateway):
    def __init__(self, model, keys=None, **incidents):
        super().__init__(BINARY, {"providers": model.provider()})
        (self.folder / "agents.yaml").write_text(AGENTS)
        (self.folder / "runbooks").mkdir()
        (self.folder / "runbooks" / "runbook.md").write_text((CASE / "runbook.md").read_text())
        self.config["incidents"] = {"agents": str(self.folder / "agents.yaml"),
                                    "runbooks": str(self.folder / "runbooks"), **incidents}
        if keys:
            self.config["keys"] = keys

    def ask(self, method, path, body=None, key=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        c.request(method, path, body, {"content-type": "application/json",
                                       **({"authorization": f"Bearer {key}"} if key else {})})
        r = c.getresponse()
        data = r.read()
        c.close()
        self.headers = {k.lower(): v for k, v in r.getheaders()}
        return r.status, json.loads(data) if data else None

    def send(self, n=0, key=None):
        return self.ask("POST", "/alerts", {**ALERT, "data": {**ALERT["data"], "n": n}}, key)

    def until(self, id, *states, key=None):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            status, s = self.ask("GET", f"/processing-status/{id}", key=key)
            if status == 200 and s["status"] in states:
                return s
            time.sleep(0.02)
        raise AssertionError(f"{id} is {s}, not {states}:\n{self.log_tail()}")


class Alerts(unittest.TestCase):
    def test_an_alert_is_taken_investigated_and_reported(self):
        with Operator() as model, Daemon(model) as d:
            status, r = d.send()
            self.assertEqual((status, r["status"]), (202, "queued"))
            s = d.until(r["alert_id"], "completed", "error")
            self.assertEqual(s["status"], "completed", s)
            self.assertEqual(s["progress"], 100)
            self.assertEqual(s["assigned_mcp_servers"], ["recorded"])
            self.assertIn("pg_wal", s["result"])
            self.assertIsInstance(s["timestamp"], int)
            self.assertEqual(d.ask("GET", "/alert-types"), (200, ["DiskFull", "kubernetes"]))
            status, one = d.ask("GET", f"/api/v1/incidents/{r['alert_id']}")
            self.assertEqual(one["alert"]["host"], "db-3")
            self.assertEqual([x["status"] for x in one["stages"]], ["done"])
            self.assertIn("pg_wal", one["report"])
            self.assertGreaterEqual(one["tool_calls"], 3)
            status, all_ = d.ask("GET", "/api/v1/incidents")
            self.assertEqual([x["alert_id"] for x in all_["incidents"]], [r["alert_id"]])

    def test_its_session_is_in_the_history_with_all_that_is_known(self):
        with Operator() as model, Daemon(model) as d:
            _, r = d.send()
            d.until(r["alert_id"], "completed")
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                _, found = d.ask("GET", "/api/v1/history/sessions?alert_type=DiskFull")
                if found["sessions"] and found["sessions"][0]["status"] == "completed":
                    break
                time.sleep(0.1)
            s = found["sessions"][0]
            self.assertEqual(s["alert_id"], r["alert_id"])
            self.assertEqual(s["agent_type"], "DiskAgent")
            self.assertGreaterEqual(s["llm_interaction_count"], 2)
            self.assertGreaterEqual(s["mcp_communication_count"], 3)
            _, whole = d.ask("GET", f"/api/v1/history/sessions/{s['session_id']}")
            self.assertEqual(whole["alert_data"]["host"], "db-3")
            self.assertEqual(whole["session_metadata"]["severity"], "critical")
            self.assertIn("pg_wal", whole["final_analysis"])
            self.assertEqual(d.ask("GET", "/api/v1/history/sessions?alert_type=other")[1]["sessions"], [])

    def test_what_is_wrong_is_a_clear_4xx(self):
        with Operator() as model, Daemon(model) as d:
            for body, status, error in ((b"{", 400, "invalid_json"), (b"", 400, "invalid_json"),
                                        ({"alert_type": "nope", "runbook": "runbook.md"}, 400, "unknown_alert_type"),
                                        ({"runbook": 3}, 422, "validation_failed")):
                got, r = d.ask("POST", "/alerts", body)
                self.assertEqual((got, r["detail"]["error"]), (status, error), r)
            self.assertEqual([e["field"] for e in r["detail"]["validation_errors"]], ["alert_type", "runbook"])
            self.assertEqual(r["detail"]["required_fields"], ["alert_type", "runbook"])
            status, r = d.ask("POST", "/alerts", b'"' + b"x" * (10 << 20) + b'"')
            self.assertEqual(status, 413, r)
            self.assertEqual(d.ask("GET", "/processing-status/nothing")[0], 404)
            self.assertEqual(d.ask("PUT", "/alerts", {})[0], 405)
            for query in ("limit=x", "limit=0", "limit=-1", "status=done", "before=abc", "before=000000000000000000000000000000000000"):
                status, r = d.ask("GET", f"/api/v1/incidents?{query}")
                self.assertEqual(status, 422, query)
                self.assertIn(query.split("=")[0], r["detail"]["message"])

    def test_a_large_alert_is_taken_and_cut(self):
        with Operator() as model, Daemon(model) as d:
            body = {**ALERT, "data": {"blob": "x" * (9 << 20), "list": list(range(5000))}}
            status, r = d.ask("POST", "/alerts", body)
            self.assertEqual(status, 202, r)
            self.assertIn("2 values", r["message"])
            d.until(r["alert_id"], "completed")
            _, one = d.ask("GET", f"/api/v1/incidents/{r['alert_id']}")
            self.assertEqual((len(one["alert"]["blob"]), len(one["alert"]["list"])), (10000, 1000))

    def test_defect_12_a_full_queue_is_503_and_takes_nothing(self):
        with Operator() as model, Daemon(model, max_concurrent_alerts=1, max_queue_size=1) as d:
            model.hold()
            first = d.send(1)[1]["alert_id"]
            d.send(2)
            status, r = d.send(3)
            self.assertEqual((status, r["detail"]["error"]), (503, "queue_full"))
            self.assertGreater(int(d.headers["retry-after"]), 0)
            self.assertEqual(d.send(1)[1], {"alert_id": first, "status": "duplicate",
                                            "message": "the same alert is already being looked into"})
            model.free()
            d.until(first, "completed")

    def test_defect_13_alertmanager_posts_to_the_same_address(self):
        with Operator() as model, Daemon(model, default_alert_type="kubernetes") as d:
            group = json.loads((SOURCE / "example/incidents/cases/bad-image/alert.json").read_text())
            group["alerts"].append({"status": "resolved", "labels": {"alertname": "Gone"}, "fingerprint": "f2"})
            status, r = d.ask("POST", "/alerts", group)
            self.assertEqual(status, 202, r)
            self.assertEqual([(a["status"], a["fingerprint"]) for a in r["alerts"]],
                             [("queued", "5f2c6b8d1a7e9034"), ("resolved", "f2")])
            self.assertEqual(r["alerts"][0]["alert_type"], "kubernetes")
            d.until(r["alerts"][0]["alert_id"], "completed")

    def test_defect_9_after_kill_9_queued_and_running_alerts_go_on(self):
        with Operator() as model, Daemon(model, max_concurrent_alerts=1) as d:
            model.hold()
            ids = [d.send(n)[1]["alert_id"] for n in range(3)]
            d.until(ids[0], "processing")
            until = time.monotonic() + PATIENCE
            while not model.asked and time.monotonic() < until:
                time.sleep(0.02)
            d.ask("POST", f"/api/v1/incidents/{ids[2]}/cancel")
            d.signal(signal.SIGKILL)
            d.child.wait()
            model.free()
            d.start()
            self.assertEqual([d.until(i, "completed", "cancelled", "error")["status"] for i in ids],
                             ["completed", "completed", "cancelled"])

    def test_a_daemon_that_goes_down_leaves_what_runs_for_the_next(self):
        with Operator() as model, Daemon(model) as d:
            model.hold()
            id = d.send()[1]["alert_id"]
            d.until(id, "processing")
            d.signal(signal.SIGTERM)
            d.child.wait(PATIENCE)
            model.free()
            d.start()
            self.assertEqual(d.until(id, "completed", "error")["status"], "completed")

    def test_defect_11_cancel_at_any_state(self):
        with Operator() as model, Daemon(model, max_concurrent_alerts=1) as d:
            model.hold()
            running, queued = (d.send(n)[1]["alert_id"] for n in range(2))
            d.until(running, "processing")
            self.assertEqual(d.ask("POST", f"/api/v1/incidents/{queued}/cancel")[1]["status"], "cancelled")
            self.assertEqual(d.ask("POST", f"/api/v1/incidents/{running}/cancel")[1]["status"], "cancelling")
            d.until(running, "cancelled")
            status, r = d.ask("POST", f"/api/v1/incidents/{running}/cancel")
            self.assertEqual((status, r["detail"]["status"]), (409, "cancelled"))
            status, r = d.ask("POST", f"/api/v1/incidents/{queued}/chat", {"question": "Why?"})
            self.assertEqual((status, r["detail"]["status"]), (409, "cancelled"))
            model.free()

    def test_defect_22_the_timeout_is_a_setting(self):
        with Operator() as model, Daemon(model, timeout="300ms") as d:
            model.hold()
            s = d.until(d.send()[1]["alert_id"], "error")
            self.assertIn("timed out after 300 ms", s["error"])
            model.free()

    def test_a_question_is_answered_once_it_has_ended(self):
        with Operator() as model, Daemon(model) as d:
            id = d.send()[1]["alert_id"]
            d.until(id, "completed")
            status, r = d.ask("POST", f"/api/v1/incidents/{id}/chat", {"question": "Which slot?"})
            self.assertEqual(status, 200, r)
            self.assertIn("Which slot?", r["answer"])
            for question in (" \n", "Which\0 slot?", 7):
                status, r = d.ask("POST", f"/api/v1/incidents/{id}/chat", {"question": question})
                self.assertEqual(status, 422, r)

    def test_defect_17_a_watcher_gets_the_state_at_once_and_each_change(self):
        with Operator() as model, Daemon(model) as d:
            model.hold()
            id = d.send()[1]["alert_id"]
            d.until(id, "processing")
            with Watcher(d.port, path=f"/ws/{id}") as w:
                m = w.next()
                self.assertEqual((m["type"], m["data"]["alert_id"], m["data"]["status"]),
                                 ("status_update", id, "processing"))
                model.free()
                last = m["data"]["progress"]
                while m["data"]["status"] == "processing":
                    m = w.next()
                    self.assertGreaterEqual(m["data"]["progress"], last)
                    last = m["data"]["progress"]
                self.assertEqual(m["data"]["status"], "completed")
                self.assertIn("pg_wal", m["data"]["result"])
            with Watcher(d.port, path=f"/ws/{id}") as w:
                self.assertEqual(w.next()["data"]["status"], "completed")
            with Watcher(d.port, path="/ws/nothing") as w:
                self.assertEqual(w.status, 404)

    def test_the_dashboard_is_told_of_alerts(self):
        with Operator() as model, Daemon(model) as d:
            with Watcher(d.port) as w:
                w.subscribe("dashboard_updates")
                id = d.send()[1]["alert_id"]
                m = w.until(lambda m: m["type"] == "alert_status" and m["status"] == "completed")
                self.assertEqual((m["alert_id"], m["progress"], m["channel"]), (id, 100, "dashboard_updates"))
                self.assertNotIn("result", m)

    def test_defect_19_a_key_sees_its_own(self):
        keys = [{"name": n, "sha256": digest(n), **({"role": "operator"} if n == "boss" else {})}
                for n in ("one", "two", "boss")]
        with Operator() as model, Daemon(model, keys=keys) as d:
            self.assertEqual(d.send()[0], 401)
            id = d.send(key="one")[1]["alert_id"]
            d.until(id, "completed", key="one")
            self.assertEqual(d.ask("GET", f"/processing-status/{id}", key="two")[0], 404)
            self.assertEqual(d.ask("GET", "/api/v1/incidents", key="two")[1]["incidents"], [])
            self.assertEqual(len(d.ask("GET", "/api/v1/incidents", key="boss")[1]["incidents"]), 1)
            for key, n in (("one", 1), ("two", 0), ("boss", 1)):
                _, found = d.ask("GET", "/api/v1/history/sessions?alert_type=DiskFull", key=key)
                self.assertEqual(len(found["sessions"]), n, (key, found))
            for key, status in (("one", 101), ("two", 404), ("boss", 101)):
                with Watcher(d.port, path=f"/ws/{id}", headers={"Authorization": f"Bearer {key}"}) as w:
                    self.assertEqual(w.status, status, key)
            with Watcher(d.port, path=f"/ws/{id}") as w:
                self.assertEqual(w.status, 401)

    def test_defect_8_secrets_are_masked_in_what_is_kept_and_shown(self):
        with Operator() as model, Daemon(model) as d:
            secret = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
            _, r = d.ask("POST", "/alerts", {**ALERT, "data": {"error": f"denied for {secret}"}})
            d.until(r["alert_id"], "completed")
            _, one = d.ask("GET", f"/api/v1/incidents/{r['alert_id']}")
            self.assertNotIn(secret, json.dumps(one))
            self.assertIn("denied for", one["alert"]["error"])
            self.assertNotIn(secret.encode(), b"".join(p.read_bytes() for p in d.folder.glob("history.db*")
                                                       if p.is_file()))

    def test_a_name_without_a_password_in_the_address_of_a_runbook_has_an_empty_one(self):
        fetched = []

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fetched.append(base64.b64decode(self.headers["authorization"].removeprefix("Basic ")).decode())
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"# Look at pg_wal\n")

            def log_message(self, *args):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages, Operator() as model, \
                Daemon(model, runbook_domains=["127.0.0.1"]) as d:
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            for user in ("reader", "r%3Ad", "reader:"):
                address = f"http://{user}@127.0.0.1:{pages.server_port}/disk.md"
                status, said = d.ask("POST", "/alerts", {**ALERT, "runbook": address})
                self.assertEqual(status, 202, said)
                d.until(said["alert_id"], "completed")
            self.assertEqual(fetched, ["reader:", "r:d:", "reader:"])

    def test_a_redirect_of_a_runbook_may_be_relative(self):
        moved = {"/old": "/b/c?d=e/f", "/b/c?d=e/f": "g#h", "/b/g": "//{}/i/", "/i/": "?d"}
        asked = []

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, self.headers["authorization"]))
                self.send_response(302 if self.path in moved else 200)
                if self.path in moved:
                    self.send_header("location", moved[self.path].format(self.headers["host"]))
                self.end_headers()
                self.wfile.write(b"# Look at pg_wal\n")

            def log_message(self, *args):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages, Operator() as model, \
                Daemon(model, runbook_domains=["127.0.0.1"]) as d:
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            for start in ("/old", "/i/"):
                for user in ("", "a:b@"):
                    del asked[:]
                    address = f"http://{user}127.0.0.1:{pages.server_port}{start}"
                    said = d.ask("POST", "/alerts", {**ALERT, "runbook": address})[1]
                    d.until(said["alert_id"], "completed")
                    basic = "Basic " + base64.b64encode(b"a:b").decode() if user else None
                    want = [("/old", basic), ("/b/c?d=e/f", basic), ("/b/g", basic), ("/i/", None)]
                    self.assertEqual(asked, want if start == "/old" else [("/i/", basic), ("/i/?d", basic)])

    def test_credentials_in_the_address_of_a_runbook_are_used_but_never_stored_shown_or_sent_to_a_model(self):
        secrets = ("hunter2%21pass", "hunter2!pass", "hunter2-query")
        fetched = []

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fetched.append((self.path, self.headers["authorization"]))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"# Look at pg_wal\n")

            def log_message(self, *args):
                pass

        def traces(d, model):
            shown = [d.ask("GET", x)[1] for x in (f"/api/v1/incidents/{id}", "/api/v1/incidents",
                                                  f"/api/v1/history/sessions/{id}", f"/api/v1/runs/{id}")]
            files = b"".join(p.read_bytes() for p in d.folder.rglob("*") if p.is_file())
            return json.dumps(shown) + json.dumps(model.asked) + files.decode("latin-1") + d.log_tail(1 << 20)

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages, Operator() as model, \
                Daemon(model, runbook_domains=["127.0.0.1"], max_concurrent_alerts=1) as d:
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            host = f"127.0.0.1:{pages.server_port}"
            address = f"http://reader:{secrets[0]}@{host}/disk.md?token={secrets[2]}"
            hook = {"receiver": "x", "status": "firing", "version": "4", "groupKey": "g", "alerts": [
                {"status": "firing", "labels": {"alertname": "DiskFull"}, "annotations": {"runbook_url": address},
                 "startsAt": "2026-11-17T04:22:14Z", "fingerprint": "5f2c6b8d1a7e9034"}]}
            id = d.ask("POST", "/alerts", hook)[1]["alerts"][0]["alert_id"]
            d.until(id, "completed")
            want = base64.b64encode(b"reader:hunter2!pass").decode()
            self.assertEqual(fetched, [(f"/disk.md?token={secrets[2]}", f"Basic {want}")])
            self.assertIn("Look at pg_wal", json.dumps(model.asked))
            self.assertIn(f"http://reader:[MASKED:password]@{host}/disk.md",
                          d.ask("GET", f"/api/v1/incidents/{id}")[1]["runbook"])
            found = traces(d, model)
            self.assertEqual([s for s in secrets if s in found], [])
            # The error must not show credentials either.
            status, r = d.ask("POST", "/alerts", {**ALERT, "runbook": address.replace("127.0.0.1", "elsewhere.example")})
            self.assertEqual(status, 422)
            self.assertEqual([s for s in secrets if s in json.dumps(r)], [])
            # Credentials are in memory only: after a restart the report says why the runbook is
            # missing.
            model.hold()
            d.send(1)
            hook["alerts"][0].update(fingerprint="77", labels={"alertname": "DiskFull", "n": "2"})
            hook["groupKey"] = "h"
            id = d.ask("POST", "/alerts", hook)[1]["alerts"][0]["alert_id"]
            d.signal(signal.SIGKILL)
            d.child.wait()
            model.free()
            d.start()
            d.until(id, "completed")
            self.assertIn("credentials, which are not stored", json.dumps(d.ask("GET", f"/api/v1/incidents/{id}")[1]))
            self.assertEqual(len(fetched), 1)
            found = traces(d, model)
            self.assertEqual([s for s in secrets if s in found], [])
            pages.shutdown()

    def test_the_model_of_an_agent_comes_before_that_of_the_configuration(self):
        for own, want in (("    model: own\n", "own"), ("", "common")):
            with Operator() as model:
                d = Daemon(model)
                d.config["incidents"]["model"] = "common"
                d.config["providers"]["operator"]["models"] = {"common": "common", "own": "own"}
                (d.folder / "agents.yaml").write_text(AGENTS + own)
                with d:
                    d.until(d.send()[1]["alert_id"], "completed")
                    self.assertEqual({body["model"] for body in model.asked}, {want})

    def test_an_erased_incident_leaves_none_of_its_alerts(self):
        with Operator() as model, Daemon(model) as d:
            id = d.send()[1]["alert_id"]
            d.until(id, "completed")
            self.assertEqual(d.ask("GET", f"/api/v1/incidents/{id}")[1]["alert_count"], 1)
            self.assertEqual(d.ask("POST", "/api/v1/erase", {"session_id": id})[0], 200)
            self.assertEqual(d.ask("GET", f"/api/v1/incidents/{id}")[0], 404)
            with sqlite3.connect(f"file:{d.folder}/history.db?mode=ro", uri=True) as db:
                self.assertEqual(db.execute("SELECT COUNT(*) FROM incident_alerts").fetchone()[0], 0)

    def signed(self, d, body, header, value):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE)
        c.request("POST", "/alerts", body, {"content-type": "application/json", header: value})
        r = c.getresponse()
        said = json.loads(r.read())
        c.close()
        return r.status, said, r.headers["retry-after"]

    def test_webhooks_are_signed_and_bad_ones_are_told_where(self):
        secret, ping = "s3cret", b'{"event": {"event_type": "pagey.ping"}}'
        sign = hmac.new(secret.encode(), ping, "sha256").hexdigest()
        with Operator() as model:
            d = Daemon(model, pagerduty_secret_env="PD_SECRET", grafana_secret_env="GRAFANA_SECRET")
            d.env.update(PD_SECRET=secret, GRAFANA_SECRET=secret)
            with d:
                grafana = json.dumps({"orgId": 1, "version": "1", "alerts": []}).encode()
                for body, header, value, want in (
                        (ping, "X-PagerDuty-Signature", f"v1={sign}", 200),
                        (ping, "X-PagerDuty-Signature", "v1=" + "0" * 64, 401),
                        (ping, "X-Other", "1", 401),
                        (ping + b" ", "X-PagerDuty-Signature", f"v1={sign}", 401),
                        (grafana, "X-Grafana-Alerting-Signature",
                         hmac.new(secret.encode(), grafana, "sha256").hexdigest(), 200),
                        (grafana, "X-Grafana-Alerting-Signature", sign, 401)):
                    status, said, _ = self.signed(d, body, header, value)
                    self.assertEqual(status, want, said)
                for i in range(400):  # one more is judged each second
                    status, said, wait = self.signed(d, ping, "X-PagerDuty-Signature", f"v1={i:064x}")
                    if status == 429:
                        break
                    self.assertEqual(status, 401, said)
                self.assertGreaterEqual(i, 96)
                self.assertIn(wait, ("1", "2"))
                self.assertEqual(self.signed(d, ping, "X-PagerDuty-Signature", f"v1={sign}")[0], 200)
                status, r = d.ask("POST", "/alerts", {"alerts": [{"labels": {}, "startsAt": "soon"}]})
                self.assertEqual((status, r["detail"]["validation_errors"][0]["field"]), (422, "alerts[0].startsAt"))

    def test_sighup_reads_the_agents_again_and_bad_ones_change_nothing(self):
        with Operator() as model, Daemon(model, max_concurrent_alerts=1, max_queue_size=1) as d:
            model.hold()
            running = d.send(1)[1]["alert_id"]
            d.until(running, "processing")
            agents = d.folder / "agents.yaml"
            agents.write_text(AGENTS.replace("[DiskFull, kubernetes]", "[DiskFull, Latency]"))
            (d.folder / "more").mkdir()
            (d.folder / "more" / "other.md").write_text("# Look at the disk")
            d.config["incidents"].update(runbooks=str(d.folder / "more"), max_concurrent_alerts=2, max_queue_size=5)
            d.reload(d.config)
            self.eventually(lambda: d.ask("GET", "/alert-types")[1] == ["DiskFull", "Latency"], d)
            status, r = d.ask("POST", "/alerts", {"alert_type": "kubernetes", "runbook": "other.md"})
            self.assertEqual((status, r["detail"]["error"]), (400, "unknown_alert_type"))
            self.assertEqual(d.ask("POST", "/alerts", {**ALERT, "runbook": "runbook.md"})[0], 422)
            second = [d.ask("POST", "/alerts", {**ALERT, "alert_type": "Latency", "runbook": "other.md",
                                                "data": {"n": n}})[1]["alert_id"] for n in range(3)]
            d.until(second[0], "processing")  # two run now
            for bad in ("agents: {A: {alert_types: [x], mcp_servers: [nowhere]}}", "agents: [", ""):
                before = d.log_tail(1 << 20).count("the agents are bad")
                agents.write_text(bad)
                d.reload(d.config)
                self.eventually(lambda: d.log_tail(1 << 20).count("the agents are bad") > before, d)
            agents.unlink()
            d.reload(d.config)
            self.assertEqual(d.ask("GET", "/alert-types")[1], ["DiskFull", "Latency"])
            model.free()
            for id in (running, *second):
                self.assertEqual(d.until(id, "completed", "error")["status"], "completed")

    def eventually(self, what, d):
        end = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), end, d.log_tail())
            time.sleep(0.02)

    def test_a_model_that_fails_is_an_error_with_words(self):
        with Operator() as model, Daemon(model) as d:
            model.server.fails = True
            s = d.until(d.send()[1]["alert_id"], "error", "completed")
            self.assertEqual(s["status"], "error", s)
            self.assertTrue(s["error"])


if __name__ == "__main__":
    main()
