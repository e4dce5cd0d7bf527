"""A daemon with agents for the Agents page: a librarian with tools of an MCP server, a cataloguer,
guards, a workflow.

The words of the input select what the scripted model does. A model call or tool call that a test
observes while it runs waits for a file in the folder `hold`: model, tool.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import sys
import time
from pathlib import Path

from gateway import Gateway, digest
from scripted_model import last

HOLD_SECONDS = 120
TITLE = {"type": "object", "properties": {"title": {"type": "string"}, "days": {"type": "integer"}}, "required": ["title"]}
AGENTS = {
    "librarian": {"model": "m", "description": "Finds and lends books.", "prompt": "You keep a library.", "level": "medium",
                  "tools": ["library"], "approve": ["library.lend"], "handoff": ["cataloguer"],
                  "limits": {"steps": 6, "tokens": 50000, "usd": 0.5, "time": "10m"}},
    "cataloguer": {"model": "m", "description": "Knows what is where.", "prompt": "You keep the catalogue.", "strategy": "native"},
    "careful": {"model": "m", "prompt": "You keep a library.", "tools": ["library.find"], "guard": {"input": "policy-check"},
                "output": {"type": "object", "properties": {"shelf": {"type": "integer"}}, "required": ["shelf"]}},
    "policy-check": {"model": "m", "prompt": "You are the guard."},
    "judge": {"model": "m", "prompt": "You are the judge."},
}
WORKFLOWS = {"triage": [{"agents": ["librarian", "cataloguer"], "parallel": True, "success": "all"}, {"agent": "judge"}]}


def reply(hold):
    """The model's reply, selected by the agent's prompt and the user's words."""
    def held(name):
        end = time.monotonic() + HOLD_SECONDS
        while not (hold / name).exists() and time.monotonic() < end:
            time.sleep(0.02)

    def since(ask):
        """The tool results after the last user message."""
        at = max(i for i, m in enumerate(ask["messages"]) if m["role"] == "user")
        return [m["content"] for m in ask["messages"][at:] if m["role"] == "tool"]

    def tool(ask, name):
        return next(t["function"]["name"] for t in ask["tools"] if t["function"]["name"].endswith(name))

    def librarian(ask, said, done):
        if "catalogue" in said:
            return {"reasoning": "The cataloguer knows that.", "calls": [(tool(ask, "handoff_to_cataloguer"), {"reason": "a catalogue question"})]}
        if "order" in said:
            return f"Ordered: {done[-1]}" if done else {"calls": [(tool(ask, "order"), {"title": "Dune"})]}
        if not done:
            return {"reasoning": "First I look whether **Dune** is here at all.", "calls": [(tool(ask, "find_slowly" if "slow shelf" in said else "find"), {"title": "Dune"})]}
        if "lend" in said and len(done) == 1:
            more = " I looked at every shelf of the library before I asked." * 8 if "long reason" in said else ""
            return {"text": f"She asked for it, and it is on the shelf.{more}", "calls": [(tool(ask, "lend"), {"title": "Dune", "days": 14})]}
        return "You have it: " + done[-1] if "lend" in said else "Yes: **Dune** is on shelf 7."

    def answer(ask):
        said, done = last(ask, "user"), since(ask)
        prompt = ask["messages"][0]["content"]
        if "held" in said:
            held("model")
        if "broken" in said:
            return 400
        if "guard" in prompt:
            return json.dumps({"allow": "forbidden" not in said, "reason": "that book is locked away"})
        if "judge" in prompt:
            return "Both agree: shelf 7."
        if "catalogue" in prompt:
            return {"reasoning": "Shelves are sorted by author.", "text": "It is under H, shelf 7."}
        if "shelf" in json.dumps(ask.get("response_format", "")) or '"shelf"' in prompt:
            return '{"shelf": 7}' if done else {"calls": [(tool(ask, "find"), {"title": "Dune"})]}
        return librarian(ask, said, done)
    return answer


class Library(Gateway):
    def __init__(self, binary, model, hold, keys=None):
        super().__init__(binary, {})
        tools = [{"name": "find", "description": "Finds a book", "schema": TITLE, "text": "Dune is on shelf 7", "annotations": {"readOnlyHint": True}},
                 {"name": "find_slowly", "description": "Finds a book", "schema": TITLE, "text": "Dune is on shelf 7",
                  "annotations": {"readOnlyHint": True}, "hold": str(hold / "tool")},
                 {"name": "lend", "description": "Lends a book", "schema": TITLE, "text": "lent {}"}]
        (self.folder / "tools.json").write_text(json.dumps(tools))
        server = str(Path(__file__).resolve().parents[1] / "mcp/tools_server.py")
        self.config.update({
            "providers": {"scripted": {**model.provider(), "prices": {"m": {"input": 2, "output": 8}}, "stall_timeout": "600s", "retries": 0}},
            "tools": {"library": {"mcp": {"command": sys.executable, "args": ["-SB", server, str(self.folder / "tools.json")]}, "timeout": "5m"}},
            "agents": AGENTS, "workflows": WORKFLOWS})
        if keys:
            self.config["keys"] = [{"name": n, "sha256": digest(k), **({"role": "operator"} if n == "operator" else {}),
                                    **({"reasoning": "hide"} if n == "hidden" else {})} for n, k in keys.items()]
