#!/usr/bin/env python3
"""Secrets planted in the input of applications appear in nothing that is stored: alerts, tool
results, facts of cases, customers' texts, runs and their effects, traces of the optimiser.

    [tools/postgres-run] test/e2e/masking_apps_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.server
import json
import os
import shutil
import subprocess
import threading
import time
import unittest
import zlib

import masking_test
from command import BINARY, PATIENCE, SOURCE, main, run
from gateway import Gateway
from masking_test import MASKING, SECRETS, TEXT

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
CASE = SOURCE / "example" / "incidents" / "cases" / "disk-full"
AGENTS = """
mcp_servers:
  recorded:
    connection_params: {command: %s, args: [mcp, --replay, %s]}
agents:
  DiskAgent: {alert_types: [DiskFull], mcp_servers: [recorded], strategy: native}
"""
FACTS = {"patient_age": 54, "conservative_treatment_weeks": 8, "red_flag": TEXT,
         "member": SECRETS["patient"]}


class Model(http.server.BaseHTTPRequestHandler):
    """Calls each of its tools once with planted arguments, and replies with the planted text."""
    disable_nagle_algorithm = True  # head and body are written separately
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = [t["function"]["name"] for t in asked.get("tools") or []]
        done = sum(len(m.get("tool_calls") or []) for m in asked["messages"])
        message = {"role": "assistant", "content": TEXT, "reasoning_content": TEXT}
        if done < min(len(tools), 4):
            message["tool_calls"] = [{
                "id": f"call_{done}", "type": "function", "function": {
                    "name": tools[done], "arguments": json.dumps(
                        {"note": TEXT, "query": SECRETS["patient"], "item_name": TEXT})}}]
        choice = {"index": 0, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        head = {"id": "c1", "created": 1, "model": asked["model"]}
        if asked.get("stream"):
            for i, call in enumerate(message.get("tool_calls", [])):
                call["index"] = i
            body = b"".join(b"data: " + x + b"\n\n" for x in (
                json.dumps({**head, "object": "chat.completion.chunk",
                            "choices": [{**choice, "delta": message}]}).encode(), b"[DONE]"))
            kind = "text/event-stream"
        else:
            body = json.dumps({**head, "object": "chat.completion",
                               "choices": [{**choice, "message": message}],
                               "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
            kind = "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def psql(sql, database="postgres"):
    return subprocess.run(["psql", SERVER.replace("%s", database), "-Atqc", sql], check=True,
                          capture_output=True).stdout


def tables_of(database):
    """All rows of a PostgreSQL database, with compressed bytes decompressed."""
    out = {}
    for table in psql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
                      database).decode().split():
        for line in psql(f'SELECT row_to_json(x) FROM "{table}" x', database).splitlines():
            data = line + b"\n"
            for value in json.loads(line).values():
                if isinstance(value, str):
                    data += value.encode() + b"\n"
                if isinstance(value, str) and value.startswith("\\x"):
                    raw = bytes.fromhex(value[2:])
                    data += raw + b"\n"
                    try:
                        data += zlib.decompress(raw) + b"\n"
                    except zlib.error:
                        pass
            out[f"table {table}"] = out.get(f"table {table}", b"") + data
    return out


class Applications(unittest.TestCase):
    ask = masking_test.Masking.ask
    maxDiff = None

    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def gateway(self):
        g = Gateway(BINARY, {
            "providers": {"m": {"kind": "openai", "retries": 0, "models": ["planted"],
                                "base_url": f"http://127.0.0.1:{self.server.server_address[1]}/v1"}},
            "reasoning": {"keep": "text"}, "data_masking": MASKING,
            "orders": {"menu": str(SOURCE / "example/orders/menu.json")},
            "policy": {"documents": {"lumbar-mri": str(SOURCE / "example/policy/lumbar-mri.md")},
                       "search": "bm25", "react_use_llm_controller": True,
                       "react_shadow_mode": True}})
        self.addCleanup(shutil.rmtree, g.folder, ignore_errors=True)
        if SERVER:
            psql("CREATE DATABASE planted")
            g.config.update(store=SERVER.replace("%s", "planted"), spool=str(g.folder / "spool"))
        # Tool results contain the text too. They come from a copy, because the recording itself
        # must not change.
        self.case = g.folder.parent / (g.folder.name + "-case")
        shutil.copytree(CASE, self.case)
        self.addCleanup(shutil.rmtree, self.case, ignore_errors=True)
        for path in self.case.glob("*.txt"):
            path.write_text(path.read_text() + "\n" + TEXT)
        (g.folder / "agents.yaml").write_text(AGENTS % (BINARY, self.case))
        (g.folder / "runbooks").mkdir()
        shutil.copy(CASE / "runbook.md", g.folder / "runbooks")
        g.config["incidents"] = {"agents": str(g.folder / "agents.yaml"),
                                 "runbooks": str(g.folder / "runbooks")}
        return g

    def everything(self, g):
        if not SERVER:
            return masking_test.Masking.everything(self, g)
        return {**tables_of("planted"), **{str(p): p.read_bytes() for p in g.folder.rglob("*")
                                           if p.is_file()}}

    def post(self, g, path, body, *statuses):
        status, text = self.ask(g, path, body)
        self.assertIn(status, statuses, text[:400])
        return json.loads(text)

    def work(self, g):
        """Runs each application on the planted texts; returns the answers of the API afterwards."""
        alert = json.loads((CASE / "alert.json").read_text())
        alert["data"] = {**alert["data"], "message": TEXT, "patient": SECRETS["patient"],
                         SECRETS["patient"]: "a name", "password": SECRETS["password"]}
        queued = self.post(g, "/alerts", alert, 200, 202)
        bundle = {"case_id": "case-1", "policy_id": "lumbar-mri", "fields": [
            {"field_name": k, "value": v, "confidence": 0.9, "doc_id": "chart", "page": 1,
             "bbox": [0.1, 0.2, 0.3, 0.4]} for k, v in FACTS.items()]}
        self.post(g, "/reason/auth-review", {"case_bundle": bundle}, 200)
        self.post(g, "/reason/qa", {"question": "Is this covered? " + TEXT,
                                    "policy_id": "lumbar-mri"}, 200, 400, 404, 422, 502)
        self.post(g, "/api/v1/orders/lane-1/say", {"text": TEXT, "message": TEXT, "said": TEXT},
                  200, 400, 422, 502)
        end = time.monotonic() + PATIENCE
        while json.loads(self.ask(g, f"/processing-status/{queued['alert_id']}")[1])["status"] not in (
                "completed", "error"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return [self.ask(g, path)[1] for path in (
            "/metrics", "/api/v1/incidents", f"/api/v1/incidents/{queued['alert_id']}",
            "/api/v1/policy/results", "/api/v1/orders/lane-1", "/api/v1/runs",
            "/api/v1/history/export", "/api/v1/history/decisions", "/api/v1/history/export?format=csv",
            "/api/v1/history/export?format=otlp")]

    def tune(self, g):
        """Runs the optimiser over a case with the planted text."""
        cases = self.case / "tune"
        cases.mkdir()
        (cases / "all.jsonl").write_text("".join(json.dumps(
            {"id": str(i), "turns": [f"One coffee, {TEXT}"], "expected": [{"item_id": "hd-01"}]}) + "\n"
            for i in range(2)))
        return run("optimize", "--app", "orders", "--config", str(g.path), "--train", str(cases),
                   "--budget", "6", "--run", "tuned", "--json")

    def test_nothing_planted_is_in_what_applications_keep(self):
        g = self.gateway()
        g.start()
        told = self.work(g)
        g.child.terminate()
        g.child.wait(PATIENCE)
        done = self.tune(g)
        kept = self.everything(g)
        kept.update({f"answer {i}": body for i, body in enumerate(told)})
        kept["optimize"] = done.out + done.err.encode()
        for table in ("alerts", "agent_runs", "agent_effects", "policy_results", "llm_interactions",
                      "mcp_communications", "thread_values", "optimize_lines"):
            self.assertIn(f"table {table}", kept, "nothing came of it")
        found = []
        for name, secret in SECRETS.items():
            forms = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3]}
            found += [(name, place, data[max(0, data.find(f.encode()) - 60):][:140])
                      for place, data in kept.items() for f in forms if f.encode() in data]
        self.assertEqual(found, [])
        rows = b"".join(v for k, v in kept.items() if k.startswith("table"))
        for mark in (b"[MASKED:api_key]", b"[MASKED:email]", b"[PATIENT]", b"[MASKED:card]"):
            self.assertIn(mark, rows)


if __name__ == "__main__":
    main()
