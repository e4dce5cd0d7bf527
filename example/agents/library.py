#!/usr/bin/env python3
"""A small MCP server on stdio: a library with a few books, to be looked up and lent."""
# SPDX-License-Identifier: Apache-2.0
import json
import sys

BOOKS = {"dune": 2, "emma": 0, "ulysses": 1}
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOLS = [
    {"name": "find", "description": "How many copies of a book are on the shelf", "inputSchema": TITLE,
     "annotations": {"readOnlyHint": True}},
    {"name": "lend", "description": "Lends a copy of a book", "inputSchema": TITLE},
]


def call(name, title):
    copies = BOOKS.get(title.lower())
    if copies is None:
        return f"There is no book {title}."
    if name == "lend" and copies:
        BOOKS[title.lower()] -= 1
        return f"{title} is lent: {copies - 1} left."
    return f"{title}: {copies} on the shelf."


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "library", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = call(params["name"], params.get("arguments", {}).get("title", ""))
        return {"content": [{"type": "text", "text": text}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask:
        continue
    result = answer(ask["method"], ask.get("params", {}))
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], **reply}), flush=True)
