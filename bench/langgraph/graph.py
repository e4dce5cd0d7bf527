#!/usr/bin/env python3
"""The loop of bench/agent_bench.c as a graph of LangGraph for Python, in one process; one line of JSON.

    graph.py memory|sqlite RUNS [FOLDER]

SqliteSaver holds one lock around its connection, so its runs come one after the other.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

STEPS = 10
SYSTEM = SystemMessage("You look things up until you know what is going on.")


def saver(kind, folder):
    if kind == "memory":
        return InMemorySaver()
    made = SqliteSaver(sqlite3.connect(Path(folder) / "graph.db", check_same_thread=False))
    made.setup()  # WAL
    made.conn.execute("PRAGMA synchronous = FULL")  # as durable as ours
    return made


def model(state):
    """The first nine times a call, then the answer."""
    asked = 1 + sum(m.type == "ai" for m in state["messages"])
    if asked == STEPS:
        return {"messages": [AIMessage("All of it is done, and this is what came of it.")]}
    call = {"id": f"call_{asked}", "name": "look_up", "args": {"place": f"node {asked}"}}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def tools(state):
    return {"messages": [ToolMessage('{"state":"ready","load":0.25}', tool_call_id=c["id"], name=c["name"])
                         for c in state["messages"][-1].tool_calls]}


def build(checkpointer):
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


def run(graph, name):
    out = graph.invoke({"messages": [SYSTEM, HumanMessage("What is going on?")]},
                       {"configurable": {"thread_id": name}, "recursion_limit": 100}, durability="sync")
    assert len(out["messages"]) == 2 + 2 * STEPS - 1


def main():
    kind, runs, *under = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=under[0] if under else None) as folder:
        graph = build(saver(kind, folder))
        for i in range(20):
            run(graph, f"warm-{i}")
        cpu, began = time.process_time(), time.perf_counter()
        for i in range(int(runs)):
            run(graph, f"run-{i}")
        steps = int(runs) * STEPS
        print(json.dumps({"name": kind, "runs": int(runs), "step_us": (time.perf_counter() - began) / steps * 1e6,
                          "step_cpu_us": (time.process_time() - cpu) / steps * 1e6,
                          "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
