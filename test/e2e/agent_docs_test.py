#!/usr/bin/env python3
"""The example of docs/reference/agents.md passes the check, and an MCP server may be a URL.

    test/e2e/agent_docs_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agent_runs_test import Library, TITLE, librarian
from command import SOURCE, main, run
from scripted_model import Model

FILES = {
    "prompts/librarian.md": "You keep a library.",
    "answer.schema.json": json.dumps({"type": "object"}),
    "refund.schema.json": json.dumps({"type": "object"}),
    "library.py": "",
    "stock.json": json.dumps({"openapi": "3.0.0", "info": {"title": "Stock", "version": "1"}, "paths": {
        "/items": {"get": {"operationId": "search", "responses": {"200": {"description": "ok"}}}}}}),
}


class Docs(unittest.TestCase):
    def test_the_example_passes_the_check(self):
        text = (SOURCE / "docs/reference/agents.md").read_text()
        yaml = text.split("This is all of it:")[1].split("```yaml\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            for name, content in FILES.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(content)
            (Path(folder) / "rationale.yaml").write_text(yaml)
            done = run("config", "check", "rationale.yaml", cwd=folder)
            self.assertEqual((done.code, done.out.decode()), (0, f"{Path(folder).resolve()}/rationale.yaml: ok\n"), done.err)


class Remote(BaseHTTPRequestHandler):
    """An MCP server over HTTP with one tool."""
    protocol_version = "HTTP/1.1"
    seen = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append((ask["method"], self.headers.get("authorization")))
        result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                 "serverInfo": {"name": "wiki", "version": "1"}},
                  "tools/list": {"tools": [{"name": "find", "description": "Finds", "inputSchema": TITLE}]},
                  "tools/call": {"content": [{"type": "text", "text": "Dune is on shelf 7"}]}}.get(ask["method"], {})
        body = json.dumps({"jsonrpc": "2.0", "id": ask.get("id"), "result": result}).encode() if "id" in ask else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET


class Url(unittest.TestCase):
    def test_an_mcp_server_may_be_a_url(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Remote)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with Model(librarian) as model:
            d = Library(model)
            d.config["tools"]["library"] = {"mcp": {"url": f"http://127.0.0.1:{server.server_port}/mcp",
                                                    "headers": {"Authorization": "Bearer k"}}}
            with d:
                self.assertEqual(d.go("Is Dune here?")["text"], "Done: Dune is on shelf 7")
        self.assertIn(("tools/call", "Bearer k"), Remote.seen)
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
