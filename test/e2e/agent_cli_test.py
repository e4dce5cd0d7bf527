#!/usr/bin/env python3
"""Agents at the command line: what a terminal shows, and how a run ends there.

    test/e2e/agent_cli_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import threading
import unittest

from agent_runs_test import Library, approving, tool
from command import BINARY, PATIENCE, Terminal, environment, in_terminal, main, read_until, run
from scripted_model import Model, last, results

# Each of these would act on a terminal: a title, a colour, an overwritten line, right-to-left text.
ESCAPES = "\x1b]0;owned\x07\x1b[2K\rAllow nothing?\x9b31m\u202e"


def hostile(ask):
    """Lends a book, with a reason and arguments that would rewrite the question on the terminal."""
    if results(ask):
        return "done"
    return {"text": "Because " + ESCAPES, "calls": [(tool(ask, "lend"), {"title": "Dune " + ESCAPES})]}


def two(ask):
    """Two calls at once, then an answer."""
    return "done" if results(ask) else {"calls": [(tool(ask, "lend"), {"title": x}) for x in ("Dune", "Emma")]}


class Approval(unittest.TestCase):
    def setUp(self):
        model = self.enterContext(Model(hostile))
        self.library = Library(model, approving())
        self.addCleanup(self.library.stop)
        self.library.write()
        self.words = ("run", "librarian", "lend me Dune", "--config", str(self.library.path))

    def test_an_answer_of_many_words_is_one_answer(self):
        self.library.config["providers"]["scripted"] = self.enterContext(Model(two)).provider()
        self.library.write()
        terminal = Terminal(BINARY, *self.words)
        terminal.wait_for(b"[y/n] ")
        terminal.type(b"no" + 61 * b"," + b"y\n")
        terminal.wait_for(b'"Emma"}?\r\n  why: ')
        terminal.type(b"n\n")
        seen, code = terminal.end()
        self.assertEqual((code, self.library.called()), (0, []), seen)

    def check(self, seen):
        for byte in ("\x1b", "\x07", "\x9b", "\u202e"):
            self.assertNotIn(byte, seen)
        self.assertIn("why: Because ?]0;owned", seen)

    def test_the_question_cannot_act_on_the_terminal(self):
        terminal = Terminal(BINARY, *self.words)
        terminal.wait_for(b"[y/n] ")
        terminal.type(b"y\n")
        seen, code = terminal.end()
        self.check(seen.decode())
        self.assertEqual(code, 0, seen)
        self.assertEqual(self.library.called(), ["lend"])

    def test_ctrl_c_leaves_the_question_to_a_later_answer(self):
        terminal = Terminal(BINARY, *self.words)
        terminal.wait_for(b"[y/n] ")
        terminal.type(b"\x03")
        seen, code = terminal.end()
        self.assertEqual((code, self.library.called()), (130, []), seen)
        self.assertIn(b"then: rationale run --run ", seen)

    def test_nor_can_what_is_said_where_nobody_is_asked(self):
        done = run(*self.words)
        self.assertEqual(done.code, 7, done)
        self.check(done.err)


class Json(unittest.TestCase):
    """JSON on a terminal has control characters escaped, and the same meaning."""

    def test_what_models_write_cannot_act_on_a_terminal(self):
        odd = "\x9b31m\u202e\x7f"

        def model(ask):
            call = (tool(ask, "find"), json.dumps({"title": odd}, ensure_ascii=False))
            return f"done {odd}" if results(ask) else {"text": odd, "reasoning": odd, "calls": [call]}
        with Model(model) as m:
            library = Library(m)
            self.addCleanup(library.stop)
            library.write()
            config = ("--config", str(library.path))
            seen = in_terminal("run", "librarian", "x", "--json", *config).out.decode()
            id = json.loads(seen.splitlines()[0])["run_id"]
            self.safe(seen)
            for words in (["runs", "--json"], ["runs", "show", id, "--json"], ["show", id, "--json"], ["decisions", "--json"],
                          ["search", "done", "--json"], ["export"], ["agents", "--json"]):
                with self.subTest(words):
                    plain, seen = (f(*words, *config).out.decode() for f in (run, in_terminal))
                    self.safe(seen)
                    self.assertEqual(json.loads(plain), json.loads(seen))
            self.assertIn(odd, run("export", *config).out.decode(), "unchanged for a program")
            self.safe(in_terminal("export", "-f", "csv", *config).out.decode())

    def safe(self, seen):
        self.assertFalse({"\x9b", "\u202e", "\x7f", "\x1b"} & set(seen), seen)


class Lists(unittest.TestCase):
    def test_a_description_is_one_line(self):
        with Model(lambda ask: "x") as m:
            library = Library(m, {"a": {"model": "m", "prompt": "You help.", "description": "one\ntwo"}})
            self.addCleanup(library.stop)
            library.write()
            lines = run("agents", "--config", str(library.path)).out.decode().splitlines()
        self.assertEqual([line.split() for line in lines[1:]], [["a", "native", "m", "one", "two"]])


class Chat(unittest.TestCase):
    def setUp(self):
        self.model = self.enterContext(Model(lambda ask: f"{len(last(ask))} letters"))
        self.library = Library(self.model, {"echo": {"model": "m", "prompt": "You count."}})
        self.addCleanup(self.library.stop)
        self.library.write()

    def chat(self, text):
        return run("chat", "echo", "-q", "--config", str(self.library.path), stdin=text)

    def test_a_long_line_is_one_turn(self):
        done = self.chat(100000 * "a" + "\nb\n")
        self.assertEqual((done.code, done.out), (0, b"100000 letters\n1 letters\n"), done.err)

    def test_in_a_pipe_the_exit_code_is_that_of_the_first_line_that_failed(self):
        self.model.reply = lambda ask: 400 if last(ask) == "bad" else "well"
        done = self.chat("good\nbad\ngood\n")
        self.assertEqual((done.code, done.out), (5, b"well\nwell\n"), done.err)

    def test_ctrl_c_ends_it_where_a_line_is_expected(self):
        terminal = Terminal(BINARY, "chat", "echo", "--config", str(self.library.path))
        terminal.wait_for(b"> ")
        terminal.type(b"\x03")
        self.assertEqual(terminal.end()[1], 130)

    def test_a_line_that_is_too_long_is_refused_once(self):
        done = self.chat((5 << 20) * "a" + "\nb\n")
        self.assertEqual((done.out, len(self.model.asked)), (b"1 letters\n", 1), done.err)
        self.assertIn("larger than 4194304 bytes", done.err)


class Daemon(unittest.TestCase):
    """Runs that the store's daemon executes for the command."""

    def test_a_daemon_that_dies_is_not_ctrl_c(self):
        go = threading.Event()

        def slow(ask):
            return go.wait(PATIENCE) and "late" if results(ask) else {"calls": [(tool(ask, "find"), {"title": "Dune"})]}
        with Model(slow) as model, Library(model) as d:
            child = subprocess.Popen([BINARY, "run", "librarian", "x", "--config", str(d.path)], env=environment(),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            read_until(child.stderr.fileno(), b"result: ")
            d.child.kill()
            err = child.communicate(timeout=PATIENCE)[1].decode()
            go.set()
        self.assertEqual(child.returncode, 5, err)
        self.assertRegex(err.splitlines()[-1],
                         r"^rationale: the daemon went away: see its log; resume it with: rationale run --run \S+$")

    def test_the_calls_of_parts_of_a_run_are_approved_at_the_terminal(self):
        def lender(ask):
            return "lent" if results(ask) else {"calls": [(tool(ask, "lend"), {"title": "Dune"})]}
        agents = {n: approving()["librarian"] for n in ("a", "b")}
        flows = {"flow": [{"agents": ["a", "b"], "parallel": True}, {"agent": "a"}]}
        for running in (True, False):
            with self.subTest(daemon=running), Model(lender) as model:
                d = Library(model, agents, workflows=flows)
                d.write()
                self.addCleanup(d.stop)
                if running:
                    d.start()
                terminal = Terminal(BINARY, "run", "flow", "lend me Dune", "--config", str(d.path))
                for _ in range(3):
                    terminal.wait_for(b"[y/n] ")
                    terminal.seen = b""
                    terminal.type(b"y\n")
                seen, code = terminal.end()
                self.assertEqual((code, d.called()), (0, 3 * ["lend"]), seen)


if __name__ == "__main__":
    main()
