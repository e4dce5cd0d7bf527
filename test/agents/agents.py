"""Coding agents as their users run them: without a terminal, in a project of their own, pointed at a
gateway by their own settings. Their homes are temporary, and nothing but the gateway is within reach.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import http.server
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
RUN_SECONDS = 120
KEY = "sk-client"
HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "upgrade")


def program(pattern):
    return str(next(MODULES.glob(pattern)))


class Tee:
    """A proxy between a client and the gateway that keeps both sides' bytes."""

    def __init__(self, port):
        self.calls = []  # (method, path, headers, body, status, reply)
        tee = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                tee.forward(self, port)

            do_GET = do_HEAD = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forward(self, client, port):
        body = client.rfile.read(int(client.headers.get("content-length") or 0))
        call = {"method": client.command, "path": client.path, "body": body, "status": 0,
                "headers": {k.lower(): v for k, v in client.headers.items()}, "reply": bytearray()}
        self.calls.append(call)
        up = http.client.HTTPConnection("127.0.0.1", port, timeout=RUN_SECONDS)
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

    def models(self):
        """The calls of models, without questions for lists and the like."""
        return [c for c in self.calls if c["method"] == "POST"]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Project:
    """A folder with the files of the task, and a home beside it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rationale-agent-")
        top = Path(self.folder.name)
        self.home, self.path, self.answer = top / "home", top / "project", top / "project/sum.txt"
        self.home.mkdir()
        self.path.mkdir()
        (self.path / "first.txt").write_text("The number is 30211.\n")
        (self.path / "second.txt").write_text("The number is 12206.\n")
        self.task = (f"Add the numbers in {self.path}/first.txt and {self.path}/second.txt, and write "
                     f"the sum to {self.answer}.")

    def written(self):
        return self.answer.read_text() if self.answer.exists() else None

    def run(self, command, env):
        """(exit code, stdout, stderr) of one run of an agent; it is ended if it takes too long."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8",
                "NO_PROXY": "127.0.0.1", "TMPDIR": self.folder.name}
        child = subprocess.Popen(command, cwd=self.path, env={**base, **env}, start_new_session=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            out, err = child.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            err += f"\nended after {RUN_SECONDS} s"
        return child.returncode, out, err


def claude_code(project, root, model, prompt):
    return project.run(
        [program("@anthropic-ai/claude-code-linux-*/claude"), "-p", "--model", model,
         "--allowedTools", "Read,Write", "--output-format", "stream-json", "--verbose", prompt],
        {"ANTHROPIC_BASE_URL": root, "ANTHROPIC_API_KEY": KEY,
         "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"})


CODEX_TOML = """model = "{model}"
model_provider = "rationale"
model_reasoning_summary = "{summary}"

[model_providers.rationale]
name = "Rationale"
base_url = "{root}/v1"
env_key = "RATIONALE_KEY"
wire_api = "responses"
"""


def codex(project, root, model, prompt, summary=False):
    home = project.home / ".codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(CODEX_TOML.format(
        model=model, root=root, summary="auto" if summary else "none"))
    return project.run(
        [program("@openai/codex-linux-*/vendor/*/bin/codex"), "exec", "--json",
         "--skip-git-repo-check", "--sandbox", "danger-full-access", prompt],
        {"RATIONALE_KEY": KEY})


def opencode(project, root, model, prompt):
    """The model is PROVIDER/NAME; the provider's package decides the dialect."""
    provider, name = model.split("/")
    settings = {"options": {"baseURL": root + "/v1", "apiKey": KEY}, "models": {name: {}}}
    if provider == "rationale":
        settings["npm"] = "@ai-sdk/openai-compatible"
    config = {"autoupdate": False, "share": "disabled", "permission": "allow",
              "enabled_providers": [provider], "provider": {provider: settings}}
    path = project.path.parent / "opencode.json"
    path.write_text(json.dumps(config))
    return project.run(
        [program("opencode-linux-*/bin/opencode"), "run", "--format", "json", "--thinking",
         "--variant", "high", "-m", model, prompt],
        {"OPENCODE_CONFIG": str(path), "OPENCODE_DISABLE_MODELS_FETCH": "1",
         "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"})
