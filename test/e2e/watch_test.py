#!/usr/bin/env python3
"""`rationale watch`: an agent's requests pass unchanged and are recorded; the command has the
agent's exit status; the agent's credentials are never on disk.

    test/e2e/watch_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import ctypes
import gzip
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "agents")]
from command import BINARY, environment, main  # noqa: E402
from gateway import Gateway, Provider, digest, until  # noqa: E402
from socket_upstream import FLOOD_COUNT, SocketUpstream, make_frame, read_frame  # noqa: E402

AGENT = [sys.executable, "-B", str(HERE / "watch_agent.py")]
KEY = "sk-ant-api03-planted-Jq7fXw2"
OAUTH = "sk-ant-oat01-planted-8dTzPm4"
COOKIE = "planted-cookie-Vb5nRk9"
PARAM = "AIza-planted-parameter-Lc3y"
SECRETS = (KEY, OAUTH, COOKIE, PARAM)

provider = None


def own_address():
    """An address of this machine that is not loopback, or None; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return None if s.getsockname()[0].startswith("127.") else s.getsockname()[0]
        except OSError:
            return None


def setUpModule():
    global provider
    provider = Provider().__enter__()


def tearDownModule():
    provider.stop()


def b64(body):
    return base64.b64encode(body if isinstance(body, bytes) else json.dumps(body).encode()).decode()


def messages(model="claude-sonnet-4-5+think", stream=True, **more):
    return {"path": "/v1/messages?beta=true", "headers": [("x-api-key", KEY), (
        "anthropic-version", "2023-06-01"), ("content-type", "application/json")],
        "body": b64({"model": model, "max_tokens": 4000, "stream": stream, "messages": [
            {"role": "user", "content": "What is the capital of Peru?"}], **more})}


def pack_zstd(data):
    """Compresses to one frame, with the library that the binary uses."""
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(len(data) + 1024)
    size = lib.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


class Echo:
    """An upstream that records each request's bytes and gives the answer that the path selects."""

    def __init__(self):
        self.seen = []
        echo = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one_request(self):
                super().handle_one_request()

            def any(self):
                echo.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, h):
        body = h.rfile.read(int(h.headers.get("content-length") or 0))
        self.seen.append((h.command, h.path, h.headers.items(), body))
        status = int(h.headers.get("x-want-status") or 200)
        reply = b"\x00\xff not JSON: " + body[::-1]
        if h.headers.get("x-want-echo"):
            reply = json.dumps({"type": "error", "error": {
                "type": "authentication_error", "message": f"no: {h.headers.items()} {h.path}"}}).encode()
        h.send_response(status)
        for name, value in (("Content-Type", h.headers.get("x-want-type", "application/octet-stream")),
                            ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Retry-After", "7"),
                            ("anthropic-ratelimit-requests-remaining", "41"), ("x-codex-turn", "z")):
            h.send_header(name, value)
        if h.headers.get("x-want-cut"):
            h.send_header("Content-Length", "100000")
            h.end_headers()
            h.wfile.write(reply)
            h.wfile.flush()
            h.close_connection = True
            return
        h.send_header("Content-Length", str(0 if status == 204 else len(reply)))
        h.end_headers()
        if h.command != "HEAD" and status != 204:
            h.wfile.write(reply)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rationale-watch-")
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name).resolve()
        self.data = self.top / "data" / "rationale"
        self.here = self.top / "here"
        self.here.mkdir()
        self.env = environment(HOME=str(self.top / "home"), XDG_DATA_HOME=str(self.top / "data"))
        self.addCleanup(self.gone)

    def gone(self):
        """Waits until the daemon has ended, which it does with its last agent."""
        until(lambda: not self.daemons())

    def daemons(self):
        """Processes that have this test's data folder open."""
        found = []
        for p in Path("/proc").glob("[0-9]*"):
            try:
                if any(str(self.data) in os.readlink(f) for f in (p / "fd").iterdir()):
                    found.append(int(p.name))
            except OSError:
                pass
        return found

    def start(self, requests, *options, upstream=None, variable="ANTHROPIC_BASE_URL", env=None,
              command=None):
        name = {"ANTHROPIC_BASE_URL": "anthropic", "OPENAI_BASE_URL": "openai",
                "GOOGLE_GEMINI_BASE_URL": "gemini"}[variable]
        to = ["--upstream", f"{name}={upstream or provider.root}"]
        child = subprocess.Popen([BINARY, "watch", *to, *options, "--", *(command or [
            *AGENT, variable])], cwd=self.here, env={**self.env, **(env or {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdin.write(json.dumps(requests).encode())
        child.stdin.close()
        child.stdin = None
        self.addCleanup(lambda: child.poll() is None and child.kill())
        return child

    def end(self, child):
        out, err = child.communicate(timeout=240)
        replies = [json.loads(line) for line in out.decode().splitlines()]
        for r in replies:
            if "body" in r:
                r["body"] = base64.b64decode(r["body"])
        return child.returncode, replies, err.decode()

    def watch(self, requests, *options, **more):
        return self.end(self.start(requests, *options, **more))

    def cli(self, *args):
        done = subprocess.run([BINARY, *args], cwd=self.here, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=240, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def calls(self):
        """Each call in `rationale export`."""
        code, out, err = self.cli("export", "--format", "json")
        self.assertEqual(code, 0, err)
        return {e["event_id"]: e["details"] for s in json.loads(out)["sessions"]
                for e in s["chronological_timeline"] if e["type"] == "llm_interaction"}

    def decisions(self, *args):
        code, out, err = self.cli("decisions", "--json", *args)
        self.assertEqual(code, 0, err)
        return json.loads(out)["decisions"]


class Passing(Case):
    def setUp(self):
        super().setUp()
        self.echo = Echo()
        self.addCleanup(self.echo.stop)

    def test_every_method_path_header_and_byte_passes(self):
        headers = [("Authorization", f"Bearer {OAUTH}"), ("Cookie", f"session={COOKIE}"),
                   ("anthropic-beta", "oauth-2025-04-20,x"), ("anthropic-version", "2023-06-01"),
                   ("OpenAI-Beta", "responses=v1"), ("originator", "codex_cli_rs"),
                   ("session_id", "s-1"), ("x-codex-turn-state", "q"), ("User-Agent", "agent/1.2"),
                   ("x-goog-api-key", KEY), ("Accept-Encoding", "gzip, br"), ("Origin-Like", "1"),
                   ("X-Repeated", "1"), ("X-Repeated", "2"), ("traceparent", "00-" + "1" * 32)]
        body = b'{"b": 1,  "a": [1.50, "\\u00e9"],"a":2}\n'
        cases = [("GET", "/v1/models?limit=5&x=%2F+a", b""), ("POST", "/api/event_logging/batch", body),
                 ("PUT", "/v1/files/a%20b/..;/c", body), ("DELETE", "/v1/files/1", b""),
                 ("PATCH", "/x", body), ("HEAD", "/v1/models", b""), ("POST", "/v1/messages", body),
                 ("POST", "/v1/messages/count_tokens?beta=true", body), ("GET", "", b""),
                 ("GET", f"/v1beta/models?key={PARAM}", b"")]
        code, replies, err = self.watch([{"method": m, "path": p, "headers": headers, "body": b64(b)}
                                         for m, p, b in cases], upstream=self.echo.root + "/base")
        self.assertEqual((code, len(replies)), (0, len(cases)), err)
        for (method, path, sent), seen, reply in zip(cases, self.echo.seen, replies):
            with self.subTest(method=method, path=path):
                self.assertEqual(seen[0:2], (method, "/base" + (path or "/")))
                self.assertEqual(seen[3], sent)
                got = [(k.lower(), v) for k, v in seen[2]]
                recorded = path.startswith("/v1/messages") and "count" not in path
                for name, value in headers:
                    want = "identity" if recorded and name == "Accept-Encoding" else value
                    self.assertIn((name.lower(), want), got)
                self.assertEqual([v for k, v in got if k == "x-repeated"], ["1", "2"])
                self.assertEqual(reply["status"], 200)
                back = [(k.lower(), v) for k, v in reply["headers"]]
                for pair in (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("retry-after", "7"),
                             ("anthropic-ratelimit-requests-remaining", "41"), ("x-codex-turn", "z")):
                    self.assertIn(pair, back)
                self.assertEqual(reply["body"],
                                 b"" if method == "HEAD" else b"\x00\xff not JSON: " + sent[::-1])

    def test_errors_and_odd_replies_pass(self):
        base = messages()
        cases = [(400, "application/json"), (401, "text/html"), (429, "application/json"),
                 (529, "text/plain"), (200, "text/html"), (200, "text/event-stream"), (204, "x/y"),
                 (302, "text/plain")]
        ask = [{**base, "headers": base["headers"] + [("x-want-status", str(s)), ("x-want-type", t)]}
               for s, t in cases]
        code, replies, err = self.watch(ask, upstream=self.echo.root)
        self.assertEqual([r["status"] for r in replies], [s for s, _ in cases], err)
        sent = base64.b64decode(base["body"])
        for r, (status, kind) in zip(replies, cases):
            if status != 204:
                self.assertEqual(r["body"], b"\x00\xff not JSON: " + sent[::-1])
            self.assertIn(kind, [v for k, v in r["headers"] if k.lower() == "content-type"])
        self.assertEqual(len(self.echo.seen), len(cases), "each is asked once: the agent retries")

    def test_a_reply_that_is_cut_is_cut_for_the_agent_too(self):
        base = messages()
        cut = {**base, "headers": base["headers"] + [("x-want-cut", "1")]}
        _, replies, err = self.watch([cut, {"method": "GET", "path": "/x", "headers": cut["headers"]}],
                                     upstream=self.echo.root)
        self.assertEqual([r.get("error") for r in replies], ["IncompleteRead"] * 2, err)

    def test_packed_requests_pass_packed_and_are_recorded(self):
        plain = messages()
        packed = gzip.compress(base64.b64decode(plain["body"]))
        zstd = pack_zstd(base64.b64decode(plain["body"]))
        cases = [("gzip", packed), ("zstd", zstd), ("odd", b"??")]
        ask = [{**plain, "body": b64(b), "headers": plain["headers"] + [("content-encoding", c)]}
               for c, b in cases]
        self.watch(ask, upstream=self.echo.root)
        self.assertEqual([s[3] for s in self.echo.seen], [b for _, b in cases])
        self.assertEqual(len(self.calls()), 2)

    def test_an_upstream_that_is_not_there_is_an_error_in_its_dialect(self):
        code, replies, err = self.watch([messages()], upstream="http://127.0.0.1:1")
        self.assertEqual((code, replies[0]["status"]), (0, 502), err)
        self.assertEqual(json.loads(replies[0]["body"])["type"], "error")

    def test_an_address_that_is_set_already_is_where_requests_go(self):
        env = {**self.env, "ANTHROPIC_BASE_URL": self.echo.root + "/corp"}
        child = subprocess.Popen([BINARY, "watch", "--", *AGENT, "ANTHROPIC_BASE_URL"], env=env,
                                 cwd=self.here, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        child.communicate(json.dumps([messages()]).encode(), timeout=240)
        self.assertEqual(self.echo.seen[0][1], "/corp/v1/messages?beta=true")


class Record(Case):
    def test_what_is_on_record_of_each_dialect(self):
        chat = {"path": "/chat/completions", "headers": [("authorization", f"Bearer {KEY}")],
                "body": b64({"model": "think", "stream": True, "messages": [
                    {"role": "user", "content": "What is the capital of Peru?"}]})}
        responses = {"path": "/responses", "headers": chat["headers"], "body": b64(
            {"model": "think", "stream": True, "input": "What is the capital of Peru?"})}
        gemini = {"path": "/v1beta/models/gemini-2.5-flash+think:streamGenerateContent?alt=sse",
                  "headers": [("x-goog-api-key", KEY)], "body": b64({"contents": [
                      {"role": "user", "parts": [{"text": "What is the capital of Peru?"}]}]})}
        think = {"type": "enabled", "budget_tokens": 1024}
        cases = [("ANTHROPIC_BASE_URL", "", "anthropic", [
            messages(thinking=think), messages(stream=False, thinking=think)]),
                 ("OPENAI_BASE_URL", "/v1", "openai", [chat, responses]),
                 ("GOOGLE_GEMINI_BASE_URL", "", "gemini", [gemini])]
        for variable, path, name, ask in cases:
            with self.subTest(variable=variable):
                provider.forget()
                code, replies, err = self.watch(ask, upstream=provider.root + path, variable=variable,
                                                env={"GEMINI_API_KEY": KEY})
                self.assertEqual([r["status"] for r in replies], [200] * len(ask), err)
                self.assertIn(f"{len(ask)} model call", err)
                log = provider.log()
                for r, e, a in zip(replies, log, ask):
                    self.assertEqual(r["body"].decode(), e["reply"])
                    self.assertEqual(e["body"].encode(), base64.b64decode(a["body"]))
                newest = self.decisions()[:len(ask)]
                self.assertEqual([d["state"] for d in newest], ["complete"] * len(ask))
                for d in newest:
                    self.assertRegex(d["entry"], "ponder" if variable[0] == "A" else "ponder|Peru")
                calls = list(self.calls().values())
                self.assertIn(name, {c["provider"] for c in calls})

    def test_tools_arguments_results_tokens_and_cache(self):
        turn = messages("claude-sonnet-4-5+tools", tools=[{"name": "Bash", "input_schema": {
            "type": "object", "properties": {"command": {"type": "string"}}}}])
        _, replies, err = self.watch([turn])
        self.assertIn("1 model call with 1 tool call recorded", err)
        found = self.decisions("--tool", "Bash")
        self.assertEqual(len(found), 1, replies)
        self.assertIn("Bash", found[0]["entry"])
        code, out, err = self.cli("show", found[0]["session_id"])
        self.assertEqual(code, 0, err)
        self.assertIn("Bash", out)

    def test_list_show_search_and_tail_need_no_configuration(self):
        self.watch([messages()])
        code, out, err = self.cli("list")
        self.assertEqual(code, 0, err)
        self.assertIn("capital of Peru", out)
        self.assertEqual(self.cli("search", "capital")[0], 0)
        self.assertEqual(self.cli("stats")[0], 0)

    def test_which_record_is_used(self):
        """The order: --config, then ./rationale.yaml, then the data folder."""
        code, _, err = self.cli("list")
        self.assertEqual(code, 3)
        self.assertIn("rationale watch", err)
        own = self.top / "own.yaml"
        own.write_text("providers: {anthropic: {}}\nlisten: 127.0.0.1:0\n")
        _, _, err = self.watch([messages()], "--config", str(own))
        self.assertIn(f"rationale decisions --config {own}", err)
        self.assertTrue((self.top / "rationale.db").exists())
        until(lambda: not any(str(self.top / "rationale.db") in t for t in open_files()))
        self.assertEqual(self.cli("list")[0], 3, "nothing is in the data folder")
        (self.here / "rationale.yaml").write_text(own.read_text())
        self.watch([messages(), messages()])
        self.assertTrue((self.here / "rationale.db").exists())
        self.assertEqual(len(self.decisions()), 2)
        self.assertEqual(len(self.decisions("--config", str(own))), 1)
        until(lambda: not any(str(self.here / "rationale.db") in t for t in open_files()))

    def test_nothing_secret_is_on_disk(self):
        ready, go = self.top / "ready", self.top / "go"
        cookies = [("cookie", f"s={COOKIE}"), ("authorization", f"Bearer {OAUTH}"),
                   ("content-type", "application/json"), ("anthropic-version", "2023-06-01")]
        with_cookie = {**messages(), "headers": cookies}
        bad = {**messages(), "headers": cookies, "body": b64(b"{not JSON")}
        other = {"method": "GET", "path": f"/v1/x?key={PARAM}", "headers": cookies}
        refused = messages("claude-sonnet-4-5+error:401")
        child = self.start([messages(), with_cookie, bad, other, refused, {"touch": str(ready)},
                            {"wait": str(go)}], env={"ANTHROPIC_API_KEY": KEY})
        until(ready.exists)
        seen = self.search_disk()
        go.touch()
        _, replies, err = self.end(child)
        self.gone()
        seen += self.search_disk() + err.encode() + self.cli("export", "--format", "json")[1].encode()
        self.assertEqual(replies[0]["status"], 200)
        self.assertIn(b"capital of Peru", seen)
        for secret in SECRETS:
            self.assertNotIn(secret.encode(), seen)
            self.assertNotIn(base64.b64encode(secret.encode()), seen)

    def test_an_error_that_repeats_the_credentials(self):
        echo = Echo()
        self.addCleanup(echo.stop)
        wants = [("x-want-status", "401"), ("x-want-echo", "1"), ("x-want-type", "application/json")]
        asked = [{**messages(), "path": f"/v1/messages?key={PARAM}", "headers": [
            ("authorization", f"Bearer {OAUTH}"), ("x-api-key", KEY), ("cookie", f"a=b; c={COOKIE}"),
            *wants]}]
        _, replies, err = self.watch(asked, upstream=echo.root)
        self.assertEqual(replies[0]["status"], 401)
        for secret in SECRETS:
            self.assertIn(secret.encode(), replies[0]["body"], "the agent gets the error as it is")
        self.gone()
        seen = self.search_disk() + err.encode() + self.cli("export", "--format", "json")[1].encode()
        self.assertIn("no: [", [c["error_message"] for c in self.calls().values()][0])
        for secret in SECRETS:
            self.assertNotIn(secret.encode(), seen)

    def search_disk(self):
        return b"".join(p.read_bytes() for p in self.top.rglob("*") if p.is_file())


def open_files():
    found = []
    for f in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            found.append(os.readlink(f))
        except OSError:
            pass
    return found


class Life(Case):
    def test_the_exit_status_is_the_agents(self):
        for ask, want in ((0, 0), (7, 7), (255, 255)):
            self.assertEqual(self.watch([{"exit": ask}])[0], want)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            self.assertEqual(self.watch([{"kill": int(number)}])[0], 128 + number)

    def test_the_exit_status_is_the_agents_under_a_parent_that_ignores_its_children(self):
        done = subprocess.run([BINARY, "watch", "--", "sh", "-c", "exit 7"], cwd=self.here, env=self.env,
                              capture_output=True, timeout=240, check=False,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_a_command_without_a_recorded_call_is_told_where_calls_must_go(self):
        code, _, err = self.watch([], command=["true"])
        self.assertEqual(code, 0)
        self.assertIn("no model call was recorded: `rationale watch --help` says which are", err)
        self.assertNotIn("see them with", err)

    def test_a_signal_for_watch_goes_to_the_agent(self):
        ready = self.top / "ready"
        child = self.start([{"touch": str(ready)}, {"wait": str(self.top / "never")}])
        until(ready.exists)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(child)[0], 128 + signal.SIGTERM)

    def test_ctrl_c_of_a_terminal_reaches_the_agent_and_the_call_is_on_record(self):
        script = "trap 'echo caught; exit 9' INT; echo up; while :; do sleep 0.05; done"
        pid, fd = os.forkpty()
        if pid == 0:
            os.chdir(self.here)
            os.execve(BINARY, [BINARY, "watch", "--", "sh", "-c", script], self.env)
        have = b""
        while b"up\r\n" not in have:
            have += os.read(fd, 4096)
        os.write(fd, b"\x03")
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 9, have)
        os.close(fd)

    def test_agents_that_are_not_there(self):
        code, _, err = self.cli("watch", "--", "no-such-agent")
        self.assertEqual((code, err), (127, "rationale: no-such-agent could not be started: it is not in PATH\n"))
        for args, words in ((("watch",), "needs an agent"), (("watch", "claud"), 'did you mean "claude"'),
                            (("watch", "cursor"), "the known ones are claude, codex, opencode, gemini, aider, qwen"),
                            (("watch", "cursor"), "put -- before it"),
                            (("watch", "--upstream", "x=y", "claude"), "NAME=URL"),
                            (("watch", "--upstream", "openai=ftp://x", "codex"), "--upstream openai")):
            code, _, err = self.cli(*args)
            self.assertEqual(code, 2, err)
            self.assertIn(words, err)

    def test_two_share_a_gateway_and_the_first_may_end_first(self):
        ready, go = self.top / "ready", self.top / "go"
        first = self.start([messages(), {"touch": str(ready)}])
        second = self.start([messages(), {"wait": str(go)}, messages(), messages()])
        _, _, err = self.end(first)
        self.assertIn("1 model call with", err)
        self.assertTrue(ready.exists())
        go.touch()
        _, replies, err = self.end(second)
        self.assertEqual([r["status"] for r in replies], [200] * 3, err)
        self.assertIn("3 model calls with", err)
        self.assertEqual(len(self.decisions()), 4)

    def test_a_watch_that_is_killed_leaves_no_gateway(self):
        ready = self.top / "ready"
        child = self.start([messages(), {"touch": str(ready)}, {"wait": str(self.top / "never")}])
        until(ready.exists)
        agent = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[-1])
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
        self.gone()
        os.kill(agent, signal.SIGKILL)
        self.assertEqual(len(self.decisions()), 1)

    def test_many_in_a_row(self):
        """Each run may find the previous one's gateway while it ends."""
        for n in range(6):
            code, replies, err = self.watch([messages()])
            self.assertEqual((code, replies[0]["status"]), (0, 200), err)
        self.assertEqual(len(self.decisions()), 6)

    def test_a_gateway_with_keys_counts_the_run_for_the_key(self):
        config = {"providers": {"anthropic": {}},
                  "keys": [{"name": "dev", "sha256": digest("dev-key"), "role": "operator"}]}
        with Gateway(BINARY, config) as g:
            args = ["--config", str(g.path)]
            _, replies, err = self.watch([messages()], *args, env={"RATIONALE_KEY": "dev-key"})
            self.assertEqual(replies[0]["status"], 200, err)
            found = self.decisions("--config", str(g.path))
            self.assertEqual(len(found), 1)
            code, _, err = self.watch([messages()], *args)
            self.assertEqual(code, 4)
            self.assertIn("RATIONALE_KEY", err)
            self.assertRegex(g.log_tail(1 << 20), r"path=/watch/anthropic/v1/messages")

    def test_a_gateway_on_an_address_of_the_network_watches_its_own_machine(self):
        ours = own_address()
        if not ours:
            self.skipTest("this machine has no address but loopback")
        config = {"listen": f"{ours}:0", "providers": {"anthropic": {}},
                  "keys": [{"name": "dev", "sha256": digest("dev-key"), "role": "operator"}]}
        (self.here / "rationale.yaml").write_text(json.dumps({**config, "store": f"sqlite:{self.top}/h.db"}))
        code, replies, err = self.watch([messages()], env={"RATIONALE_KEY": "dev-key"})
        self.assertEqual((code, [r["status"] for r in replies]), (0, [200]), err)
        self.assertIn(f"the dashboard is at http://{ours}:", err)

    def test_only_its_user_reads_the_record_of_a_gateway_that_watch_started(self):
        ready, go = self.top / "ready", self.top / "go"
        child = self.start([messages()], command=["sh", "-c", " ".join(AGENT) + f" ANTHROPIC_BASE_URL; env > {ready}.new; "
                                                  f"mv {ready}.new {ready}; while [ ! -e {go} ]; do sleep 0.05; done"])
        until(ready.exists)
        line = child.stderr.readline().decode()
        at = re.search(r"the dashboard is at http://127\.0\.0\.1:(\d+)/#login=([0-9a-f]{64})$", line.strip())
        self.assertTrue(at, line)
        key_file = self.data / "watch.key"
        self.assertEqual(key_file.stat().st_mode & 0o777, 0o600)
        key = key_file.read_text().strip()

        def ask(method, path, body=None, **headers):
            c = http.client.HTTPConnection("127.0.0.1", int(at[1]), timeout=240)
            c.request(method, path, json.dumps(body) if body else None,
                      {"content-type": "application/json", **headers})
            r = c.getresponse()
            said = (r.status, r.getheader("set-cookie") or "", r.read().decode())
            c.close()
            return said
        for path in ("/api/v1/history/sessions", "/api/v1/history/decisions", "/api/v1/keys", "/api/v1/live",
                     "/metrics"):
            self.assertEqual(ask("GET", path)[0], 401, path)
        self.assertEqual(ask("POST", "/api/v1/watch", {"upstreams": {}})[0], 401)
        self.assertEqual(ask("POST", "/api/v1/erase", {"all": True})[0], 401)
        self.assertEqual(ask("GET", "/api/v1/history/sessions", authorization="Bearer " + key)[0], 200)
        status, cookie, said = ask("POST", "/api/v1/login", {"code": at[2]})
        self.assertEqual((status, json.loads(said)["role"]), (200, "operator"), said)
        status, _, said = ask("GET", "/api/v1/history/sessions", cookie=cookie.split(";")[0])
        self.assertEqual((status, len(json.loads(said)["sessions"])), (200, 1))
        for code in (at[2], "", "x", cookie.split(";")[0].split("=")[1]):  # a link works once; a cookie is not a code
            self.assertEqual(ask("POST", "/api/v1/login", {"code": code})[0], 401, code)
        self.assertEqual(ask("GET", "/api/v1/history/sessions", cookie="rationale_session=" + at[2])[0], 401)
        # The link of an ended run allows no login, although the gateway still runs.
        own = self.top / "url"
        code, _, err = self.watch([], command=["sh", "-c", f'echo "$ANTHROPIC_BASE_URL" > {own}'])
        self.assertEqual(code, 0, err)
        run = own.read_text().split("/")[4]
        until(lambda: ask("GET", "/api/v1/watch/" + run, authorization="Bearer " + key)[0] == 404)
        other = re.search(rf":{at[1]}/#login=([0-9a-f]{{64}})", err)
        self.assertTrue(other, err)
        self.assertEqual(ask("POST", "/api/v1/login", {"code": other[1]})[0], 401)
        self.assertEqual(self.cli("list")[0], 0)
        seen = ready.read_text() + (self.data / "watch.log").read_text()
        for p in Path("/proc").glob("[0-9]*"):
            try:
                seen += (p / "cmdline").read_text()
            except OSError:
                pass
        go.touch()
        _, _, err = self.end(child)
        for secret in (key, at[2]):
            self.assertNotIn(secret, seen + err)
        self.assertNotIn(key, line)
        # The next gateway has the same key. A key for another gateway has no effect.
        code, _, err = self.watch([messages()], env={"RATIONALE_KEY": "of-another"})
        self.assertEqual(code, 0, err)
        self.assertEqual(key_file.read_text().strip(), key)
        self.assertEqual([p.name for p in self.data.glob("watch.key*")], ["watch.key"])

    def test_only_who_knows_the_run_may_use_it(self):
        ready, go = self.top / "ready", self.top / "go"
        own = self.top / "url"
        child = self.start([], command=["sh", "-c", f'echo "$ANTHROPIC_BASE_URL" > {own}; touch {ready}; '
                                        f'while [ ! -e {go} ]; do sleep 0.05; done'])
        until(ready.exists)
        url = own.read_text().strip()
        port, path = int(url.split(":")[2].split("/")[0]), "/" + url.split("/", 3)[3]
        run = path.split("/")[2]
        ask = messages()
        cases = [(path.replace(run, "0" * 32), {}, 404), (path.replace(run, "x"), {}, 404),
                 (path.replace("/anthropic", "/nobody"), {}, 404), (path[:-10], {}, 404),
                 (path, {"origin": "https://evil.example"}, 403), (path, {}, 200)]
        for at, more, want in cases:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
            c.request("POST", at + "/v1/messages", base64.b64decode(ask["body"]),
                      {**dict(ask["headers"]), **more})
            self.assertEqual(c.getresponse().status, want, at)
            c.close()
        go.touch()
        self.end(child)


class Socket(Case):
    """An agent on a WebSocket: a script that uses it from the test process."""

    def setUp(self):
        super().setUp()
        self.up = SocketUpstream(provider.port).__enter__()
        self.addCleanup(self.up.__exit__)
        ready, self.go, own = self.top / "ready", self.top / "go", self.top / "url"
        self.child = self.start([], variable="OPENAI_BASE_URL", upstream=self.up.root + "/v1", command=[
            "sh", "-c", f'echo "$OPENAI_BASE_URL" > {own}; touch {ready}; '
            f'while [ ! -e {self.go} ]; do sleep 0.05; done'])
        until(ready.exists)
        self.url = own.read_text().strip()

    def finish(self):
        self.go.touch()
        return self.end(self.child)[2]

    def connect(self, *headers):
        import socket as net
        port, path = int(self.url.split(":")[2].split("/")[0]), "/" + self.url.split("/", 3)[3]
        s = net.create_connection(("127.0.0.1", port), timeout=240)
        self.addCleanup(s.close)
        lines = [f"GET {path}/responses HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                 "Sec-WebSocket-Extensions: permessage-deflate", f"Authorization: Bearer {OAUTH}",
                 "OpenAI-Beta: responses_websockets=2026-02-06", *headers]
        s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        f = s.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += f.readline() or b"\r\n\r\n"
        return s, f, head.decode()

    def create(self, s, model="think", **more):
        body = json.dumps({"type": "response.create", "model": model, "input": [
            {"role": "user", "content": "What is the capital of Peru?"}], **more}).encode()
        s.sendall(make_frame(1, body, mask=True))
        return body

    def events(self, f):
        out = []
        while True:
            opcode, data = read_frame(f)
            if opcode == 9:
                continue
            out.append((opcode, data))
            if opcode == 8 or b'"response.completed"' in data or b'"type": "error"' in data:
                return out

    def test_calls_follow_each_other_on_one_socket(self):
        s, f, head = self.connect("x-codex-beta: 1")
        self.assertIn("101", head.split("\r\n")[0])
        self.assertIn("x-upstream: yes", head)
        self.assertIn("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", head)
        path, fields = self.up.handshakes[0]
        self.assertEqual(path, "/v1/responses")
        self.assertEqual((fields["authorization"], fields["x-codex-beta"]), (f"Bearer {OAUTH}", "1"))
        self.assertNotIn("sec-websocket-extensions", fields)
        first = self.create(s)
        done = json.loads(self.events(f)[-1][1])
        second = self.create(s, previous_response_id=done["response"]["id"])
        self.events(f)
        s.sendall(make_frame(1, b'{"type":"response.cancel"}', mask=True))
        self.assertEqual(read_frame(f), (1, b'{"type":"seen","what":"other"}'))
        self.assertEqual(self.up.messages, [first, second, b'{"type":"response.cancel"}'])
        s.sendall(make_frame(8, b"\x0b\xb8bye", mask=True))
        until(lambda: self.up.closed == [3000])
        self.assertIn("2 model calls", self.finish())
        found = self.decisions()
        self.assertEqual([d["state"] for d in found], ["complete"] * 2)
        self.assertEqual(len({d["session_id"] for d in found}), 1, "one conversation")

    def test_the_last_event_comes_after_the_record(self):
        s, f, _ = self.connect()
        self.create(s)
        self.events(f)
        self.assertEqual(len(self.decisions()), 1)
        self.finish()

    def test_an_error_passes_and_the_socket_stays(self):
        s, f, _ = self.connect()
        self.create(s, model="error:429")
        self.assertEqual(json.loads(self.events(f)[-1][1])["status"], 429)
        self.create(s)
        self.assertIn(b"response.completed", self.events(f)[-1][1])
        self.assertIn("2 model calls", self.finish())
        self.assertEqual(len(self.calls()), 2)

    def test_close_codes_pass(self):
        for code in (1000, 1008, 1013, 4001):
            s, f, _ = self.connect()
            self.create(s, model=f"close-{code}")
            opcode, data = self.events(f)[-1]
            self.assertEqual((opcode, int.from_bytes(data[:2], "big"), data[2:]), (8, code, b"because"))
        s, f, _ = self.connect()
        self.create(s, model="cut")
        opcode, data = self.events(f)[-1]
        self.assertEqual((opcode, int.from_bytes(data[:2], "big")), (8, 1011))
        self.finish()
        self.assertNotIn("complete", {d["state"] for d in self.decisions()})

    def stalls(self, count):
        """Waits until a number stops changing."""
        last, since = -1, time.monotonic()
        while time.monotonic() - since < 2:
            if count() != last:
                last, since = count(), time.monotonic()
            time.sleep(0.05)
        return last

    def test_a_provider_that_does_not_read_slows_the_agent_down(self):
        s, f, _ = self.connect()
        s.sendall(make_frame(1, b'{"type":"rest"}', mask=True))
        big = make_frame(1, json.dumps({"type": "other", "x": "y" * (1 << 20)}).encode(), mask=True)
        sent = []

        def send():
            for n in range(96):
                s.sendall(big)
                sent.append(n)
        t = threading.Thread(target=send, daemon=True)
        t.start()
        self.assertLess(self.stalls(lambda: len(sent)), 90)
        self.up.rested.set()
        for _ in range(97):
            self.assertEqual(read_frame(f), (1, b'{"type":"seen","what":"other"}'))
        t.join(240)
        self.assertEqual(len(sent), 96)
        self.create(s)
        self.assertIn(b"response.completed", self.events(f)[-1][1])
        self.finish()

    def test_a_slow_reader_gets_everything_and_the_gateway_stays_small(self):
        s, f, _ = self.connect()
        self.create(s, model="flood")
        self.assertLess(self.stalls(lambda: self.up.flooded), FLOOD_COUNT - 6)
        got = self.events(f)
        self.assertEqual(sum(b"response.noise" in d for _, d in got), FLOOD_COUNT)
        self.assertIn(b"response.completed", got[-1][1])
        self.finish()
        self.assertEqual(self.decisions()[0]["state"], "complete")

    def test_an_agent_that_leaves_in_the_middle(self):
        s, f, _ = self.connect()
        self.create(s, model="stall")
        self.assertEqual(read_frame(f)[0], 1)
        s.close()
        f.close()
        until(lambda: self.up.closed == [1005])
        self.assertIn("1 model call", self.finish())
        self.gone()
        self.assertEqual([c["status"] for c in self.calls().values()], [499])

    def test_a_refused_handshake_passes(self):
        s, f, head = self.connect("Upgrade-Refused: 1")
        self.assertIn("101", head)
        plain = self.url.replace("/openai", "/nobody")
        port, path = int(plain.split(":")[2].split("/")[0]), "/" + plain.split("/", 3)[3]
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
        c.request("GET", path + "/responses", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        self.assertEqual(c.getresponse().status, 404)
        c.close()
        self.finish()


if __name__ == "__main__":
    main()
