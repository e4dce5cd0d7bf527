"""A scripted model in place of a real one: it calls the offered tools with values from the alert,
retries with the recorded arguments that an error names, and concludes from the outputs.

    with Operator() as model: ...       model.root + "/v1" is the base URL of an OpenAI-compatible API

It supports native calls, ReAct's text form and the JSON of the classic strategy, streamed or
whole. If the prompt asks it to think aloud, it does; otherwise it does not retry.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS_MAX = 8
LINES_MAX = 60
TELLING = re.compile(r"error|fail|not found|back-?off|expired|throttl|syntax|warn|limit|denied|pressure|latenc|slow"
                     r"|inactive|wait|full|retained|image|watchdog|egress|polic|typo|\b20\d\d-\d\d-\d\d|capacity"
                     r"|pods|command|always", re.I)


def words(messages):
    out = []
    for m in messages:
        c = m.get("content") or ""
        out.append(c if isinstance(c, str) else "".join(p.get("text", "") for p in c))
    return "\n".join(out).replace("&lt;", "<")


def known(text, name):
    """The alert's value of a parameter, by its name or a synonym."""
    same = {"pod_name": ["pod_name", "pod", "name"], "name": ["name", "pod"], "kind": ["kind", "subject_type"],
            "id": ["robusta_issue_id", "id"], "path": ["path", "mount"], "database": ["database"]}
    for n in same.get(name, [name]):
        found = re.search(rf'"{re.escape(n)}"\s*:\s*"([^"]+)"', text)
        if found:
            return found[1]
    if name == "url":
        found = re.search(r"https?://[^\s\"'<>)]+", text)
        return found[0] if found else None
    return None


def arguments(schema, text):
    out = {}
    for name in (schema or {}).get("properties", {}):
        value = known(text, name)
        if value is not None:
            out[name] = value
    for name in (schema or {}).get("required", []):
        out.setdefault(name, "unknown")
    return out


def corrected(args, result):
    """The call with the recorded arguments; None if the result is no such error."""
    if "was recorded as" not in result:
        return None
    out, changed = dict(args), False
    result = re.sub(r".*The nearest is \S+: ", "", result, flags=re.S)
    for name, value in re.findall(r'([\w-]+) is (?:missing|"[^"]*"|[^;]*?) and was recorded as ("(?:[^"\\]|\\.)*"|[^;.]+)',
                                  result):
        try:
            out[name] = json.loads(value)
            changed = True
        except ValueError:
            pass
    return out if changed else None


# Its conclusions, in its own words, if tool outputs match: an analysis of mere quotes would score
# nothing.
CONCLUSIONS = (
    (r"analytics\s+\| logical\s+\| f\b.*", "The replication slot `analytics` on `db-3` is inactive, so PostgreSQL keeps old "
     "WAL files. They take most of the space in `pg_wal`: 71 GB. That is why the filesystem `/var/lib/postgresql` on "
     "`db-3` is full."),
    (r"2\.14\.O\": not found", "The image `registry.example/shop/cart:2.14.O` cannot be pulled because this tag does not "
     "exist. Somebody typed the letter O in place of the number zero: the tag should be `2.14.0`."),
    (r"10 of 10 connections in use", "Requests to `/checkout` are slow because each waits for a free connection of the pool: "
     "the pool has 10 connections, and all 10 are busy."),
    (r"report-job\s+idle in transaction", "The sessions of checkout wait for a lock that the long transaction of `report-job` "
     "holds. End the long transaction of `report-job`, or raise the size of the pool."),
)


def conclusion(text, results, quotes=False):
    """Its conclusions from the outputs, then the relevant lines of alert and outputs, each once."""
    seen = "\n".join(results)
    found = [] if quotes else [said for pattern, said in CONCLUSIONS if re.search(pattern, seen)]
    lines = []
    for source in [text] + results:
        for line in source.splitlines():
            line = re.sub(r"\s+", " ", line).strip(" \\")
            if TELLING.search(line) and line not in lines and len(line) < 1500:
                lines.append(line[:600])
    body = "\n".join(f"- {x}" for x in lines[:LINES_MAX]) or "- Nothing was found."
    return ("## Cause\n\n" + (" ".join(found) or "I cannot say what is wrong.") + "\n\n## What the tools have shown\n\n" + body +
            "\n\n## What to do\n\nChange nothing before somebody has looked.\n")


class Turn:
    """One request, and the reply to it."""

    def __init__(self, body, quotes=False):
        self.quotes = quotes
        self.messages = body.get("messages", [])
        self.text = words(self.messages)
        self.user = words([m for m in self.messages if m["role"] == "user"])
        self.thinks = "<thinking>" in self.text or bool(body.get("reasoning_effort"))
        self.tools = [t["function"] for t in body.get("tools") or []]
        self.reasoning, self.content, self.calls = "", "", []
        last = self.messages[-1]
        last_text = words([last])
        if "# Summarise for executives" in last_text:
            self.content = "A part of the system failed; the cause is known and can be put right."
        elif "# Answer a question" in last_text:
            self.content = "From what is on record: " + last_text.rsplit("## Question", 1)[-1].strip()[:200]
        elif "# Choose the first tools" in last_text:
            self.classic_first()
        elif "# Go on or conclude" in last_text:
            self.content = json.dumps({"continue": False, "reasoning": "the facts are enough"})
            self.aloud("The results explain the alert.")
        elif "# Analyse" in last_text or "# Make one analysis" in last_text:
            self.content = conclusion("", [last_text.split("## What the tools have shown")[-1]], self.quotes)
        elif self.tools:
            self.native()
        elif "Action Input:" in self.text:
            self.react()
        else:
            self.content = conclusion(self.user, self.results(), self.quotes)

    def aloud(self, thought):
        if self.thinks:
            self.content = f"<thinking>{thought}</thinking>\n{self.content}"

    def results(self):
        return [words([m]) for m in self.messages if m["role"] == "tool"]

    def native(self):
        done = [c for m in self.messages if m["role"] == "assistant" for c in m.get("tool_calls") or []]
        rounds = sum(1 for m in self.messages if m["role"] == "assistant" and m.get("tool_calls"))
        if not done:
            self.reasoning = "The alert names what it is about. I look at it with each tool that can show it."
            self.calls = [(t["name"], arguments(t.get("parameters"), self.user)) for t in self.tools[:TOOLS_MAX]]
        elif rounds == 1 and self.thinks:
            by_id = {m.get("tool_call_id"): words([m]) for m in self.messages if m["role"] == "tool"}
            for c in done:
                again = corrected(json.loads(c["function"]["arguments"] or "{}"), by_id.get(c["id"], ""))
                if again:
                    self.calls.append((c["function"]["name"], again))
            self.reasoning = "Some calls missed what is there: I try them again with what I was told."
        if self.calls:
            self.aloud(self.reasoning)
        else:
            self.reasoning = "What the tools have shown is enough."
            self.content = conclusion(self.user, self.results(), self.quotes)

    def listed(self):
        """The tools in a prompt: a JSON array in a block of data."""
        block = re.search(r'<data name="tools">\s*(.*?)\s*</data>', self.text, re.S)
        if not block:
            return []
        if block[1].startswith("["):
            return json.loads(block[1])
        return [json.loads(x) for x in block[1].splitlines() if x.startswith("{")]

    def classic_first(self):
        alert = self.user.split("## Tools")[0]
        self.content = json.dumps([{"server": t.get("server", "tools"), "tool": t.get("tool") or t.get("name"),
                                    "parameters": arguments(t.get("parameters") or t.get("inputSchema"), alert),
                                    "reason": "it shows the state"} for t in self.listed()[:TOOLS_MAX]])
        self.aloud("The runbook says where to look first.")

    def react(self):
        seen = [m for m in self.messages if m["role"] == "user" and "Observation:" in words([m])[:200]]
        tools = self.listed()[:TOOLS_MAX]
        if len(seen) < len(tools):
            t = tools[len(seen)]
            args = arguments(t.get("parameters") or t.get("inputSchema"), self.user)
            self.content = (f"Thought: I look at what {t.get('tool') or t.get('name')} shows.\n"
                            f"Action: {t.get('tool') or t.get('name')}\nAction Input: {json.dumps(args)}")
        else:
            self.content = "Thought: that is enough.\nFinal Answer: " + conclusion(
                "", [words([m]) for m in seen], self.quotes)


class Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # head and body are written separately
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked.append(body)
        gate = self.server.gate
        if gate is not None:
            gate.wait(60)
        if self.server.fails:
            self.send(500, "application/json", b'{"error": {"message": "out of order", "type": "server_error"}}')
            return
        turn = Turn(body, self.server.quotes)
        if body.get("stream"):
            self.send(200, "text/event-stream", self.stream(body, turn))
        else:
            self.send(200, "application/json", json.dumps(self.whole(body, turn)).encode())

    def send(self, status, kind, data):
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass

    @staticmethod
    def message(turn):
        m = {"role": "assistant", "content": turn.content or None}
        if turn.reasoning:
            m["reasoning_content"] = turn.reasoning
        if turn.calls:
            m["tool_calls"] = [{"id": f"call_{len(turn.messages)}_{i}", "type": "function",
                                "function": {"name": n, "arguments": json.dumps(a)}}
                               for i, (n, a) in enumerate(turn.calls)]
        return m

    @staticmethod
    def usage(turn):
        out = len(turn.content) // 4 + len(turn.reasoning) // 4 + 20 * len(turn.calls) + 1
        return {"prompt_tokens": len(turn.text) // 4, "completion_tokens": out,
                "total_tokens": len(turn.text) // 4 + out,
                "completion_tokens_details": {"reasoning_tokens": len(turn.reasoning) // 4}}

    def whole(self, body, turn):
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
                "choices": [{"index": 0, "message": self.message(turn),
                             "finish_reason": "tool_calls" if turn.calls else "stop"}],
                "usage": self.usage(turn)}

    def stream(self, body, turn):
        m = self.message(turn)
        calls = [dict(c, index=i) for i, c in enumerate(m.get("tool_calls", []))]
        deltas = [{"role": "assistant"}]
        deltas += [{"reasoning_content": turn.reasoning}] if turn.reasoning else []
        deltas += [{"content": turn.content}] if turn.content else []
        deltas += [{"tool_calls": [c]} for c in calls]
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        out = [dict(head, choices=[{"index": 0, "delta": d, "finish_reason": None}]) for d in deltas]
        out.append(dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]))
        out.append(dict(head, choices=[], usage=self.usage(turn)))
        return "".join(f"data: {json.dumps(x)}\n\n" for x in out).encode() + b"data: [DONE]\n\n"


class Operator:
    """The model as a server. `hold` blocks all replies until it is released."""

    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.asked, self.server.lock = [], threading.Lock()
        self.server.gate, self.server.fails, self.server.quotes = None, False, False
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def asked(self):
        return self.server.asked

    def hold(self):
        self.server.gate = threading.Event()

    def free(self):
        gate, self.server.gate = self.server.gate, None
        if gate:
            gate.set()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.free()
        self.server.shutdown()
        self.server.server_close()

    def provider(self, **more):
        return {"operator": {"kind": "openai", "base_url": self.root + "/v1", "models": {"operator": "operator"},
                             "retries": 0, **more}}


if __name__ == "__main__":
    with Operator() as model:
        print(model.root, flush=True)
        sys.stdin.read()
