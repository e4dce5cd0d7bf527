// Agents: a step of our loop beside the same graph in LangGraph, for JavaScript and for Python, in one run.
//
//     node bench/agent.mjs AGENT_BENCH
//
// Ours first and last, the peers in between, so that a busy machine is busy for all; of ours the
// better round counts. Without the peers' packages (tools/agent-bench-setup) ours stands alone.
//
// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, "langgraph");
const STEP_US_MAX = 100, PEAK_MB_MAX = 200, TIMES_MIN = 50;

function lines(text) {
    return Object.fromEntries(text.trim().split("\n").map((l) => JSON.parse(l))
        .map((r) => [r.name, r]));
}

function ours() {
    return lines(execFileSync(process.argv[2], { encoding: "utf8" }));
}

function peer(program, script, needs, kind, runs) {
    if (!needs.every((n) => existsSync(join(folder, n)))) return null;
    const out = execFileSync(program, [script, kind, String(runs)], { cwd: folder, encoding: "utf8" });
    return JSON.parse(out);
}
const NATIVE = "node_modules/better-sqlite3/build/Release/better_sqlite3.node";
const js = (kind, runs) => peer("node", "graph.mjs", ["node_modules/.stamp", ...(kind === "sqlite" ? [NATIVE] : [])], kind, runs);
const python = (kind, runs) => peer(join(folder, "venv/bin/python"), "graph.py", ["venv/.stamp"], kind, runs);

function show(what, r, peers = []) {
    const times = peers.filter((p) => p[1]).map(([name, p]) =>
        `${(p.step_cpu_us / r.step_cpu_us).toFixed(0)} times less CPU and ${(p.step_us / r.step_us).toFixed(0)} times less time than ${name}`);
    if (r) console.log(`  ${what.padEnd(44)} ${r.step_us.toFixed(1).padStart(9)} us a step, ` +
        `${r.step_cpu_us.toFixed(1).padStart(8)} of CPU, ${r.peak_mb.toFixed(0).padStart(4)} MB`);
    times.forEach((t) => console.log(`    ${t}`));
}

const first = ours();
const memory = js("memory", 1000), sqlite = js("sqlite", 50);
const pyMemory = python("memory", 100), pySqlite = python("sqlite", 50);
const second = ours();
const best = (name) => (first[name].step_us < second[name].step_us ? first : second)[name];

console.log("agent: what a step costs besides its model and its tool, ten steps a run");
if (sqlite) show("LangGraph.js, SqliteSaver, 50 runs at once", sqlite);
if (pySqlite) show("LangGraph for Python, SqliteSaver, one by one", pySqlite);
show("durable, 64 runs at once", best("durable-64"), [["LangGraph.js", sqlite], ["LangGraph for Python", pySqlite]]);
show("durable, one run after the other", best("durable-1"), [["LangGraph.js", sqlite], ["LangGraph for Python", pySqlite]]);
show("durable, 1,000 runs at once", best("durable-1000"));
if (memory) show("LangGraph.js, MemorySaver, 1,000 at once", memory);
if (pyMemory) show("LangGraph for Python, InMemorySaver, one by one", pyMemory);
show("in memory, 1,000 runs at once", best("memory-1000"), [["LangGraph.js", memory]]);
show("in memory, one run after the other", best("memory-1"), [["LangGraph for Python", pyMemory]]);
if (!memory || !pyMemory) console.log("  not all of LangGraph is here: tools/agent-bench-setup brings it");
const bar = best("durable-1000"), at64 = best("durable-64");
console.log(`  a step under ${STEP_US_MAX} us with durable effects: ` +
    `${bar.step_us < STEP_US_MAX ? "yes" : "no"}; 1,000 runs under ${PEAK_MB_MAX} MB: ` +
    `${bar.peak_mb < PEAK_MB_MAX ? "yes" : "no"}`);
const cpu = [sqlite, pySqlite].filter(Boolean).map((p) => p.step_cpu_us / at64.step_cpu_us);
if (cpu.length) console.log(`  ${TIMES_MIN} times less CPU a step than each, with checkpoints on disk: ${Math.min(...cpu) >= TIMES_MIN ? "yes" : "no"}`);
