"""Runs coding agents as their users do: with the settings and commands of
docs/how-to/coding-agents.md, in a temporary project and home. The agents connect to the gateway
only.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

from gateway import until

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
RUN_SECONDS = 240  # a run takes 1 to 8 s; more on a loaded machine
KEY = "sk-client"
HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "upgrade")


PROGRAMS = {"claude": "@anthropic-ai/claude-code-linux-*/claude",
            "codex": "@openai/codex-linux-*/vendor/*/bin/codex",
            "opencode": "opencode-linux-*/bin/opencode",
            "gemini": "@google/gemini-cli/bundle/gemini.js",
            "qwen": "@qwen-code/qwen-code/cli.js"}


class Tee:
    """A proxy between a client and the gateway that records the bytes of both sides."""

    def __init__(self, port=0):
        self.port, self.calls = port, []  # (method, path, headers, body, status, reply)
        tee = self

        class Handler(http.server.BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                tee.forward(self)

            do_GET = do_HEAD = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def forward(self, client):
        body = client.rfile.read(int(client.headers.get("content-length") or 0))
        call = {"method": client.command, "path": client.path, "body": body, "status": 0,
                "headers": {k.lower(): v for k, v in client.headers.items()}, "reply": bytearray(), "done": False}
        self.calls.append(call)
        up = http.client.HTTPConnection("127.0.0.1", self.port, timeout=RUN_SECONDS)
        up.request(client.command, client.path, body,
                   {k: v for k, v in client.headers.items() if k.lower() not in HOP})
        reply = up.getresponse()
        call["status"] = reply.status
        client.send_response_only(reply.status)
        for k, v in reply.getheaders():
            if k.lower() not in HOP:
                client.send_header(k, v)
        client.send_header("transfer-encoding", "chunked")
        client.end_headers()
        while piece := reply.read1(65536):
            call["reply"] += piece
            client.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            client.wfile.flush()
        client.wfile.write(b"0\r\n\r\n")
        up.close()
        call["done"] = True

    def models(self):
        """The model calls, without requests for lists and the like."""
        return [c for c in self.calls if c["method"] == "POST"]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Page:
    """A page of the manual. Tests run the settings and commands that users copy from it."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")

    def block(self, heading, language):
        """The only code block of a language under a heading."""
        part = re.split(r"^##? (?!rationale)", self.text, flags=re.M)
        part = next(p for p in part if p.startswith(heading))
        found = re.findall(rf"^```{language}\n(.*?)^```$", part, flags=re.M | re.S)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} blocks of {language} below {heading}")
        return found[0]


PAGE = Page(HERE.parents[1] / "docs/how-to/coding-agents.md")
WATCH_PAGE = Page(HERE.parents[1] / "docs/how-to/watch-a-coding-agent.md")
HOST = "http://localhost:8484"


class Project:
    """A folder with the task's files, a home beside it, and the agents' programs in its PATH."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rationale-agent-")
        self.top = Path(self.folder.name).resolve()
        self.home, self.path, self.bin = (self.top / n for n in ("home", "project", "bin"))
        for folder in (self.home, self.path, self.bin):
            folder.mkdir()
        for name, pattern in PROGRAMS.items():
            (self.bin / name).symlink_to(next(MODULES.glob(pattern)))
        (self.path / "first.txt").write_text("The number is 30211.\n")
        (self.path / "second.txt").write_text("The number is 12206.\n")
        self.task = f"Add the numbers in {self.path}/first.txt and {self.path}/second.txt, " \
                    f"and write the sum to {self.path}/sum.txt."

    def written(self, name):
        path = self.path / name
        return path.read_text() if path.exists() else None

    def start(self, script, env):
        base = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.home),
                "LC_ALL": "C.UTF-8", "NO_PROXY": "127.0.0.1", "TMPDIR": str(self.top),
                "RATIONALE_KEY": KEY}
        return subprocess.Popen(["sh", "-ec", script], cwd=self.path, env={**base, **env},
                                start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace")

    def run(self, script, env):
        """Runs a shell script, and kills it after a time-out. Returns (exit code, output)."""
        child = self.start(script, env)
        try:
            out, _ = child.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, _ = child.communicate()
            out += f"\nended after {RUN_SECONDS} s"
        return child.returncode, out


def replace(text, *pairs):
    """Replaces the first of each pair by the second; the first must occur."""
    for old, new in pairs:
        if old not in text:
            raise AssertionError(f"no {old!r} on the page: {text}")
        text = text.replace(old, new)
    return text


def second_task(script, start, again):
    """The same task in the same conversation, for another file."""
    return replace(script, (start, again), ("sum.txt", "again.txt"))


def claude_code(project, root, model, again=False, json_output=True):
    """With text output the agent asks the model to omit its thinking; with JSON, to show progress
    updates."""
    script = replace(PAGE.block("Claude Code", "sh"), (HOST, root), ("claude-opus-5-5", model))
    if json_output:
        script = replace(script, ("claude -p", "claude --output-format stream-json --verbose -p"))
    if again:
        script = second_task(script, "claude ", "claude -c ")
    # Disables requests to other hosts: updates, statistics, flags.
    return project.run(script, {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                                "DISABLE_AUTOUPDATER": "1"})


def codex(project, root, model, again=False):
    settings = replace(PAGE.block("Codex", "toml"), (HOST, root), ("gpt-5.5", model))
    home = project.home / ".codex"
    home.mkdir(exist_ok=True)
    # Codex's sandbox needs privileges that a container does not have.
    (home / "config.toml").write_text('sandbox_mode = "danger-full-access"\n' + settings)
    script = replace(PAGE.block("Codex", "sh"), ("codex exec", "codex exec --skip-git-repo-check"))
    if again:
        script = second_task(script, "codex exec", "codex exec resume --last")
    return project.run(script, {})


def opencode_settings(project, root, models):
    """opencode's environment with the providers and these models, each PROVIDER/NAME. The provider
    selects the dialect."""
    settings = json.loads(replace(PAGE.block("opencode", "json"), (HOST, root)))
    for provider, name in (m.split("/") for m in models):
        settings["provider"][provider].setdefault("models", {})[name] = {}
    # Without the last two settings opencode would contact other hosts.
    settings.update(enabled_providers=sorted({m.split("/")[0] for m in models}), autoupdate=False, share="disabled")
    path = project.top / "opencode.json"
    path.write_text(json.dumps(settings))
    off = ("DISABLE_MODELS_FETCH", "DISABLE_AUTOUPDATE", "DISABLE_LSP_DOWNLOAD",
           "DISABLE_DEFAULT_PLUGINS", "EXPERIMENTAL_DISABLE_FILEWATCHER")
    return {"OPENCODE_CONFIG": str(path), **{f"OPENCODE_{n}": "1" for n in off}}


def opencode(project, root, model):
    script = replace(PAGE.block("opencode", "sh"), ("anthropic/claude-opus-4-6", model))
    return project.run(script, opencode_settings(project, root, [model]))


class OpencodeServer:
    """One `opencode serve` for many tasks: starting it takes seven times the CPU time of a task.
    Each task is a conversation of its own, as with `opencode run`; `tee` leads to the gateway of
    the current test."""

    def __init__(self, models):
        self.project, self.tee = Project(), Tee()
        self.child = self.project.start("exec opencode serve", opencode_settings(self.project, self.tee.root, models))
        printed = iter(self.child.stdout.readline, "")
        self.root = next((found[0] for line in printed if (found := re.search(r"http://\S+", line))), None)
        # Later output must not fill the pipe.
        threading.Thread(target=self.child.stdout.read, daemon=True).start()

    def ask(self, method, path, doc=None):
        request = urllib.request.Request(self.root + path, doc and json.dumps(doc).encode(),
                                         {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=RUN_SECONDS) as reply:
            return json.loads(reply.read())

    def run(self, project, _, model):
        """Runs the page's task. Returns (0 or 1, the conversation)."""
        provider, name = model.split("/")
        session = "/session/" + self.ask("POST", "/session", {})["id"]
        last = self.ask("POST", f"{session}/message", {
            "model": {"providerID": provider, "modelID": name}, "variant": "high",
            "parts": [{"type": "text", "text": project.task}]})
        until(lambda: all(c["done"] for c in self.tee.calls))  # opencode may still request a title
        return int("error" in last["info"]), json.dumps(self.ask("GET", f"{session}/message"))

    def stop(self):
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.tee.stop()
        self.project.folder.cleanup()
