#!/usr/bin/env python3
"""All commands of the table: help, manual page, completion and reference of each; every printed
example; the same exit codes everywhere; a sentence if nothing was found.

    test/e2e/commands_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, Terminal, environment, in_terminal, main, run
from gateway import Gateway
from receivers import Hook
from scripted_model import Model, last

TABLE = (SOURCE / "src/cli/commands.def").read_text(encoding="utf-8")
REFERENCE = next((SOURCE / "docs").rglob("commands.md"))
COMMANDS = re.findall(r"^COMMAND\((\w+),", TABLE, re.M)


def scratch(case):
    folder = Path(tempfile.mkdtemp(prefix="rationale-commands-"))
    case.addCleanup(shutil.rmtree, folder)
    return folder


def text_of(*args):
    done = run(*args)
    assert done.code == 0, done
    return done.out.decode()


def examples(text):
    """The example lines of a help text; those of a group of commands begin with a program too."""
    return [line[2:] for line in text.splitlines() if re.match(r"  (?! |-).*\brationale( |$)", line)
            and "[OPTIONS]" not in line]


class Table(Case):
    def test_every_command_has_all_that_a_command_has(self):
        overview, page = text_of("--help"), text_of("manpage")
        shells = {name: text_of("completion", name) for name in ("bash", "zsh", "fish")}
        reference = REFERENCE.read_text(encoding="utf-8")
        built = Path(BINARY).parent
        self.assertGreater(len(COMMANDS), 30)
        for name in COMMANDS:
            with self.subTest(name):
                self.assertIn(f"\n  {name} ", overview)
                self.assertIn(f"\n### rationale {name}\n", reference)
                self.assertIn(f"rationale\\-{name} (1)", page)
                self.assertTrue(examples(text_of(name, "--help")), "no examples")
                self.assertEqual((built / f"rationale-{name}.1").read_text(), text_of("manpage", name))
                self.assertRegex(shells["bash"], rf"\b{name}:-\*\)")
                self.assertIn(f"    {name}) _arguments", shells["zsh"])
                self.assertIn(f" -a {name} ", shells["fish"])
                for option in re.findall(r"^  .{4}--([a-z-]+)", text_of(name, "-h"), re.M):
                    self.assertIn(f"-l {option}", shells["fish"])
                    self.assertIn(f"`--{option}", reference)

    def test_the_reference_is_what_the_program_writes(self):
        self.assertEqual(REFERENCE.read_text(encoding="utf-8"), text_of("manpage", "--markdown"),
                         f"write it again: build/rationale manpage --markdown > {REFERENCE}")
        self.bad(run("manpage", "--markdown", "list"), 2, "leave out the name")

    def test_a_file_in_the_table_is_all_that_meson_needs(self):
        lists = (SOURCE / "src/meson.build").read_text() + (SOURCE / "meson.build").read_text()
        for name, file in re.findall(r"^COMMAND\((\w+), (\w+)\)", TABLE, re.M):
            self.assertNotIn(f"'cli/{file}.c'", lists)
            self.assertNotIn(f"rationale-{name}.1", lists)


# ---- every printed example ----

POLICY = """---
version: "2026.2"
effective_from: 2026-01-01
---
# Lumbar MRI

## 1. Age

The patient is 18 years or older.
"""
CASE = {"case_bundle": {"case_id": "c-1", "policy_id": "lumbar", "fields": [
    {"field_name": "patient_age", "value": 54, "confidence": 0.95, "doc_id": "chart", "page": 1}]}}
SSE = {
    "anthropic": [("message_start", {"message": {"id": "m", "model": "x", "role": "assistant", "content": [],
                                                 "usage": {"input_tokens": 1, "output_tokens": 1}}}),
                  ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
                  ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
                  ("content_block_stop", {"index": 0}),
                  ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
                  ("message_stop", {})],
    "responses": [("response.created", {"response": {"id": "r", "model": "x", "status": "in_progress", "output": []}}),
                  ("response.completed", {"response": {
                      "id": "r", "model": "x", "status": "completed",
                      "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
                                  "content": [{"type": "output_text", "text": "hi", "annotations": []}]}],
                      "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})],
}


def sse(dialect):
    return "".join(f"event: {name}\ndata: {json.dumps({'type': name, **body})}\n\n"
                   for name, body in SSE[dialect])


def says(ask):
    """The reply of the examples' model."""
    if any('"criteria"' in str(m.get("content")) for m in ask["messages"]):
        return '{"criteria": []}'
    return {"reasoning": "The disk is full.", "text": "The memory limit is too low: the disk is full."}


class Static:
    """Answers every request with a text."""

    def __init__(self, text):
        body = text.encode()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


CALLER = "import os, sys\nsys.exit(0 if os.environ.get('OPENAI_BASE_URL') else 9)\n"
# Commands that run until they are stopped, and the output that shows that they are ready.
LASTING = {r"rationale serve ": "listening on", r"rationale demo": "Ctrl-C ends it", r"rationale mcp .*--http": "/mcp",
           r"rationale tail": ""}
# Examples that end with another code than 0, and why.
CODES = {
    "rationale decisions --tool get_pods": {0},
    "rationale verify": {0, 1},  # 1: a criterion is not met
    "--min 0.8": {0, 1},  # 1: this model scores lower
    "rationale policy reverify": {0, 1},  # 1: verdicts flipped
    "rationale optimize --app policy --resume": {1},  # the run does not exist
    "rationale optimize --app": {0, 1},
    "rationale investigate --run": {1},  # the run does not exist
    "rationale prices gpt-5": {0},
    "rationale store daemons": {1},  # needs PostgreSQL; this store is SQLite
    "rationale store adopt": {2},
}


class Examples(Case):
    """Each example runs in its own copy of a folder with all files that the examples name."""

    @classmethod
    def setUpClass(cls):
        cls.model = Model(says).__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        cls.hook = Hook().__enter__()
        cls.addClassCleanup(cls.hook.__exit__)
        cls.replies = Static(sse("responses")).__enter__()
        cls.addClassCleanup(cls.replies.__exit__)
        cls.home = Path(tempfile.mkdtemp(prefix="rationale-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.template = cls.home / "template"
        cls.env = environment(
            PATH=f"{cls.home / 'bin'}:{os.environ['PATH']}", HOOK_SECRET=Hook.secret, URL=cls.replies.root,
            PYTHONDONTWRITEBYTECODE="1")
        cls.make_programs()
        cls.make_files()
        cls.ids = cls.make_record()

    @classmethod
    def make_programs(cls):
        folder = cls.home / "bin"
        folder.mkdir()
        (folder / "rationale").symlink_to(Path(BINARY).resolve())
        for name in ("claude", "codex", "xdg-open"):
            (folder / name).write_text("#!/bin/sh\nexit 0\n")
            (folder / name).chmod(0o755)

    @classmethod
    def make_files(cls):
        t = cls.template
        t.mkdir()
        shutil.copytree(SOURCE / "example", t / "example")
        shutil.copytree(SOURCE / "example/incidents/cases", t / "cases")
        config = {
            "listen": "127.0.0.1:0", "store": "sqlite:history.db", "log": {"level": "warn"},
            "timeouts": {"drain": "1s"},
            "providers": {"scripted": cls.model.provider("m", "fast", "slow")},
            "agents": {name: {"model": "m", "prompt": "You help people."} for name in ("librarian", "triage")},
            "incidents": {"agents": "agents.yaml", "runbooks": "runbooks",
                          "notify": {"oncall": {"webhook": {"url": cls.hook.root + "/hook", "secret_env": "HOOK_SECRET"}}}},
            "policy": {"documents": {"lumbar": "policy.md"}},
            "orders": {"menu": "example/orders/menu.json"},
        }
        for name, text in {
            "rationale.yaml": json.dumps(config, indent=1), "orders.yaml": json.dumps(config, indent=1),
            "agents.yaml": "agents: {a: {alert_types: [disk, kubernetes]}}\n",
            "alert.json": json.dumps({"alert_type": "disk", "runbook": "runbook.md", "severity": "critical", "data": {"node": "n1"}}),
            "alert.facts.json": json.dumps(["the disk is full"]),
            "runbook.md": "# Disk\n\nLook at the disk.\n", "policy.md": POLICY, "case.json": json.dumps(CASE),
            "prompt.txt": "You verify policies.", "reply.txt": "<think>two and two</think>four",
            "cases.jsonl": '{"input": "a"}\n', "key.txt": "sk-1\n", "body.json": "{}", "my_agent.py": CALLER,
            "reply.sse": sse("anthropic"), "utterances.jsonl": "",
            "reply.json": json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]},
                                                      "finishReason": "STOP"}]}),
        }.items():
            (t / name).write_text(text)
        (t / "runbooks").mkdir()
        shutil.copy(t / "runbook.md", t / "runbooks")
        lines = (SOURCE / "example/orders/utterances.jsonl").read_text().splitlines(True)
        (t / "utterances.jsonl").write_text("".join(lines[:2]))

    @classmethod
    def cli(cls, *args, stdin=""):
        done = run(*args, cwd=cls.template, env=cls.env, stdin=stdin)
        assert done.code in (0, 1), (args, done)
        return done.out.decode()

    @classmethod
    def make_record(cls):
        """Creates the record that the examples read; stores ids that only the program can generate."""
        daemon = Gateway(BINARY, json.loads((cls.template / "rationale.yaml").read_text()), env=cls.env)
        daemon.path = cls.template / "rationale.yaml"
        with daemon:
            reply = subprocess.run(
                ["curl", "-sS", "-D", "-", daemon.root + "/v1/chat/completions", "-H", "x-rationale-session: my-session",
                 "-H", "content-type: application/json", "-d", json.dumps(
                     {"model": "m", "user": "user-17", "messages": [{"role": "user", "content": "memory limit of this namespace?"}]})],
                capture_output=True, text=True, check=True).stdout
            call = re.search(r"x-rationale-id: (\S+)", reply)[1]
            alert = json.loads(subprocess.run(
                ["curl", "-sS", daemon.root + "/alerts", "-H", "content-type: application/json", "-d",
                 (cls.template / "alert.json").read_text()], capture_output=True, text=True, check=True).stdout)
            assert "alert_id" in alert, alert
            daemon.signal(signal.SIGTERM)
            daemon.child.wait(PATIENCE)
        cls.put_runs()
        (cls.template / "open.json").write_text(json.dumps(
            {"case_bundle": {"case_id": "c-2", "policy_id": "lumbar", "fields": []}}))
        cls.cli("verify", "open.json", "--config", "rationale.yaml")
        cls.cli("run", "librarian", "Is Dune available?")
        run_id = json.loads(cls.cli("runs", "--app", "agents", "--json"))["runs"][0]["run_id"]
        cls.cli("order", "--thread", "lane-1", stdin="two colas, please\n")
        waiting = json.loads(cls.cli("policy", "review", "--json"))["results"]
        prompt = json.loads(cls.cli("prompts", "add", "policy", "prompt.txt", "--json"))
        return {"01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60 --json": call + " --json", "0199f0c4": alert["alert_id"],
                "policy@1f3a5c7e9b2d": prompt["id"], "replay 01J8ZK": f"replay {run_id}",
                "policy-0192/0": waiting[0]["result_id"]}

    @classmethod
    def put_runs(cls):
        with sqlite3.connect(cls.template / "history.db") as db:
            row = ("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, updated_us)"
                   " VALUES (?, 'test', '', ?, ?, '{}', 1, 1)")
            db.execute(row, ("01J8ZK", "waiting", "approval_needed"))
            db.execute("INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, state, started_us)"
                       " VALUES ('01J8ZK', 4, 'approval', 'pay', 'k', '{\"amount\":5}', 0, 3)")
        db.close()

    def lines(self):
        found = {}
        for args in ([], *[[name] for name in COMMANDS]):
            for line in examples(text_of("help", *args)):
                found.setdefault(line)
        return list(found)

    def prepared(self, line, folder):
        """The example with ids from the record, and with no file or port outside the test."""
        for old, new in {**self.ids, "/etc/bash_completion.d/": f"{folder}/", "~/": f"{folder}/",
                         "/usr/local/share/man/man1/": f"{folder}/", ":9000": ":0", ":8485": ":0"}.items():
            line = line.replace(old, new)
        return line

    def run_lasting(self, line, ready, folder, env):
        child = subprocess.Popen(["sh", "-c", "exec " + line.split(" | ")[0]], cwd=folder, env=env, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seen = ""
        try:
            while ready and ready not in seen:
                piece = child.stdout.readline()
                self.assertTrue(piece, f"{line}: ended with {seen!r}")
                seen += piece
            if not ready:
                time.sleep(0.5)
                self.assertIsNone(child.poll(), line)
        finally:
            child.send_signal(signal.SIGINT)
            rest = child.communicate(timeout=PATIENCE)[0]
        self.assertIn(child.returncode, (0, 130, -2), f"{line}: {seen}{rest}")

    def run_line(self, line):
        folder = Path(tempfile.mkdtemp(dir=self.home)) / "copy"
        shutil.copytree(self.template, folder)
        for name in (".zfunc", ".config/fish/completions"):
            (folder / name).mkdir(parents=True)
        env = {**self.env, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}
        ready = [text for pattern, text in LASTING.items() if re.search(pattern, line)]
        if ready:
            self.run_lasting(self.prepared(line, folder), ready[0], folder, env)
        else:
            done = subprocess.run(["sh", "-c", self.prepared(line, folder)], cwd=folder, env=env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
            wanted = next((codes for part, codes in CODES.items() if part in line), {0})
            if "erase" in line and "--yes" not in line and "--dry-run" not in line:
                wanted = {2}  # no terminal for the confirmation
            self.assertIn(done.returncode, wanted, f"{line}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
        shutil.rmtree(folder.parent, ignore_errors=True)  # the gateway of `watch` may still be ending

    def test_every_example_works_as_printed(self):
        lines = self.lines()
        self.assertGreater(len(lines), 90)
        tried = 0
        for line in lines:
            missing = [word for word in ("jq", "man", "git", "curl") if re.search(rf"(^|\| ){word}\b", line)
                       and not shutil.which(word)]
            if missing:
                print(f"not tried: {line}: no {missing[0]} here")
                continue
            with self.subTest(line):
                self.run_line(line)
            tried += 1
        self.assertGreater(tried, 85)


# ---- exit codes ----

# The arguments with which each command reads its configuration; None if it has none.
WORDS = {
    "serve": [], "demo": None, "doctor": ["--offline"], "config": ["check"], "keys": ["list"], "prices": [],
    "list": [], "show": ["x"], "decisions": [], "search": ["x"], "stats": [], "tail": [], "export": [],
    "audit": ["verify"], "erase": ["--session", "x", "--yes"], "store": ["daemons"],
    "watch": ["--", "true"], "agents": [],
    "run": ["librarian", "x"], "chat": ["librarian"], "runs": [], "mcp": [], "incidents": [],
    "investigate": ["alert.json"], "notify": ["list"], "eval": ["cases"], "verify": ["case.json"],
    "policy": ["versions"], "order": [], "prompts": [], "optimize": ["--app", "policy", "--train", "cases"],
    "split": None, "count": None, "decode": None, "help": None, "completion": None, "manpage": None,
}
READERS = ("list", "show", "decisions", "search", "stats", "export", "audit", "runs", "incidents", "notify")
WRITERS = ("investigate", "eval", "verify", "order", "optimize")
NOT_FOUND = (("show", "nothing"), ("erase", "--session", "nothing", "--yes"), ("runs", "show", "nothing"),
             ("runs", "replay", "nothing"), ("incidents", "show", "nothing"), ("prompts", "show", "policy@000000000000"),
             ("run", "nobody", "x"), ("chat", "nobody"), ("export", "--session", "nothing"),
             ("investigate", "nothing.json"), ("verify", "nothing.json"), ("eval", "nothing"),
             ("policy", "review", "nothing", "--status", "met", "--reason", "x"), ("prices", "no-such-model"),
             ("split", "nothing"), ("count", "nothing"), ("decode", "-d", "openai", "nothing"))


class ExitCodes(Case):
    def setUp(self):
        self.folder = scratch(self)
        for name in ("cases", "runbooks"):
            (self.folder / name).mkdir()
        shutil.copytree(SOURCE / "example/incidents/cases", self.folder / "cases", dirs_exist_ok=True)
        for name, text in {"alert.json": '{"alert_type": "disk", "runbook": "r"}', "case.json": json.dumps(CASE),
                           "policy.md": POLICY, "agents.yaml": "agents: {a: {alert_types: [disk]}}\n"}.items():
            (self.folder / name).write_text(text)

    def config(self, **more):
        """A valid configuration whose addresses are unreachable."""
        text = json.dumps({
            "listen": "127.0.0.1:0", "store": "sqlite:history.db", "log": {"level": "error"},
            "providers": {"up": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": ["m"]}},
            "agents": {"librarian": {"model": "m", "prompt": "You help people."}},
            "incidents": {"agents": "agents.yaml", "runbooks": "runbooks"},
            "policy": {"documents": {"lumbar": "policy.md"}}, **more})
        (self.folder / "rationale.yaml").write_text(text)
        return text

    def code(self, *args, **more):
        """The exit code of a command; an error must be one sentence."""
        done = run(*args, cwd=self.folder, env=environment(HOME=str(self.folder)), **more)
        if done.code and args[0] != "doctor":  # its findings are its result
            self.assertRegex(done.err, r"(?m)^rationale: .*[^\n]{8}", args)
        return done.code

    def each(self, wanted, *more):
        for name, words in WORDS.items():
            if words is not None:
                with self.subTest(name):
                    self.assertEqual(self.code(name, *more, *words), wanted)

    def test_the_table_has_all_commands(self):
        self.assertEqual(set(WORDS), set(COMMANDS))

    def test_2_is_a_wrong_line(self):
        for name in COMMANDS:
            for wrong in (["--no-such-option"], ["--color", "blue"]):
                with self.subTest((name, *wrong)):
                    self.bad(run(name, *wrong), 2, wrong[0].lstrip("-"))

    def test_3_is_a_configuration_that_is_missing_or_wrong(self):
        self.each(3, "--config", "nowhere.yaml")
        (self.folder / "wrong.yaml").write_text("providers: 3\n")
        self.each(3, "--config", "wrong.yaml")

    def test_6_is_a_store_that_cannot_be_used(self):
        self.config()
        for name in READERS:
            with self.subTest(("none", name)):
                self.assertEqual(self.code(name, *WORDS[name]), 6)
        (self.folder / "history.db").write_text("not a database, and long enough to be read as one" * 100)
        for name in (*READERS, *WRITERS, "serve", "tail", "erase", "run", "chat"):
            with self.subTest(("damaged", name)):
                self.assertEqual(self.code(name, *(["-c", "rationale.yaml"] if name == "verify" else []),
                                           *WORDS[name]), 6)

    def test_1_is_something_that_is_not_there(self):
        self.config()
        self.code("prompts", "add", "policy", "policy.md")
        for words in NOT_FOUND:
            with self.subTest(words):
                self.assertEqual(self.code(*words), 1)

    def test_with_a_daemon_4_is_a_missing_key_and_6_a_store_in_use(self):
        digest = "0" * 64
        daemon = Gateway(BINARY, json.loads(self.config(keys=[{"name": "k", "sha256": digest}])))
        daemon.path = self.folder / "rationale.yaml"
        with daemon:
            for words in (["tail"], ["erase", "--session", "x", "--yes"], ["policy", "versions"],
                          ["runs", "approve", "x", "1"], ["run", "librarian", "x"],
                          ["prompts", "approve", "policy@000000000000"]):
                with self.subTest(words):
                    self.assertEqual(self.code(*words), 4)
            for name in WRITERS:
                with self.subTest(name):
                    self.assertEqual(self.code(name, "-c", "rationale.yaml", *WORDS[name]), 6)
            for words, code in ((["investigate", "nothing"], 1), (["investigate", "alert.json", "-r", "nothing"], 1),
                                (["verify", "case.json", "nothing"], 1), (["eval", "nothing"], 1),
                                (["order", "--eval", "nothing"], 1), (["order", "--menu", "nothing"], 3),
                                (["optimize", "--app", "policy", "--train", "nothing"], 1),
                                (["optimize", "--app", "policy", "--train", "cases", "--val", "nothing"], 1)):
                with self.subTest(words):
                    self.bad(run(*words, "-c", "rationale.yaml", cwd=self.folder), code, "nothing")
            store = self.folder / "history.db"
            store.write_bytes(b"not a database".ljust(store.stat().st_size))
            os.truncate(f"{store}-wal", 0)
            for name in WRITERS:
                with self.subTest(("damaged", name)):
                    self.bad(run(name, "-c", "rationale.yaml", *WORDS[name], cwd=self.folder), 6,
                             f"{store.name}: database: ")

    def test_5_is_what_cannot_be_reached(self):
        self.config()
        for words in (["run", "librarian", "x"], ["order"]):
            with self.subTest(words):
                self.assertEqual(self.code(*words, stdin="a cola, please\n"), 5)


# ---- nothing found, colours, progress ----

class Sentences(Case):
    def setUp(self):
        self.folder = scratch(self)
        (self.folder / "rationale.yaml").write_text(json.dumps(
            {"store": "sqlite:history.db", "providers": {"ollama": {}}}))
        run("prompts", "add", "policy", "rationale.yaml", cwd=self.folder)  # creates the store

    def test_nothing_was_found_and_why(self):
        place = f"{self.folder}/history.db"
        for words, said in (
                (["list"], f"no sessions are on record yet: {place}"),
                (["list", "--status", "failed", "-n", "3", "--since", "24h"], "no sessions match --status failed --since 24h"),
                (["decisions", "--tool", "x", "the words"], 'no decisions match --tool x "the words"'),
                (["search", "memory limit"], 'no calls match "memory limit"'),
                (["stats", "--by", "day"], f"no calls are on record yet: {place}"),
                (["stats", "--since", "7d"], "no calls match --since 7d"),
                (["audit", "list"], f"no entries are on record yet: {place}"),
                (["runs", "--status", "waiting"], "no runs match --status waiting"),
                (["incidents", "--alert-type", "disk"], "no incidents match --alert-type disk"),
                (["notify", "list"], f"no messages about incidents are on record yet: {place}"),
                (["export", "--model", "m"], "no sessions match --model m"),
                (["keys", "list"], f"{self.folder}/rationale.yaml has no keys"),
                (["agents"], "defines no agents")):
            with self.subTest(words):
                done = run(*words, cwd=self.folder)
                self.assertEqual(done.code, 0, done)
                self.assertIn(said, done.err)
                if words[0] != "export":  # which has no --json: its output is JSON
                    done = run(*words, "--json", cwd=self.folder)
                    self.assertEqual((done.code, done.err), (0, ""))
                    json.loads(done.out)

    def test_serve_says_where_it_records_and_to_a_person_what_to_try(self):
        words = ("serve", "-c", str(self.folder / "rationale.yaml"), "--listen", "127.0.0.1:0")
        terminal = Terminal(BINARY, *words)
        terminal.wait_for(b"`rationale list`")
        terminal.type(b"\x03")
        seen, code = terminal.end()
        self.assertEqual(code, 0, seen)
        self.assertIn(f"store={self.folder}/history.db".encode(), seen)
        child = subprocess.Popen([BINARY, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seen = child.stdout.readline()
        while "listening on" not in seen:
            seen += child.stdout.readline()
        child.terminate()
        self.assertNotIn("rationale list", seen + child.communicate()[0])

    def test_names_that_are_nearly_right(self):
        for words, said in ((["lst"], 'did you mean "list"?'), (["list", "--stauts", "x"], 'did you mean "--status"?'),
                            (["keys", "nwe"], 'did you mean "new"?'), (["audit", "verfy"], 'did you mean "verify"?'),
                            (["config", "chek"], 'did you mean "check"?'), (["runs", "shwo"], 'did you mean "show"?'),
                            (["notify", "tst"], 'did you mean "test"?'), (["prompts", "aprove", "x"], 'did you mean "approve"?'),
                            (["incidents", "lst"], 'did you mean "list"?'), (["policy", "versoins"], 'did you mean "versions"?')):
            with self.subTest(words):
                self.bad(run(*words, cwd=self.folder), 2, said)

    def test_options_of_other_verbs_are_refused(self):
        for words, said in ((["runs", "--arguments", "{}"], "--arguments does not go with runs list: it is an option of approve"),
                            (["runs", "show", "x", "--status", "done"], "--status does not go with runs show"),
                            (["runs", "deny", "x", "1", "--arguments", "{}"], "an option of approve"),
                            (["prompts", "list", "--scores", "{}"], "an option of add"),
                            (["audit", "verify", "-n", "3"], "--limit does not go with audit verify"),
                            (["keys", "hash", "--rpm", "3"], "an option of new"),
                            (["notify", "test", "x", "--json"], "an option of list"),
                            (["incidents", "show", "x", "--limit", "3"], "an option of list"),
                            (["policy", "--reason", "x"], "--reason does not go with policy versions: "
                             "it is an option of confirm, reject, review")):
            with self.subTest(words):
                self.bad(run(*words, cwd=self.folder), 2, said)
        self.assertEqual(run("audit", "-n", "3", cwd=self.folder).code, 0)

    def test_an_empty_file_name_is_called_one(self):
        (self.folder / "case.json").write_text("{}")
        for words, said, code in ((["serve", "--config", ""], "--config is empty; it must be the name of a file", 2),
                                  (["mcp", "--replay="], "--replay is empty", 2),
                                  (["investigate", ""], 'open "": No such file or directory', 1),
                                  (["prompts", "add", "x", ""], 'open "": No such file or directory', 1)):
            with self.subTest(words):
                self.bad(run(*words, cwd=self.folder), code, said)

    def test_a_status_has_its_colour_on_a_terminal_only(self):
        with sqlite3.connect(self.folder / "history.db") as db:
            for status in ("done", "failed", "waiting"):
                db.execute("INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, created_us, updated_us)"
                           " VALUES (?, 'test', '', ?, '', '{}', 1, 1)", (f"r-{status}", status))
        db.close()
        words = ("runs", "-c", str(self.folder / "rationale.yaml"))
        shown = in_terminal(*words).out.decode()
        for status, color in (("done", 32), ("failed", 31), ("waiting", 33)):
            self.assertIn(f"\x1b[{color}m{status}\x1b[0m", shown)
        for plain in (in_terminal(*words, env=environment(TERM="xterm", NO_COLOR="1")).out,
                      in_terminal(*words, "--color", "never").out, run(*words).out):
            self.assertNotIn(b"\x1b", plain)
            self.assertIn(b"failed", plain)
        self.assertIn(b"\x1b[31mfailed", run(*words, "--color=always").out)

    def test_long_work_shows_its_rate_and_the_time_left(self):
        def slow(ask):
            time.sleep(1.2)
            return says(ask)

        with Model(slow) as model:
            (self.folder / "rationale.yaml").write_text(json.dumps({
                "store": "none", "providers": {"scripted": model.provider("m")},
                "agents": {"librarian": {"model": "m", "prompt": "You help people."}},
                "incidents": {"agents": "agents.yaml", "runbooks": "."}}))
            (self.folder / "agents.yaml").write_text("agents: {a: {alert_types: [nothing]}}\n")
            words = ("eval", str(SOURCE / "example/incidents/cases"), "-c", str(self.folder / "rationale.yaml"))
            terminal = Terminal(BINARY, *words)
            terminal.wait_for(b" left")
            seen, code = terminal.end()
            self.assertEqual(code, 0, seen)
            self.assertRegex(seen, rb"\r\x1b\[Keval: [12] of 3 cases, [0-9.]+/(s|min), [0-9]+ s left")
            self.assertLess(seen.rindex(b"eval: "), seen.rindex(b"\r\x1b[K"), "the line goes at the end")
            done = run(*words)
            self.assertEqual((done.code, done.err), (0, ""))


if __name__ == "__main__":
    main()
