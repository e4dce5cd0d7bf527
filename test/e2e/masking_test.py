#!/usr/bin/env python3
"""Secrets planted everywhere appear nowhere but at the client.

    test/e2e/masking_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import http.server
import json
import sqlite3
import threading
import unittest
import zlib

from command import BINARY, main
from gateway import Gateway

SECRETS = {
    "openai": "sk-proj-Zx81kQpLmN42vTyUoP0aBcD3",
    "anthropic": "sk-ant-api03-qW3eRtY7uIoP_aSdF-9gHjKl",
    "google": "AIzaSyB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwX",
    "github": "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "aws": "AKIAQ3EGLZ7XKDPWT5MB",
    "aws_secret": "q8Zk/3LmN0pQrS+tUvWxYz12345abcdEFGHijklm",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.dGhpcy1pcy1hLXNpZ25hdHVyZQ",
    "password": "Tr0ub4dor&3zebra",
    "url": "pgpassw0rdXYZ",
    "key": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7planted",
    "card": "4539 1488 0343 6467",
    "card_plain": "5425233430109903",
    "email": "anna.planted@example-clinic.org",
    "patient": "PAT-774411",
    "kubernetes": "cGxhbnRlZC1zZWNyZXQtdmFsdWU=",
    "phone": "+49 30 90182099",
    "iban": "DE89 3704 0044 0532 0130 00",
}
TEXT = f"""Keys: {SECRETS['openai']}, {SECRETS['anthropic']} and {SECRETS['google']}.
token {SECRETS['github']} id {SECRETS['aws']}
AWS_SECRET_ACCESS_KEY={SECRETS['aws_secret']}
session: {SECRETS['jwt']}
password: {SECRETS['password']}
postgres://app:{SECRETS['url']}@db.internal:5432/app
-----BEGIN PRIVATE KEY-----
{SECRETS['key']}
-----END PRIVATE KEY-----
card {SECRETS['card']} or {SECRETS['card_plain']}
mail {SECRETS['email']} call {SECRETS['phone']} pay to {SECRETS['iban']}
patient {SECRETS['patient']} is well

apiVersion: v1
data:
  token: {SECRETS['kubernetes']}
kind: Secret
metadata:
  name: planted-name
"""
ARGUMENTS = json.dumps({"password": SECRETS["password"], "note": TEXT, "patient": SECRETS["patient"]})


class Upstream(http.server.BaseHTTPRequestHandler):
    """Sends the planted text in every place of a reply, in small pieces."""
    disable_nagle_algorithm = True  # head and body are written separately
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["model"] == "fails":
            error = {"error": {"message": "no: " + TEXT, "type": "invalid_request_error",
                               "code": SECRETS["patient"], "param": None}}
            self.send(400, "application/json", json.dumps(error).encode())
        elif asked.get("stream"):
            self.send(200, "text/event-stream", b"".join(events(asked["model"])))
        else:
            call = {"id": "call_1", "type": "function",
                    "function": {"name": "save", "arguments": ARGUMENTS}}
            message = {"role": "assistant", "content": TEXT, "reasoning_content": TEXT,
                       "tool_calls": [call]}
            self.send(200, "application/json", json.dumps(
                {"id": "c1", "object": "chat.completion", "created": 1, "model": asked["model"],
                 "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
                 "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode())


def events(model):
    size = 3 if model == "drips" else 50

    def event(delta, stop=None):
        data = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}
        return b"data: " + json.dumps(data).encode() + b"\n\n"

    yield event({"role": "assistant"})
    for name in ("reasoning_content", "content"):
        for times in range(12):  # long enough to be recorded in pieces
            for at in range(0, len(TEXT), size):
                yield event({name: TEXT[at:at + size]})
    yield event({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                                 "function": {"name": "save", "arguments": ""}}]})
    for at in range(0, len(ARGUMENTS), size):
        yield event({"tool_calls": [{"index": 0, "function": {"arguments": ARGUMENTS[at:at + size]}}]})
    yield event({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def request(model, stream):
    """A request with the text in the system prompt, the question, a call's arguments and a tool's
    result."""
    return {"model": model, "stream": stream, "user": SECRETS["email"], "messages": [
        {"role": "system", "content": TEXT},
        {"role": "user", "content": [{"type": "text", "text": TEXT}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_0", "type": "function",
             "function": {"name": "read", "arguments": ARGUMENTS}}]},
        {"role": "tool", "tool_call_id": "call_0", "content": json.dumps(
            {"kind": "Secret", "data": {"x": SECRETS["kubernetes"]}, "text": TEXT})},
        {"role": "user", "content": "and now? " + TEXT}]}


def config(root, masking):
    return {"providers": {"planted": {"kind": "openai", "base_url": root, "retries": 0,
                                      "models": ["says", "drips", "fails"]}},
            "reasoning": {"show": True, "keep": "text"}, "data_masking": masking}


MASKING = {"pattern_groups": ["all"], "custom_patterns": [
    {"name": "patient", "pattern": r"\bPAT-\d{6}\b", "replacement": "[PATIENT]"}]}


class Masking(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def ask(self, gateway, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        c.request("POST" if body else "GET", path, json.dumps(body) if body else None,
                  {"content-type": "application/json"})
        r = c.getresponse()
        out = (r.status, r.read())
        c.close()
        return out

    def everything(self, gateway):
        """All stored bytes: files as they are, and rows decompressed."""
        out = {}
        for path in gateway.folder.rglob("*"):
            if path.is_file():
                out[str(path.name)] = path.read_bytes()
        db = sqlite3.connect(gateway.folder / "history.db")
        tables = [t for (t,) in db.execute("select name from sqlite_master where type='table'")]
        for table in tables:
            try:
                rows = db.execute(f'select * from "{table}"').fetchall()
            except sqlite3.Error:
                continue
            for row in rows:
                for value in row:
                    data = value if isinstance(value, bytes) else str(value).encode()
                    out[f"table {table}"] = out.get(f"table {table}", b"") + data + b"\n"
                    for skip in range(12):
                        try:
                            out[f"table {table}"] += zlib.decompressobj(
                                47 if not skip else 15).decompress(data[skip:]) + b"\n"
                        except zlib.error:
                            pass
        db.close()
        return out

    def run_all(self, masking):
        with Gateway(BINARY, config(self.root, masking)) as gateway:
            replies = [self.ask(gateway, "/v1/chat/completions", request(model, stream))
                       for model in ("says", "drips", "fails") for stream in (True, False)]
            self.ask(gateway, "/v1/chat/completions", request(SECRETS["openai"], True))
            self.ask(gateway, "/v1/nothing/" + SECRETS["github"], {})
            metrics = self.ask(gateway, "/metrics")[1]
            gateway.child.terminate()
            gateway.child.wait(30)
            kept = self.everything(gateway)
        kept["metrics"] = metrics
        return replies, kept

    def test_hole_9_nothing_planted_is_kept_and_the_client_gets_it_all(self):
        replies, kept = self.run_all(MASKING)
        for name, secret in SECRETS.items():
            forms = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3]}
            for place, data in kept.items():
                for form in forms:
                    at = data.find(form.encode())
                    self.assertEqual(at, -1, f"{name} is in {place}: {data[max(0, at - 200):at + 80]}")
        rows = b"".join(v for k, v in kept.items() if k.startswith("table"))
        for mark in (b"[MASKED:api_key]", b"[MASKED:password]", b"[MASKED:email]", b"[PATIENT]",
                     b"[MASKED:card]", b"[MASKED:private_key]", b"[MASKED:kubernetes_secret]"):
            self.assertIn(mark, rows)
        self.assertRegex(kept["metrics"].decode(), r'rationale_redactions_total\{rule="api_key"\} [1-9]')
        said = [r[1] for r in replies if r[0] == 200]
        self.assertEqual(len(said), 4)
        for body in said:
            self.assertNotIn(b"MASKED", body)
        whole = json.loads(said[1])["choices"][0]["message"]
        self.assertEqual(whole["content"], TEXT)
        self.assertEqual(whole["tool_calls"][0]["function"]["arguments"], ARGUMENTS)
        for status, body in replies[4:]:
            self.assertEqual(status, 400)
            self.assertIn(SECRETS["openai"].encode(), body)

    def test_by_default_credentials_go_and_people_stay(self):
        _, kept = self.run_all({})
        rows = b"".join(v for k, v in kept.items() if k.startswith("table"))
        for name in ("openai", "github", "password", "url", "key", "card", "kubernetes"):
            self.assertNotIn(SECRETS[name].encode(), rows, name)
        for name in ("email", "patient"):
            self.assertIn(SECRETS[name].encode(), rows, name)

    def test_switched_off_nothing_is_masked(self):
        _, kept = self.run_all({"enabled": False})
        rows = b"".join(v for k, v in kept.items() if k.startswith("table"))
        self.assertIn(SECRETS["openai"].encode(), rows)
        self.assertNotIn(b"[MASKED", rows)


if __name__ == "__main__":
    main()
