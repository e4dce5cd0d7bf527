#!/usr/bin/env python3
"""Every command on a page of the manual runs, and prints what the page shows.

    test/e2e/snippets_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

A name is Pages.test_FOLDER_PAGE, for example Pages.test_start_gateway. page_runner.py has the
notation of pages.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from command import BINARY, SOURCE, environment, main, run
from page_runner import Matcher, Page, RunPage, commands
from page_worlds import WORLDS

from markdown import block_raw  # page_runner has made its folder known

DOCS = SOURCE / "docs"


# Programs that tools/setup does not require; without one, pages that need it are skipped.
OPTIONAL = ("amtool", "prometheus-alertmanager", "sqlite3", "nginx")


class Pages(unittest.TestCase):
    pass


def page_test(path):
    def test(self):
        page = RunPage(path, BINARY, WORLDS)
        missing = [p for p in page.programs() if p in OPTIONAL and not shutil.which(p)]
        if missing:
            self.skipTest(f"{missing[0]} is not installed")
        if "cc" in page.programs() and b"__asan_init" in Path(BINARY).read_bytes():
            self.skipTest("a program without sanitizers cannot link this library")
        problems = page.run()
        if problems:
            self.fail("\n" + "\n".join(problems))
    return test


for one in [*sorted(DOCS.rglob("*.md")), SOURCE / "README.md"]:
    if RunPage(one, BINARY, WORLDS).has_commands():
        name = re.sub(r"\W", "_", one.relative_to(DOCS if DOCS in one.parents else SOURCE).with_suffix("").as_posix())
        setattr(Pages, f"test_{name}", page_test(one))


# Pages with commands in other kinds of blocks, and the tests that run these.
ELSEWHERE = {
    "docs/how-to/watch-a-coding-agent.md": "test/agents",
    "docs/how-to/incidents-kubernetes.md": "kubernetes_guide", "docs/reference/notifications.md": "notify",
    "docs/reference/commands.md": "commands",
    "docs/how-to/replicas.md": "daemons, replicas and demo_replicas, with a PostgreSQL server of their own",
    "docs/explanation/benchmarks.md": "nobody: they take hours on an idle machine",
    "CONTRIBUTING.md": "the Makefile's own targets",
}
COMMAND = re.compile(r"^(\$ |rationale \w|curl |make\b|cd |amtool |kubectl |sqlite3 |systemctl |sudo |cc |tools/)", re.M)
CHECKED = "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m, fast, qwen]}}\n"


def blocks(path, page):
    """The code blocks of a page, each with a flag: the paragraph before it gives it a file name."""
    before = None
    for b in page.blocks:
        if b.kind == "code":
            yield b, bool(before and re.search(r"File `[^`]+`[^`]*:$", before.text))
        before = b if b.kind in ("text", "comment") else None


class Everything(unittest.TestCase):
    """Checks that no command or configuration on a page is left untested."""
    PAGES = {p.relative_to(SOURCE).as_posix(): Page(p.read_text(encoding="utf-8"))
             for p in [*sorted(DOCS.rglob("*.md")), *(SOURCE / n for n in ("README.md", "CONTRIBUTING.md"))]}

    def test_commands_are_in_console_blocks(self):
        found = {}
        for path, page in self.PAGES.items():
            for b, _ in blocks(path, page):
                if b.info != "console" and b.info not in ("c", "python", "yaml", "markdown") and COMMAND.search(b.text):
                    found.setdefault(path, []).append(f"{path}:{b.line}: {COMMAND.search(b.text)[0]}")
        self.assertEqual({p: f for p, f in found.items() if p not in ELSEWHERE}, {})
        self.assertEqual(sorted(set(ELSEWHERE) - set(found)), [], "these have no such commands any more")

    def test_commands_in_sentences_exist_with_their_options(self):
        helps, wrong, count = {}, [], 0
        for path, page in self.PAGES.items():
            text = "\n".join(block_raw(b) for b in page.blocks)
            for line in re.findall(r"`(rationale [a-z][^`\n]*)`", text):
                count += 1
                words = line.split()
                if words[1] not in helps:
                    helps[words[1]] = run(words[1], "--help")
                done = helps[words[1]]
                if done.code:
                    wrong.append(f"{path}: {line}: there is no such command")
                for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", line.split(" -- ")[0]):
                    if option not in done.out.decode():
                        wrong.append(f"{path}: {line}: no option {option}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 60)

    def test_configurations_are_accepted(self):
        """Each YAML block with names of the configuration passes the check; its files need not
        exist."""
        rows = (SOURCE / "src/gateway/config_rows.c").read_text()
        names = {n.split(".")[0] for n in re.findall(r'^    \{"([a-z_.]+)",', rows.split("};")[0], re.M)}
        names |= {"listen", "providers", "keys", "agents", "agents_folder", "tools", "workflows"}
        count = 0
        for path, page in self.PAGES.items():
            for b, _ in blocks(path, page):
                top = re.findall(r"^(\w+):", b.text, re.M)
                if b.info not in ("yaml", "") or not top or not set(top) <= names or path.startswith("docs/how-to/incidents-k"):
                    continue
                count += 1
                text = b.text if "providers" in top else CHECKED + b.text
                with tempfile.TemporaryDirectory() as folder:
                    (Path(folder) / "rationale.yaml").write_text(text, encoding="utf-8")
                    variables = {n: "whsec_" + base64.b64encode(n.ljust(24).encode()).decode()
                                 for n in re.findall(r"(?:_env: |\$\{)(\w+)", text)}
                    done = run("config", "check", "rationale.yaml", cwd=folder, env=environment(**variables))
                problems = [x for x in done.err.splitlines() if not re.search(r"No such file|no operation|warning:", x)]
                self.assertEqual([] if done.code == 0 else problems, [], f"{path}:{b.line}")
        self.assertGreater(count, 10)


class Notation(unittest.TestCase):
    """The comparison itself detects differences."""
    ID, OTHER = "01a1e863-c80d-7777-98c7-485b40539b89", "01a1e863-cbea-734d-95d3-75ab03e6481c"
    CASES = [
        ("a\n", "a\n", True), ("a\n", "b\n", False), ("a\n", "a\nb\n", False), ("", "", True), ("", "a\n", False),
        ("a  b\n", "a    b\n", True), ("a b\n", "ab\n", False), ("took 3 ms\n", "took 12.5 s\n", True),
        ("took 3 ms\n", "took long\n", False), ("at 2026-11-17 07:23:35\n", "at 2027-01-02 00:00:00\n", True),
        ("x … z\n", "x y z\n", True), ("x … z\n", "x y\nz\n", False), ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True), ("a\n…\n", "b\n", False), (f"{ID}\n", f"{OTHER}\n", True),
        (f"{ID} {ID}\n", f"{OTHER} {OTHER}\n", True), (f"{ID} {ID}\n", f"{OTHER} {ID}\n", False),
        (f"{ID}\n", "none\n", False), ("8 files\n", "9 files\n", False),
    ]

    def test_outputs(self):
        for wanted, got, same in self.CASES:
            self.assertEqual(Matcher().matches(wanted, got), same, (wanted, got))

    def test_an_id_of_the_page_stands_for_the_real_one(self):
        m = Matcher()
        self.assertTrue(m.matches(f"id {self.ID}\n", f"id {self.OTHER}\n"))
        self.assertEqual(m.real(f"show {self.ID}"), f"show {self.OTHER}")
        self.assertFalse(m.matches(f"id {self.ID}\n", f"id {self.ID}\n"))

    def test_commands_end_where_a_shell_ends_them(self):
        block = Page("```console\n$ a 'b\nc'\nd\n$ cat <<E\nx\nE\n$ e \\\n  f\ng\n```\n").blocks[0]
        self.assertEqual([(c.text, c.output) for c in commands(block, 0)],
                         [("a 'b\nc'", "d\n"), ("cat <<E\nx\nE", ""), ("e \\\n  f", "g\n")])


if __name__ == "__main__":
    main()
