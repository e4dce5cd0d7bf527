"""Runs the commands of a page of the manual in order, as a reader would, and compares their output.

    page = RunPage(path, BINARY)         the page's blocks, in order
    problems = page.run(folder)          runs it in a folder; [] if every output is as the page has it

A block ```console has commands after "$ " and the output below each. The commands of a page
share a shell, so `cd` and `export` persist. A command that serves (rationale serve, rationale
demo) runs until the end of the page, as if in a terminal of its own. A block after "File
`NAME`:" is written to that file.

    …                     any text in a line; alone in a line, any lines
    ids, times, durations any value of the same form; an id on the page stands for one id throughout
    spaces                any number, because columns are as wide as their values
    <!-- exit 1 -->       the last command of the next block exits with 1
    <!-- world NAME -->   the page begins in a folder that a function of WORLDS has filled

Ports on the page are replaced by free ones.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools" / "manual"))
from markdown import Page  # noqa: E402

PATIENCE = 180
PORTS = ("8484", "8485", "8443", "9193", "9093", "8000", "9000")
SERVERS = re.compile(r"rationale (serve|demo(?!.*--once)|mcp .*--http)|prometheus-alertmanager|prometheus |python3 \S*(model|service)\.py")
# Commands that change the machine or build the program; the build under test is their result.
NOT_RUN = re.compile(r"(sudo|make|kubectl|systemctl|apt-get|npm|npx|docker|rationale watch) ?|exit$")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TOKEN = re.compile(rf"(?P<id>{UUID})|(?P<time>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)"
                   r"|(?P<span>\b\d+(?:\.\d+)? (?:ms|us|ns|s)\b)|(?P<any>…)|(?P<space> +)")
FORMS = {"time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?", "span": r"\d+(?:\.\d+)? (?:ms|us|ns|s)", "any": r"[^\n]*?",
         "space": " +"}
MARK = "page-runner-mark"
# `config check` of a file without `listen` tries the default port, which another daemon on this
# machine may use.
PORT_TAKEN = re.compile(r"^rationale: warning: listen: 127\.0\.0\.1:8484: .*Address already in use\n", re.M)


@dataclass
class Command:
    line: int
    text: str
    output: str
    code: int = 0


def complete(text):
    """Whether the shell command is complete: quotes and here-documents are closed."""
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "here-document" not in done.stderr and not text.endswith("\\")


def commands(block, code=0):
    """The commands of a console block with the output below each; the last one must exit with
    `code`."""
    found = []
    for n, line in enumerate(block.text.rstrip("\n").split("\n"), block.line + 1):
        if found and not complete(found[-1].text):
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(n, line[2:], ""))
        elif found:
            found[-1].output += line + "\n"
        else:
            raise AssertionError(f"line {n}: a console block begins with a command")
    found[-1].code = code
    return found


def steps(page):
    """The reader's steps in order: ("file", name, text), ("command", Command) and ("world", name)."""
    before, code = None, 0
    for b in page.blocks:
        if b.kind == "comment" and (m := re.fullmatch(r"world (\w+)", b.text)):
            yield "world", m[1]
        elif b.kind == "comment" and (m := re.fullmatch(r"exit (\d+)", b.text)):
            code = int(m[1])
        elif b.kind == "code" and b.info == "console":
            yield from (("command", c) for c in commands(b, code))
            code = 0
        elif b.kind == "code" and before and (m := re.search(r"File `([^`]+)`[^`]*:$", before.text)):
            yield "file", m[1], b.text
        before = b if b.kind == "text" else None if b.kind != "comment" else before


class Matcher:
    """Compares outputs, and remembers the real id for each id of the page."""

    def __init__(self):
        self.ids = {}

    def pattern(self, text):
        groups, made = {}, []
        for line in text.split("\n"):
            if line.strip() == "…":
                made.append(r"(?:[^\n]*\n)*?")
                continue
            at = 0
            line = line.rstrip()
            for m in TOKEN.finditer(line):
                made.append(re.escape(line[at:m.start()]))
                at, kind = m.end(), m.lastgroup
                if kind != "id":
                    made.append(FORMS[kind])
                elif m[0] in self.ids:
                    made.append(re.escape(self.ids[m[0]]))
                elif m[0] in groups:
                    made.append(f"(?P={groups[m[0]]})")
                else:
                    groups[m[0]] = f"g{len(groups)}"
                    made.append(f"(?P<{groups[m[0]]}>{UUID})")
            made.append(re.escape(line[at:]) + r" *\n")
        return re.compile("".join(made)), groups

    def matches(self, wanted, got, whole=True):
        pattern, groups = self.pattern(wanted.rstrip("\n"))
        got = re.sub(r"[ \t]+\n", "\n", got.rstrip("\n") + "\n")
        m = pattern.fullmatch(got) if whole else pattern.match(got)
        if m:
            self.ids.update({sample: m[name] for sample, name in groups.items()})
        return bool(m)

    def real(self, text):
        for sample, value in self.ids.items():
            text = text.replace(sample, value)
        return text


def free_ports(names):
    """{port of the page: free port}; all sockets are open at the same time, so the ports differ."""
    sockets = [socket.socket() for _ in names]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = {n: str(s.getsockname()[1]) for n, s in zip(names, sockets)}
    for s in sockets:
        s.close()
    return found


class Shell:
    """A bash that runs commands in sequence, with its own folder and home."""

    def __init__(self, folder, binary, ports):
        self.folder, self.ports, self.logs = Path(folder), ports, []
        bin_folder, home = self.folder / "bin", self.folder / "home"
        self.work = self.folder / "work"
        for f in (bin_folder, home, self.work):
            f.mkdir()
        listen = f"--listen 127.0.0.1:{ports['8484']}"
        (bin_folder / "rationale").write_text(
            f'#!/bin/sh\ncase "$1 $*" in "serve "*--listen*|"demo "*--listen*) ;; "serve "*|"demo "*) '
            f'exec {binary} "$@" {listen} ;; esac\nexec {binary} "$@"\n')
        (bin_folder / "rationale").chmod(0o755)
        env = {k: v for k, v in os.environ.items() if k in ("TMPDIR", "LANG") or "SAN_OPTIONS" in k}
        env.update(PATH=f"{bin_folder}:{os.environ['PATH']}", HOME=str(home), LC_ALL="C.UTF-8", NO_COLOR="1",
                   PYTHONDONTWRITEBYTECODE="1", NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost")
        self.child = subprocess.Popen(["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, cwd=self.work, env=env, start_new_session=True)

    def inward(self, text):
        for name, port in self.ports.items():
            text = re.sub(rf"(?<![\d.]){name}(?!\d)", port, text)
        return text

    def outward(self, text):
        for name, port in self.ports.items():
            text = text.replace(port, name)
        return text.replace(str(self.work.resolve()), "/work").replace(str(self.work), "/work")

    def send(self, text):
        self.child.stdin.write(text.encode())
        self.child.stdin.flush()

    def run(self, command):
        """Runs a command; returns (output, exit code)."""
        self.send(f"{{ {self.inward(command)}\n}} </dev/null\nprintf '\\n{MARK} %d\\n' $?\n")
        got, end = b"", time.monotonic() + PATIENCE
        os.set_blocking(self.child.stdout.fileno(), False)
        while not (m := re.search(rf"\n{MARK} (\d+)\n".encode(), got)):
            piece = self.child.stdout.read()
            if piece:
                got += piece
            elif time.monotonic() > end or self.child.poll() is not None:
                raise AssertionError(f"no end of: {command}\n{got.decode(errors='replace')}")
            else:
                time.sleep(0.01)
        return self.outward(PORT_TAKEN.sub("", got[:m.start()].decode(errors="replace"))), int(m[1])

    def start(self, command, matcher, wanted):
        """Starts a command that serves, and waits until it has printed the page's output."""
        log = self.folder / f"server{len(self.logs)}.log"
        self.logs.append(log)
        self.send(f"{{ {self.inward(command)}\n}} </dev/null >{log} 2>&1 &\n")
        end, got = time.monotonic() + PATIENCE, ""
        while time.monotonic() < end:
            got = self.outward(log.read_text(errors="replace")) if log.exists() else ""
            if matcher.matches(wanted, got, whole=False):
                return None
            time.sleep(0.05)
        return got

    def stop(self):
        for way in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, way)
            except ProcessLookupError:
                break
            time.sleep(0.2)
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


class RunPage:
    def __init__(self, path, binary, worlds):
        self.path, self.binary, self.worlds = path, binary, worlds
        self.steps = list(steps(Page(path.read_text(encoding="utf-8"))))

    def has_commands(self):
        return any(s[0] == "command" for s in self.steps)

    def programs(self):
        """The first word of each executed command."""
        found = [s[1].text for s in self.steps if s[0] == "command"]
        return [w for text in found if not NOT_RUN.match(text) for w in re.findall(r"(?:^|[|&;] *)([\w./-]+)", text)]

    def one(self, shell, matcher, c):
        """Runs a step; returns None, or the problem as text."""
        if NOT_RUN.match(c.text):
            return None
        text = matcher.real(c.text)
        where = f"{self.path.relative_to(SOURCE)}:{c.line}: $ {c.text}\n"
        if SERVERS.match(c.text):
            got = shell.start(text, matcher, c.output)
            return None if got is None else f"{where}printed, within {PATIENCE} s:\n{got}"
        got, code = shell.run(text)
        if code != c.code:
            return f"{where}exited with {code} instead of {c.code}:\n{got}"
        if not matcher.matches(c.output, got):
            return f"{where}printed:\n{got}and the page has:\n{c.output}"
        return None

    def run(self):
        """Runs the page; returns its problems as texts, [] if none."""
        problems, closers = [], []
        folder = tempfile.mkdtemp(prefix="rationale-page-")
        shell = Shell(folder, self.binary, free_ports(PORTS))
        matcher = Matcher()
        try:
            for step in self.steps:
                if step[0] == "world":
                    closers.append(self.worlds[step[1]](shell, self.binary))
                elif step[0] == "file":
                    where = Path(shell.run("pwd -P")[0].strip().replace("/work", str(shell.work), 1)) / step[1]
                    where.parent.mkdir(parents=True, exist_ok=True)
                    where.write_text(shell.inward(step[2]), encoding="utf-8")
                elif problem := self.one(shell, matcher, step[1]):
                    problems.append(problem)
        finally:
            shell.stop()
            for close in closers:
                if close:
                    close()
            shutil.rmtree(folder, ignore_errors=True)
        return problems
