#!/usr/bin/env python3
"""A model for the incidents of this folder: it answers with the recordings of model.jsonl, whenever an alert fired.

    python3 model.py [PORT]     an OpenAI-compatible API at http://127.0.0.1:8000/v1; the model is example-thinker

A provider of `kind: replay` compares whole requests, and the details of an alert (its time, its group) are part of a
request. This program leaves them out of the comparison, so that alerts of a real Alertmanager are answered, too.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def key(body):
    """The messages of a request without the details of its alert."""
    text = json.dumps([[m["role"], m.get("content"), m.get("tool_calls")] for m in body["messages"]])
    return re.sub(r'(<data name=\\"alert\\">\\ntype: \w+).*?</data>', r"\1", text)


def recordings():
    lines = Path(__file__).with_name("model.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    return {key(r["request"]["body"]): "".join(text for _, text in r["pieces"]) for r in map(json.loads, lines)}


class Model(BaseHTTPRequestHandler):
    replies = recordings()

    def log_message(self, *_):
        pass

    def do_GET(self):  # the list of models, which `rationale doctor` asks for
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"object": "list", "data": [{"id": "example-thinker", "object": "model"}]}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.replies.get(key(body))
        self.send_response(200 if reply else 400)
        self.send_header("content-type", "text/event-stream" if reply else "application/json")
        self.end_headers()
        self.wfile.write((reply or '{"error": {"message": "no recording of this request"}}').encode())


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with ThreadingHTTPServer(("127.0.0.1", port), Model) as server:
        print(f"listening on http://127.0.0.1:{port}/v1", flush=True)
        server.serve_forever()
