#!/usr/bin/env python3
"""Output for a person at a terminal, and what shells and man do with the files printed for them.

    test/e2e/terminal_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, Terminal, environment, in_terminal, main, run

REPLY = b"<think>two and two</think>four"
TABLE = (SOURCE / "src/cli/commands.def").read_text(encoding="utf-8")
PAGES = ("", *re.findall(r"^COMMAND\((\w+),", TABLE, re.M))


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"no {program} here")


def tool(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env=environment(), **more)


class Colours(Case):
    def test_when(self):
        coloured = b"\x1b[2mtwo and two\x1b[0m\n\nfour\n"
        plain = b"[reasoning]\ntwo and two\n[answer]\nfour\n"
        for env, args, want in (
                ({"TERM": "xterm"}, [], coloured), ({"TERM": "dumb"}, [], plain), ({}, [], plain),
                ({"TERM": ""}, [], plain), ({"TERM": "xterm", "NO_COLOR": "1"}, [], plain),
                ({"TERM": "xterm", "NO_COLOR": ""}, [], coloured),
                ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, [], coloured),
                ({"TERM": "xterm", "CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], plain),
                ({"TERM": "xterm"}, ["--color", "never"], plain),
                ({"TERM": "xterm"}, ["--color", "auto"], coloured),
                ({"TERM": "dumb", "NO_COLOR": "1"}, ["--color", "always"], coloured)):
            done = in_terminal("split", "-s", "both", *args, stdin=REPLY, env=environment(**env))
            self.assertEqual((done.code, done.out), (0, want), (env, args))

    def test_help_is_bold_only_with_colours(self):
        self.assertIn(b"\x1b[1mOptions\x1b[0m", in_terminal("split", "--help").out)
        self.assertNotIn(b"\x1b", in_terminal("split", "--help", env=environment()).out)
        self.assertNotIn(b"\x1b", run("split", "--help").out)

    def test_one_kind_has_no_colours(self):
        for show, want in (("answer", b"four\n"), ("reasoning", b"two and two\n")):
            self.assertEqual(in_terminal("split", "-s", show, stdin=REPLY).out, want)

    def test_machines_get_no_colours(self):
        for args in (["--json"], ["--events"]):
            self.assertNotIn(b"\x1b", in_terminal("split", *args, stdin=REPLY).out)


class Safety(Case):
    def test_escapes_in_a_text_are_shown_not_sent(self):
        evil = (b"a\x1b[2Jb\x1b]0;title\x07c\x9bd\xc2\x9be\x08f\x00g\x7fh\xff"
                b"i\xe2\x80\xaej\rk\tl")
        want = "a?[2Jb?]0;title?c?d?e?f?g?h?i?j?k\tl".replace("?", "\ufffd")
        for show, text in (("answer", b"<think>x</think>" + evil),
                           ("reasoning", b"<think>" + evil + b"</think>x")):
            done = in_terminal("split", "--show", show, stdin=text)
            self.assertEqual(done.out.decode(), want + "\n")
        done = in_terminal("split", "--show", "both", stdin=b"<think>" + evil + b"</think>" + evil)
        ours = re.sub(rb"\x1b\[[02]m", b"", done.out)
        self.assertNotIn(b"\x1b", ours)
        self.assertEqual(ours.decode(), want + "\n\n" + want + "\n")

    def test_line_ends_of_windows_are_line_ends(self):
        self.assertEqual(in_terminal("split", stdin=b"a\r\nb\r\n").out, b"a\nb\n")
        self.assertEqual(in_terminal("split", stdin=b"a\rb").out.decode(), "a\ufffdb\n")
        self.assertEqual(in_terminal("split", stdin=b"a\r").out, b"a\n")

    def test_a_line_end_cut_in_two(self):
        terminal = Terminal(BINARY, "split", env=environment(TERM="xterm"), stdin=subprocess.PIPE)
        stdin = terminal.process.stdin
        for piece, wanted in ((b"a\r", b"a"), (b"\nb\r", b"b"), (b"c", b"c")):
            stdin.write(piece)
            stdin.flush()
            terminal.wait_for(wanted)
        stdin.close()
        self.assertEqual(terminal.end()[0].decode(), "a\r\nb\ufffdc\r\n")

    def test_events_escape_what_a_terminal_would_obey(self):
        done = in_terminal("split", "--events", stdin=b"a\x1b[2J\x07b")
        self.assertNotIn(b"\x1b", done.out)
        self.assertIn(b"\\u001b[2J\\u0007", done.out)


class Typing(Case):
    def test_a_person_is_told_that_we_wait(self):
        terminal = Terminal(BINARY, "split")
        terminal.wait_for(b"end with Ctrl-D\r\n")
        terminal.type(b"<think>a</think>four\n")
        terminal.wait_for(b"four\r\nfour")
        terminal.type(b"\x04")
        self.assertEqual(terminal.end()[1], 0)

    def test_ctrl_c_leaves_no_colour_behind(self):
        terminal = Terminal(BINARY, "split", "--show", "both", stdin=subprocess.PIPE)
        terminal.process.stdin.write(b"<think>hm")
        terminal.process.stdin.flush()
        terminal.wait_for(b"hm")
        terminal.wait_for(b"\x1b[0m")
        terminal.type(b"\x03")
        seen, code = terminal.end()
        terminal.process.stdin.close()
        self.assertEqual(code, -signal.SIGINT)
        self.assertGreater(seen.rindex(b"\x1b[0m"), seen.rindex(b"\x1b[2m"))


class Demo(Case):
    DEMO = str(SOURCE / "tools/demo-split")

    def check(self, out):
        self.assertRegex(out, r"reasoning: complete, \d+ bytes, \d+ tokens\n"
                              r"answer: \d+ bytes, \d+ tokens; markers: 15 bytes")
        self.assertIn("Try next:", out)

    def test_without_a_terminal(self):
        done = tool(sys.executable, self.DEMO, BINARY)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("\x1b", done.stdout)
        text = (SOURCE / "tools/demo-split.txt").read_text(encoding="utf-8")
        reasoning, answer = text.removeprefix("<think>").split("</think>")
        self.assertIn(f"[reasoning]\n{reasoning}[answer]\n{answer}", done.stdout)
        self.check(done.stdout)

    def test_its_numbers(self):
        done = tool(sys.executable, self.DEMO, BINARY)
        sizes = list(map(int, re.findall(r"(\d+) bytes", done.stdout)))
        self.assertEqual(sum(sizes), (SOURCE / "tools/demo-split.txt").stat().st_size)

    def test_it_fits_a_terminal(self):
        for line in tool(sys.executable, self.DEMO, BINARY).stdout.splitlines():
            self.assertLessEqual(len(line.split("  #")[0]), 80, line)

    def test_in_a_terminal(self):
        terminal = Terminal(sys.executable, self.DEMO, BINARY,
                            env=environment(TERM="xterm", DEMO_SECONDS="0.5"))
        seen, code = terminal.end()
        seen = seen.decode().replace("\r\n", "\n")
        self.assertEqual(code, 0)
        self.assertRegex(seen, "\n\x1b\\[2mCheckout[^\n]*\x1b\\[0m\n")
        self.assertIn("\n**Cause.** The new audit call", seen)
        self.check(seen)

    def test_ctrl_c(self):
        terminal = Terminal(sys.executable, self.DEMO, BINARY,
                            env=environment(TERM="xterm", DEMO_SECONDS="600"))
        terminal.wait_for(b"\x1b[2m")
        terminal.type(b"\x03")
        seen, code = terminal.end()
        self.assertEqual(code, 130)
        self.assertNotIn(b"Traceback", seen)
        self.assertGreater(seen.rindex(b"\x1b[0m"), seen.rindex(b"\x1b[2m"))

    def test_a_reader_who_leaves(self):
        done = tool("sh", "-c", '"$0" "$1" "$2" | head -n 1', sys.executable, self.DEMO, BINARY)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("\n"), 1)


class Shells(Case):
    # The line up to the cursor, some expected offers, and some that must not appear.
    OFFERS = (
        (["spl"], {"split"}, {"count"}),
        ([""], {"split", "count", "completion", "manpage", "help"}, {"bash"}),
        (["split", "--fo"], {"--format", "--formats"}, {"--json"}),
        (["split", "--format", "qw"], {"qwen3"}, {"think"}),
        (["split", "-f", "harm"], {"harmony", "harmony_stripped"}, {"think"}),
        (["split", "--show", ""], {"answer", "reasoning", "both"}, {"cases.jsonl"}),
        (["split", "--color", "n"], {"never"}, {"auto"}),
        (["count", "--vocab", ""], {"o200k_base", "cl100k_base"}, {"cases.jsonl"}),
        (["count", "--i"], {"--ids"}, {"--format"}),
        (["completion", ""], {"bash", "zsh", "fish"}, {"cases.jsonl"}),
        (["help", "e"], {"exit-codes"}, {"split"}),
        (["manpage", "c"], {"count", "completion"}, {"split"}),
        (["split", "--batch", "ca"], {"cases.jsonl"}, {"split"}),
        (["keys", ""], {"new", "hash", "list"}, {"cases.jsonl"}),
        (["policy", "rev"], {"review", "reverify"}, {"labels"}),
        (["config", "check", "ca"], {"cases.jsonl"}, {"check"}),
    )

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "cases.jsonl").write_text("")
        (self.folder / "with space").write_text("")

    def script(self, shell, name):
        path = self.folder / ".site" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.good(run("completion", shell)))
        return path

    def offered(self, offers, wanted, unwanted, line):
        offers = {o.split("\t")[0].strip() for o in offers if o.strip()}
        self.assertLessEqual(wanted, offers, line)
        self.assertFalse(unwanted & offers, line)

    @needs("bash")
    def test_bash(self):
        script = self.script("bash", "rationale.bash")
        self.assertEqual(tool("bash", "-n", script).stderr, "")
        ask = ('source "$0"; shopt -s extglob; COMP_WORDS=(rationale "$@"); '
               'COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _rationale; '
               'printf "%s\\n" "${COMPREPLY[@]}"')
        more = ((["split", "--format", "=", "qw"], {"qwen3"}, {"think"}),
                (["split", "--format", "="], {"qwen3", "think"}, set()),
                (["split", "wi"], {"with space"}, set()))
        for words, wanted, unwanted in self.OFFERS + more:
            done = tool("bash", "-c", ask, script, *words, cwd=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.offered(done.stdout.split("\n"), wanted, unwanted, words)

    @needs("bash")
    def test_bash_has_it_registered(self):
        script = self.script("bash", "rationale.bash")
        self.assertIn("-F _rationale rationale",
                      tool("bash", "-c", 'source "$0"; complete -p rationale', script).stdout)

    @needs("zsh")
    def test_zsh(self):
        """In a real interactive shell, loaded from fpath like an installed file."""
        script = self.script("zsh", "_rationale")
        self.assertEqual(tool("zsh", "-n", script).stderr, "")
        # The inner shell records the arguments of compadd. Its line editor is ready at the prompt,
        # and completion is finished when the editor reaches the line that reports it.
        (self.folder / ".setup").write_text(
            "PROMPT='go> ' RPROMPT=\n"
            f"fpath=({script.parent} $fpath)\n"
            "autoload -Uz compinit; compinit -u -D\n"
            "bindkey -e; bindkey '^I' complete-word; LISTMAX=1000\n"
            "compadd() {\n"
            '  local -a kept; builtin compadd -O kept "$@"; print -rl -- $kept >> .offers\n'
            '  builtin compadd "$@"\n'
            "}\n")
        ask = (
            'zmodload zsh/zpty; cd "$1"; zpty -b z zsh -f -i; zpty -w z "TERM=dumb; . ./.setup"; '
            'zpty -r z out "*go> *"; zpty -w -n z "rationale $2"; zpty -w -n z $\'\\t\'; '
            'zpty -w z $\'\\x15print over >> .offers\'; '
            'for n in {1..1000}; do sleep 0.05; zpty -rt z out; '
            'grep -qx over .offers 2>/dev/null && break; done; '
            'zpty -d z')
        for words, wanted, unwanted in self.OFFERS:
            offers = self.folder / ".offers"
            offers.unlink(missing_ok=True)
            done = tool("zsh", "-f", "-c", ask, "zsh", self.folder, " ".join(words))
            self.assertTrue(offers.exists(), (words, done))
            self.offered(offers.read_text().split("\n"), wanted, unwanted, words)

    @needs("fish")
    def test_fish(self):
        script = self.script("fish", "rationale.fish")
        self.assertEqual(tool("fish", "--no-execute", script).stderr, "")
        for words, wanted, unwanted in self.OFFERS:
            done = subprocess.run(
                ["fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', script,
                 "rationale " + " ".join(words)], cwd=self.folder, capture_output=True, text=True,
                timeout=PATIENCE, check=False, env=environment(HOME=str(self.folder / ".site")))
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.offered(done.stdout.split("\n"), wanted, unwanted, words)


class Pages(Case):
    def page(self, name):
        return self.good(run("manpage", *([name] if name else []))).decode()

    def test_structure(self):
        for name in PAGES:
            page = self.page(name)
            title = f"rationale-{name}" if name else "rationale"
            lines = page.split("\n")
            title = title.upper().replace("-", "\\-")
            self.assertTrue(lines[0].startswith(f".TH {title} 1 "), lines[0])
            heads = [line[4:] for line in lines if line.startswith(".SH ")]
            self.assertEqual(heads[:3], ["NAME", "SYNOPSIS", "DESCRIPTION"])
            self.assertIn("EXAMPLES", heads)
            self.assertIn("EXIT STATUS", heads)
            for line in lines:
                if line.startswith("."):
                    self.assertRegex(line, r"^\.(TH|SH|SS|TP|PP|BR|nf|fi)\b")
                self.assertLessEqual(len(line), 100)
            self.assertNotIn("\n\n", page)
        for option in re.findall(r"--[a-z]+", self.good(run("split", "--help")).decode()):
            self.assertIn("\\-\\-" + option[2:], self.page("split"))

    @needs("mandoc")
    def test_mandoc_has_nothing_to_say(self):
        for name in PAGES:
            with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
                file.write(self.page(name))
                file.flush()
                said = [line for line in tool("mandoc", "-T", "lint", file.name).stdout.split("\n")
                        if line and "missing date" not in line]  # no date, so that builds are reproducible
                self.assertEqual(said, [])

    @needs("man")
    def test_man_shows_them(self):
        for name in PAGES:
            with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
                file.write(self.page(name))
                file.flush()
                done = tool("man", "--warnings", "-l", file.name)
            if "unrecognized option" in done.stderr or "unknown option" in done.stderr:
                self.skipTest("this man takes no --warnings")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("EXAMPLES", re.sub(r".\x08|\x1b\[\d*m", "", done.stdout))


if __name__ == "__main__":
    main()
