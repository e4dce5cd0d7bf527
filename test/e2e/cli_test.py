#!/usr/bin/env python3
"""The command line: every option, every kind of mistake, and the output.

    test/e2e/cli_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, Done, environment, main, read_until, run
from gateway import until

REPLY = "<think>two and two</think>four"
EVENT_KINDS = ("reasoning", "answer", "tool", "framing")
TABLE = (SOURCE / "src/cli/commands.def").read_text(encoding="utf-8")
COMMANDS = tuple(re.findall(r"^COMMAND\((\w+),", TABLE, re.M))
GROUPS = tuple(re.findall(r'^GROUP\("(.*)",', TABLE, re.M))


def scratch(case):
    folder = Path(tempfile.mkdtemp())
    case.addCleanup(shutil.rmtree, folder)
    return folder


class Prices(Case):
    CONFIG = """\
providers:
  mine:
    kind: openai
    base_url: http://127.0.0.1:9/v1
    models: {big: gpt-5-2025-08-07, own: house-model, free: unknown-model}
    prices:
      own: {input: 0.5, output: 1.5, above: {tokens: 32000, input: 1}}
      another: {output: 2}
"""

    def rows(self, *words, **more):
        got = json.loads(run("prices", "--json", *words, **more).out)
        return {(r["provider"], r["model"]): r for r in got["prices"]}

    def test_the_table_is_there_without_a_configuration(self):
        table = self.rows()
        self.assertGreater(len(table), 60)
        self.assertGreater(len({p for p, _ in table}), 7)
        for row in table.values():
            self.assertEqual(row["source"], "built in")
            self.assertRegex(row["date"], r"^20\d\d-\d\d-\d\d$")
        self.assertEqual(list(self.rows("gpt-5-2025-08-07")), [("openai", "gpt-5")])
        self.assertEqual(list(self.rows("gpt-4o-2024-05-13")), [("openai", "gpt-4o-2024-05-13")])
        text = run("prices", "gpt-5").out.decode()
        self.assertEqual(text.split("\n")[1].split(),
                         ["gpt-5", "openai", "1.25", "10", "0.125"] + ["-"] * 4 +
                         [self.rows("gpt-5")["openai", "gpt-5"]["date"], "built", "in"])

    def test_the_configuration_comes_first_with_its_lines(self):
        path = scratch(self) / "p.yaml"
        path.write_text(self.CONFIG)
        rows = self.rows("-c", str(path))
        own, dated = rows["mine", "house-model"], rows["mine", "gpt-5-2025-08-07"]
        self.assertEqual((own["source"], own["input"], own["above_tokens"], own["above_input"],
                          own["above_output"], own["date"]), (f"{path}:7", 0.5, 32000, 1, 1.5, None))
        self.assertEqual((dated["source"], dated["input"]), ("built in", 1.25))
        self.assertEqual(rows["mine", "another"]["source"], f"{path}:8")
        self.assertEqual((rows["mine", "unknown-model"]["source"],
                          rows["mine", "unknown-model"]["input"]), ("none", None))
        self.assertIn(("anthropic", "claude-opus-4-5"), rows)
        self.assertEqual(list(self.rows("-c", str(path), "own")), [("mine", "house-model")])

    def test_a_model_of_the_configuration_is_one_row(self):
        path = scratch(self) / "p.yaml"
        path.write_text("providers:\n  openai: {base_url: 'http://127.0.0.1:1/v1', models: [gpt-5]}\n")
        got = json.loads(run("prices", "--json", "-c", str(path), "gpt-5").out)["prices"]
        self.assertEqual([(r["provider"], r["model"]) for r in got], [("openai", "gpt-5")])

    def test_the_table_can_be_switched_off(self):
        path = scratch(self) / "p.yaml"
        path.write_text("prices: none\n" + self.CONFIG)
        rows = self.rows("-c", str(path))
        self.assertEqual({p for p, _ in rows}, {"mine"})
        self.assertEqual(rows["mine", "gpt-5-2025-08-07"]["source"], "none")

    def test_a_model_without_a_price_is_a_no(self):
        r = run("prices", "some-model")
        self.assertEqual((r.code, r.out), (1, b""))
        self.assertIn("no price is known of \"some-model\"", r.err)
        path = scratch(self) / "p.yaml"
        path.write_text(self.CONFIG)
        r = run("prices", "-c", str(path), "unknown-model")  # listed in the configuration
        self.assertEqual(r.code, 1, r.err)
        self.assertIn("no price is known of \"unknown-model\"", r.err)
        self.assertEqual(run("prices", "-c", str(path), "own").code, 0)


class Overview(Case):
    def test_serve_says_where_it_looked_for_a_configuration(self):
        folder = scratch(self)
        r = run("serve", cwd=folder)
        self.assertEqual(r.err, f"rationale: no configuration at {folder}/rationale.yaml: write one, "
                                'such as "providers: {openai: {api_key_env: OPENAI_API_KEY, models: [gpt-5]}}", '
                                "or give --config FILE\n")
        r = run("config", "check", cwd=folder)
        self.assertEqual(r.code, 3)
        self.assertIn(f'no configuration at {folder}/rationale.yaml: write one, such as "providers: {{openai', r.err)
        for words in (["run", "agent", "hi"], ["list", "-c", "rationale.yaml"], ["list"]):
            r = run(*words, cwd=folder, env=environment(HOME=str(folder)))
            self.assertEqual(r.code, 3, r.err)
            self.assertIn(f"no configuration at {folder}/rationale.yaml", r.err)
            self.assertIn('write one, such as "providers: {openai', r.err)
        for env in ({}, {"HOME": "/nonexistent"}):  # as in a service
            r = subprocess.run([BINARY, "list"], cwd="/", env=env, capture_output=True, text=True, check=False)
            self.assertRegex(r.stderr, r"^rationale: no configuration at /rationale\.yaml, and .*: write one, such as ")
        (folder / "rationale.yaml").write_text("providers: 3\n")
        r = run("serve", cwd=folder)
        self.assertIn(f"{folder}/rationale.yaml:1", r.err)

    def test_serve_says_what_to_do_about_a_folder_that_it_may_not_write(self):
        folder = scratch(self)
        (folder / "rationale.yaml").write_text(
            "listen: 127.0.0.1:0\nproviders: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n")
        program = shutil.copy(BINARY, folder)  # other users may be unable to enter the build folder
        os.chmod(folder, 0o555)
        nobody = {"user": 65534} if os.geteuid() == 0 else {}
        r = subprocess.run([program, "serve"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, **nobody)
        self.assertEqual(r.returncode, 6, r.stderr)
        self.assertIn("Permission denied: let this user write there, or set store to another path", r.stderr)
        r = subprocess.run([program, "doctor", "--offline"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                           **nobody)
        self.assertIn("this user cannot write to ", r.stdout)
        self.assertIn("to do: let the gateway's user write there", r.stdout)

    def test_version(self):
        version = re.search(r"^  version: '(.*)'", (SOURCE / "meson.build").read_text(), re.M)[1]
        for word in ("--version", "-V"):
            self.good(run(word), f"rationale {version}\n")

    def test_help_of_all(self):
        full, short = self.good(run("--help")), self.good(run("-h"))
        self.assertEqual(full, self.good(run()))
        self.assertEqual(full, self.good(run("help")))
        self.assertLess(len(short), len(full))
        for name in COMMANDS:
            self.assertIn(f"\n  {name} ".encode(), short)
        heads = [line for line in short.decode().splitlines() if line in GROUPS]
        self.assertEqual(heads, list(GROUPS))
        self.assertEqual(re.findall(r"^  (\w+)  ", short.decode(), re.M), list(COMMANDS))
        self.assertNotIn(b"  rationale ", short)

    def test_help_of_each(self):
        for name in COMMANDS:
            full, short = self.good(run(name, "--help")), self.good(run(name, "-h"))
            self.assertEqual(full, self.good(run("help", name)))
            self.assertEqual(full, self.good(run("--help", name)))
            self.assertIn(b"Examples\n", full)
            self.assertLess(full.index(b"Examples\n"), full.index(b"Usage\n"))
            self.assertNotIn(b"Examples\n", short)
            self.assertIn(f"rationale {name} [OPTIONS]".encode(), short)

    def test_help_fits_a_terminal(self):
        for args in [[], *[[name] for name in COMMANDS], ["exit-codes"]]:
            for line in self.good(run("help", *args)).decode().splitlines():
                self.assertLessEqual(len(line), 80, line)
        for name in COMMANDS:
            for line in self.good(run(name, "-h")).decode().splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_docs_agree_with_the_table_of_formats(self):
        formats = json.loads(self.good(run("split", "--formats", "--json")))
        page = Path(SOURCE, "docs/reference/formats.md").read_text(encoding="utf-8")
        for row in formats:
            self.assertIn(f"`{row['id']}`", page)

    def test_help_of_exit_codes(self):
        codes = [int(line.split()[0]) for line in
                 self.good(run("help", "exit-codes")).decode().splitlines()]
        self.assertEqual(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 70, 130])

    def test_help_wins_over_what_follows(self):
        self.good(run("split", "--help", "--no-such-option"))
        self.bad(run("split", "--no-such-option", "--help"), 2, "--no-such-option")

    def test_help_that_is_a_value(self):
        self.good(run("split", "--open", "-h", "--close", "x", stdin="-hax b"), " b")



class Usage(Case):
    def test_unknown_command(self):
        self.bad(run("splitt"), 2, 'no command "splitt"; did you mean "split"?')
        self.bad(run("cuont"), 2, 'did you mean "count"?')
        self.bad(run("xyzzy"), 2, 'no command "xyzzy"', "`rationale --help` lists them")
        self.bad(run(""), 2, 'no command ""')

    def test_unknown_option(self):
        self.bad(run("--verison"), 2, '"--verison"', 'did you mean "--version"?')
        self.bad(run("--color", "never", "split"), 2, '"--color" before a command')
        self.bad(run("split", "--fromat", "x"), 2, 'did you mean "--format"?')
        self.bad(run("split", "--colour", "never"), 2, 'did you mean "--color"?')
        self.bad(run("count", "--zzz"), 2, "--zzz", "`rationale count --help` lists them")
        self.bad(run("split", "-z"), 2, "no option -z")

    def test_missing_value(self):
        self.bad(run("split", "--format"), 2, "--format needs a value: --format ID")
        self.bad(run("split", "-f"), 2, "--format needs a value")
        self.bad(run("split", "--show"), 2, "--show needs a value", "answer reasoning both")
        self.bad(run("count", "--vocab"), 2, "o200k_base cl100k_base")

    def test_value_where_none_belongs(self):
        self.bad(run("split", "--json=1"), 2, "--json takes no value")
        self.bad(run("split", "-ix"), 2, "one by one")

    def test_bad_choice(self):
        self.bad(run("split", "--show", "all"), 2, '--show is "all"', "answer reasoning both")
        self.bad(run("split", "--color", "blue"), 2, '--color is "blue"', "auto always never")
        self.bad(run("count", "--vocab", "p50k"), 2, '--vocab is "p50k"')
        self.bad(run("count", "--vocab="), 2, '--vocab is ""')

    def test_formats_and_pairs(self):
        self.bad(run("split", "--open", "a"), 2, "--open and --close go together")
        self.bad(run("split", "--close", "a"), 2, "--open and --close go together")
        self.bad(run("split", "--open", "a", "--close", "b", "-f", "think"), 2, "not both")
        self.bad(run("split", "--open", "a", "--close", "a"), 2, "the same")
        self.bad(run("split", "--open", "", "--close", "a"), 2, "opening")
        self.bad(run("split", "--open", " a", "--close", "b"), 2, "opening")
        self.bad(run("split", "--open", "a", "--close", "b" * 65), 2, "closing")
        self.bad(run("split", "--open", b"\xff", "--close", "b"), 2, "opening")
        self.bad(run("split", "--format", "qwn3"), 2, 'no format "qwn3"; did you mean "qwen3"?')
        self.bad(run("split", "--format", "deepseek"), 2, 'did you mean "deepseek_r1"?')
        self.bad(run("split", "--format", "zzzzzz"), 2, "`rationale split --formats` lists them")

    def test_options_that_exclude_each_other(self):
        for a, b in (("--json", "--events"), ("--json", "--batch"), ("--events", "--batch"),
                     ("--show=both", "--json"), ("--show=both", "--events"),
                     ("--formats", "--batch"), ("--formats", "--events")):
            self.bad(run("split", a, b), 2, "either ", a.split("=")[0], b, "not both")
        self.bad(run("split", "--formats", "file"), 2, "--formats reads no file")

    def test_too_many_words(self):
        self.bad(run("split", "a", "b"), 2, '"b" is one word too many', "[FILE]")
        self.bad(run("count", "-", "b"), 2, '"b" is one word too many')
        self.bad(run("help", "split", "count"), 2, "one word too many")
        self.assertTrue(run("tail", "b").err.endswith("rationale tail [OPTIONS]\n"))
        folder = scratch(self)
        (folder / "rationale.yaml").write_text(
            "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n")
        for line in ("policy versions", "policy labels", "policy proposals", "policy review a", "policy reverify a",
                     "policy facts case", "policy criteria extract a", "prompts list", "store daemons"):
            with self.subTest(line):
                self.bad(run(*line.split(), "extra", cwd=folder), 2, '"extra" is one word too many')

    def test_a_wrong_line_says_what_is_missing(self):
        folder = scratch(self)
        (folder / "rationale.yaml").write_text(
            "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n")
        for line, words in (("prompts show", "takes the ID"), ("prompts add policy", "and a file"),
                            ("policy confirm", "needs the IDs"), ("policy reverify", "needs a document"),
                            ("policy criteria", "second word"), ("policy criteria extract", "needs a document"),
                            ("policy facts extract", "needs a file"), ("policy facts extract a", "needs --case ID"),
                            ("policy facts case", "needs a case and a document"), ("policy review a", "a status and a reason"),
                            ("erase --session a --subject b", "either"), ("verify . --run r", "--run is of one case"),
                            ("optimize --app policy --resume=", "--resume needs the id of a run")):
            with self.subTest(line):
                self.bad(run(*line.split(), cwd=folder), 2, words)

    def test_words_that_are_not_known(self):
        self.bad(run("help", "splt"), 2, 'did you mean "split"?')
        self.bad(run("help", "zzz"), 2, "exit-codes")
        self.bad(run("manpage", "zzz"), 2, 'manpage knows no "zzz"')
        self.bad(run("completion", "tcsh"), 2, 'no "tcsh"', "bash zsh fish")
        self.bad(run("completion"), 2, "needs a shell")

    def test_a_complaint_carries_no_escapes(self):
        for word in (b"\x1b[2J", b"a\rb", b"\xc2\x9b2J", b"\xff"):
            done = run("split", "--format", word)
            self.assertEqual(done.code, 2)
            self.assertEqual(done.err.rstrip("\n").encode().translate(None, bytes(range(32))),
                             done.err.rstrip("\n").encode())
            self.assertNotIn("\x9b", done.err)


class Input(Case):
    def test_forms_of_options(self):
        folder = scratch(self)
        (folder / "-x").write_text(REPLY)
        (folder / "x").write_text(REPLY)
        for args in (["x", "--show", "reasoning"], ["--show=reasoning", "x"],
                     ["-s", "reasoning", "x"], ["-sreasoning", "x"],
                     ["--show", "both", "--show", "reasoning", "x"],
                     ["--show", "reasoning", "--", "-x"], ["--show", "reasoning", "./-x"]):
            self.good(run("split", *args, cwd=folder), "two and two")
        self.bad(run("split", "--", "--show", cwd=folder), 1, 'cannot open "--show"')
        self.bad(run("split", "-x", cwd=folder), 2, "no option -x")

    def test_a_dash_is_stdin(self):
        self.good(run("split", "-", stdin=REPLY), "four")
        self.good(run("split", "--", "-", stdin=REPLY), "four")
        self.good(run("count", "-", stdin="hello world"), "2\n")

    def test_files_that_cannot_be_read(self):
        for command in (["split"], ["split", "--json"], ["split", "--events"],
                        ["split", "--batch"], ["count"], ["count", "--ids"]):
            self.bad(run(*command, "/no/such"), 1, '"/no/such"', "No such file or directory")
            self.bad(run(*command, ""), 1, '""', "No such file or directory")
            self.bad(run(*command, "/"), 1, "/", "Is a directory")
            self.bad(run(*command, "/proc/self/mem"), 1, "/proc/self/mem", "error")

    def test_a_file_one_may_not_read(self):
        folder = scratch(self)
        folder.chmod(0o755)
        secret = folder / "secret"
        secret.write_text("x")
        secret.chmod(0)
        binary = BINARY
        more = {}
        if os.geteuid() == 0:
            binary = shutil.copy(BINARY, folder / "rationale")
            more = {"user": 65534, "group": 65534, "extra_groups": []}
        for command in (["split"], ["count"]):
            done = subprocess.run([binary, *command, secret], capture_output=True, timeout=PATIENCE,
                                  check=False, env=environment(), **more)
            self.bad(Done(done.returncode, done.stdout, done.stderr.decode()), 4,
                     "secret", "Permission denied")

    def test_closed_stdin(self):
        for command in ("split", "split --json", "split --batch", "count", "count --ids"):
            done = subprocess.run(["sh", "-c", f'"$0" {command} <&-', BINARY], capture_output=True,
                                  timeout=PATIENCE, check=False, env=environment())
            self.bad(Done(done.returncode, done.stdout, done.stderr.decode()), 1,
                     "standard input", "Bad file descriptor")

    def test_stdin_that_cannot_be_read(self):
        folder = scratch(self)
        (folder / "rationale.yaml").write_text(
            "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n"
            "agents: {a: {model: m, prompt: You help people.}}\n")
        for command in ("split", "count", "keys hash", "order", "chat a"):
            with self.subTest(command):
                done = subprocess.run(["sh", "-c", f'"$0" {command} < /', BINARY], cwd=folder, capture_output=True,
                                      timeout=PATIENCE, check=False, env=environment())
                self.bad(Done(done.returncode, done.stdout, done.stderr.decode()), 1, "standard input", "Is a directory")

    def test_stdin_that_is_not_ready(self):
        for args, want in ((["split"], b"four"), (["count"], b"2\n"), (["count", "--ids"], None)):
            ours, theirs = os.pipe()
            fcntl.fcntl(ours, fcntl.F_SETFL, os.O_NONBLOCK)
            timer = threading.Timer(0.2, lambda fd=theirs: (os.write(fd, b"four five"),
                                                            os.close(fd)))
            timer.start()
            done = run(*args, stdin=ours)
            timer.join()
            os.close(ours)
            self.assertEqual((done.code, done.err), (0, ""))
            if want:
                self.assertTrue(done.out.startswith(want), done.out)

    def test_empty_input(self):
        self.good(run("split"), "")
        self.good(run("split", "--show", "both"), "")
        self.good(run("split", "--batch"), "")
        self.good(run("count"), "0\n")
        self.good(run("count", "--ids"), "\n")
        empty = {"state": "none", "flags": [],
                 "accounted": {"reasoning": 0, "answer": 0, "tool": 0, "framing": 0}}
        self.assertEqual(json.loads(self.good(run("split", "--json"))),
                         {"format": "think", "reasoning": "", "content": "", "tool_calls": [],
                          **empty})
        self.assertEqual(json.loads(self.good(run("split", "--events"))),
                         {"event": "done", **empty})


class Output(Case):
    COMMANDS = ("split", "split --json", "split --events", "split --batch", "split --formats",
                "count", "count --ids --json", "--help", "--version", "help exit-codes",
                "manpage split", "completion bash")

    def shell(self, line):
        done = subprocess.run(["sh", "-c", line, BINARY], input=b'{"input": "a"}\n',
                              capture_output=True, timeout=PATIENCE, check=False,
                              env=environment())
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def test_full_stdout(self):
        for command in self.COMMANDS:
            with self.subTest(command):
                self.bad(self.shell(f'"$0" {command} >/dev/full'), 1,
                         "standard output", "No space left on device")

    def test_closed_stdout(self):
        for command in self.COMMANDS:
            with self.subTest(command):
                self.bad(self.shell(f'"$0" {command} >&-'), 1,
                         "standard output", "Bad file descriptor")

    def test_closed_stdout_and_a_file(self):
        """The file gets stdout's descriptor number and must not be written to."""
        path = scratch(self) / "file"
        path.write_text("keep me")
        done = subprocess.run(["sh", "-c", '"$0" split "$1" >&-', BINARY, path],
                              capture_output=True, timeout=PATIENCE, check=False, env=environment())
        self.bad(Done(done.returncode, b"", done.stderr.decode()), 1, "standard output")
        self.assertEqual(path.read_text(), "keep me")

    def test_no_file_of_the_store_takes_the_number_of_a_closed_stream(self):
        folder = scratch(self)
        (folder / "rationale.yaml").write_text(
            "listen: 127.0.0.1:0\nproviders: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}\n")
        child = subprocess.Popen(["sh", "-c", 'exec "$0" serve <&- >&- 2>&-', BINARY], cwd=folder, env=environment())
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        until(lambda: any(f.suffix == ".head" for f in folder.iterdir()))
        self.assertEqual([os.readlink(f"/proc/{child.pid}/fd/{n}") for n in range(3)], ["/dev/null"] * 3)

    def test_full_stdout_stops_an_endless_input(self):
        done = self.shell('yes | "$0" split >/dev/full')
        self.bad(done, 1, "No space left on device")
        done = self.shell('yes "{}" | "$0" split --batch 2>/dev/null >/dev/full')
        self.assertNotEqual(done.code, 0)

    def test_full_stdout_is_told_after_bad_lines_too(self):
        done = subprocess.run(["sh", "-c", '"$0" split --batch >/dev/full', BINARY], input=b"[]\n",
                              capture_output=True, timeout=PATIENCE, check=False, env=environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"line 1: a case must be an object", done.stderr)
        self.assertIn(b"No space left on device", done.stderr)

    def test_a_reader_who_leaves(self):
        """As with `| head`: no error, and an endless input is no longer read."""
        for command in ("split", "split --events", "split --show both"):
            with self.subTest(command):
                done = self.shell(f'yes | "$0" {command} | head -n 1')
                self.assertEqual((done.code, done.err), (0, ""))
                self.assertEqual(done.out.count(b"\n"), 1)
        line = 'data: {"choices":[{"delta":{"content":"a"}}]}'
        done = self.shell(f"yes '{line}\n' | \"$0\" decode -d openai -s | head -n 1")
        self.assertEqual((done.code, done.err, done.out.count(b"\n")), (0, "", 1))
        done = self.shell("""yes '{"id":1,"input":"a"}' | "$0" split --batch | head -n 1""")
        self.assertEqual((done.code, done.err, json.loads(done.out)["content"]), (0, "", "a"))


class Split(Case):
    def test_show(self):
        self.good(run("split", stdin=REPLY), "four")
        self.good(run("split", "--show", "answer", stdin=REPLY), "four")
        self.good(run("split", "--show", "reasoning", stdin=REPLY), "two and two")
        self.good(run("split", "--show", "both", stdin=REPLY),
                  "[reasoning]\ntwo and two\n[answer]\nfour")
        self.good(run("split", "--show", "both", stdin="<think>a\n</think>\nb\n"),
                  "[reasoning]\na\n[answer]\n\nb\n")
        self.good(run("split", "--show", "both", stdin="only"), "[answer]\nonly")

    def test_show_with_colours(self):
        colour = ["split", "--show", "both", "--color", "always"]
        self.good(run(*colour, stdin=REPLY), "\x1b[2mtwo and two\x1b[0m\n\nfour")
        self.good(run(*colour, stdin="<think>a\n\nb\n</think>\nc"),
                  "\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m\n\nc")
        self.good(run(*colour, stdin="<think>\x1b[31mred</think>\x1b[0mb\r\nc"),
                  "\x1b[2m\ufffd[31mred\x1b[0m\n\n\ufffd[0mb\nc")
        for args, env, coloured in (
                ([], {}, False), ([], {"CLICOLOR_FORCE": "1"}, True),
                ([], {"CLICOLOR_FORCE": ""}, False), ([], {"CLICOLOR_FORCE": "0"}, False),
                ([], {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
                (["--color=always"], {"NO_COLOR": "1"}, True),
                (["--color=never"], {"CLICOLOR_FORCE": "1"}, False),
                (["--color=auto"], {}, False)):
            out = self.good(run("split", "-s", "both", *args, stdin=REPLY, env=environment(**env)))
            self.assertEqual(b"\x1b[2m" in out, coloured, (args, env))

    def test_bytes_are_not_changed_for_a_program(self):
        """Whatever the colour setting, a pipe gets the answer unchanged."""
        answer = b"a\x00\x1b[31m\xff\r\n\xe2\x82"
        for args in ([], ["--color", "always"]):
            self.good(run("split", *args, stdin=b"<think>x</think>" + answer), answer)
            text = b"<think>" + answer + b"</think>"
            self.good(run("split", "-s", "reasoning", *args, stdin=text), answer)

    def test_inside(self):
        self.good(run("split", "--inside", stdin="plan</think>done"), "done")
        self.good(run("split", "-i", "-s", "reasoning", stdin="plan</think>done"), "plan")

    def test_a_text_that_ends_inside_reasoning(self):
        note = "rationale: note: the text ended inside reasoning"
        self.good(run("split", stdin="<think>on and on"), "", note + "; there is no answer in it\n")
        self.good(run("split", stdin="a\n<think>on and on"), "a\n", note + "\n")
        self.good(run("split", "-s", "both", stdin="<think>on"), "[reasoning]\non",
                  note + "; there is no answer in it\n")
        self.assertEqual(json.loads(self.good(run("split", "--json", stdin="<think>on")))["state"],
                         "unclosed")

    def test_a_closer_that_was_text(self):
        text = "<think>a\n```\n</think>\nb\n```\nc</think>d"
        done = run("split", stdin=text)
        self.assertEqual(done.code, 0)
        self.assertIn("note: the last", done.err)
        done = json.loads(self.good(run("split", "--json", stdin=text)))
        self.assertEqual((done["content"], done["flags"]),
                         ("d", ["ambiguous_close", "reclassified"]))

    def test_pair(self):
        self.good(run("split", "--open", "[a]", "--close", "[/a]", stdin="[a]x[/a]b"), "b")
        self.good(run("split", "--open=◁", "--close=▷", stdin="◁a▷b"), "b")
        done = json.loads(self.good(run("split", "--open", "<<", "--close", ">>", "--json",
                                        stdin="<<a>>b")))
        self.assertEqual((done["format"], done["reasoning"], done["content"]), ("pair", "a", "b"))

    def test_formats(self):
        lines = self.good(run("split", "--formats")).decode().splitlines()
        ids = [line.split()[0] for line in lines]
        self.assertEqual(len(ids), len(set(ids)))
        for known in ("think", "qwen3", "deepseek_r1", "harmony", "mistral"):
            self.assertIn(known, ids)
        listed = json.loads(self.good(run("split", "--formats", "--json")))
        self.assertEqual([f["id"] for f in listed], ids)
        self.assertEqual({f["starts_in_reasoning"] for f in listed}, {"yes", "no", "varies"})
        for one in ids:
            self.good(run("split", "--format", one, stdin="hello\n"), "hello\n")

    def test_json(self):
        text = ('<think>look</think>ok\n'
                '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
        done = self.good(run("split", "-f", "qwen3", "--json", stdin=text))
        self.assertEqual(done.count(b"\n"), 1)
        done = json.loads(done)
        accounted = done.pop("accounted")
        self.assertEqual(sum(accounted.values()), len(text))
        calls = done.pop("tool_calls")
        self.assertEqual([(c["name"], json.loads(c["arguments"])) for c in calls],
                         [("f", {"a": 1})])
        self.assertEqual(done, {"format": "qwen3", "reasoning": "look", "content": "ok\n",
                                "state": "complete", "flags": []})

    def test_events(self):
        text = "<think>look</think>ok"
        lines = [json.loads(line) for line in
                 self.good(run("split", "--events", stdin=text)).decode().splitlines()]
        self.assertEqual([e["event"] for e in lines],
                         ["framing", "begin", "reasoning", "framing", "end", "answer", "done"])
        self.assertEqual("".join(e["text"] for e in lines if e["event"] in EVENT_KINDS), text)
        self.assertEqual(lines[-1]["accounted"],
                         {"reasoning": 4, "answer": 2, "tool": 0, "framing": 15})

    def test_events_name_the_tool(self):
        text = ("<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary "
                "to=functions.f <|constrain|>json<|message|>{}<|call|>")
        lines = [json.loads(line) for line in
                 self.good(run("split", "-f", "harmony", "--events", stdin=text)).splitlines()]
        self.assertIn("f", [e.get("name", "").split(".")[-1] for e in lines])

    def test_bytes_that_are_no_text(self):
        garbage = bytes(range(256)) * 40 + os.urandom(10_000)
        self.good(run("split", stdin=b"<think>x</think>" + garbage), garbage)
        for args in (["--json"], ["--events"]):
            for line in self.good(run("split", *args, stdin=garbage)).split(b"\n")[:-1]:
                last = json.loads(line)
            self.assertIn("invalid_utf8", last["flags"])
            self.assertEqual(sum(last["accounted"].values()), len(garbage))

    def test_ten_megabytes(self):
        reasoning, answer = b"so it is. " * 500_000, b"and thus: \xe2\x82\xac " * 400_000
        text = b"<think>" + reasoning + b"</think>" + answer
        self.assertEqual(self.good(run("split", stdin=text)), answer)
        self.assertEqual(self.good(run("split", "-s", "reasoning", stdin=text)), reasoning)
        done = json.loads(self.good(run("split", "--json", stdin=text)))
        self.assertEqual(done["content"].encode(), answer)
        seen = {"reasoning": [], "answer": [], "framing": []}
        for line in self.good(run("split", "--events", stdin=text)).splitlines():
            event = json.loads(line)
            if "text" in event:
                seen[event["event"]].append(event["text"])
        self.assertEqual("".join(seen["reasoning"]).encode(), reasoning)
        self.assertEqual("".join(seen["answer"]).encode(), answer)

    def test_a_line_of_ten_megabytes(self):
        text = "<" * 10_000_000
        self.assertEqual(self.good(run("split", stdin=text)), text.encode())


class Live(Case):
    def start(self, *args):
        child = subprocess.Popen([BINARY, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env=environment(), bufsize=0)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        return child

    def test_an_answer_is_printed_before_the_input_ends(self):
        child = self.start("split")
        child.stdin.write(b"<think>a</think>four")
        self.assertEqual(read_until(child.stdout.fileno(), b"four"), b"four")
        child.stdin.write(b" and")
        self.assertEqual(read_until(child.stdout.fileno(), b" and"), b" and")
        child.stdin.write(b" 1 ")
        self.assertEqual(read_until(child.stdout.fileno(), b" 1 "), b" 1 ")

    def test_what_may_be_a_marker_waits(self):
        child = self.start("split", "--show", "reasoning")
        child.stdin.write(b"<think>ab</th")
        self.assertEqual(read_until(child.stdout.fileno(), b"ab"), b"ab")
        child.stdin.write(b"e end")
        self.assertEqual(read_until(child.stdout.fileno(), b"end"), b"</the end")

    def test_reasoning_is_printed_before_the_input_ends(self):
        child = self.start("split", "--show", "both")
        child.stdin.write(b"<think>let me")
        self.assertEqual(read_until(child.stdout.fileno(), b"let me"), b"[reasoning]\nlet me")

    def test_events_come_as_they_happen(self):
        child = self.start("split", "--events")
        have = b""
        for piece, wanted in ((b"<think>", "begin"), (b"look", "reasoning"),
                              (b"</think>", "end"), (b"ok", "answer")):
            child.stdin.write(piece)
            have = read_until(child.stdout.fileno(), f'"event":"{wanted}"'.encode(), have)
        while not have.endswith(b"\n"):
            have = read_until(child.stdout.fileno(), b"\n", have)
        self.assertEqual(json.loads(have.splitlines()[-1]), {"event": "answer", "text": "ok"})
        self.assertNotIn(b"done", have)

    def test_batch_results_come_line_by_line(self):
        child = self.start("split", "--batch")
        for number in range(3):
            child.stdin.write(b'{"id": %d, "input": "a"}\n' % number)
            line = read_until(child.stdout.fileno(), b"\n")
            self.assertEqual(json.loads(line)["id"], number)


class Count(Case):
    TEXT = "Hello, world! 🌍"

    def test_number(self):
        self.good(run("count", stdin="hello world"), "2\n")
        self.good(run("count", stdin=self.TEXT), "6\n")
        self.good(run("count", "--vocab", "o200k_base", stdin=self.TEXT), "6\n")
        self.good(run("count", "-v", "cl100k_base", stdin="hello world"), "2\n")

    def test_ids(self):
        self.good(run("count", "--ids", stdin="hello world"), "24912 2375\n")
        self.good(run("count", "--ids", "--vocab=cl100k_base", stdin="hello world"), "15339 1917\n")

    def test_json(self):
        self.assertEqual(json.loads(self.good(run("count", "--json", stdin="hello world"))),
                         {"vocab": "o200k_base", "bytes": 11, "tokens": 2})
        self.assertEqual(
            json.loads(self.good(run("count", "--json", "--ids", "-vcl100k_base",
                                     stdin="hello world"))),
            {"vocab": "cl100k_base", "bytes": 11, "tokens": 2, "ids": [15339, 1917]})

    def test_file(self):
        path = scratch(self) / "text"
        path.write_text("hello world")
        self.good(run("count", path), "2\n")
        self.good(run("count", path, "--ids"), "24912 2375\n")

    def test_control_tokens_are_text(self):
        ids = self.good(run("count", "--ids", stdin="<|endoftext|>")).split()
        self.assertGreater(len(ids), 1)

    def test_bytes_that_are_no_text(self):
        for text in (b"\xff\xfe\x00", b"\xe2\x82", b"a\x00b", bytes(range(256)) * 50):
            for vocab in ("o200k_base", "cl100k_base"):
                number = int(self.good(run("count", "--vocab", vocab, stdin=text)))
                ids = self.good(run("count", "--ids", "--vocab", vocab, stdin=text)).split()
                whole = text.decode(errors="replace").encode()
                self.assertEqual(number, len(ids), text)
                self.assertEqual(ids, self.good(run("count", "--ids", "--vocab", vocab,
                                                    stdin=whole)).split(), text)

    def test_large(self):
        text = " The quick brown fox jumps over the lazy dog." * 200_000
        one = int(self.good(run("count", stdin=text[:450_000])))
        self.assertEqual(int(self.good(run("count", stdin=text))), one * 20)
        done = json.loads(self.good(run("count", "--ids", "--json", stdin=text[:450_000])))
        self.assertEqual((done["tokens"], len(done["ids"])), (one, one))

    def test_too_large_for_ids(self):
        path = scratch(self) / "text"
        with open(path, "wb") as file:
            file.truncate(300 << 20)
        self.bad(run("count", "--ids", path), 8, "text", "the limit is")


if __name__ == "__main__":
    main()
