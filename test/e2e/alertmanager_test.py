#!/usr/bin/env python3
"""Alerts from a real Alertmanager (Debian's package): fired, repeated, resolved. Each firing is one
incident.

    test/e2e/alertmanager_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import datetime
import http.client
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from alerts_test import Daemon
from command import BINARY, PATIENCE, main
from gateway import Process, until
from operator_model import Operator

ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


def rfc3339(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


class Alertmanager(Process):
    """Groups alerts by name; sends a group after a second and then every second."""

    def __init__(self, url, repeat="1s"):
        self.folder, self.repeat = Path(tempfile.mkdtemp()), repeat
        self.write(url)

    def write(self, url):
        (self.folder / "alertmanager.yml").write_text(json.dumps({
            "route": {"receiver": "rationale", "group_by": ["alertname"], "group_wait": "1s",
                      "group_interval": "1s", "repeat_interval": self.repeat},
            "receivers": [{"name": "rationale", "webhook_configs": [{"url": url, "send_resolved": True}]}]}))

    def start(self):
        self.log = open(self.folder / "log", "w+", encoding="utf-8")
        self.child = subprocess.Popen(
            [ALERTMANAGER, f"--config.file={self.folder}/alertmanager.yml", f"--storage.path={self.folder}/data",
             "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="], stdout=self.log, stderr=self.log)
        found = until(lambda: re.search(r'"Listening on" address=127\.0\.0\.1:(\d+)', self.said()))
        self.port = int(found[1])

    def ask(self, path, body=""):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request("POST", path, body, {"content-type": "application/json"})
        r = c.getresponse()
        r.read()
        c.close()
        assert r.status == 200, r.status

    def point(self, url):
        self.write(url)
        self.ask("/-/reload")

    def said(self):
        return (self.folder / "log").read_text()

    def stop(self):
        super().stop()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def alert(self, pod, starts, ends=None, name="DiskFull"):
        body = [{"labels": {"alertname": name, "pod": pod, "severity": "critical"},
                 "annotations": {"summary": f"{pod} at {time.time()}"}, "startsAt": rfc3339(starts),
                 **({"endsAt": rfc3339(ends)} if ends else {})}]
        self.ask("/api/v2/alerts", json.dumps(body))


class Incidents(Daemon):
    def url(self):
        return f"http://127.0.0.1:{self.port}/alerts"

    def all(self):
        return self.ask("GET", "/api/v1/incidents")[1]["incidents"]

    def one(self, id):
        return self.ask("GET", f"/api/v1/incidents/{id}")[1]

    def metrics(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        return text

    def metric(self, line):
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.metrics(), re.M)
        return float(found[1]) if found else None

    def command(self, *words):
        return subprocess.run([BINARY, "incidents", *words, "--config", str(self.path)], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)


@unittest.skipUnless(ALERTMANAGER, "Alertmanager is not here (tools/setup test)")
class RealAlertmanager(unittest.TestCase):
    def test_a_firing_is_one_incident_until_it_is_resolved(self):
        with Operator() as model, Incidents(model) as d, Alertmanager(d.url()) as am:
            start = int(time.time()) - 60
            am.alert("db-1", start)
            until(lambda: len(d.all()) == 1)
            id = d.all()[0]["alert_id"]
            self.assertEqual(d.until(id, "completed", "error")["status"], "completed")
            # Alertmanager repeats its alerts; the daemon counts them, also after a restart.
            until(lambda: d.one(id)["seen_count"] >= 3)
            d.signal(signal.SIGTERM)
            d.child.wait(PATIENCE)
            d.start()
            am.point(d.url())
            before = d.one(id)["seen_count"]
            until(lambda: d.one(id)["seen_count"] > before)
            # An alert that joins the group is added to the incident.
            am.alert("db-2", start)
            until(lambda: d.one(id)["alert_count"] == 2)
            am.alert("db-1", start, time.time())
            until(lambda: d.one(id)["firing_count"] == 1)
            self.assertIsNone(d.one(id)["resolved_at_us"])
            am.alert("db-2", start, time.time())
            until(lambda: d.one(id)["resolved_at_us"])
            self.assertEqual([x["state"] for x in d.one(id)["alerts"]], ["resolved", "resolved"])
            self.assertEqual(len(d.all()), 1)
            # A new firing is another incident.
            am.alert("db-1", time.time())
            until(lambda: len(d.all()) == 2)
            d.until(d.all()[0]["alert_id"], "completed")
            shown = d.command("show", id)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertRegex(shown.stdout, r"resolved +\d+ .*alertmanager")
            self.assertIn("# Incident report: DiskFull", shown.stdout)
            self.assertEqual(len(json.loads(d.command("--json").stdout)["incidents"]), 2)
            self.assertEqual(d.command("show", "nothing").returncode, 1)

    def test_both_of_a_pair_report_the_same_firing(self):
        with Operator() as model, Incidents(model) as d, Alertmanager(d.url()) as one, Alertmanager(d.url()) as two:
            start = int(time.time()) - 60
            one.alert("db-1", start)
            two.alert("db-1", start)
            until(lambda: d.all() and d.all()[0]["seen_count"] >= 4)
            self.assertEqual(len(d.all()), 1)

    def test_a_full_queue_loses_nothing_because_alertmanager_retries(self):
        with Operator() as model, Incidents(model, max_concurrent_alerts=1, max_queue_size=0) as d, \
                Alertmanager(d.url(), repeat="1h") as am:
            model.hold()
            d.send()
            start = int(time.time()) - 60
            am.alert("db-1", start)
            until(lambda: d.metric('rationale_incident_alerts_refused_total{reason="queue_full"}') >= 1)
            self.assertEqual(len(d.all()), 1)
            model.free()
            until(lambda: len(d.all()) == 2)
            d.until(d.all()[0]["alert_id"], "completed")

    def test_the_metrics_count_alerts_queue_stages_and_tools(self):
        with Operator() as model, Incidents(model) as d, Alertmanager(d.url(), repeat="1h") as am:
            self.assertEqual(d.metric("rationale_incident_queue_depth"), 0)
            start = int(time.time()) - 60
            am.alert("db-1", start)
            until(lambda: d.all())
            d.until(d.all()[0]["alert_id"], "completed")
            am.alert("db-1", start, time.time())
            until(lambda: d.metric('rationale_incident_alerts_resolved_total{source="alertmanager"}'))
            d.ask("POST", "/alerts", b"{")
            for line, want in (('rationale_incident_alerts_received_total{source="alertmanager"}', 2),
                               ('rationale_incident_alerts_attached_total{source="alertmanager"}', 0),
                               ('rationale_incident_alerts_refused_total{reason="invalid_json"}', 1),
                               ('rationale_incidents_total{outcome="completed"}', 1),
                               ("rationale_incident_queue_oldest_seconds", 0),
                               ("rationale_incident_running", 0)):
                self.assertEqual(d.metric(line), want, line)
            one = d.one(d.all()[0]["alert_id"])
            stage = one["stages"][0]["name"]
            self.assertEqual(d.metric(f'rationale_incident_stage_seconds_count{{stage="{stage}",outcome="done"}}'), 1)
            for name in ("calls_total", "errors_total", "seconds_count"):  # no recording matches this alert
                counts = [d.metric(f'rationale_incident_tool_{name}{{tool="recorded.{t}"}}')
                          for t in set(one["tools"])]
                self.assertEqual(sum(counts), one["tool_calls"], (name, one["report"]))


if __name__ == "__main__":
    main()
