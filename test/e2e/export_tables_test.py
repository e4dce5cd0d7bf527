#!/usr/bin/env python3
"""`rationale export --format sqlite`: every column of every row has the value that the API gives.

    test/e2e/export_tables_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
    tools/postgres-run python3 test/e2e/export_tables_test.py BINARY SOURCE_ROOT

The store is SQLite, or PostgreSQL under tools/postgres-run.
"""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import unittest
from contextlib import closing

from command import BINARY, SOURCE, environment, run
from gateway import PATIENCE, Gateway, Provider, digest, upstream

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
OPERATOR, ALICE, BOB = "sk-operator", "sk-alice", "sk-bob"
TURNS = 6
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]

# Columns of llm_interactions and their members in the API; times are milliseconds there and
# microseconds here.
SAME = {name: name for name in (
    "interaction_id session_id parent_id key_name route provider upstream_model dialect"
    " upstream_dialect status stop error_code error_message has_reasoning stream complete"
    " reasoning_cut cap_tokens input_tokens output_tokens reasoning_tokens cache_read_tokens"
    " cache_write_tokens reasoning_exact cost_usd reasoning_source subject reasoning_content"
    " reasoning_summary decision").split()}
SAME.update(model="model_name", answer="response", asked="prompt", reasoning_level="level")
TIMES = {"started_ms": "started_at_us", "first_ms": "first_byte_us", "ended_ms": "ended_at_us",
         "reasoning_ms": "reasoning_started_us"}
TEXTS = ("request", "reply", "tool_calls", "tools", "attempts")  # JSON, or any text
ELSEWHERE = {"call_n", "request_size", "reply_size", "answer_ms", "reasoning_state", "segments",
             "step_description"}


class World:
    provider = gateway = None
    count = 0


world = World()


def setUpModule():
    world.provider = Provider()
    world.provider.start()
    models = {"plain": "plain", "think": "think+as:deepseek", "bad": "error:500", "tool": "tools",
              "tagged": "tags:reasoning", "broken": "plain+cut:1500"}
    config = {
        "keys": [{"name": "operator", "sha256": digest(OPERATOR), "role": "operator"},
                 {"name": "alice", "sha256": digest(ALICE)},
                 {"name": "bob", "sha256": digest(BOB)}],
        "providers": {"test": upstream(world.provider, "openai", models, retries=0,
                                       prices={"plain": {"input": 1.0, "output": 2.0}})},
    }
    world.gateway = Gateway(BINARY, config)
    if SERVER:
        psql("CREATE DATABASE exported", "postgres")
        world.gateway.config.update(store=SERVER.replace("%s", "exported"),
                                    spool=str(world.gateway.folder / "spool"))
    world.gateway.start()
    fill()


def tearDownModule():
    for p in (world.gateway, world.provider):
        if p:
            p.stop()


def psql(sql, database="exported"):
    subprocess.run(["psql", SERVER.replace("%s", database), "-qc", sql], check=True)


def beside(sql):
    """Writes to the shared tables as an application's process does."""
    if SERVER:
        psql(sql)
        return
    with closing(sqlite3.connect(world.gateway.folder / "history.db", timeout=30)) as db, db:
        db.execute(sql)


def ask(path, method="GET", body=None, key=OPERATOR, **headers):
    c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=PATIENCE)
    c.request(method, path, json.dumps(body) if body is not None else None,
              {"authorization": f"Bearer {key}", "content-type": "application/json",
               **{k.replace("_", "-"): v for k, v in headers.items()}})
    r = c.getresponse()
    try:
        text = r.read()
    except http.client.IncompleteRead as e:
        text = e.partial
    c.close()
    return r.status, text


def api(path):
    status, text = ask("/api/v1/" + path)
    assert status == 200, (path, text[:500])
    return json.loads(text)


def call(model, messages, session, key=ALICE, **more):
    ask("/v1/chat/completions", "POST", {"model": model, "messages": messages, **more}, key,
        x_rationale_session=session)
    world.count += 1


def said(words):
    return [{"role": "user", "content": words}]


def fill():
    for i, model in enumerate(("plain", "think", "bad", "tool", "tagged", "broken")):
        for key in (ALICE, BOB):
            call(model, said(f"a question to {model}"), f"{model}-{key}", key, stream=i % 2 == 0,
                 tools=TOOLS)
    call("think", said("with a level"), "level", reasoning_effort="low")
    call("plain", said("long " + "words \u00e4 and more of them " * 20000), "long")
    messages = []
    for i in range(TURNS):  # stored as differences between turns
        messages += [{"role": "user", "content": f"turn {i} " + "and so on " * 200}]
        call("plain", messages, "conversation")
        messages += [{"role": "assistant", "content": f"reply {i} " + "it is so " * 200}]
    for i in range(300):  # more than a page
        call("plain", said(f"one of many, number {i}"), f"many-{i // 5}", BOB if i % 2 else ALICE)
    call("think", said("this will be erased: pangolin"), "gone")
    world.count -= 1
    status, text = ask("/api/v1/history/sessions/gone", "DELETE")
    assert status == 200, text
    assert ask("/api/v1/history/metrics")[0] == 200  # by now all answered calls are in the tables
    beside("INSERT INTO mcp_communications (communication_id, session_id, parent_id, timestamp_us,"
           " server_name, communication_type, tool_name, tool_arguments, tool_result, duration_ms,"
           " success, error_message, step_description) VALUES ('x-1', 'long', 'p', 123456789,"
           " 'server', 'tool_call', 'look', '{\"a\": 1}', 'a result', 17, 1, NULL, 'a step')")


def export(*args, code=0, form="sqlite"):
    done = run("export", "--config", str(world.gateway.path), "--format", form, *args,
               env=environment(UPSTREAM_KEY="k"))
    assert done.code == code, (args, done)
    return done.err


class Case(unittest.TestCase):
    def path(self, name):
        return str(world.gateway.folder / f"{self.id().rsplit('.', 1)[1]}-{name}")

    def exported(self, *args):
        path = self.path("out.db")
        export("--output", path, "--force", *args)
        db = sqlite3.connect(path)
        db.row_factory = sqlite3.Row
        self.addCleanup(db.close)
        return db


def as_json(text):
    try:
        return json.loads(text) if text is not None else None
    except ValueError:
        return text


def every_call():
    """All calls from the API, session by session."""
    found, cursor = [], ""
    while cursor is not None:
        page = api("history/sessions?limit=100" + (f"&cursor={cursor}" if cursor else ""))
        for s in page["sessions"]:
            timeline = api("history/sessions/" + s["session_id"])["chronological_timeline"]
            found += [e["details"]["interaction_id"] for e in timeline
                      if e["type"] == "llm_interaction"]
        cursor = page["pagination"]["next_cursor"]
    return {i: api(f"history/interactions/{i}") for i in found}


class Tables(Case):
    def check_call(self, row, want):
        for column, member in SAME.items():
            got = row[column]
            self.assertEqual(bool(got) if isinstance(want[member], bool) else got, want[member],
                             (column, row["interaction_id"]))
        for column, member in TIMES.items():
            got = row[column]
            self.assertEqual(got and got * 1000, want[member], (column, row["interaction_id"]))
        for column in TEXTS:
            self.assertEqual(as_json(row[column]), want[column], (column, row["interaction_id"]))
        self.assertIsInstance(row["request"], str)
        self.assertEqual(row["request_size"], len(row["request"].encode()))
        self.assertEqual(row["reply_size"], len((row["reply"] or "").encode()))
        if want["reasoning_ended_us"] is not None:
            self.assertEqual((row["answer_ms"] or row["ended_ms"]) * 1000,
                             want["reasoning_ended_us"])
        if want["reasoning_content"] is not None or not want["has_reasoning"]:
            self.assertEqual(row["reasoning_state"], want["reasoning_state"])
        self.assertEqual(set(row.keys()), set(SAME) | set(TIMES) | set(TEXTS) | ELSEWHERE)

    def test_every_column_of_every_call_is_what_the_api_says(self):
        calls = every_call()
        self.assertEqual(len(calls), world.count)
        db = self.exported()
        rows = {r["interaction_id"]: r for r in db.execute("SELECT * FROM llm_interactions")}
        self.assertEqual(set(rows), set(calls))
        for i, row in rows.items():
            self.check_call(row, calls[i])
        segments = {}
        for s in db.execute("SELECT * FROM reasoning_segments ORDER BY interaction_id, n"):
            segments.setdefault(s["interaction_id"], []).append(
                {k: bool(s[k]) if k in ("exact", "cut") else s[k] for k in s.keys()})
        for i, want in calls.items():
            self.assertEqual(segments.pop(i, []), want["segments"])
        self.assertEqual(segments, {})
        self.assertEqual({r["interaction_id"] for r in db.execute(
            "SELECT * FROM llm_interactions WHERE reasoning_content IS NOT NULL")},
            {i for i, c in calls.items() if c["reasoning_content"]})
        self.assertTrue(any(c["reasoning_content"] for c in calls.values()))

    def test_decisions_are_those_of_the_log(self):
        want, cursor = [], ""
        while cursor is not None:
            page = api("history/decisions?limit=100" + (f"&cursor={cursor}" if cursor else ""))
            want += page["decisions"]
            cursor = page["next_cursor"]
        db = self.exported()
        rows = {r["decision_id"]: r for r in db.execute("SELECT * FROM decisions")}
        self.assertEqual(set(rows), {d["decision_id"] for d in want})
        for d in want:
            row = rows[d["decision_id"]]
            for name in ("interaction_id", "session_id", "timestamp_us", "kind", "model", "entry"):
                self.assertEqual(row[name], d[name])
            self.assertEqual(as_json(row["tools"]) or [], d["tools"])
            tools = {t["tool"] for t in db.execute(
                "SELECT tool FROM decision_tools WHERE decision_id = ?", (d["decision_id"],))}
            self.assertEqual(tools, set(d["tools"]))
        self.assertTrue(any(d["kind"] == "TOOL_CALL" for d in want))
        self.assertEqual(db.execute("SELECT count(*) FROM llm_interactions i JOIN decisions d ON"
                                    " d.decision_id = i.call_n AND d.entry = i.decision")
                         .fetchone()[0], len(want))

    def test_sessions_and_tool_exchanges(self):
        db = self.exported()
        rows = {r["session_id"]: r for r in db.execute("SELECT * FROM alert_sessions")}
        self.assertEqual(len(rows), api("history/sessions?limit=1")["pagination"]["total_items"])
        for i, row in rows.items():
            want = api("history/sessions/" + i)
            for name in ("alert_id", "agent_type", "alert_type", "status", "started_at_us",
                         "completed_at_us", "error_message", "title", "model", "key_name",
                         "subject", "input_tokens", "output_tokens", "reasoning_tokens",
                         "cost_usd", "final_analysis"):
                self.assertEqual(row[name], want[name], (name, i))
            self.assertEqual(bool(row["has_reasoning"]), want["has_reasoning"])
            self.assertEqual(row["call_count"], want["llm_interaction_count"])
        tools = [dict(r) for r in db.execute("SELECT * FROM mcp_communications")]
        self.assertEqual(tools, [{
            "communication_id": "x-1", "session_id": "long", "parent_id": "p",
            "timestamp_us": 123456789, "server_name": "server", "communication_type": "tool_call",
            "tool_name": "look", "tool_arguments": '{"a": 1}', "tool_result": "a result",
            "available_tools": None, "duration_ms": 17, "success": 1, "error_message": None,
            "step_description": "a step"}])

    def test_sums_by_the_hour_are_those_of_the_api(self):
        db = self.exported()
        got = {r["model"]: r for r in db.execute(
            "SELECT model, sum(calls) calls, sum(failed) failed, sum(input_tokens) input_tokens,"
            " sum(output_tokens) output_tokens, sum(cost_usd) cost_usd FROM usage_hours GROUP BY"
            " model")}
        want = api("usage?group_by=model")["groups"]
        self.assertEqual(sum(r["calls"] for r in got.values()), world.count)
        self.assertEqual(len(want), len(got))
        for group in want:
            row = got[group["key"]]
            for name in ("calls", "input_tokens", "output_tokens"):
                self.assertEqual(row[name], group[name], (name, group))

    def test_nothing_erased_and_no_secret_is_in_it(self):
        self.exported()
        with open(self.path("out.db"), "rb") as f:
            data = f.read()
        for secret in (b"pangolin", b"store_keys", b"audit_log", b"talk", b"erasures"):
            self.assertNotIn(secret, data)

    def test_filters_choose_sessions(self):
        for args, query in ((("--key", "bob"), "key=bob"), (("--model", "think"), "model=think"),
                            (("--status", "failed"), "status=failed"),
                            (("--until", "7d"), None), (("--since", "1h"), ""),
                            (("--session", "conversation"), "id")):
            db = self.exported(*args)
            ids = {r[0] for r in db.execute("SELECT session_id FROM alert_sessions")}
            form = json.loads(run("export", "--config", str(world.gateway.path), *args,
                                  env=environment(UPSTREAM_KEY="k")).out)
            self.assertEqual(ids, {s["session_id"] for s in form.get("sessions", [form])}, args)
            self.assertEqual(ids, {r[0] for r in db.execute(
                "SELECT DISTINCT session_id FROM llm_interactions")}, args)
            self.assertEqual(db.execute("SELECT coalesce(sum(calls), 0) FROM usage_hours")
                             .fetchone()[0],
                             db.execute("SELECT count(*) FROM llm_interactions").fetchone()[0])

    def test_the_docs_are_right(self):
        docs = (SOURCE / "docs/reference/history.md").read_text(encoding="utf-8")
        db = self.exported()
        sql = re.search(r'^\$ sqlite3 \S+ "(.*)"$', docs, re.M)[1]
        self.assertGreater(len(db.execute(sql).fetchall()), 3)
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            self.assertIn(f"`{table}`", docs)
        for row in db.execute("SELECT name FROM pragma_table_info('llm_interactions')"):
            self.assertIn(f"`{row[0]}`", docs)


class Files(Case):
    def test_an_existing_file_is_replaced_only_by_force(self):
        path = self.path("there.db")
        with open(path, "w", encoding="utf-8") as f:
            f.write("mine")
        self.assertIn("--force", export("--output", path, code=2))
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine")
        export("--output", path, "--force")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with closing(sqlite3.connect(path)) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        self.assertFalse(os.path.exists(path + ".part"))

    def test_what_cannot_be_written_is_said(self):
        folder = self.path("folder")
        os.mkdir(folder)
        for args, words in (((), "--output FILE"), (("--output", ""), "--output"),
                            (("--output", "-"), "--output"),
                            (("--output", "/nowhere/at/all.db"), "/nowhere/at/all.db"),
                            (("--output", folder, "--force"), "not a plain file"),
                            (("--output", "/dev/null", "--force"), "not a plain file"),
                            (("--output", folder), "exists"),
                            (("--output", "x" * 5000), "path"),
                            (("--force",), "--output"),
                            (("--output", self.path("a"), "--since", "never"), "--since"),
                            (("--output", self.path("a"), "--status", "odd"), "--status")):
            self.assertIn(words, export(*args, code=2), args)
        self.assertIn("--output", export("--force", code=2, form="csv"))
        self.assertIn("no session", export("--output", self.path("a"), "--session", "nothing",
                                           code=1))
        self.assertFalse(os.path.exists(self.path("a")) or os.path.exists(self.path("a.part")))

    @unittest.skipIf(SERVER, "the store is no file")
    def test_the_store_is_not_written_over(self):
        store = world.gateway.folder / "history.db"
        os.symlink(store, self.path("link"))
        os.link(store, self.path("hard"))
        os.symlink(store, self.path("x.part"))
        for path in (store, f"{store}-wal", f"{store}.head", self.path("link"), self.path("hard"),
                     self.path("x")):
            self.assertIn("the store itself", export("--output", str(path), "--force", code=2))
        self.assertEqual(api("history/sessions/long")["session_id"], "long")

    def test_a_part_that_was_left_is_replaced_and_one_in_use_is_not(self):
        path = self.path("left.db")
        with open(path + ".part", "w", encoding="utf-8") as f:
            f.write("left by a process that was killed" * 1000)
        os.chmod(path + ".part", 0o644)
        export("--output", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(self.path("used.db.part"), "w", encoding="utf-8") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            self.assertIn("another process", export("--output", self.path("used.db"), code=2))
        self.assertFalse(os.path.exists(self.path("used.db")))

    def test_a_full_disk_leaves_no_file(self):
        path = self.path("full.db")
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 100; trap "" XFSZ; exec "$@"', "sh", BINARY, "export",
             "--config", str(world.gateway.path), "--format", "sqlite", "--output", path],
            env=environment(UPSTREAM_KEY="k"), capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 6, done)
        self.assertFalse(os.path.exists(path) or os.path.exists(path + ".part"))

    def test_other_forms_go_to_a_file_too(self):
        for form in ("json", "csv", "otlp"):
            path = self.path(form)
            export("--output", path, form=form)
            done = run("export", "--config", str(world.gateway.path), "--format", form,
                       env=environment(UPSTREAM_KEY="k"))
            with open(path, "rb") as f:
                self.assertEqual(f.read(), done.out)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            self.assertIn("exists", export("--output", path, code=2, form=form))

    def test_the_api_does_not_have_it(self):
        for path in ("history/export", "history/sessions/long/export"):
            status, text = ask(f"/api/v1/{path}?format=sqlite")
            self.assertEqual(status, 422)
            self.assertIn("command line", json.loads(text)["detail"]["message"])


class WhileCallsCome(Case):
    def test_it_is_one_view_of_a_store_that_grows(self):
        """Sums of sessions and hours agree with the file's calls, whenever it was written."""
        stop = time.monotonic() + 3
        i = 0
        while time.monotonic() < stop:
            child = subprocess.Popen(
                [BINARY, "export", "--config", str(world.gateway.path), "--format", "sqlite",
                 "--output", self.path("live.db"), "--force"], env=environment(UPSTREAM_KEY="k"))
            while child.poll() is None:
                call("plain", said("meanwhile"), f"live-{i % 7}")
                i += 1
            self.assertEqual(child.returncode, 0)
            with closing(sqlite3.connect(self.path("live.db"))) as db:
                calls, = db.execute("SELECT count(*) FROM llm_interactions").fetchone()
                self.assertEqual(calls, db.execute("SELECT sum(call_count) FROM alert_sessions")
                                 .fetchone()[0])
                self.assertEqual(calls, db.execute("SELECT sum(calls) FROM usage_hours")
                                 .fetchone()[0])
        self.assertGreater(i, 0)


class Closed(Case):
    """Runs last, after the daemon has ended."""

    def test_zz_a_store_that_nobody_has_open(self):
        db = self.exported()
        before = [tuple(r) for r in db.execute("SELECT * FROM llm_interactions")]
        world.gateway.child.terminate()
        world.gateway.child.wait(PATIENCE)
        export("--output", self.path("closed.db"))
        with closing(sqlite3.connect(self.path("closed.db"))) as again:
            self.assertEqual(before, list(again.execute("SELECT * FROM llm_interactions")))


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite()
    for case in (Tables, Files, WhileCallsCome, Closed):
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
