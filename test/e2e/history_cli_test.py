#!/usr/bin/env python3
"""The record from the command line, while a daemon runs.

    test/e2e/history_cli_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import csv
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import history_test
from command import BINARY, Terminal, environment, read_until, run
from gateway import until
from history_test import ALICE, OPERATOR, ask, call, setUpModule, sql, tearDownModule  # noqa: F401
from history_test import world

ESCAPE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\r\u202e"


def cli(*args, code=0, **env):
    done = run(args[0], "--config", str(world.gateway.path), *args[1:],
               env=environment(UPSTREAM_KEY="k", **env))
    assert done.code == code, (args, done)
    return done.out.decode()


def settled():
    """After the API has answered, all answered calls are in the tables."""
    assert ask("/api/v1/history/metrics").status == 200


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.id = call("think", "a walrus on the command line", "cli-1").headers["x-rationale-id"]
        call("plain", f"nasty {ESCAPE} text", "cli-2")
        call("bad", "it will fail", "cli-3")
        settled()

    def test_list_is_a_table_and_json(self):
        out = cli("list", "-n", "100")
        self.assertIn("SESSION", out.splitlines()[0])
        self.assertIn("cli-1", out)
        self.assertNotIn("\x1b", out)
        got = json.loads(cli("list", "--json", "--status", "failed"))
        self.assertIn("cli-3", [s["session_id"] for s in got["sessions"]])
        one = json.loads(cli("list", "--json", "-n", "1"))
        two = json.loads(cli("list", "--json", "-n", "1", "--cursor",
                             one["pagination"]["next_cursor"]))
        self.assertNotEqual(one["sessions"][0]["session_id"], two["sessions"][0]["session_id"])
        self.assertEqual(json.loads(cli("list", "--json", "--until", "7d"))["sessions"], [])
        cli("list", "--since", "yesterday", code=2)
        cli("list", "-n", "0", code=2)
        cli("list", "--cursor", "zz", code=2)

    def test_a_copy_is_read_where_nothing_can_be_written(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        store = folder / "50% of #1?.db"
        sql(("VACUUM INTO ?", str(store)))
        copy = sqlite3.connect(store)
        self.assertEqual(copy.execute("PRAGMA journal_mode = WAL").fetchone(), ("wal",))
        copy.close()
        (folder / "rationale.yaml").write_text(json.dumps({"store": f"sqlite:{store}", "providers": {
            "p": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": ["m"]}}}))
        program = shutil.copy(BINARY, folder)
        store.chmod(0o444)
        folder.chmod(0o555)
        self.addCleanup(folder.chmod, 0o755)
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        for words, said in ((["list", "-n", "100"], "cli-1"), (["show", "cli-1"], "cli-1"), (["search", "walrus"], "cli-1"),
                            (["export", "--format", "json"], "cli-1"), (["prompts"], "built in")):
            r = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False, **nobody)
            self.assertEqual((r.returncode, r.stderr), (0, ""), words)
            self.assertIn(said, r.stdout)

    def test_reading_makes_no_store(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "rationale.yaml").write_text(json.dumps({"providers": {
            "p": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": ["m"]}}}))
        for words, code in ((["list"], 6), (["runs"], 6), (["incidents"], 6), (["prompts"], 0), (["prompts", "show", "policy@0"], 1)):
            self.assertEqual(run(*words, cwd=folder).code, code, words)
        self.assertEqual([f.name for f in folder.iterdir()], ["rationale.yaml"])

    def test_show_tells_a_session_and_a_call(self):
        for what in ("cli-1", self.id):
            out = cli("show", what)
            self.assertIn("walrus", out)
            self.assertIn("ponder", out)
        for column in ("_id", "_type", "_count", "_ms", "_tokens"):
            self.assertNotRegex(cli("show", "cli-1"), rf"(?m)^  \w+{column} ", "labels, not columns")
        self.assertRegex(cli("show", "cli-1"), r"(?m)^  model calls 1$")
        self.assertEqual(json.loads(cli("show", "cli-1", "--json"))["session_id"], "cli-1")
        self.assertIn("no session", run("show", "--config", str(world.gateway.path), "nothing",
                                        env=environment(UPSTREAM_KEY="k")).err)
        cli("show", "nothing", code=1)
        cli("show", code=2)

    def test_show_has_a_line_for_each_attempt_and_no_json(self):
        out = cli("show", "cli-3")
        attempts = json.loads(cli("show", "cli-3", "--json"))["chronological_timeline"][0]["details"]["attempts"]
        for a in attempts:
            self.assertIn(f"\n  attempt {a['provider']} {a['what']}: {a['why']}", out)
        self.assertEqual(out.count("\n  attempt "), len(attempts))
        self.assertGreater(len(attempts), 0)

    def test_show_has_a_line_for_each_tool_call(self):
        tools = [{"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}}}}]
        call("broken-tool", "to the end", "cli-tools", tools=tools)
        settled()
        calls = json.loads(cli("show", "cli-tools", "--json"))["chronological_timeline"][0]["details"]["tool_calls"]
        self.assertGreater(len(calls), 0)
        out = cli("show", "cli-tools")
        for c in calls:
            self.assertIn(f"\n  calls {c['name']} {c['arguments']}", out)
        self.assertNotIn("tool calls [", out)

    def test_the_log_has_the_code_of_a_refused_request(self):
        self.assertEqual(call("nobody", "hi", "cli-none").status, 404)
        self.assertEqual(ask("/v1/chat/completions", ALICE, "POST", "x").status, 400)
        self.assertEqual(ask("/v1/chat/completions", ALICE, "POST", '{"model": "plain"}').status, 400)
        last = r'msg=request .* status=400 code=invalid_request '  # logged after its reply
        until(lambda: re.search(last, world.gateway.log.read_text()))
        log = world.gateway.log.read_text()
        self.assertRegex(log, r'msg=request .* status=404 code=model_not_found .* model=nobody')
        self.assertRegex(log, r'msg=request .* status=400 code=invalid_json ')
        self.assertRegex(log, r'msg=request .* status=200 code="" ')

    def test_show_prints_reasoning_once(self):
        d = json.loads(cli("show", self.id, "--json"))
        thought = d["reasoning_content"]
        self.assertIn(thought, d["decision"])
        out = cli("show", self.id)
        self.assertEqual(out.count(thought.splitlines()[0]), 1, out)
        self.assertRegex(out, r"(?m)^  decision \[DIRECT\]$")

    def test_what_models_say_cannot_act_on_a_terminal(self):
        for args in (("show", "cli-2"), ("list",), ("search", "nasty"), ("decisions", "nasty")):
            out = cli(*args)
            for bad in ("\x1b", "\x07", "\r", "\u202e"):
                self.assertNotIn(bad, out, args)

    def test_a_table_fits_a_narrow_terminal(self):
        """A row that is wider than the line continues on the next; in a pipe nothing is cut."""
        call("lengthy", "a question " + 4 * "of many words ", 40 * "s")
        settled()
        env = {"UPSTREAM_KEY": "k", "TERM": "dumb"}
        for args in (("list",), ("decisions",), ("stats",), ("stats", "--by", "reasoning"), ("search", "question")):
            for columns, stty, more in ((120, 120, {}), (80, 80, {}), (60, 60, {}), (40, 40, {}), (60, 100, {"COLUMNS": "60"})):
                terminal = Terminal("sh", "-c", f'stty cols {stty}; exec "$0" "$@" --config "$C"', BINARY, *args,
                                    env=environment(C=str(world.gateway.path), **env, **more))
                seen = terminal.end()[0].decode()
                table = [r for r in seen.splitlines() if not r.startswith(("note:", "more:"))]
                self.assertGreater(len(table), 1, seen)
                self.assertLessEqual(max(map(len, table)), columns, seen)
            self.assertNotRegex(cli(*args, COLUMNS="60"), r"(?m)^ ", "one line for each row")
        self.assertIn(40 * "s", cli("decisions"), "a pipe gets whole values")

    def test_a_share_is_a_percentage(self):
        head, row = cli("stats", "--by", "reasoning").splitlines()[:2]
        at = head.index("SHARE") + len("SHARE")
        self.assertRegex(row[:at], r" \d+ %$")

    def test_a_wrong_value_is_a_wrong_line_whatever_the_store_is(self):
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "rationale.yaml"
        path.write_text("store: sqlite:missing/history.db\n"
                        "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n")
        for line, code in ((("list",), 6), (("list", "-n", "0"), 2), (("list", "--since", "x"), 2),
                           (("list", "--cursor", "zz"), 2), (("decisions", "--cursor", "6162"), 2),
                           (("list", "--cursor", b"-cost_usd|1|a".hex()), 2),
                           (("list", "--cursor", b"-started_at_us|1|a".hex()), 6),
                           (("stats", "--since", "1h", "--until", "2h"), 2),
                           (("search", "a", "-n", "x"), 2), (("decisions", "--until", "x"), 2),
                           (("decisions", "-n", "-1"), 2), (("stats", "--since", "1y"), 2),
                           (("export", "--until", "x"), 2), (("runs", "-n", "0"), 2),
                           (("runs", "approve", "a", "x"), 2),
                           (("runs", "deny", "a", "1", "--arguments", "{}"), 2),
                           (("incidents", "-n", "0"), 2), (("audit", "-n", "0"), 2),
                           (("notify", "list", "-n", "0"), 2),
                           (("order", "--state", "--thread", "a\n"), 2)):
            with self.subTest(line=line):
                self.assertEqual(run(*line, "--config", str(path)).code, code)

    def test_search_and_decisions_take_any_text(self):
        self.assertIn("cli-1", cli("search", "walrus"))
        self.assertTrue(json.loads(cli("search", "--json", "reasoning:ponder"))["results"])
        for text in ('"', "'; DROP", "a -b", "NEAR(", "\\"):
            cli("search", text)
            cli("decisions", text)
        cli("search", code=2)
        got = json.loads(cli("decisions", "--json"))
        self.assertIn("next_cursor", got)
        for d in got["decisions"]:
            self.assertRegex(d["entry"], r"^\[(DIRECT|TOOL_CALL)\] ")

    def test_stats_add_up(self):
        for by in ("model", "provider", "key", "level", "day", "reasoning"):
            lines = cli("stats", "--by", by).splitlines()
            self.assertGreater(len(lines), 1)
            self.assertEqual(lines[0].split()[0], "MODEL" if by == "reasoning" else by.upper())
            json.loads(cli("stats", "--by", by, "--json"))

    def test_export_writes_each_form_to_stdout(self):
        ids = [s["session_id"] for s in json.loads(cli("export"))["sessions"]]
        self.assertIn("cli-1", ids)
        self.assertEqual(ids, [s["session_id"] for s in json.loads(
            cli("export", "--format", "json"))["sessions"]])
        rows = list(csv.DictReader(io.StringIO(cli("export", "--format", "csv"), newline="")))
        self.assertIn("cli-2", {r["session_id"] for r in rows})
        for line in cli("export", "--format", "otlp").splitlines():
            self.assertIn("resourceSpans", json.loads(line))
        self.assertEqual(json.loads(cli("export", "--session", "cli-1"))["session_id"], "cli-1")
        cli("export", "--session", "nothing", code=1)
        cli("export", "--format", "xml", code=2)

    def test_doctor_finds_what_is_wrong(self):
        self.assertIn("store", cli("doctor"))
        got = json.loads(cli("doctor", "--json"))
        self.assertTrue(got["ok"])
        self.assertLessEqual({"group", "level", "what", "fix"}, set(got["findings"][0]))
        done = run("doctor", "--json", "--config", str(world.gateway.path),
                   env=environment())  # without the provider's key
        self.assertEqual(done.code, 1, done)
        bad = [f for f in json.loads(done.out)["findings"] if f["level"] == "error"]
        self.assertTrue(bad and bad[0]["fix"], bad)
        self.assertEqual(run("doctor", "--config", "/nowhere.yaml").code, 3)

    def test_a_store_that_is_not_there_is_told(self):
        path = world.gateway.folder / "none.yaml"
        path.write_text(json.dumps({**world.gateway.config, "store": "sqlite:/nowhere/x.db"}))
        for command in ("list", "decisions", "export", "stats"):
            done = run(command, "--config", str(path), env=environment(UPSTREAM_KEY="k"))
            self.assertEqual(done.code, 6, done)
            self.assertIn("/nowhere/x.db", done.err)

    def test_the_question_before_an_erasure_cannot_act_on_the_terminal(self):
        terminal = Terminal(BINARY, "erase", "--session", f"a{ESCAPE}b", "--config", str(world.gateway.path),
                            env=environment(UPSTREAM_KEY="k", TERM="xterm"))
        terminal.wait_for(b"[y/N] ")
        terminal.type(b"n\n")
        seen, code = terminal.end()
        self.assertEqual(code, 2)
        self.assertNotIn(b"\x1b", seen)
        self.assertNotIn("\u202e", seen.decode())
        self.assertIn(b"nothing was erased", seen)

    def test_erasing_makes_no_store(self):
        path, store = world.gateway.folder / "typo.yaml", world.gateway.folder / "typo.db"
        path.write_text(json.dumps({**world.gateway.config, "store": f"sqlite:{store}",
                                    "listen": "127.0.0.1:1"}))
        done = run("erase", "--session", "x", "--yes", "--config", str(path),
                   env=environment(UPSTREAM_KEY="k"))
        self.assertEqual(done.code, 6, done)
        self.assertIn(str(store), done.err)
        self.assertFalse(store.exists())


class Erase(unittest.TestCase):
    """A running daemon does the erasure; without one the command does."""

    def config(self):
        path = world.gateway.folder / "erase.yaml"
        path.write_text(json.dumps({**world.gateway.config,
                                    "listen": f"127.0.0.1:{world.gateway.port}"}))
        return str(path)

    def erase(self, *args, code=0, **env):
        done = run("erase", "--config", self.config(), *args,
                   env=environment(UPSTREAM_KEY="k", **env))
        self.assertEqual(done.code, code, done)
        return done.out.decode()

    def test_a_session_is_erased_by_the_daemon_and_the_log_still_holds(self):
        call("plain", "the quokka must go", "erase-1")
        settled()
        self.erase("--session", "erase-1", code=2)  # no terminal for the confirmation
        self.erase("--session", "erase-1", "--yes", code=4)
        self.erase("--session", "erase-1", "--yes", code=4, RATIONALE_KEY=ALICE)
        self.erase("--yes", code=2)
        counts = {"sessions": 1, "interactions": 1, "decisions": 1, "communications": 0, "threads": 0, "runs": 0}
        self.assertEqual(json.loads(self.erase("--session", "erase-1", "--dry-run", "--json")), counts)
        self.assertIn("would be erased: 1 session, 1 call, ", self.erase("--session", "erase-1", "--dry-run"))
        self.assertIn("quokka", cli("export"))
        got = json.loads(self.erase("--session", "erase-1", "--yes", "--json",
                                    RATIONALE_KEY=OPERATOR))
        self.assertEqual(got["interactions"], 1)
        self.erase("--session", "erase-1", "--yes", code=1, RATIONALE_KEY=OPERATOR)
        cli("show", "erase-1", code=1)
        self.assertNotIn("quokka", cli("export"))
        self.assertIn("holds", cli("audit", "verify"))
        self.assertTrue(json.loads(cli("audit", "verify", "--json"))["ok"])
        self.assertIn("erase session", cli("audit", "list"))

    def test_who_is_not_known_is_no_success_whoever_is_asked(self):
        for what in ("--subject", "--session"):
            self.erase(what, "nobody-of-that-name", "--yes", code=1, RATIONALE_KEY=OPERATOR)
            self.erase(what, "nobody-of-that-name", "--dry-run", code=1)
            path = world.gateway.folder / "alone.yaml"
            path.write_text(json.dumps({**world.gateway.config, "store": "sqlite:" + str(
                world.gateway.folder / "alone.db")}))
            shutil.copy(world.gateway.folder / "history.db", world.gateway.folder / "alone.db")
            done = run("erase", "--config", str(path), what, "nobody-of-that-name", "--yes",
                       env=environment(UPSTREAM_KEY="k"))
            self.assertEqual(done.code, 1, done)
            self.assertIn("nothing to erase", done.err)

    def test_the_daemon_is_found_where_it_was_told_to_listen(self):
        call("plain", "the numbat must go", "erase-2")
        done = cli("erase", "--session", "erase-2", "--yes", RATIONALE_KEY=OPERATOR)
        self.assertIn("1 session,", done)
        cli("show", "erase-2", code=1)

    def test_what_was_changed_by_hand_is_found(self):
        r = call("plain", "an honest record", "tampered")
        settled()
        self.assertIn("holds", cli("audit", "verify"))
        sql(("UPDATE llm_interactions SET model = 'another' WHERE interaction_id = ?",
             r.headers["x-rationale-id"]))
        cli("audit", "verify", code=1)
        self.assertFalse(json.loads(cli("audit", "verify", "--json", code=1))["ok"])
        sql(("DELETE FROM llm_interactions WHERE interaction_id = ?",
             r.headers["x-rationale-id"]))


class Tail(unittest.TestCase):
    def follow(self, *args, wanted, session="", **env):
        config = {**world.gateway.config, "listen": f"127.0.0.1:{world.gateway.port}"}
        path = world.gateway.folder / "tail.yaml"
        path.write_text(json.dumps(config))
        child = subprocess.Popen([BINARY, "tail", "--config", str(path), *args],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=environment(UPSTREAM_KEY="k", **env))
        seen = threading.Event()

        def keep_calling():  # the first may fail before it listens
            for i in range(1000):
                call("think", f"tell the tail {i}", session or f"tail-{i}")
                if seen.wait(0.3):
                    return
        calls = threading.Thread(target=keep_calling)
        try:
            if "--store" in args:
                read_until(child.stderr.fileno(), b"following the store")
            calls.start()
            return read_until(child.stdout.fileno(), wanted).decode()
        finally:
            seen.set()
            calls.join()
            child.kill()
            child.wait()
            child.stdout.close()
            child.stderr.close()

    def test_it_follows_the_daemon(self):
        out = self.follow(wanted=b"done", RATIONALE_KEY=OPERATOR)
        self.assertIn("tail-", out)
        out = self.follow("--json", wanted=b"llm_interaction", RATIONALE_KEY=OPERATOR)
        for line in out.splitlines()[:-1]:
            json.loads(line)

    def test_it_follows_a_session_whatever_its_name(self):
        out = self.follow("--session", "a b&c", session="a b&c", wanted=b"done", RATIONALE_KEY=OPERATOR)
        self.assertIn("a b&c", out)

    def test_it_follows_the_store(self):
        self.assertIn("[DIRECT]", self.follow("--store", wanted=b"[DIRECT]"))

    def test_it_says_that_it_waits_for_a_session_that_is_not_there(self):
        for args in ((), ("--store",)):
            child = subprocess.Popen([BINARY, "tail", "--config", str(world.gateway.path), "--session", "nosuch", *args],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     env=environment(UPSTREAM_KEY="k", RATIONALE_KEY=OPERATOR))
            try:
                read_until(child.stderr.fileno(), b'there is no session "nosuch" yet: waiting for its first call')
            finally:
                child.kill()
                child.wait()
                child.stderr.close()

    def test_it_says_when_a_key_is_needed(self):
        config = {**world.gateway.config, "listen": f"127.0.0.1:{world.gateway.port}"}
        path = world.gateway.folder / "tail.yaml"
        path.write_text(json.dumps(config))
        done = run("tail", "--config", str(path), env=environment(UPSTREAM_KEY="k"))
        self.assertEqual(done.code, 4, done)
        self.assertIn("RATIONALE_KEY", done.err)


def put_answered(run, text, status="done"):
    """Writes the log of a run with one model call; the effect's key is a digest of the request."""
    body = '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    key = hashlib.sha256()
    for part in (run.encode(), (0).to_bytes(8, "little"), b"model", b"m", body.encode()):
        key.update(len(part).to_bytes(8, "little") + part)
    effect = ("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, result, "
              "state, started_us, ended_us) VALUES (?, ?, ?, ?, ?, '', ?, 1, 1, 2)")
    reply = {"id": "x", "text": text, "calls": [], "stop": 0}
    sql(("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, "
         "updated_us) VALUES (?, 'test', '', ?, '', '{}', 1, 1)", run, status),
        (effect, run, -1, "note", "options", "options",
         json.dumps({"model": "m", "user": "hi", "tokens": -1, "tools": []})),
        (effect, run, 0, "model", "m", key.hexdigest()[:32], json.dumps(reply)))


def put_waiting(run):
    sql(("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, "
         "updated_us) VALUES (?, 'test', '', 'waiting', 'approval_needed', '{}', 2, 2)", run),
        ("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, state, "
         "started_us) VALUES (?, 3, 'approval', 'pay', 'k', '{\"usd\":5}', 0, 3)", run))


class Runs(unittest.TestCase):
    def test_a_recorded_run_is_shown_and_replayed(self):
        put_answered("answered", f"forty-two {ESCAPE}")
        self.assertIn("answered", cli("runs"))
        self.assertIn("answered", cli("runs", "list", "--status", "done", "--app", "test"))
        out = cli("runs", "show", "answered")
        self.assertIn("1. answer", out)
        self.assertIn("forty-two", out)
        self.assertNotIn("\x1b", out)
        got = json.loads(cli("runs", "replay", "answered", "--json"))
        self.assertEqual((got["same"], len(got["trace"])), (True, 1))
        whole = json.loads(cli("runs", "show", "answered", "--json"))
        self.assertEqual(whole["trace"], got["trace"])
        self.assertIn("forty-two", cli("runs", "replay", "answered"))

    def test_a_replay_that_goes_another_way_says_so(self):
        put_answered("differs", "x", status="failed")
        cli("runs", "replay", "differs", code=1)
        sql(("UPDATE agent_effects SET effect_key = 'other' WHERE run_id = 'differs' AND seq = 0",))
        cli("runs", "replay", "differs", code=2)
        cli("runs", "replay", "nothing", code=1)
        cli("runs", "show", "nothing", code=1)

    def test_a_word_goes_through_the_daemon(self):
        for run_id in ("cli-pay", "cli-deny", "cli-change"):
            put_waiting(run_id)
        self.assertIn("waits for a word on pay", cli("runs", "show", "cli-pay"))
        cli("runs", "approve", "cli-pay", "3", code=4)
        self.assertIn("stored; the run resumes",
                      cli("runs", "approve", "cli-pay", "3", RATIONALE_KEY=OPERATOR))
        cli("runs", "approve", "cli-pay", "3", RATIONALE_KEY=OPERATOR, code=1)
        got = json.loads(cli("runs", "deny", "cli-deny", "3", "--json", RATIONALE_KEY=OPERATOR))
        self.assertEqual(got["run_id"], "cli-deny")
        cli("runs", "approve", "cli-change", "3", "--arguments", '{"usd":1}',
            RATIONALE_KEY=OPERATOR)
        got = json.loads(cli("runs", "show", "cli-change", "--json"))
        self.assertEqual(got["effects"][0]["result"]["word"], "change")

    def test_what_is_not_a_command_is_told(self):
        for wrong in (("shw",), ("show",), ("approve", "x"), ("approve", "x", "y"),
                      ("deny", "x", "1", "--arguments", "{}"),
                      ("approve", "x", "1", "--arguments", "[]")):
            cli("runs", *wrong, RATIONALE_KEY=OPERATOR, code=2)


if __name__ == "__main__":
    assert os.path.exists(BINARY) and history_test and sql and ALICE
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
