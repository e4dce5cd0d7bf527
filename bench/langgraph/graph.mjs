// The loop of bench/agent_bench.c as a graph of LangGraph.js, in one process; one line of JSON.
//
//     node graph.mjs memory|sqlite RUNS [FOLDER]
//
// SPDX-License-Identifier: Apache-2.0
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const STEPS = 10;
const [kind, count, under] = process.argv.slice(2);
const folder = mkdtempSync(join(under ?? tmpdir(), "graph-"));

async function saver() {
    if (kind === "memory") return new MemorySaver();
    const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
    const made = SqliteSaver.fromConnString(join(folder, "graph.db"));
    made.setup();
    made.db.pragma("synchronous = FULL"); // as durable as ours
    return made;
}

const system = new SystemMessage("You look things up until you know what is going on.");

// The first nine times a call, then the answer.
function model(state) {
    const asked = 1 + state.messages.filter((m) => m.getType() === "ai").length;
    if (asked === STEPS)
        return { messages: [new AIMessage("All of it is done, and this is what came of it.")] };
    const call = { id: `call_${asked}`, name: "look_up", args: { place: `node ${asked}` } };
    return { messages: [new AIMessage({ content: "", tool_calls: [call] })] };
}

function tools(state) {
    const { tool_calls } = state.messages.at(-1);
    return {
        messages: tool_calls.map((c) => new ToolMessage({
            tool_call_id: c.id, name: c.name, content: '{"state":"ready","load":0.25}' })),
    };
}

const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", model)
    .addNode("tools", tools)
    .addEdge(START, "model")
    .addConditionalEdges("model", (s) => (s.messages.at(-1).tool_calls?.length ? "tools" : END))
    .addEdge("tools", "model")
    .compile({ checkpointer: await saver() });

async function run(name) {
    const out = await graph.invoke({ messages: [system, new HumanMessage("What is going on?")] },
        { configurable: { thread_id: name }, recursionLimit: 100, durability: "sync" });
    if (out.messages.length !== 2 + 2 * STEPS - 1) throw new Error("not what it should be");
}

async function measure(runs) {
    const cpu = process.cpuUsage(), began = process.hrtime.bigint();
    await Promise.all(Array.from({ length: runs }, (_, i) => run(`run-${i}`)));
    const wall = Number(process.hrtime.bigint() - began) / 1000, used = process.cpuUsage(cpu);
    return { runs, step_us: wall / (runs * STEPS),
        step_cpu_us: (used.user + used.system) / (runs * STEPS) };
}

for (let i = 0; i < 20; i++) await run(`warm-${i}`);
const got = await measure(Number(count));
console.log(JSON.stringify({ name: kind, ...got, peak_mb: process.resourceUsage().maxRSS / 1024 }));
rmSync(folder, { recursive: true, force: true });
