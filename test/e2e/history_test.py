#!/usr/bin/env python3
"""The history API: real calls through the gateway, then every query about them.

    test/e2e/history_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

Rows that the gateway does not write itself (applications' sessions, tool exchanges) are inserted
into the database as an application's process would.
"""
# SPDX-License-Identifier: Apache-2.0
import csv
import http.client
import io
import json
import signal
import socket
import sqlite3
import sys
import threading
import time
import unittest
import urllib.parse

from command import BINARY
from gateway import Gateway, Provider, digest, upstream
from planted import plant

OPERATOR, ALICE, BOB = "sk-operator", "sk-alice", "sk-bob"
CAROL, AUDITOR = "sk-carol", "sk-auditor"
NASTY = 'a "quoted" -dash OR NEAR( * ^ {col}: \' \\ % _ \U0001f600 \u202e'


class World:
    provider = gateway = None


world = World()


def setUpModule():
    world.provider = Provider()
    world.provider.start()
    models = {"plain": "plain", "think": "think+as:deepseek", "bad": "error:500",
              "tagged": "tags:reasoning", "broken": "plain+cut:1500",
              "broken-tool": "tools+cut:1500", "lengthy": "long-think:200+as:deepseek",
              "held": "think+hold:5+as:deepseek"}
    config = {
        "keys": [{"name": "operator", "sha256": digest(OPERATOR), "role": "operator"},
                 {"name": "alice", "sha256": digest(ALICE)},
                 {"name": "carol", "sha256": digest(CAROL), "reasoning": "show"},
                 {"name": "auditor", "sha256": digest(AUDITOR), "role": "operator",
                  "reasoning": "hide"},
                 {"name": "bob", "sha256": digest(BOB), "reasoning": "hide"}],
        "providers": {"marks": {**upstream(world.provider, "openai",
                                           {"marked": "think+tags:think+slow:30"}),
                                "format": "think"},
                      "claude": upstream(world.provider, "anthropic",
                                         {"redacts": "think+redacted+interleave"}),
                      "test": upstream(world.provider, "openai", models, retries=0,
                                       prices={"plain": {"input": 1.0, "output": 2.0}})},
    }
    world.gateway = Gateway(BINARY, config)
    world.gateway.start()


def tearDownModule():
    for p in (world.gateway, world.provider):
        if p:
            p.stop()


class Reply:
    def __init__(self, r):
        self.status, self.body = r.status, r.read()
        self.headers = {k.lower(): v for k, v in r.getheaders()}

    @property
    def json(self):
        return json.loads(self.body)


def ask(path, key=OPERATOR, method="GET", body=None, headers=None, **params):
    c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=60)
    query = "&".join(f"{k}={urllib.parse.quote(str(one))}" for k, v in params.items()
                     for one in (v if isinstance(v, list) else [v]))
    h = {"authorization": f"Bearer {key}"} if key else {}
    c.request(method, path + ("?" + query if query else ""), body, {**h, **(headers or {})})
    out = Reply(c.getresponse())
    c.close()
    return out


def call(model, said, session, key=ALICE, stream=False, **more):
    body = {"model": model, "messages": [{"role": "user", "content": said}], "stream": stream,
            **more}
    r = ask("/v1/chat/completions", key, "POST", json.dumps(body),
            {"content-type": "application/json", "x-rationale-session": session})
    return r


def sql(*statements):
    db = sqlite3.connect(world.gateway.folder / "history.db", timeout=30)
    with db:
        for text, *args in statements:
            db.execute(text, args)
    db.close()


def now_us():
    return time.time_ns() // 1000


class Case(unittest.TestCase):
    def ok(self, r):
        self.assertEqual(r.status, 200, r.body[:500])
        return r.json

    def wrong(self, r, status, field=None):
        self.assertEqual(r.status, status, r.body[:500])
        detail = r.json["detail"]
        self.assertTrue(detail["error"] and detail["message"])
        if field:
            self.assertEqual(detail["field"], field)
        return detail


class Restarts(unittest.TestCase):
    """A conversation without a session id continues after any kind of restart."""

    def test_a_conversation_is_recognised_after_restarts(self):
        g = Gateway(BINARY, {**world.gateway.config})
        g.config["store"] = f"sqlite:{g.folder / 'history.db'}"
        g.start()
        self.addCleanup(g.stop)
        said, seen = [], set()
        for i in range(5):
            said.append({"role": "user", "content": f"and {i}?"})
            c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
            c.request("POST", "/v1/chat/completions", json.dumps(
                {"model": "plain", "messages": said}), {"authorization": f"Bearer {ALICE}"})
            r = Reply(c.getresponse())
            c.close()
            self.assertEqual(r.status, 200, r.body)
            said.append(r.json["choices"][0]["message"])
            seen.add(r.headers["x-rationale-session"])
            g.signal(signal.SIGKILL if i % 2 else signal.SIGTERM)
            g.child.wait(60)
            g.start()
        self.assertEqual(len(seen), 1, seen)


class Sessions(Case):
    def test_a_call_is_there_as_soon_as_it_is_answered(self):
        for stream in (False, True):
            session = f"at-once-{stream}"
            r = call("think", "what is at once?", session, stream=stream)
            self.assertEqual(r.status, 200, r.body)
            got = self.ok(ask(f"/api/v1/history/sessions/{session}"))
            self.assertEqual(got["status"], "completed")
            self.assertEqual(got["agent_type"], "gateway")
            self.assertEqual(got["alert_type"], "openai")
            self.assertIsNone(got["alert_id"])
            self.assertEqual(got["key_name"], "alice")
            self.assertEqual(got["llm_interaction_count"], 1)
            [event] = got["chronological_timeline"]
            self.assertEqual(event["type"], "llm_interaction")
            self.assertEqual(event["event_id"], r.headers["x-rationale-id"])
            details = event["details"]
            self.assertEqual(details["interaction_id"], event["event_id"])
            self.assertTrue(details["has_reasoning"])
            self.assertIn("ponder", details["reasoning_content"])
            self.assertIn("what is at once?", details["response"])
            self.assertEqual(details["model_name"], "think")
            self.assertEqual(got["final_analysis"], details["response"])
            self.assertEqual(got["summary"]["llm_interaction_count"], 1)
            self.assertGreater(got["started_at_us"], 1e15)

    def test_defect_5_thoughts_that_stand_apart_are_stretches_with_their_own_tokens(self):
        body = {"model": "redacts", "max_tokens": 4000, "stream": True,
                "thinking": {"type": "enabled", "budget_tokens": 2000},
                "messages": [{"role": "user", "content": "apart"}]}
        r = ask("/v1/messages", ALICE, "POST", json.dumps(body),
                {"content-type": "application/json", "x-rationale-session": "apart"})
        self.assertEqual(r.status, 200, r.body)
        [event] = self.ok(ask("/api/v1/history/sessions/apart"))["chronological_timeline"]
        details = event["details"]
        thoughts = [s for s in details["segments"] if s["kind"] == "reasoning"]
        shown = [s for s in thoughts if s["state"] != "opaque"]
        self.assertEqual([s["text"] for s in thoughts if s["state"] == "opaque"], [None])
        self.assertEqual("\n".join(s["text"] for s in shown), details["reasoning_content"])
        for s in shown:
            self.assertGreaterEqual(s["tokens"], len(s["text"].split()))

    def test_two_keys_that_name_the_same_session_have_one_each(self):
        calls = {key: [call("plain", f"of {key}", "ours", key).headers["x-rationale-id"]
                       for _ in range(2)] for key in (ALICE, BOB)}
        for key, ids in calls.items():
            got = self.ok(ask("/api/v1/history/sessions/ours", key))
            self.assertEqual([e["event_id"] for e in got["chronological_timeline"]], ids)
            self.assertEqual(got["session_id"], "ours")
            got = self.ok(ask("/api/v1/history/sessions/ours/decisions", key))
            self.assertEqual([d["interaction_id"] for d in got["decisions"]], ids)
            got = self.ok(ask("/api/v1/history/sessions/ours/export", key))
            self.assertEqual(len(got["chronological_timeline"]), 2)
            for other in set().union(*calls.values()) - set(ids):
                self.assertEqual(ask(f"/api/v1/history/interactions/{other}", key).status, 404)
        both = {s["key_name"]: s["session_id"] for s in self.ok(
            ask("/api/v1/history/sessions", page_size=100))["sessions"]
            if s["session_id"].startswith("ours")}
        self.assertEqual(set(both), {"alice", "bob"})
        self.assertEqual(both["alice"], "ours")
        for name, key in (("alice", ALICE), ("bob", BOB)):  # an operator finds each by its id
            got = self.ok(ask(f"/api/v1/history/sessions/{both[name]}"))
            self.assertEqual([e["event_id"] for e in got["chronological_timeline"]], calls[key])

    def test_thoughts_in_tags_take_their_time(self):
        for stream in (True, False):
            session = f"marked-{stream}"
            self.assertEqual(call("marked", "in marks", session, stream=stream).status, 200)
            [event] = self.ok(ask(f"/api/v1/history/sessions/{session}"))["chronological_timeline"]
            thought, answer = event["details"]["segments"]
            self.assertEqual((thought["kind"], answer["kind"]), ("reasoning", "answer"))
            self.assertGreater(event["details"]["reasoning_tokens"], 10)
            self.assertEqual(thought["tokens"], event["details"]["reasoning_tokens"])
            self.assertEqual(thought["tokens"] + answer["tokens"], event["details"]["output_tokens"])
            self.assertLessEqual(thought["ended_us"], answer["started_us"])
            if stream:
                self.assertGreater(thought["ended_us"] - thought["started_us"], 100000)
        [row] = [r for r in self.ok(ask("/api/v1/reasoning"))["rows"] if r["model"] == "marked"]
        self.assertEqual(row["with_reasoning"], 2)
        self.assertGreater(row["thinking_ms_p95"], 100)

    def test_a_decision_of_a_reply_that_broke_off_says_so(self):
        tools = [{"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}}}}]
        for model, kind in (("broken", "DIRECT"), ("broken-tool", "TOOL_CALL")):
            call(model, "to the end", model, stream=True, tools=tools)
            call(model, "to the end", model, tools=tools)
            got = self.ok(ask(f"/api/v1/history/sessions/{model}/decisions"))["decisions"]
            self.assertEqual([(d["kind"], d["state"]) for d in got],
                             [(kind, "cut"), (kind, "complete")])

    def test_a_response_named_by_its_id_is_of_its_session(self):
        seen, before = set(), {}
        for stream in (False, True, False):
            body = {"model": "plain", "input": "and on", "stream": stream, **before}
            r = ask("/v1/responses", ALICE, "POST", json.dumps(body),
                    {"content-type": "application/json"})
            self.assertEqual(r.status, 200, r.body)
            seen.add(r.headers["x-rationale-session"])
            told = r.json if not stream else json.loads(
                [x for x in r.body.split(b"\n") if x.startswith(b"data: {")][-1][6:])["response"]
            before = {"previous_response_id": told["id"]}
        self.assertEqual(len(seen), 1, seen)

    def test_reasons_in_tags_that_nobody_told_of_are_the_why(self):
        for stream in (False, True):
            session = f"tagged-{stream}"
            r = call("tagged", "in tags", session, stream=stream)
            self.assertNotIn(b"reasoning>", r.body)  # a known opening marker at the start is split
            self.assertNotIn(b"ponder", r.body)
            [d] = self.ok(ask(f"/api/v1/history/sessions/{session}/decisions"))["decisions"]
            self.assertRegex(d["entry"], r"^\[DIRECT\] [^<]*ponder[^<]*$")

    def test_defect_6_a_failed_call_fails_its_session(self):
        call("bad", "fail please", "failing")
        got = self.ok(ask("/api/v1/history/sessions/failing"))
        self.assertEqual(got["status"], "failed")
        self.assertEqual(got["summary"]["errors"], 1)
        self.assertIn("failing", [s["session_id"] for s in self.ok(
            ask("/api/v1/history/sessions", status="failed"))["sessions"]])

    def test_the_whole_request_is_there(self):
        r = call("plain", "whole request", "whole", temperature=0.25)
        got = self.ok(ask(f"/api/v1/history/interactions/{r.headers['x-rationale-id']}"))
        self.assertEqual(got["request"]["messages"][0]["content"], "whole request")
        self.assertEqual(got["temperature"], 0.25)
        self.assertIn("segments", got)
        self.assertIn("reply", got)
        self.assertIsNotNone(got["cost_usd"])

    def test_pages_and_cursors_give_every_session_once(self):
        start = now_us() + 10**12
        sql(*[("INSERT INTO alert_sessions (session_id, status, started_at_us, completed_at_us, "
               "alert_type, cost_usd) VALUES (?, 'completed', ?, ?, 'paging', ?)",
               f"page-{i:03}", start + i // 3, start + i * 1000, i % 7 / 10) for i in range(53)])
        for sort in ("", "started_at_us", "-duration_ms", "total_tokens", "-cost_usd"):
            seen, cursor = [], ""
            while True:
                got = self.ok(ask("/api/v1/history/sessions", alert_type="paging", page_size=10,
                                  **({"sort": sort} if sort else {}),
                                  **({"cursor": cursor} if cursor else {})))
                seen += [s["session_id"] for s in got["sessions"]]
                self.assertEqual(got["pagination"]["total_items"], 53)
                self.assertEqual(got["pagination"]["total_pages"], 6)
                cursor = got["pagination"]["next_cursor"]
                if not cursor:
                    break
            self.assertEqual(len(seen), 53, sort)
            self.assertEqual(len(set(seen)), 53, sort)
            pages = []
            for page in range(1, 7):
                got = self.ok(ask("/api/v1/history/sessions", alert_type="paging", page_size=10,
                                  page=page, **({"sort": sort} if sort else {})))
                self.assertEqual(got["pagination"]["page"], page)
                pages += [s["session_id"] for s in got["sessions"]]
            self.assertEqual(pages, seen, sort)
        self.assertEqual(seen[0][:5], "page-")

    def test_filters_do_what_they_say(self):
        start = now_us() + 2 * 10**12
        sql(*[("INSERT INTO alert_sessions (session_id, status, started_at_us, agent_type, "
               "alert_type, model, has_reasoning) VALUES (?, ?, ?, ?, 'filters', ?, ?)",
               f"filter-{i}", "failed" if i % 2 else "completed", start + i,
               "kubernetes" if i < 3 else None, f"m{i % 3}", i % 2) for i in range(6)])

        def ids(**f):
            got = self.ok(ask("/api/v1/history/sessions", alert_type="filters", **f))
            return sorted(s["session_id"] for s in got["sessions"]), got["filters_applied"]
        self.assertEqual(ids(status="failed")[0], ["filter-1", "filter-3", "filter-5"])
        both, applied = ids(status=["failed", "completed"])
        self.assertEqual(len(both), 6)
        self.assertEqual(applied["status"], ["failed", "completed"])
        self.assertEqual(ids(agent_type="kubernetes")[0], ["filter-0", "filter-1", "filter-2"])
        self.assertEqual(ids(agent_type="gateway")[0], ["filter-3", "filter-4", "filter-5"])
        self.assertEqual(ids(model="m2")[0], ["filter-2", "filter-5"])
        self.assertEqual(ids(has_reasoning="true")[0], ["filter-1", "filter-3", "filter-5"])
        self.assertEqual(ids(start_date_us=start + 4)[0], ["filter-4", "filter-5"])
        self.assertEqual(ids(end_date_us=start)[0], ["filter-0"])
        self.assertEqual(ids(search="filter-4")[0], ["filter-4"])

    def test_bad_parameters_are_refused_by_name(self):
        path = "/api/v1/history/sessions"
        for field, value in [("page_size", 101), ("page_size", 0), ("page_size", "ten"),
                             ("page", 0), ("page", -1), ("search", "ab"), ("cursor", "zz"),
                             ("cursor", "6162"), ("sort", "size"), ("start_date_us", "today"),
                             ("end_date_us", -5), ("status", "gone"), ("has_reasoning", "maybe")]:
            with self.subTest(field, value=value):
                detail = self.wrong(ask(path, **{field: value}), 422, field)
                self.assertEqual(detail["validation_errors"][0]["field"], field)
        self.wrong(ask(path, start_date_us=5, end_date_us=4), 422, "end_date_us")
        self.wrong(ask(path + "?page_size=1&page_size=2"), 422, "page_size")
        self.wrong(ask(path + "?search=abc&search=abd"), 422, "search")
        self.wrong(ask(path + "?search=%ff%fe%fd"), 422, "query")
        self.wrong(ask(path + "?search=abc%0"), 422, "query")
        self.wrong(ask("/api/v1/history/search", q=" "), 422, "q")
        self.wrong(ask("/api/v1/history/search", q="x", limit=101), 422, "limit")
        self.wrong(ask("/api/v1/history/decisions", kind="MAYBE"), 422, "kind")
        for unknown, known in (("sessions?size=5", "page_size"), ("decisions?query=x", "kind"), ("search?q=x&page=1", "limit"),
                               ("active-sessions?x", None), ("sessions/filter-1?x=1", None),
                               ("sessions/filter-1/export?start_date_us=1", "format"), ("export?format=csv&x=1", "alert_type")):
            name = unknown.rpartition("?")[2].rpartition("&")[2].partition("=")[0]
            detail = self.wrong(ask(f"/api/v1/history/{unknown}"), 400, name)
            self.assertIn(f"{name}: there is no such parameter here", detail["message"])
            self.assertEqual("there are" in detail["message"], known is not None)
            self.assertIn(known or "", detail["message"])
        self.wrong(ask("/api/v1/runs", state="waiting"), 400, "state")
        self.wrong(ask("/api/v1/history/sessions?" + "n" * 70 + "=1"), 400, "query")
        self.ok(ask("/api/v1/history/sessions?_=17&page_size=1"))  # clients add `_` to bypass caches
        self.wrong(ask("/api/v1/usage", group_by="colour"), 422, "group_by")
        self.wrong(ask("/api/v1/history/export", format="xml"), 422, "format")

    def test_what_is_not_there_is_404_with_detail(self):
        for path in ("sessions/none", "sessions/none/decisions", "sessions/none/segments",
                     "sessions/none/export", "interactions/none", "interactions/none/segments",
                     "sessions/at-once-True/nothing", "nothing"):
            with self.subTest(path):
                self.wrong(ask("/api/v1/history/" + path), 404)
        detail = self.wrong(ask("/api/v1/history/sessions", method="DELETE"), 405)
        self.assertEqual(detail["error"], "method_not_allowed")

    def test_a_path_after_an_id_names_the_methods_that_it_takes(self):
        for method, path, allowed in [
                ("POST", "history/sessions/x", "GET, DELETE"),
                ("POST", "history/sessions/x/decisions", "GET"),
                ("DELETE", "history/sessions/x/decisions", "GET"),
                ("POST", "runs/x", "GET"),
                ("PUT", "runs/x", "GET"),
                ("POST", "runs/x/replay", "GET"),
                ("GET", "runs/x/cancel", "POST"),
                ("DELETE", "runs/x/answer", "POST"),
                ("POST", "runs/x/result", "GET"),
                ("GET", "runs/x/tool_results", "POST"),
                ("GET", "threads/x", "DELETE"),
                ("PATCH", "threads/x", "DELETE"),
                ("PUT", "threads/x/state", "GET, POST"),
                ("POST", "threads/x/checkpoints", "GET"),
                ("DELETE", "threads/x/checkpoints/y", "GET, PUT"),
                ("GET", "threads/x/checkpoints/y/writes", "PUT"),
                ("GET", "threads/x/prune", "POST")]:
            with self.subTest(path, method=method):
                r = ask("/api/v1/" + path, method=method)
                self.assertEqual(self.wrong(r, 405)["error"], "method_not_allowed")
                self.assertEqual(r.headers["allow"], allowed)
        for method in ("GET", "POST", "PATCH", "DELETE", "OPTIONS"):
            for path in ("history/sessions/x/nothing", "threads/x/nothing", "threads/x/state/y"):
                with self.subTest(path, method=method):
                    self.assertEqual(ask("/api/v1/" + path, method=method).status, 404)
        self.assertEqual(ask("/api/v1/threads/x/state", method="OPTIONS").headers["allow"], "GET, POST")

    def test_an_applications_session_has_its_tools_in_the_timeline(self):
        t = now_us()
        sql(("INSERT INTO alert_sessions (session_id, alert_id, agent_type, alert_type, status, "
             "started_at_us, completed_at_us, alert_data, final_analysis, session_metadata, "
             "tool_count) VALUES ('app', 'alert-7', 'KubernetesAgent', 'NamespaceTerminating', "
             "'completed', ?, ?, '{\"severity\": \"high\"}', '# Report', '{\"n\": 1}', 2)",
             t, t + 5000000),
            *plant(interaction_id="app-call", session_id="app", started_ms=t // 1000 + 10,
                   ended_ms=t // 1000 + 30, status=200, complete=1, model="m", answer="x",
                   segments=json.dumps([{"kind": "reasoning", "text": "hm", "tokens": 1,
                                         "exact": True, "state": "complete"},
                                        {"kind": "answer", "text": "x"}])),
            ("INSERT INTO mcp_communications (communication_id, session_id, parent_id, "
             "timestamp_us, server_name, communication_type, tool_name, tool_arguments, "
             "tool_result, duration_ms, success) VALUES ('app-tool', 'app', 'app-call', ?, "
             "'k8s', 'tool_call', 'get_pods', '{\"ns\": \"a\"}', 'pods', 12, 1)", t + 40000),
            ("INSERT INTO mcp_communications (communication_id, session_id, timestamp_us, "
             "communication_type, success, error_message) VALUES ('app-list', 'app', ?, "
             "'tool_list', 0, 'refused')", t + 1000))
        got = self.ok(ask("/api/v1/history/sessions/app"))
        self.assertEqual([e["event_id"] for e in got["chronological_timeline"]],
                         ["app-list", "app-call", "app-tool"])
        self.assertEqual(got["alert_data"], {"severity": "high"})
        self.assertEqual(got["session_metadata"], {"n": 1})
        self.assertEqual(got["final_analysis"], "# Report")
        self.assertEqual(got["duration_ms"], 5000)
        tool = got["chronological_timeline"][2]["details"]
        self.assertEqual((tool["tool_name"], tool["server_name"], tool["parameters"],
                          tool["result"], tool["success"], tool["parent_id"]),
                         ("get_pods", "k8s", {"ns": "a"}, "pods", True, "app-call"))
        self.assertEqual(got["summary"]["mcp_communication_count"], 2)
        self.assertEqual(got["summary"]["total_duration_ms"], 5000)
        self.assertEqual(got["summary"]["errors"], 1)
        segments = got["chronological_timeline"][1]["details"]["segments"]
        self.assertEqual([s["kind"] for s in segments], ["reasoning", "answer"])
        for path in ("sessions/app/segments", "interactions/app-call/segments"):
            self.assertEqual(self.ok(ask("/api/v1/history/" + path))["segments"], segments)


class New(Case):
    """The part of a request that no earlier call of its session had."""

    def send(self, session, messages, **more):
        r = ask("/v1/messages", ALICE, "POST", json.dumps(
            {"model": "plain", "max_tokens": 500, "messages": messages, **more}),
            {"content-type": "application/json", "x-rationale-session": session})
        self.assertEqual(r.status, 200, r.body[:500])
        return r.headers["x-rationale-id"]

    def new(self, id, key=OPERATOR):
        return self.ok(ask(f"/api/v1/history/interactions/{id}/new", key))

    def test_a_request_is_compared_with_the_one_it_continues(self):
        mark = {"cache_control": {"type": "ephemeral"}}
        tools = [{"name": "Read", "input_schema": {"type": "object"}}]
        ask_1 = {"role": "user", "content": [{"type": "text", "text": "one", **mark}]}
        reply = {"role": "assistant", "content": "an answer"}
        ask_2 = {"role": "user", "content": "two"}
        first = self.send("new", [ask_1], system="Be brief.", tools=tools)
        # The cache marker moves, and its text is no longer a list.
        second = self.send("new", [{"role": "user", "content": "one"}, reply, ask_2],
                           system="Be brief.", tools=tools)
        third = self.send("new", [{"role": "user", "content": "one"}, reply, ask_2, reply,
                                  {"role": "user", "content": "three"}],
                          system="Be long.", tools=tools + tools)
        shorter = self.send("new", [{"role": "user", "content": "one"}, reply,
                                    {"role": "user", "content": "in short"}], system="Be long.",
                            tools=tools + tools)
        alone = self.send("new", [{"role": "user", "content": "something else"}])
        rows = [
            # call, its predecessor, messages in common, messages left out, system, tools, new
            # messages
            (first, None, 0, 0, "Be brief.", tools, [ask_1]),
            (second, first, 1, 0, None, None, [reply, ask_2]),
            (third, second, 3, 0, "Be long.", tools + tools,
             [reply, {"role": "user", "content": "three"}]),
            (shorter, third, 2, 3, None, None, [{"role": "user", "content": "in short"}]),
            (alone, None, 0, 0, None, None, [{"role": "user", "content": "something else"}]),
        ]
        for id, before, same, dropped, system, offered, messages in rows:
            with self.subTest(id=id, messages=messages):
                got = self.new(id)
                self.assertEqual(
                    (got["previous_id"], got["same_count"], got["dropped_count"], got["system"],
                     got["tools"], got["messages"]),
                    (before, same, dropped, system, offered, messages))
        self.assertEqual(self.new(first, ALICE)["messages"], [ask_1])
        for id, key in ((first, BOB), ("nobody", OPERATOR)):
            self.wrong(ask(f"/api/v1/history/interactions/{id}/new", key), 404)


class Decisions(Case):
    @classmethod
    def setUpClass(cls):
        t = now_us()
        rows = [("[TOOL_CALL] lookup, add: the user wants two coffees", '["lookup","add"]'),
                ("[DIRECT] a greeting needs no tool", None),
                ("[TOOL_CALL] add: confirmed the muffin", '["add"]')]
        statements = [("INSERT INTO alert_sessions (session_id, status, started_at_us, key_name) "
                       "VALUES ('log', 'completed', ?, 'alice')", t)]
        for i, (entry, tools) in enumerate(rows):
            statements += plant(interaction_id=f"log-{i}", session_id="log", model="m",
                                started_ms=t // 1000, ended_ms=t // 1000 + i, decision=entry,
                                tools=tools)
        sql(*statements)

    def entries(self, **f):
        return [d["interaction_id"] for d in self.ok(
            ask("/api/v1/history/decisions", session_id="log", **f))["decisions"]]

    def test_a_session_has_its_log_oldest_first(self):
        got = self.ok(ask("/api/v1/history/sessions/log/decisions"))
        self.assertEqual([d["interaction_id"] for d in got["decisions"]],
                         ["log-0", "log-1", "log-2"])
        self.assertEqual(got["decisions"][0]["tools"], ["lookup", "add"])
        self.assertEqual(got["decisions"][1]["tools"], [])
        self.assertTrue(got["decisions"][1]["entry"].startswith("[DIRECT] "))

    def test_the_log_is_newest_first_and_filtered(self):
        self.assertEqual(self.entries(), ["log-2", "log-1", "log-0"])
        self.assertEqual(self.entries(tool="add"), ["log-2", "log-0"])
        self.assertEqual(self.entries(tool="lookup"), ["log-0"])
        self.assertEqual(self.entries(tool="nothing"), [])
        self.assertEqual(self.entries(kind="DIRECT"), ["log-1"])
        self.assertEqual(self.entries(q="muffin"), ["log-2"])
        self.assertEqual(self.entries(q="coff"), ["log-0"])
        self.assertEqual(self.entries(q="wants", tool="add"), ["log-0"])
        self.assertEqual(self.entries(q=NASTY), [])

    def test_cursors_lead_through_the_log(self):
        for more in ({}, {"tool": "add"}, {"q": "the"}):
            seen, cursor = [], {}
            while True:
                got = self.ok(ask("/api/v1/history/decisions", session_id="log", limit=1, **more,
                                  **cursor))
                seen += [d["interaction_id"] for d in got["decisions"]]
                if not got["next_cursor"]:
                    break
                cursor = {"cursor": got["next_cursor"]}
            self.assertEqual(sorted(seen), sorted(self.entries(**more)), more)
        self.wrong(ask("/api/v1/history/decisions", cursor="00"), 422, "cursor")


class Search(Case):
    @classmethod
    def setUpClass(cls):
        call("think", "where is the aardvark-burrow", "search-1")
        call("plain", f"strange {NASTY} text", "search-2")
        sql(*plant(interaction_id="search-3", session_id="search-1", asked="an okapi"))

    def found(self, q, **more):
        return self.ok(ask("/api/v1/history/search", q=q, **more))["results"]

    def test_words_are_found_where_they_stand(self):
        hits = self.found("aardvark")
        self.assertIn("search-1", {h["session_id"] for h in hits})
        self.assertTrue(any(h["type"] == "interaction" and "aardvark" in h["snippet"]
                            for h in hits), hits)
        self.assertTrue(self.found("asked:okap"))
        self.assertFalse(self.found("answer:okapi"))
        self.assertTrue(self.found("answer:aardvark"))
        self.assertFalse(self.found("reasoning:aardvarkx"))
        self.assertTrue([h for h in self.found("reasoning:ponder")
                         if h["session_id"] == "search-1"])

    def test_any_text_is_a_safe_query(self):
        for q in (NASTY, '"', "'", "*", "AND", "NOT", "a AND", "NEAR(a b)", "col:x", "-", "a-b",
                  "\U0001f600", "(((", "^a", "reasoning:", 'reasoning:"', "a\tb", "%", "x" * 900,
                  " ".join("abcdefghij" * 5), "asked:answer:x", "\\", "a;DROP TABLE decisions"):
            with self.subTest(q):
                self.assertEqual(ask("/api/v1/history/search", q=q).status, 200)
                self.assertEqual(ask("/api/v1/history/decisions", q=q).status, 200)
                if len(q) >= 3:
                    self.assertEqual(ask("/api/v1/history/sessions", search=q).status, 200)

    def test_a_session_is_found_by_what_was_said_in_it(self):
        for q in ("aardvark-burrow", "aardv", "search-1"):
            got = self.ok(ask("/api/v1/history/sessions", search=q))
            self.assertIn("search-1", [s["session_id"] for s in got["sessions"]], q)


class Keys(Case):
    @classmethod
    def setUpClass(cls):
        call("think", "secret of alice: xylophone", "of-alice", ALICE)
        cls.bobs = call("think", "secret of bob: zeppelin", "of-bob", BOB)

    def test_a_key_sees_its_own_sessions_only(self):
        mine = {s["session_id"] for s in self.ok(
            ask("/api/v1/history/sessions", BOB, page_size=100))["sessions"]}
        self.assertIn("of-bob", mine)
        self.assertNotIn("of-alice", mine)
        for path in ("sessions/of-alice", "sessions/of-alice/decisions",
                     "sessions/of-alice/segments", "sessions/of-alice/export"):
            self.wrong(ask("/api/v1/history/" + path, BOB), 404)
        self.wrong(ask("/api/v1/history/interactions/" + self.bobs.headers["x-rationale-id"],
                       ALICE), 404)
        self.assertFalse(self.ok(ask("/api/v1/history/search", BOB, q="xylophone"))["results"])
        self.assertNotIn(b"xylophone", ask("/api/v1/history/export", BOB).body)
        self.assertIn(b"xylophone", ask("/api/v1/history/export", OPERATOR).body)
        total = self.ok(ask("/api/v1/history/metrics", BOB))["total_sessions"]
        self.assertEqual(total, len(mine))

    def test_reasoning_is_hidden_from_a_key_that_hides_it(self):
        for path in ("sessions/of-bob", "sessions/of-bob/segments", "sessions/of-bob/export",
                     "interactions/" + self.bobs.headers["x-rationale-id"]):
            r = ask("/api/v1/history/" + path, BOB)
            self.assertEqual(r.status, 200)
            self.assertNotIn(b"ponder", r.body, path)
        got = self.ok(ask("/api/v1/history/sessions/of-bob", BOB))
        details = got["chronological_timeline"][0]["details"]
        self.assertIsNone(details["reasoning_content"])
        self.assertEqual(details["reasoning_state"], "hidden")
        self.assertTrue(details["has_reasoning"])
        self.assertFalse(self.ok(ask("/api/v1/history/search", BOB,
                                     q="reasoning:ponder"))["results"])
        self.assertFalse(self.ok(ask("/api/v1/history/search", BOB, q="ponder"))["results"])
        refused = self.wrong(ask("/api/v1/history/export", BOB, search="a reasoning:ponder"), 422, "search")
        self.assertIn("reasoning is hidden from you", refused["message"])
        for key, words in ((OPERATOR, "reasoning:ponder"), (BOB, "reasoning"), (BOB, "")):
            self.ok(ask("/api/v1/history/export", key, search=words))
        self.assertIn(b"ponder", ask("/api/v1/history/sessions/of-bob", OPERATOR).body)

    def everything(self, key, session, headers=None):
        """All that a key can read of a session, by every route."""
        get = lambda path, **q: ask("/api/v1/history/" + path, key, headers=headers, **q).body
        [event] = json.loads(get(f"sessions/{session}"))["chronological_timeline"]
        return b"".join([get(f"sessions/{session}"), get(f"sessions/{session}/decisions"),
                         get(f"sessions/{session}/segments"), get(f"sessions/{session}/export"),
                         get(f"interactions/{event['event_id']}"),
                         get(f"interactions/{event['event_id']}/segments"),
                         get("decisions", session_id=session), get("export", session_id=session),
                         get("export", session_id=session, format="csv")])

    def test_what_is_kept_is_not_shown_where_reasoning_is_not(self):
        for name, key, sees in (("alice", ALICE, False), ("bob", BOB, False), ("carol", CAROL, True)):
            session = f"kept-{name}"
            call("think", f"a question of {name}", session, key)
            self.assertEqual(b"ponder" in self.everything(key, session), sees, name)
            self.assertIn(b"ponder", self.everything(OPERATOR, session))
            self.assertNotIn(b"ponder", self.everything(AUDITOR, session))
            for words in ("reasoning:ponder", "ponder", "pond"):
                got = self.ok(ask("/api/v1/history/search", key, q=words))["results"]
                self.assertEqual(any(r["session_id"] == session for r in got), sees, (name, words))
                got = self.ok(ask("/api/v1/history/sessions", key, search=words))["sessions"]
                self.assertEqual(any(r["session_id"] == session for r in got), sees, (name, words))
                self.assertFalse(self.ok(ask("/api/v1/history/search", AUDITOR, q=words))["results"])

    def test_a_client_that_is_silent_on_reasoning_may_ask_for_its_own(self):
        call("think", "once more", "asks", ALICE)
        call("think", "once more", "never", BOB)
        show = {"x-rationale-reasoning": "show"}
        self.assertNotIn(b"ponder", self.everything(ALICE, "asks"))
        self.assertIn(b"ponder", self.everything(ALICE, "asks", show))
        self.assertNotIn(b"ponder", self.everything(BOB, "never", show))
        self.assertNotIn(b"ponder", self.everything(OPERATOR, "asks", {"x-rationale-reasoning": "hide"}))

    def test_reasoning_that_a_client_sends_back_is_hidden_in_its_request(self):
        sent = [{"role": "user", "content": "first"},
                {"role": "assistant", "content": "hello", "reasoning_content": "secretly a kazoo"},
                {"role": "user", "content": "second"}]
        r = ask("/v1/chat/completions", CAROL, "POST", json.dumps({"model": "plain", "messages": sent}),
                {"content-type": "application/json", "x-rationale-session": "sent-back"})
        path = "/api/v1/history/interactions/" + r.headers["x-rationale-id"]
        self.assertEqual(self.ok(ask(path))["request"]["messages"], sent)
        self.assertEqual(self.ok(ask(path, CAROL))["request"]["messages"], sent)
        hidden = self.ok(ask(path, AUDITOR))["request"]["messages"]
        self.assertEqual(hidden, [{k: v for k, v in m.items() if k != "reasoning_content"} for m in sent])

    def test_a_search_tells_nothing_of_words_that_the_asker_may_not_see(self):
        """Whether the last word is searched as a prefix depends only on texts that the asker may
        see."""
        call("plain", "one saxophonist", "front", BOB)
        found = lambda: [r["session_id"] for r in self.ok(
            ask("/api/v1/history/search", BOB, q="saxophon"))["results"]]
        before = found()
        self.assertIn("front", before)
        call("plain", "just saxophon", "whole", CAROL)
        self.assertEqual(found(), before)

    def test_without_a_key_nothing_is_told(self):
        for key in ("", "sk-wrong"):
            self.wrong(ask("/api/v1/history/sessions", key), 401)

    def test_a_login_gives_a_cookie_that_a_logout_ends(self):
        r = ask("/api/v1/login", "", "POST", json.dumps({"key": ALICE}))
        self.assertEqual(self.ok(r), {"name": "alice", "role": "client"})
        cookie = r.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)
        self.assertNotIn(ALICE, cookie)
        c = {"cookie": "a=b; " + cookie.split(";")[0] + "; c=d"}
        self.assertEqual(ask("/api/v1/history/sessions/of-alice", "", headers=c).status, 200)
        self.assertEqual(ask("/api/v1/history/sessions/of-bob", "", headers=c).status, 404)
        self.wrong(ask("/api/v1/logout", "", "POST", headers={**c, "origin": "http://evil"}), 403)
        for body, code in (("{", 400), ('{"all": true}', 400), ("[]", 400)):
            self.wrong(ask("/api/v1/logout", "", "POST", body, headers=c), code)
        self.assertEqual(ask("/api/v1/history/sessions/of-alice", "", headers=c).status, 200)
        self.assertEqual(ask("/api/v1/logout", "", "POST", "{}", headers=c).status, 200)
        self.wrong(ask("/api/v1/history/sessions/of-alice", "", headers=c), 401)
        self.wrong(ask("/api/v1/login", "", "POST", json.dumps({"key": "sk-wrong"})), 401)
        self.wrong(ask("/api/v1/login", "", "POST", "{"), 400)
        self.wrong(ask("/api/v1/login", "", "POST", "{}"), 422)
        self.assertIn('did you mean "key"?', self.wrong(
            ask("/api/v1/login", "", "POST", json.dumps({"key": ALICE, "keyy": 1})), 400)["message"])

    def test_replies_are_not_kept_and_not_guessed_at(self):
        for path in ("/api/v1/history/sessions", "/api/v1/history/sessions/none",
                     "/api/v1/nothing", "/api/v1/history/export?format=csv"):
            r = ask(path)
            self.assertEqual(r.headers["x-content-type-options"], "nosniff", path)
            self.assertEqual(r.headers["cache-control"], "no-store", path)


class Sums(Case):
    def test_usage_adds_up(self):
        call("plain", "usage", "usage")
        for group in ("model", "provider", "key", "level", "day"):
            got = self.ok(ask("/api/v1/usage", group_by=group))
            self.assertTrue(got["groups"], group)
            for name in ("key", "calls", "failed", "input_tokens", "output_tokens",
                         "reasoning_tokens", "cache_read_tokens", "cost_usd", "starved", "cut"):
                self.assertIn(name, got["groups"][0])
        days = self.ok(ask("/api/v1/usage", group_by="day",
                           start_date_us=now_us() - 10**9))["groups"]
        self.assertRegex(days[-1]["key"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(self.ok(ask("/api/v1/usage", end_date_us=1))["groups"], [])

    def test_defect_7_reasoning_is_counted_by_model_and_level(self):
        call("think", "reasoning rows", "reasoning-rows")
        rows = self.ok(ask("/api/v1/reasoning"))["rows"]
        row = next(r for r in rows if r["model"] == "think")
        self.assertEqual(len(row["saturation"]), 10)
        self.assertGreater(row["reasoning_tokens"], 0)
        self.assertGreaterEqual(row["calls"], row["with_reasoning"])

    def test_metrics_options_and_health(self):
        call("plain", "metrics", "metrics")
        m = self.ok(ask("/api/v1/history/metrics"))
        for name in ("active_sessions", "completed_sessions", "failed_sessions",
                     "total_interactions", "sessions_last_24h", "average_duration_ms",
                     "error_rate"):
            self.assertIn(name, m)
        o = self.ok(ask("/api/v1/history/filter-options"))
        self.assertIn("openai", o["alert_types"])
        self.assertIn("gateway", o["agent_types"])
        self.assertEqual(o["status_options"], ["pending", "in_progress", "completed", "failed"])
        self.assertTrue(all(set(r) == {"label", "value"} for r in o["time_ranges"]))
        h = self.ok(ask("/api/v1/history/health"))
        self.assertEqual(h["status"], "healthy")
        self.assertGreater(h["timestamp_us"], 1e15)
        self.assertIsInstance(self.ok(ask("/api/v1/history/active-sessions")), list)


class Export(Case):
    @classmethod
    def setUpClass(cls):
        for i in range(40):
            call("plain", f'=cmd|"/c calc"!A{i}, "quoted"\nnext line', f"export-{i}")

    def test_json_is_one_document_with_every_session(self):
        r = ask("/api/v1/history/export", format="json")
        ids = [s["session_id"] for s in self.ok(r)["sessions"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertLessEqual({f"export-{i}" for i in range(40)}, set(ids))
        self.assertIn("attachment", r.headers["content-disposition"])
        one = self.ok(ask("/api/v1/history/sessions/export-3/export"))
        self.assertEqual(one["session_id"], "export-3")
        self.assertEqual(self.ok(ask("/api/v1/history/export", model="none")), {"sessions": []})

    def test_csv_is_quoted_and_no_formula(self):
        r = ask("/api/v1/history/export", format="csv")
        self.assertTrue(r.headers["content-type"].startswith("text/csv"))
        rows = list(csv.DictReader(io.StringIO(r.body.decode(), newline="")))
        self.assertEqual(rows[0].keys() >= {"session_id", "event_id", "prompt", "response"}, True)
        mine = [r for r in rows if r["session_id"] == "export-7"]
        self.assertEqual(len(mine), 1)
        self.assertTrue(mine[0]["prompt"] == "" or mine[0]["prompt"].startswith("'=cmd"))
        for row in rows:
            for value in row.values():
                self.assertFalse(value and value[0] in "=+@\t\r" , value)

    def test_defect_23_otlp_is_lines_of_spans(self):
        r = ask("/api/v1/history/export", format="otlp")
        self.assertEqual(r.status, 200)
        spans = []
        for line in r.body.decode().splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    spans += scope["spans"]
        self.assertGreaterEqual(len(spans), 40)
        for s in spans:
            self.assertRegex(s["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(s["spanId"], "^[0-9a-f]{16}$")
            self.assertRegex(s["startTimeUnixNano"], r"^\d+$")
            self.assertGreaterEqual(int(s["endTimeUnixNano"]), int(s["startTimeUnixNano"]))
            names = [a["key"] for a in s["attributes"]]
            self.assertIn("gen_ai.operation.name", names)
            for a in s["attributes"]:
                [(kind, value)] = a["value"].items()
                self.assertIn(kind, ("stringValue", "intValue", "boolValue", "doubleValue"))
                if kind == "intValue":
                    self.assertIsInstance(value, str)


class Running(Case):
    """Running calls are in progress, and none of them waits for a reader."""

    def begin(self, session, model="held"):
        c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=60)
        c.request("POST", "/v1/chat/completions", json.dumps({"model": model, "stream": True,
                  "messages": [{"role": "user", "content": "take your time"}]}),
                  {"authorization": f"Bearer {ALICE}", "x-rationale-session": session})
        return c, c.getresponse()

    def test_a_call_that_runs_is_in_progress_until_it_ends(self):
        c, r = self.begin("running")
        got = self.ok(ask("/api/v1/history/sessions/running"))
        self.assertEqual(got["status"], "in_progress")
        self.assertIsNone(got["completed_at_us"])
        active = [s for s in self.ok(ask("/api/v1/history/active-sessions"))
                  if s["session_id"] == "running"]
        self.assertEqual(len(active), 1)
        self.assertGreaterEqual(active[0]["duration_seconds"], 0)
        for status, there in (("in_progress", 1), ("completed", 0)):
            ids = [s["session_id"] for s in self.ok(
                ask("/api/v1/history/sessions", status=status, page_size=100))["sessions"]]
            self.assertEqual(ids.count("running"), there, status)
        self.assertEqual(ask("/api/v1/history/sessions/running", BOB).status, 404)
        self.assertGreaterEqual(self.ok(ask("/api/v1/history/metrics"))["active_sessions"], 1)
        world.provider.go_on("take your time")
        r.read()
        c.close()
        self.assertEqual(self.ok(ask("/api/v1/history/sessions/running"))["status"], "completed")

    def test_an_acknowledged_call_is_seen_however_far_the_tables_are_behind(self):
        ours = world.gateway
        world.gateway = Gateway(BINARY, {k: ours.config[k] for k in ("keys", "providers")})
        try:
            world.gateway.start()
            self.locked()
        finally:
            world.gateway.stop()
            world.gateway = ours

    def locked(self):
        db = sqlite3.connect(world.gateway.folder / "history.db", timeout=60, isolation_level=None,
                             check_same_thread=False)
        for wait in (2, None):  # released after two seconds; released after the answer
            db.execute("BEGIN IMMEDIATE")
            one = call("plain", "while the tables are locked", f"locked-{wait}")
            self.assertEqual(one.status, 200)
            path = "/api/v1/history/interactions/" + one.headers["x-rationale-id"]
            timer = threading.Timer(wait or 0, db.execute, ["COMMIT"])
            if wait:
                timer.start()
            got = ask(path)
            if not wait:
                self.assertEqual(got.status, 503)
                self.assertEqual(got.json["detail"]["error"], "catching_up")
                self.assertGreaterEqual(int(got.headers["retry-after"]), 1)
                timer.start()
                got = ask(path)
            timer.join()
            self.assertEqual(self.ok(got)["prompt"], "while the tables are locked")
        db.close()

    def test_clients_that_leave_or_do_not_read_stop_nobody(self):
        sql(*[("INSERT INTO alert_sessions (session_id, status, started_at_us, title) "
               "VALUES (?, 'completed', ?, ?)", f"bulk-{i}", 5 + i, "x" * 120)
              for i in range(3000)])
        sql(*[statement for i in range(3000) for statement in plant(
            interaction_id=f"bulk-call-{i}", session_id=f"bulk-{i}", answer="word " * 400)])
        idle = []
        for i in range(24):  # more than there are readers
            s = socket.create_connection(("127.0.0.1", world.gateway.port))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(b"GET /api/v1/history/export HTTP/1.1\r\nhost: localhost\r\n"
                      b"authorization: Bearer " + OPERATOR.encode() + b"\r\n\r\n")
            idle.append(s)
        began = time.monotonic()
        for _ in range(20):
            self.ok(ask("/api/v1/history/sessions"))
        self.assertLess(time.monotonic() - began, 100)
        for s in idle[::2]:
            s.close()
        ids = [s["session_id"] for s in self.ok(ask("/api/v1/history/export"))["sessions"]]
        self.assertLessEqual({f"bulk-{i}" for i in range(3000)}, set(ids))
        self.assertEqual(len(ids), len(set(ids)))
        for s in idle[1::2]:
            s.close()
        self.assertEqual(ask("/health").status, 200)

    def test_many_at_once_are_answered_or_told_to_come_back(self):
        path = b"/api/v1/history/search?q=word"
        socks = []
        for _ in range(400):
            s = socket.create_connection(("127.0.0.1", world.gateway.port))
            s.sendall(b"GET " + path + b" HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer " +
                      OPERATOR.encode() + b"\r\n\r\n")
            socks.append(s)
        for s in socks:
            s.settimeout(120)
            head = s.recv(4096)
            self.assertIn(head[:12], (b"HTTP/1.0 200", b"HTTP/1.1 200", b"HTTP/1.0 503",
                                      b"HTTP/1.1 503"))
            if b" 503" in head[:13]:
                self.assertIn(b"retry-after", head.lower())
            s.close()
        self.assertEqual(ask("/health").status, 200)


class NoStore(unittest.TestCase):
    def test_with_nothing_on_record_it_says_so(self):
        config = {"store": "none", "providers": {"test": upstream(world.provider, "openai",
                                                                  ["plain"])}}
        with Gateway(BINARY, config) as other:
            c = http.client.HTTPConnection("127.0.0.1", other.port, timeout=30)
            c.request("GET", "/api/v1/history/sessions")
            r = Reply(c.getresponse())
            self.assertEqual(r.status, 503)
            self.assertEqual(r.json["detail"]["error"], "history_disabled")
            for path in ("/api/v1/history/health", "/metrics"):
                c.request("GET", path, headers={"host": "evil.example"})
                self.assertEqual(Reply(c.getresponse()).status, 403)
            c.request("GET", "/metrics", headers={"host": "localhost:9"})
            self.assertEqual(Reply(c.getresponse()).status, 200)
            c.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
