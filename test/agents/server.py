"""An MCP server over stdio for tests of agents, good or faulty, as the first argument says.

    good           lends books
    dies           exits when a tool is called
    dies_at_start  exits at once
    hangs          never answers a call
    hangs_at_start never answers anything
    floods         answers with 80 MB of text
    large          answers with 200,000 bytes of text, a needle in the middle
    noise          writes lines that are not JSON between its answers
    lies           answers with a structure that its own schema forbids
    not_utf8       answers with bytes that are not UTF-8
    deep           answers with a structure that is nested 5000 times
    other_id       answers calls that were never made
"""

import json
import sys
import time

HOW = sys.argv[1]
COUNT = {"n": 0}
SCHEMA = {
    "type": "object",
    "properties": {"book": {"type": "string"}},
    "required": ["book"],
}
TOOLS = [
    {
        "name": "lend",
        "description": "Lends a book",
        "inputSchema": SCHEMA,
        "outputSchema": {
            "type": "object",
            "properties": {"copies": {"type": "integer"}},
            "required": ["copies"],
        }
        if HOW == "lies"
        else None,
    },
    {
        "name": "find",
        "description": "Finds a book",
        "inputSchema": SCHEMA,
        "annotations": {"readOnlyHint": True},
    },
]
for tool in TOOLS:
    if tool.get("outputSchema", 1) is None:
        del tool["outputSchema"]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer_call(call_id, params):
    COUNT["n"] += 1
    text = f"{params['name']} {params['arguments'].get('book')} {COUNT['n']}"
    if HOW == "dies":
        sys.exit(3)
    if HOW == "hangs":
        time.sleep(600)
    if HOW == "floods":
        text = "x" * (80 << 20)
    if HOW == "large":
        text = "hay\n" * 25000 + "the Needle is here\n" + "hay\n" * 25000
    result = {"content": [{"type": "text", "text": text}]}
    if HOW == "lies":
        result["structuredContent"] = {"copies": "many"}
    if HOW in ("not_utf8", "deep"):
        start = json.dumps({"jsonrpc": "2.0", "id": call_id}).encode()[:-1]
        deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
        bad = b'"\xff"' if HOW == "not_utf8" else deep
        sys.stdout.buffer.write(start + b', "result": {"structuredContent": ' + bad + b"}}\n")
        sys.stdout.flush()
        return
    if HOW == "other_id":
        call_id = 4711
    send({"jsonrpc": "2.0", "id": call_id, "result": result})


def main():
    if HOW == "dies_at_start":
        sys.exit(3)
    for line in sys.stdin:
        if HOW == "hangs_at_start":
            time.sleep(600)
        message = json.loads(line)
        method = message.get("method")
        if HOW == "noise":
            sys.stdout.write("Listening on port 12 {not json\n\x01\x02\n")
        if method == "initialize":
            send(
                {
                    "jsonrpc": "2.0",
                    "id": message["id"],
                    "result": {
                        "protocolVersion": message["params"]["protocolVersion"],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "library", "version": "1"},
                    },
                }
            )
        elif method == "tools/list":
            send({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})
        elif method == "tools/call":
            answer_call(message["id"], message["params"])
        elif "id" in message:
            send(
                {
                    "jsonrpc": "2.0",
                    "id": message["id"],
                    "error": {"code": -32601, "message": "no such method"},
                }
            )


main()
