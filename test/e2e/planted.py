"""Inserts calls directly into a daemon's tables, and lists all recorded calls.

Their numbers are above those that the daemon reaches, and their texts are in a block that stays
open. An entry of a block has each text's tag, size and bytes (src/store/block.h).
"""
# SPDX-License-Identifier: Apache-2.0
import json

from command import run

PLANTED = 10**12
TAGS = {"reasoning_content": 3, "answer": 5, "asked": 8, "decision": 9, "tools": 10, "segments": 11}
planted = []


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def plant(**call):
    """The SQL statements that insert one call, with its texts in a block."""
    texts = {k: v for k in TAGS if (v := call.pop(k, None)) is not None}
    at = len(planted)
    planted.append(call["interaction_id"])
    kind = texts.get("decision") and ("TOOL_CALL" if "[TOOL_CALL]" in texts["decision"] else "DIRECT")
    row = {"started_ms": 1, **call, "call_n": PLANTED + at, "block": PLANTED, "block_n": at,
           "decision_kind": kind, "texts": sum(1 << TAGS[k] - 1 for k in texts)}
    entry = b"".join(bytes([TAGS[k]]) + varint(len(v.encode())) + v.encode()
                     for k, v in sorted(texts.items(), key=lambda t: TAGS[t[0]]))
    return [(f"INSERT INTO llm_interactions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
             *row.values()),
            ("INSERT INTO call_texts (block, block_n, call_n, texts) VALUES (?, ?, ?, ?)",
             PLANTED, at, PLANTED + at, entry),
            *[("INSERT INTO call_tools (tool, call_n) VALUES (?, ?)", tool, PLANTED + at)
              for tool in json.loads(texts.get("tools", "[]"))]]


def recorded(config, **more):
    """Each call in `rationale export`, by its id, with the names of the API's `details`."""
    done = run("export", "--config", str(config), "--format", "json", **more)
    assert done.code == 0, done.err
    return {e["event_id"]: e["details"] for s in json.loads(done.out)["sessions"]
            for e in s["chronological_timeline"] if e["type"] == "llm_interaction"}
