#!/usr/bin/env python3
"""The OpenAPI document against the API: every route and every field, in both directions.

    test/e2e/openapi_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

Each reply is validated against its schema, in which objects allow no unnamed members, so a field
that is missing on either side is found.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sqlite3
import sys
import tempfile
import unittest
import urllib.parse
from pathlib import Path

import demo_test
import history_test
from command import SOURCE, read_until
from history_test import ALICE, ask, call, now_us, plant, setUpModule, sql, tearDownModule  # noqa: F401

# Streams that never end, and routes that exist only while one runs: see live_test.py,
# watch_test.py.
ENDLESS = ("/api/v1/live", "/api/v1/watch/{run}")
# Applications whose routes exist only if they are configured, as in the demo.
APPLICATIONS = {"agents", "incidents", "policy", "orders", "optimize"}

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
         "object": dict, "null": type(None)}


class Mismatch(AssertionError):
    pass


def is_type(value, name):
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    return isinstance(value, TYPES[name])


def check(value, schema, doc, at="$"):
    """The part of JSON Schema that the document uses; an unknown keyword is an error."""
    known = {"$ref", "type", "properties", "required", "additionalProperties", "items", "enum",
             "const", "anyOf", "minItems", "maxItems", "description", "minimum", "maximum",
             "default", "minLength"}
    if set(schema) - known:
        raise Mismatch(f"{at}: the test does not know {set(schema) - known}")
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        return check(value, doc["components"]["schemas"][name], doc, at)
    if "anyOf" in schema:
        wrong = []
        for one in schema["anyOf"]:
            try:
                return check(value, one, doc, at)
            except Mismatch as e:
                wrong.append(str(e))
        raise Mismatch(f"{at}: none of the forms: {wrong}")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        raise Mismatch(f"{at}: {value!r} is no {types}")
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        raise Mismatch(f"{at}: {value!r} is none of those")
    if isinstance(value, dict):
        check_object(value, schema, doc, at)
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 30):
            raise Mismatch(f"{at}: {len(value)} items")
        for i, one in enumerate(value):
            check(one, schema.get("items", {}), doc, f"{at}[{i}]")


def check_object(value, schema, doc, at):
    for name in schema.get("required", []):
        if name not in value:
            raise Mismatch(f"{at}: {name} is missing")
    for name, one in value.items():
        if name in schema.get("properties", {}):
            check(one, schema["properties"][name], doc, f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            raise Mismatch(f"{at}: {name} is not in the document")


def is_app(operation):
    return bool(APPLICATIONS & set(operation["tags"]))


def query_names(operation):
    return [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"]


def check_unknown(test, operation, status, text):
    """The error for an unknown parameter names the parameters in the document."""
    test.assertEqual(status, 400, text[:300])
    reason = json.loads(text)["detail"]["reason"]
    test.assertTrue(reason.startswith("there is no such parameter here"), reason)
    names = reason.partition("; there are ")[2]
    test.assertEqual(sorted(names.split(", ") if names else []), sorted(query_names(operation)))


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        r = ask("/openapi.json", "")
        assert r.status == 200, r.body
        cls.doc = r.json
        tools = [{"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {}}}}]
        cls.id = call("think", "document this", "document").headers["x-rationale-id"]
        call("bad", "document this failure", "document")
        call("plain", "document a tool", "document", tools=tools)
        t = now_us()
        sql(("INSERT INTO mcp_communications (communication_id, session_id, timestamp_us, "
             "tool_name, tool_arguments, duration_ms) VALUES ('doc-tool', 'document', ?, 'look', "
             "'{}', 3)", t),
            *plant(interaction_id="doc-decision", session_id="document", started_ms=t // 1000,
                   ended_ms=t // 1000, tools='["look"]', decision="[TOOL_CALL] look: to document"),
            ("INSERT INTO alert_sessions (session_id, status, agent_type, started_at_us) VALUES "
             "('doc-active', 'in_progress', 'app', ?)", t))
        for ns in ("", "document"):
            cls.put("checkpoints/document", ns, {
                "checkpoint": {"v": 4, "channel_versions": {"a": 1}},
                "values": {"a": {"type": "json", "json": [1]}}})
            cls.put("checkpoints/document/writes", ns, {"task_id": "one", "writes": [
                {"channel": "a", "value": {"type": "bytes", "base64": "AAE="}}]})

        sql(("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, "
             "updated_us) VALUES ('document', 'test', 'document', 'cancelled', 'cancelled', '{}', "
             "1, 1)",),
            ("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, result, "
             "state, started_us, ended_us) VALUES ('document', -1, 'note', 'options', 'options', "
             """'', '{"model":"m","tools":[]}', 1, 1, 2)""",))

    @staticmethod
    def put_run(run, status):
        """Stores a run as an agent would leave it: its model calls `pay`, and a person must
        approve."""
        sql(("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, "
             "updated_us, key_name) VALUES (?, 'test', 'document', ?, 'approval_needed', '{}', ?, 1, 'alice')",
             run, status, now_us()),
            ("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, result, "
             "state, started_us, ended_us) VALUES (?, 0, 'model', 'm', 'k0', '', "
             """'{"id":"x","text":"","reasoning":"sly","calls":[]}', 1, 1, 2)""", run),
            ("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, state, "
             "started_us) VALUES (?, 1, 'approval', 'pay', 'k1', '{\"usd\":5}', 0, 3)", run))

    @classmethod
    def put(cls, path, ns, body):
        r = ask(f"/api/v1/threads/document/{path}?ns={ns}", method="PUT", body=json.dumps(body))
        assert r.status == 200, r.body
        check(r.json, {"$ref": "#/components/schemas/CheckpointPlace"}, cls.doc)

    def operations(self):
        for path, methods in self.doc["paths"].items():
            for method, operation in methods.items():
                yield path, method, operation

    def real(self, path):
        for name in ("session_id", "thread_id", "checkpoint_id", "run_id"):
            path = path.replace("{%s}" % name, "document")
        return path.replace("{interaction_id}", self.id)

    def with_query(self, path, **params):
        return self.real(path) + "?" + urllib.parse.urlencode(params)

    def test_it_is_openapi_3_1(self):
        self.assertEqual(self.doc["openapi"], "3.1.0")
        ids = [o["operationId"] for _, _, o in self.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        text = json.dumps(self.doc)
        for ref in re.findall(r'"#/components/schemas/(\w+)"', text):
            self.assertIn(ref, self.doc["components"]["schemas"])
        for name in self.doc["components"]["schemas"]:
            self.assertIn(f'"#/components/schemas/{name}"', text, "nobody uses it")

    def test_every_route_is_in_it_and_it_has_no_others(self):
        table = (SOURCE / "src/serve/routes.c").read_text()
        served = set(re.findall(r'\{"(\w+)",\s*"(/api/v1/[^"]*|/openapi.json)"', table))
        told = {(m.upper(), p) for p, m, o in self.operations() if not is_app(o)}
        for method, path in told:
            front = path.split("{")[0]
            self.assertTrue((method, path) in served or (method, front + "*") in served, path)
        for method, path in served:
            fits = [p for m, p in told if m == method and
                    (p == path or (path.endswith("*") and p.startswith(path[:-1])))]
            self.assertTrue(fits, f"{method} {path} is not in the document")

    def test_every_route_of_the_applications_is_in_it(self):
        served = set()
        for file in (SOURCE / "src/apps").glob("*/app.c"):
            served |= set(re.findall(r'\{"(GET|POST|PUT|DELETE)",\s*"(/[^"]*)"', file.read_text()))
        told = {(m.upper(), re.sub(r"\{\w+\}", "*", p)) for p, m, o in self.operations() if is_app(o)}
        self.assertLessEqual(served, told)

    def test_every_reply_is_as_it_says(self):
        for path, method, operation in self.operations():
            if method != "get" or path in ENDLESS or is_app(operation):
                continue
            with self.subTest(path):
                params = {"q": "document"} if any(
                    p.get("required") and p["in"] == "query"
                    for p in operation.get("parameters", [])) else {}
                r = ask(self.real(path), **params)
                self.assertEqual(r.status, 200, r.body[:300])
                content = operation["responses"]["200"]["content"]
                kind = r.headers["content-type"].split(";")[0]
                self.assertIn(kind, content)
                check(r.json, content[kind]["schema"], self.doc)

    def test_every_parameter_is_taken(self):
        for path, method, operation in self.operations():
            for p in operation.get("parameters", []):
                if p["in"] != "query" or path in ENDLESS or method != "get" or is_app(operation):
                    continue
                schema = p["schema"].get("items", p["schema"])
                values = schema.get("enum") or {"integer": [1], "boolean": ["true", "false"]}.get(
                    schema["type"], ["document"])
                if p["name"] in ("cursor", "metadata"):
                    continue
                for value in values:
                    with self.subTest(path, parameter=p["name"], value=value):
                        more = {} if p["name"] == "q" or "search" not in path else {"q": "x"}
                        r = ask(self.with_query(path, **{p["name"]: value}, **more))
                        self.assertEqual(r.status, 200, r.body[:300])
                if "enum" in schema or schema["type"] in ("integer", "boolean"):
                    r = ask(self.with_query(path, **{p["name"]: "no-such"}))
                    self.assertEqual(r.status, 422, (path, p["name"]))
                    self.assertIn("422", operation["responses"])
                    check(r.json, {"$ref": "#/components/schemas/Error"}, self.doc)

    def test_a_parameter_that_is_not_there_is_refused_with_those_that_are(self):
        for path, method, operation in self.operations():
            if method != "get" or path in ENDLESS or path == "/openapi.json" or is_app(operation):
                continue
            with self.subTest(path):
                must = {"q": "document"} if "q" in query_names(operation) else {}
                r = ask(self.with_query(path, no_such=1, **must))
                check_unknown(self, operation, r.status, r.body)
                r = ask(self.with_query(path, _=1, **must))
                self.assertEqual(r.status, 200, r.body[:300])

    def test_every_error_is_as_it_says(self):
        error = {"$ref": "#/components/schemas/Error"}
        for path, method, operation in self.operations():
            with self.subTest(path):
                if "403" in operation["responses"] and "401" in operation["responses"] and \
                        "login" not in path:
                    r = ask(self.real(path), ALICE, method.upper(), b"{}")
                    self.assertEqual(r.status, 403, path)
                    check(r.json, error, self.doc)
                if "401" in operation["responses"]:
                    r = ask(self.real(path), "", method.upper(), b"{\"key\": \"x\"}")
                    self.assertEqual(r.status, 401, path)
                    check(r.json, error, self.doc)
                if "404" in operation["responses"] and "{" in path:
                    r = ask(re.sub(r"\{\w+\}", "not-there", path))
                    self.assertEqual(r.status, 404 if "get" in self.doc["paths"][path] else 405, path)
                    check(r.json, error, self.doc)

    def test_logging_in_is_as_it_says(self):
        for path, body in (("/api/v1/login", json.dumps({"key": ALICE})), ("/api/v1/logout", "")):
            r = ask(path, "", "POST", body)
            schema = self.doc["paths"][path]["post"]["responses"]["200"]["content"]
            check(r.json, schema["application/json"]["schema"], self.doc)

    def test_erasing_and_the_audit_log_are_as_it_says(self):
        def fits(r, path, method):
            self.assertEqual(r.status, 200, r.body)
            content = self.doc["paths"][path][method]["responses"]["200"]["content"]
            check(r.json, content["application/json"]["schema"], self.doc)
            return r.json
        one = "/api/v1/history/sessions/{session_id}"
        for session in ("to-erase", "to-erase-2"):
            call("plain", "forget this", session, user="doc-subject")
        self.assertEqual(ask("/api/v1/history/sessions/to-erase", ALICE, "DELETE").status, 403)
        got = fits(ask("/api/v1/history/sessions/to-erase", method="DELETE"), one, "delete")
        self.assertEqual((got["sessions"], got["interactions"]), (1, 1))
        self.assertEqual(ask("/api/v1/history/sessions/to-erase").status, 404)
        self.assertEqual(ask("/api/v1/history/sessions/to-erase", method="DELETE").status, 404)
        body = json.dumps({"session_id": "to-erase-2"})
        fits(ask("/api/v1/erase", method="POST", body=body), "/api/v1/erase", "post")
        for body in ("{}", json.dumps({"session_id": "a", "subject": "b"}), '{"subject": ""}', '[{"subject": "b"}]'):
            r = ask("/api/v1/erase", method="POST", body=body)
            self.assertEqual(r.status, 422)
            self.assertIn(r.json["detail"].get("field"), ("session_id", "subject"))
        misspelt = ask("/api/v1/erase", method="POST", body='{"subject": "alice", "session": "to-keep"}')
        self.assertEqual(misspelt.status, 422)
        self.assertIn('session: there is no such member here, did you mean "session_id"?', misspelt.json["detail"]["message"])
        self.assertEqual(ask("/api/v1/erase", ALICE, "POST", "{}").status, 403)
        log = fits(ask("/api/v1/audit"), "/api/v1/audit", "get")
        self.assertIn("erase session", [e["action"] for e in log["entries"]])
        path = "/api/v1/audit/verify"
        fits(ask(path, method="POST"), path, "post")

    def test_threads_are_as_it_says(self):
        def fits(r, path, method):
            self.assertEqual(r.status, 200, r.body)
            content = self.doc["paths"][path][method]["responses"]["200"]["content"]
            check(r.json, content["application/json"]["schema"], self.doc)
            return r.json
        root, one = "/api/v1/threads/{thread_id}", "/api/v1/threads/doc-state"
        for n in range(3):
            body = json.dumps({"values": {"log": [n]}, "reducers": {"log": "append"}})
            fits(ask(one + "/state", ALICE, "POST", body), root + "/state", "post")
        got = fits(ask(one + "/state", ALICE), root + "/state", "get")
        self.assertEqual(got["values"], {"log": [0, 1, 2]})
        before = fits(ask(f"{one}/state?checkpoint_id={got['parent_id']}"), root + "/state", "get")
        self.assertEqual(before["values"], {"log": [0, 1]})
        self.assertEqual(ask(one + "/state", history_test.BOB).status, 404)
        for body, status in (("{", 422), ("{}", 422), ('{"values": 1}', 422),
                             ('{"values": {"log": 1}, "reducers": {"log": "sum"}}', 422)):
            self.assertEqual(ask(one + "/state", ALICE, "POST", body).status, status, body)
        value = '{"type": "json", "json": 1}'
        for method, path, body, near in (
                ("POST", "/state", '{"values": {}, "reducer": {}}', "reducers"),
                ("POST", "/prune", '{"keep": 1, "keeps": 2}', "keep"),
                ("PUT", "/checkpoints/x", '{"checkpoint": {}, "value": {}}', "values"),
                ("PUT", "/checkpoints/x", '{"checkpoint": {}, "values": {"a": {"type": "json", "jsn": 1}}}', "json"),
                ("PUT", "/checkpoints/x/writes", '{"taskid": "t", "task_id": "t", "writes": []}', "task_id"),
                ("PUT", "/checkpoints/x/writes",
                 f'{{"task_id": "t", "writes": [{{"chanel": "a", "channel": "a", "value": {value}}}]}}', "channel")):
            got = ask(one + path, ALICE, method, body)
            self.assertEqual(got.status, 422, body)
            self.assertIn(f'did you mean "{near}"?', got.json["detail"]["message"])
        for body in ("[1]", "7", "null"):
            self.assertEqual(ask(one + "/state", ALICE, "POST", body).status, 422, body)
        self.assertEqual(ask(one + "/state", history_test.BOB, "POST", '{"values": {}}').status, 404)
        gone = fits(ask(one + "/prune", ALICE, "POST", '{"keep": 1}'), root + "/prune", "post")
        self.assertEqual(gone["removed"], 2)
        self.assertEqual(ask(one + "/state", ALICE).json["values"], {"log": [0, 1, 2]})
        self.assertEqual(ask(one + "/prune", ALICE, "POST", '{"keep": 0}').status, 422)
        self.assertEqual(ask(one, history_test.BOB, "DELETE").status, 404)
        fits(ask(one, ALICE, "DELETE"), root, "delete")
        self.assertEqual(ask(one + "/state", ALICE).status, 404)

    def test_runs_are_as_it_says(self):
        def fits(r, path, method):
            self.assertEqual(r.status, 200, r.body)
            content = self.doc["paths"][path][method]["responses"]["200"]["content"]
            check(r.json, content["application/json"]["schema"], self.doc)
            return r.json
        one = "/api/v1/runs/{run_id}"
        for run in ("to-pay", "to-change", "to-end"):
            self.put_run(run, "waiting")
        self.put_run("over", "done")
        got = fits(ask("/api/v1/runs", status="waiting", app="test"), "/api/v1/runs", "get")
        ids = [r["run_id"] for r in got["runs"]]
        self.assertTrue({"to-pay", "to-change", "to-end"} <= set(ids) and "over" not in ids)
        self.assertEqual(got["runs"][0]["pending"]["arguments"], {"usd": 5})
        self.assertEqual(ask("/api/v1/runs", app="nobody").json, {"runs": []})
        self.assertEqual(len(ask("/api/v1/runs", limit=1, offset=1).json["runs"]), 1)
        self.assertEqual(ask("/api/v1/runs", history_test.BOB).json, {"runs": []})
        mine = ask("/api/v1/runs", ALICE).json["runs"]  # the run belongs to alice's key
        self.assertIn("to-pay", [r["run_id"] for r in mine])
        self.assertEqual(ask("/api/v1/runs/to-pay", history_test.BOB).status, 404)
        whole = fits(ask("/api/v1/runs/to-pay", ALICE), one, "get")
        self.assertEqual([e["kind"] for e in whole["effects"]], ["model", "approval"])
        path = "/api/v1/runs/to-pay/answer"
        body = {"seq": 1, "word": "approve"}
        self.assertEqual(ask(path, ALICE, "POST", json.dumps(body)).status, 403)
        for wrong in ("{", "{}", '{"seq":1,"word":"maybe"}', '{"seq":-1,"word":"deny"}',
                      '{"seq":1,"word":"change"}', '{"seq":1,"word":"change","arguments":[]}',
                      '{"seq":1,"word":"deny","arguments":{}}'):
            self.assertEqual(ask(path, method="POST", body=wrong).status, 422, wrong)
        wrong = json.dumps({"seq": 7, "word": "deny"})
        self.assertEqual(ask(path, method="POST", body=wrong).status, 404)
        said = fits(ask(path, method="POST", body=json.dumps(body)), one + "/answer", "post")
        self.assertEqual(said["resumed"], False)  # no process has that application
        again = ask(path, method="POST", body=json.dumps(body))
        self.assertEqual(again.status, 409)
        check(again.json, {"$ref": "#/components/schemas/Error"}, self.doc)
        got = ask("/api/v1/runs/to-pay").json
        self.assertEqual((got["status"], got["pending"]), ("running", None))
        self.assertEqual(got["effects"][1]["result"]["word"], "approve")
        body = {"seq": 1, "word": "change", "arguments": {"usd": 1}}
        fits(ask("/api/v1/runs/to-change/answer", method="POST", body=json.dumps(body)),
             one + "/answer", "post")
        got = ask("/api/v1/runs/to-change").json["effects"][1]["result"]
        self.assertEqual(json.loads(got["arguments"]), {"usd": 1})
        fits(ask("/api/v1/runs/to-end/cancel", method="POST"), one + "/cancel", "post")
        self.assertEqual(ask("/api/v1/runs/to-end").json["status"], "cancelled")
        self.put_run('order:"6\\a"', "waiting")
        got = fits(ask("/api/v1/runs/order:%226%5Ca%22/cancel", method="POST"), one + "/cancel", "post")
        self.assertEqual(got, {"run_id": 'order:"6\\a"', "status": "cancelled"})
        for run, status in (("to-end", "cancelled"), ("over", "done")):
            r = ask(f"/api/v1/runs/{run}/cancel", method="POST")
            self.assertEqual((r.status, r.json["detail"]["message"]),
                             (409, f"the run waits for nobody: its status is {status}"))
        self.assertEqual(ask("/api/v1/runs/over/nothing").status, 404)
        # This path is the id of a part of a run, whether that part exists or not.
        self.assertEqual(ask("/api/v1/runs/over/nothing", method="POST").status, 405)

    def test_no_secret_is_in_what_it_tells_of_itself(self):
        for path in ("/api/v1/system", "/api/v1/keys", "/api/v1/providers"):
            body = ask(path).body
            for secret in (b"upstream-key", ALICE.encode(),
                           history_test.digest(ALICE).encode()):
                self.assertNotIn(secret, body)
        origins = {r["origin"] for r in ask("/api/v1/system").json["config"]}
        self.assertLessEqual({"file", "default", "flag"}, origins)
        self.assertEqual([k["name"] for k in ask("/api/v1/keys", ALICE).json["keys"]], ["alice"])
        self.assertEqual(ask("/api/v1/system", ALICE).json["config"], [])


class Applications(unittest.TestCase):
    """The demo has all applications, with data in each."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rationale-doc-")
        cls.addClassCleanup(folder.cleanup)
        cls.demo = demo_test.Demo("--listen", "127.0.0.1:0", folder=folder.name)
        cls.enterClassContext(cls.demo)
        read_until(cls.demo.child.stdout.fileno(), b"the page has them.\n")
        cls.doc = cls.get("/openapi.json")
        cls.put_rows(next(Path(folder.name).rglob("*.db")))

    @classmethod
    def put_rows(cls, path):
        """Inserts data that the demo lacks: a run of the optimiser and the resulting prompt."""
        db = sqlite3.connect(path, timeout=60)
        with db:
            db.execute("INSERT INTO optimize_runs (run_id, app, status, input, calls, budget, "
                       "candidates, best_score, prompt_id, created_us, updated_us) VALUES ('tuned', "
                       "'policy', 'finished', '{\"seed\":1}', 3, 9, 2, 0.5, 'policy@1', 1, 2)")
            db.execute("INSERT INTO policy_proposals (proposal_id, session_id, kind, state, document_id, version, case_id, "
                       "name, value, quote, node_id, section, page, start_char, end_char, confidence, model, created_by, "
                       "created_us) VALUES ('fact-1', 'tuned', 'fact', 'confirmed', 'note', '', 'told', 'age', '31', 'is 31', "
                       "'', '', 1, 0, 5, 0.9, 'm', 'olga', 1)")
            db.execute("INSERT INTO policy_reverify (reverify_id, document_id, request, status, error, total, created_by, created_us, ended_us) VALUES ('again', 'p', '{\"version\":\"\",\"as_of_date\":\"\","
                       "\"controller\":\"\"}', 'done', '', 1, 'olga', 1, 2)")
            brief = json.dumps({"result_id": "r", "status": "met", "confidence": 0.9, "version": "1", "section": "", "rationale": "",
                                "reason_code": "", "masked": False})
            db.execute("INSERT INTO policy_reverified VALUES ('again', 'r', 'r', 'age', 'c', ?, ?, 1, '', 2)", (brief, brief))
            result = db.execute("SELECT result_id FROM policy_results ORDER BY created_us DESC LIMIT 1").fetchone()[0]
            db.execute("INSERT INTO policy_reviews VALUES ('w', ?, 'r', 'met', 'met', '', 'seen', 'olga', 3)", (result,))
            db.execute("INSERT INTO optimize_lines VALUES ('tuned', 0, '{\"event\":\"begin\"}')")
            db.execute("INSERT INTO prompts (prompt_id, name, components, state, scores, created_us, "
                       "moved_us) VALUES ('policy@1', 'policy', '{\"system_prompt\":\"x\"}', "
                       "'draft', '{\"val\":0.5}', 1, 1)")
        db.close()

    @classmethod
    def get(cls, path):
        status, _, text = demo_test.ask(cls.demo.port, "GET", path)
        assert status == 200, (path, status, text[:300])
        return json.loads(text)

    def real(self, path):
        names = {"alert_id": self.get("/api/v1/incidents")["incidents"][0]["alert_id"],
                 "thread_id": self.get("/api/v1/orders")["orders"][0]["thread_id"],
                 "prompt_id": "policy@1", "run_id": "tuned", "reverify_id": "again"}
        if "{document_id}" in path:
            document = self.get("/api/v1/policy/documents")["documents"][0]
            names.update(document_id=document["id"],
                         node_id=document["structure"][0]["node_id"])
        return re.sub(r"\{(\w+)\}", lambda m: urllib.parse.quote(names[m[1]], safe=""), path)

    def test_every_reply_is_as_it_says(self):
        seen = 0
        for path, methods in self.doc["paths"].items():
            operation = methods.get("get")
            if not operation or not is_app(operation):
                continue
            if operation["tags"] == ["agents"] and "{" in path:
                continue  # the demo defines no agents; agent_runs_test.py tests them
            of = [p for p in operation.get("parameters", []) if p["in"] == "query"]
            known = {"case_id": "told", "document_id": "p", "version": "2026.1", "as_of_date": "2026-06-01",
                     "before": "01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60", "cursor": b"labels|a|".hex(),
                     "result_id": self.get("/api/v1/policy/results")["results"][0]["result_id"]}
            must = urllib.parse.urlencode({p["name"]: known[p["name"]] for p in of if p.get("required")})
            queries = ["?" + must] if must else [""] + [
                f"?{p['name']}={value}" for p in of
                for value in p["schema"].get("enum", [known.get(p["name"], 1)])]
            for query in queries:
                with self.subTest(path + query):
                    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
                    check(self.get(self.real(path) + query), schema, self.doc)
                    seen += 1
        self.assertGreater(seen, 14)

    def test_a_value_that_is_not_one_of_those_is_refused(self):
        for path, methods in self.doc["paths"].items():
            for p in methods.get("get", {}).get("parameters", []):
                if not is_app(methods["get"]) or not ("enum" in p["schema"] or p["schema"]["type"] == "integer"):
                    continue
                with self.subTest(path, parameter=p["name"]):
                    wrong = ["no-such", *(p["schema"].get(k, 0) + by for k, by in (("minimum", -1), ("maximum", 1))
                                          if k in p["schema"])]
                    for value in wrong:
                        address = re.sub(r"\{\w+\}", "x", path) + f"?{p['name']}={value}"
                        status = demo_test.ask(self.demo.port, "GET", address)[0]
                        self.assertIn(str(status), {"400", "422"} & set(methods["get"]["responses"]), address)

    def test_a_parameter_that_is_not_there_is_refused_with_those_that_are(self):
        for path, methods in self.doc["paths"].items():
            for method, operation in methods.items():
                if not is_app(operation) or path == "/alerts":
                    continue
                with self.subTest(path, method=method):
                    address = re.sub(r"\{\w+\}", "x", path) + "?no_such=1"
                    status, _, text = demo_test.ask(self.demo.port, method.upper(), address)
                    check_unknown(self, operation, status, text)

    def test_lists_have_something_in_them(self):
        for path, name in (("/api/v1/incidents", "incidents"), ("/api/v1/orders", "orders"),
                           ("/api/v1/policy/results", "results"), ("/api/v1/optimize", "runs"),
                           ("/api/v1/prompts", "prompts"), ("/api/v1/runs", "runs")):
            self.assertTrue(self.get(path)[name], path)

    def test_runs_and_sessions_of_applications_are_as_it_says(self):
        for path, name, one in (("/api/v1/runs", "runs", "run_id"),
                                ("/api/v1/history/sessions", "sessions", "session_id")):
            schema = self.doc["paths"][path + "/{" + one + "}"]["get"]["responses"]["200"]
            schema = schema["content"]["application/json"]["schema"]
            for row in self.get(path)[name]:
                with self.subTest(row[one]):
                    check(self.get(f"{path}/{urllib.parse.quote(row[one], safe='')}"), schema,
                          self.doc)

    def test_the_events_of_a_run_of_an_application_are_elsewhere(self):
        for run in self.get("/api/v1/runs")["runs"]:
            path = "/api/v1/runs/" + urllib.parse.quote(run["run_id"], safe="")
            for view in ("/events", "/result"):
                status, _, text = demo_test.ask(self.demo.port, "GET", path + view)
                self.assertEqual(status, 404)
                self.assertIn(f"is one of {run['app']} and not of an agent", json.loads(text)["detail"]["message"])

    def test_the_log_of_what_applications_did_holds(self):
        status, _, text = demo_test.ask(self.demo.port, "POST", "/api/v1/audit/verify")
        self.assertEqual((status, json.loads(text)["ok"]), (200, True), text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
