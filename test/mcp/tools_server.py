#!/usr/bin/env python3
"""An MCP server on stdio whose tools are data, for tests that count calls and need certain results.

    tools_server.py TOOLS.json [LOG]

TOOLS.json is a list of {"name", "description"?, "schema"?, "annotations"?, "text"?, "error"?,
"slow"?, "hold"?, "structured"?}: text is the result of a call ("{}" in it is replaced by the
arguments), error is the tool's error, slow is its duration in seconds, hold is a file that it
waits for. Each call is appended to LOG as a line of JSON before it is answered.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import time


def answer(tools, log, method, params):
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}}, "serverInfo": {"name": "tools", "version": "1"}}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [{"name": t["name"], "description": t.get("description", ""),
                           "inputSchema": t.get("schema", {"type": "object"}),
                           **({"annotations": t["annotations"]} if "annotations" in t else {})}
                          for t in tools.values()]}
    if method == "tools/call":
        tool = tools[params["name"]]
        arguments = params.get("arguments", {})
        if log:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"tool": params["name"], "arguments": arguments}) + "\n")
        time.sleep(tool.get("slow", 0))
        while "hold" in tool and not os.path.exists(tool["hold"]):
            time.sleep(0.02)
        text = tool.get("error") or tool.get("text", "").replace("{}", json.dumps(arguments))
        out = {"content": [{"type": "text", "text": text}] if text else [], "isError": "error" in tool}
        if "structured" in tool:
            out["structuredContent"] = tool["structured"]
        return out
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        tools = {tool["name"]: tool for tool in json.load(file)}
    log = sys.argv[2] if len(sys.argv) > 2 else None
    for line in sys.stdin:
        ask = json.loads(line)
        if "id" not in ask:
            continue
        reply = {"jsonrpc": "2.0", "id": ask["id"]}
        result = answer(tools, log, ask["method"], ask.get("params", {}))
        if result is None:
            reply["error"] = {"code": -32601, "message": "no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
