// Agents: a step of our loop beside the same graph in LangGraph.js, in one run.
//
//     node bench/agent.mjs AGENT_BENCH
//
// Ours first and last, the peer in between, so that a busy machine is busy for both; of ours the
// better round counts. Without the peer's packages (tools/agent-bench-setup) ours stands alone.
//
// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const STEP_US_MAX = 100, PEAK_MB_MAX = 200;

function lines(text) {
    return Object.fromEntries(text.trim().split("\n").map((l) => JSON.parse(l))
        .map((r) => [r.name, r]));
}

function ours() {
    return lines(execFileSync(process.argv[2], { encoding: "utf8" }));
}

function peer(kind, runs) {
    const cwd = join(here, "langgraph");
    const native = join(cwd, "node_modules/better-sqlite3/build/Release/better_sqlite3.node");
    if (!existsSync(join(cwd, "node_modules")) || (kind === "sqlite" && !existsSync(native)))
        return null;
    const out = execFileSync("node", ["graph.mjs", kind, String(runs)], { cwd, encoding: "utf8" });
    return JSON.parse(out);
}

function show(what, r, against) {
    const times = against ? `  ${(against.step_cpu_us / r.step_cpu_us).toFixed(0)} times less CPU, ` +
        `${(against.step_us / r.step_us).toFixed(0)} times less time` : "";
    console.log(`  ${what.padEnd(38)} ${r.step_us.toFixed(1).padStart(9)} us a step, ` +
        `${r.step_cpu_us.toFixed(1).padStart(8)} of CPU, ${r.peak_mb.toFixed(0).padStart(4)} MB${times}`);
}

const first = ours();
const memory = peer("memory", 1000), sqlite = peer("sqlite", 50), second = ours();
const best = (name) => (first[name].step_us < second[name].step_us ? first : second)[name];

console.log("agent: what a step costs besides its model and its tool, ten steps a run");
show("durable, 1 run", best("durable-1"));
show("durable, 64 runs at once", best("durable-64"), sqlite);
if (sqlite) show("  LangGraph.js, SqliteSaver, 50 runs", sqlite);
show("durable, 1,000 runs at once", best("durable-1000"));
show("in memory, 1,000 runs at once", best("memory-1000"), memory);
if (memory) show("  LangGraph.js, MemorySaver", memory);
else console.log("  no LangGraph.js here: tools/agent-bench-setup brings it");
const bar = best("durable-1000");
console.log(`  a step under ${STEP_US_MAX} us with durable effects: ` +
    `${bar.step_us < STEP_US_MAX ? "yes" : "no"}; 1,000 runs under ${PEAK_MB_MAX} MB: ` +
    `${bar.peak_mb < PEAK_MB_MAX ? "yes" : "no"}`);
