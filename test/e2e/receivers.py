"""Receivers of messages about incidents, as servers for tests: Slack's web API and incoming
webhooks, a signed webhook, a mail server.

    with Slack() as slack: ...      slack.messages, slack.calls; slack.fail.append((status, headers, body))

Slack's server is strict: it refuses what the real one refuses (shapes of blocks, lengths,
tokens, channels).
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import collections
import functools
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOKEN = "xoxb-1234567890-test"
CHANNEL = "C0INCIDENTS"


class Server:
    """POST only; answer(path, headers, body) returns (status, headers, body)."""

    def __enter__(self):
        outer = self
        self.lock, self.fail, self.calls, self.hang = threading.Lock(), collections.deque(), [], False

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {k.lower(): v for k, v in self.headers.items()}
                while outer.hang:
                    time.sleep(0.05)
                with outer.lock:
                    outer.calls.append((self.path, headers, body))
                    status, more, said = outer.fail.popleft() if outer.fail else \
                        outer.answer(self.path, headers, body)
                said = said.encode() if isinstance(said, str) else json.dumps(said).encode()
                try:
                    self.send_response(status)
                    for k, v in more.items():
                        self.send_header(k, v)
                    self.send_header("content-length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)
                except OSError:
                    pass

        class Http(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Http(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.hang = False
        self.server.shutdown()
        self.server.server_close()


def wrong_blocks(m):
    """Slack's error code for a message, or None."""
    if not isinstance(m.get("text"), str) or not m["text"]:
        return "no_text"
    if len(m["text"]) > 40000:
        return "msg_too_long"
    blocks = m.get("blocks", [])
    if not isinstance(blocks, list) or len(blocks) > 50:
        return "invalid_blocks"
    if sum(len(json.dumps(b, ensure_ascii=False)) for b in blocks) > 13000:
        return "msg_blocks_too_long"
    for b in blocks:
        text = b.get("text")
        if b.get("type") == "header":
            good = text.get("type") == "plain_text" and 1 <= len(text["text"]) <= 150
        elif b.get("type") == "section":
            good = set(b) <= {"type", "text", "block_id"} and text.get("type") == "mrkdwn" and \
                1 <= len(text["text"]) <= 3000
        else:
            good = False
        if not good:
            return "invalid_blocks"
    return None


def shown(m):
    return "\n".join(b["text"]["text"] for b in m["blocks"])


class Slack(Server):
    def __init__(self):
        self.messages = {}  # by ts: {"text", "blocks", "thread_ts", "edits"}
        self.posted = []    # by the incoming webhook
        self.n = 0

    def answer(self, path, headers, body):
        if not headers.get("content-type", "").startswith("application/json"):
            return 200, {}, {"ok": False, "error": "invalid_form_data"}
        try:
            m = json.loads(body)
        except ValueError:
            return (400, {}, "invalid_payload") if path.startswith("/services/") else \
                (200, {}, {"ok": False, "error": "invalid_json"})
        if path == "/services/T0/B0/secret":
            wrong = wrong_blocks(m)
            if wrong:
                return 400, {}, wrong
            self.posted.append(m)
            return 200, {}, "ok"
        if path.startswith("/services/"):
            return 404, {}, "no_service"
        return 200, {}, self.api(path.removeprefix("/api/"), headers, m)

    def api(self, method, headers, m):
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if method not in ("chat.postMessage", "chat.update"):
            return {"ok": False, "error": "unknown_method"}
        if m.get("channel") not in (CHANNEL, "#incidents"):
            return {"ok": False, "error": "channel_not_found"}
        wrong = wrong_blocks(m)
        if wrong:
            return {"ok": False, "error": wrong}
        if method == "chat.update":
            if m["channel"] != CHANNEL:  # an update requires the id, not the name
                return {"ok": False, "error": "channel_not_found"}
            if m.get("ts") not in self.messages:
                return {"ok": False, "error": "message_not_found"}
            self.messages[m["ts"]].update(text=m["text"], blocks=m["blocks"])
            self.messages[m["ts"]]["edits"] += 1
            return {"ok": True, "channel": CHANNEL, "ts": m["ts"], "text": m["text"]}
        if "thread_ts" in m and m["thread_ts"] not in self.messages:
            return {"ok": False, "error": "thread_not_found"}
        self.n += 1
        ts = f"1700000000.{self.n:06d}"
        self.messages[ts] = {"text": m["text"], "blocks": m["blocks"], "edits": 0, "thread_ts": m.get("thread_ts")}
        return {"ok": True, "channel": CHANNEL, "ts": ts, "message": {"text": m["text"]}}

    def top(self):
        """Messages of the channel itself, without replies."""
        return [m for m in self.messages.values() if not m["thread_ts"]]

    def replies(self):
        return [m for m in self.messages.values() if m["thread_ts"]]


def documented_verify():
    """The verification function from docs/reference/notifications.md."""
    page = (Path(__file__).resolve().parents[2] / "docs/reference/notifications.md").read_text()
    names = {}
    exec(page.split("```python\n", 1)[1].split("```", 1)[0], names)  # pylint: disable=exec-used
    return names["verify"]


verify = documented_verify()


class Hook(Server):
    """A receiver that checks the signature."""
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()

    def __init__(self):
        self.events = []  # (id, body)

    def answer(self, path, headers, body):
        if not verify(self.secret, headers, body, time.time()):
            return 401, {}, "bad signature"
        self.events.append((headers["webhook-id"], json.loads(body)))
        return 200, {}, ""


@functools.cache
def mail_python():
    """A Python with aiosmtpd, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import aiosmtpd"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


class Mail:
    def __init__(self, *args):
        self.args, self.messages = args, []

    def __enter__(self):
        self.child = subprocess.Popen([mail_python(), str(Path(__file__).with_name("mail_server.py")), *self.args],
                                      stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if not line.startswith("port "):
            raise RuntimeError("the mail server did not start")
        self.port = int(line.split()[1])
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def read(self):
        for line in self.child.stdout:
            self.messages.append(json.loads(line))

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
