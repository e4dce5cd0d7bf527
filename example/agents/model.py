#!/usr/bin/env python3
"""A model for the librarian of docs/how-to/build-an-agent.md: it looks books up, or lends them, by fixed rules.

    python3 model.py [PORT]     an OpenAI-compatible API at http://127.0.0.1:8000/v1; the model is qwen
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BOOKS = ("Dune", "Emma", "Ulysses")


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def tool(ask, name):
    """The tool's full name in the request, such as library__find; None if the request has no such tool."""
    names = [t["function"]["name"] for t in ask.get("tools", [])]
    return next((n for n in names if n.endswith(name)), None)


def reply(ask):
    """The message of the assistant."""
    last = ask["messages"][-1]
    if last["role"] == "tool":  # the answer is the first line of the result, without the marks around it
        return {"content": re.sub(r"</?data[^>]*>", "", text_of(last)).strip().split("\n")[0]}
    question = next(text_of(m) for m in reversed(ask["messages"]) if m["role"] == "user").lower()
    lends = "lend" in question
    title = next((b for b in BOOKS if b.lower() in question), None)
    name = tool(ask, "lend" if lends else "find")
    if not title or not name:
        return {"content": f"Ask me for one of these books: {', '.join(BOOKS)}."}
    return {"reasoning_content": "She wants to have it." if lends else "I look it up.", "content": None,
            "tool_calls": [{"index": 0, "id": f"call_{len(ask['messages'])}", "type": "function",
                            "function": {"name": name, "arguments": json.dumps({"title": title})}}]}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.send("application/json", json.dumps({"object": "list", "data": [{"id": "qwen", "object": "model"}]}))

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", **reply(ask)}
        end = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
        base = {"id": "r", "created": 0, "model": "qwen"}
        if not ask.get("stream"):
            self.send("application/json", json.dumps({**base, "object": "chat.completion", "usage": usage, "choices": [
                {"index": 0, "message": message, "finish_reason": end}]}))
            return
        chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}, {"choices": [], "usage": usage}]
        lines = [json.dumps({**base, "object": "chat.completion.chunk", **c}) for c in chunks]
        self.send("text/event-stream", "".join(f"data: {x}\n\n" for x in [*lines, "[DONE]"]))


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"listening on http://127.0.0.1:{port}/v1", flush=True)
        server.serve_forever()
