"""A model whose replies are a function of the request, for tests of agents.

    with Model(reply) as model: ...       model.root + "/v1" is the base URL of an OpenAI-compatible API

reply(ask) gets the request's body and returns a text, or {"text", "reasoning", "calls": [(name,
arguments)], "usage"}; an int is an error with that status. The reply is streamed if the request
wants it. Requests are in model.asked.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def last(ask, role=None):
    """The text of the last message, or of the last one with this role."""
    for m in reversed(ask["messages"]):
        if role is None or m["role"] == role:
            c = m.get("content") or ""
            return c if isinstance(c, str) else "".join(p.get("text", "") for p in c)
    return ""


def results(ask):
    """The tool results so far."""
    return [m["content"] for m in ask["messages"] if m["role"] == "tool"]


class Model:
    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def __enter__(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):  # the list of models may be empty
                model.send(self, 200, "application/json", '{"object": "list", "data": []}')

            def do_POST(self):
                ask = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.asked.append(ask)
                try:
                    model.answer(self, ask, model.reply(ask))
                except (BrokenPipeError, ConnectionResetError):
                    pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def provider(self, *models, **more):
        return {"kind": "openai", "base_url": self.root + "/v1",
                "models": list(models) or ["m"], **more}

    def answer(self, handler, ask, said):
        if isinstance(said, int):
            self.send(handler, said, "application/json", json.dumps({"error": {"message": "no"}}))
            return
        said = {"text": said} if isinstance(said, str) else said
        calls = [{"index": i, "id": f"call_{len(ask['messages'])}_{i}", "type": "function",
                  "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)}}
                 for i, (n, a) in enumerate(said.get("calls", []))]
        message = {"role": "assistant", "content": said.get("text")}
        if said.get("reasoning"):
            message["reasoning_content"] = said["reasoning"]
        if calls:
            message["tool_calls"] = calls
        why = "tool_calls" if calls else "stop"
        usage = said.get("usage") or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "x", "created": 1, "model": ask["model"]}
        if not ask.get("stream"):
            self.send(handler, 200, "application/json", json.dumps(
                {**head, "object": "chat.completion", "usage": usage,
                 "choices": [{"index": 0, "message": message, "finish_reason": why}]}))
            return
        head["object"] = "chat.completion.chunk"
        lines = [{**head, "choices": [{"index": 0, "delta": message}]},
                 {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                 {**head, "choices": [], "usage": usage}]
        self.send(handler, 200, "text/event-stream",
                  "".join(f"data: {json.dumps(x)}\n\n" for x in lines) + "data: [DONE]\n\n")

    @staticmethod
    def send(handler, status, kind, text):
        body = text.encode()
        handler.send_response(status)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
