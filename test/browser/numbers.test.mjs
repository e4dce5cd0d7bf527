// numbers.test.mjs - the same number everywhere: Running, Took and Tool calls of the same sessions on every
// page, in the API and in the commands. docs/reference/history.md defines them.
// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn } from "node:child_process";
import { assert, call, finish, json, recorded, test, until, WEATHER } from "./kit.mjs";

const { DASH_ROOT: root, DASH_ROOT_CONFIG, DASH_ASKING, DASH_ASKING_CONFIG, DASH_AGENTS, DASH_AGENTS_CONFIG, DASH_PROVIDER: provider, RATIONALE } = process.env;
const headers = { "content-type": "application/json" };
let n = 0;
const fresh = (name) => `${name}-${process.pid}-${++n}`;
const command = (config, ...words) => execFileSync(RATIONALE, [...words, "--config", config], { encoding: "utf8" });

// The same format as in format.ts.
function duration(ms) {
  if (ms == null) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.round(ms / 1000);
  return ms < 59_950 ? `${(Math.round(ms / 100) / 10).toFixed(1)} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

async function figures(page) {
  await page.locator(".figures .figure").first().waitFor();
  return Object.fromEntries(await page.locator(".figure").evaluateAll((all) => all.map((f) => [f.querySelector("dt").textContent, f.querySelector("dd").firstChild.textContent.trim()])));
}

// Compares the calls, tool calls and duration of one session on all of them.
async function compare(page, at, config, id, expected) {
  const list = (await json(`${at}/api/v1/history/sessions?page_size=100`)).sessions.find((s) => s.session_id === id);
  const took = list.duration_ms, words = duration(took);
  const whole = await json(`${at}/api/v1/history/sessions/${id}`);
  const seen = { list: [list.llm_interaction_count, list.tool_call_count, took], page: [whole.llm_interaction_count, whole.tool_call_count, whole.duration_ms],
    summary: [whole.summary.llm_interaction_count, whole.summary.tool_call_count, whole.summary.total_duration_ms] };
  const cli = JSON.parse(command(config, "list", "--json", "--limit", "500")).sessions.find((s) => s.session_id === id);
  seen["rationale list"] = [cli.llm_interaction_count, cli.tool_call_count, cli.duration_ms];
  const shown = command(config, "show", id);
  assert.deepEqual(["model", "tool"].map((f) => Number(new RegExp(`^  ${f} calls (\\d+)$`, "m").exec(shown)?.[1])), expected, "rationale show");
  assert.equal(/^  took (.*)$/m.exec(shown)?.[1], words, "rationale show");
  for (const [who, got] of Object.entries(seen)) assert.deepEqual(got, [...expected, took], who);
  const table = command(config, "list", "--limit", "500").split("\n");
  const row = table.find((l) => l.includes(id.slice(0, 36)));
  const cells = row.trim().split(/\s{2,}/), head = table[0].trim().split(/\s{2,}/);
  assert.equal(cells[head.indexOf("TOOLS")], String(expected[1]), "TOOLS of rationale list");
  assert.equal(cells[head.indexOf("TOOK")], words, "TOOK of rationale list");

  await page.goto(`${at}/sessions/${id}`);
  const f = await figures(page);
  assert.deepEqual([f["Model calls"], f["Tool calls"], f.Took], [...expected.map(String), words], "the session's page");
  await page.goto(`${at}/sessions`);
  const line = page.locator("tbody tr", { has: page.locator(`a[href="/sessions/${encodeURIComponent(id)}"]`) });
  await line.waitFor();
  const text = (await line.innerText()).replace(/\s+/g, " ");
  assert.ok(text.includes(` ${words} `), `${words} in the list: ${text}`);
  assert.ok(!expected[1] || text.includes(`${expected[0]} + ${expected[1]} tool call`), text);
  return { took, words };
}

test("tool calls that a model asks its client for are counted, and a session takes from its first call to its end", async ({ page }) => {
  const session = fresh("asks");
  for (let i = 0; i < 3; i++) await call(root, "tools", { session, tools: WEATHER });
  await call(root, "plain", { session });
  await recorded(root, session, { calls: 4 });
  await compare(page, root, DASH_ROOT_CONFIG, session, [4, 3]);
  const none = fresh("none");
  await call(root, "plain", { session: none });
  await recorded(root, none);
  await compare(page, root, DASH_ROOT_CONFIG, none, [1, 0]);
});

test("an investigation has the numbers of its session; listing tools is no tool call", async ({ page }) => {
  const alert = { alert_type: "DiskFull", runbook: "runbook.md", severity: "critical", data: { host: "db-3", mount: "/var/lib/postgresql", used_percent: 97, n: `numbers ${process.pid}` } };
  const { alert_id } = await json(`${DASH_ASKING}/alerts`, { method: "POST", headers, body: JSON.stringify(alert) });
  const incident = () => json(`${DASH_ASKING}/api/v1/incidents/${alert_id}`);
  const [p] = await until("the question", async () => (await incident()).pending.length && (await incident()).pending);
  await json(`${DASH_ASKING}/api/v1/runs/${encodeURIComponent(p.run_id)}/answer`, { method: "POST", headers, body: JSON.stringify({ seq: p.seq, word: "approve" }) });
  await until("the end", async () => (await incident()).status === "completed");
  const a = await incident();
  const session = await json(`${DASH_ASKING}/api/v1/history/sessions/${a.session_id}`);
  const listed = session.chronological_timeline.filter((e) => e.details.communication_type === "tool_list").length;
  assert.ok(listed > 0, "tools were listed");
  assert.equal(session.mcp_communication_count, session.tool_call_count + listed);
  const { took, words } = await compare(page, DASH_ASKING, DASH_ASKING_CONFIG, a.session_id, [a.model_calls, a.tool_calls]);
  assert.equal(a.duration_ms, took);
  await page.goto(`${DASH_ASKING}/incidents/${alert_id}`);
  const f = await figures(page);
  assert.deepEqual([f["Model calls"], f["Tool calls"], f.Took], [String(a.model_calls), String(a.tool_calls), words], "its page");
  await page.goto(`${DASH_ASKING}/incidents`);
  const row = page.locator("tbody tr", { has: page.locator(`a[href="/incidents/${alert_id}"]`) });
  await row.waitFor();
  assert.ok((await row.innerText()).includes(words), await row.innerText());
});

test("a run has the numbers of its session", async ({ page }) => {
  const run = await json(`${DASH_AGENTS}/api/v1/agents/librarian/runs`, { method: "POST", headers, body: JSON.stringify({ input: "Is Dune here?" }) });
  assert.equal(run.status, "done");
  const { took, words } = await compare(page, DASH_AGENTS, DASH_AGENTS_CONFIG, run.session_id, [run.usage.model_calls, run.usage.tool_calls]);
  assert.ok(run.usage.tool_calls > 0);
  const one = JSON.parse(command(DASH_AGENTS_CONFIG, "runs", "--json")).runs.find((r) => r.run_id === run.run_id);
  assert.equal(one.duration_ms, took, "rationale runs");
  assert.match(command(DASH_AGENTS_CONFIG, "runs"), new RegExp(`${run.run_id}.* ${words} `));
  await page.goto(`${DASH_AGENTS}/runs/${encodeURIComponent(run.run_id)}`);
  const f = await figures(page);
  assert.deepEqual([f["Model calls"], f["Tool calls"], f.Took], [String(run.usage.model_calls), String(run.usage.tool_calls), words], "the run's page");
});

test("three streams are three running sessions, everywhere", async ({ page }) => {
  const sessions = ["one", "two", "three"].map((x) => fresh(`runs-${x}`));
  await call(root, "plain", { session: sessions[0] }); // one call is recorded already
  const calls = sessions.map((session) => call(root, "held-think", { session, said: `watch ${session} think`, effort: "high" }));
  try {
    for (const s of sessions) await until("it thinks", async () => (await json(`${provider}/__log?has=${s}`)).some((e) => e.held === 1));
    const count = {
      metrics: async () => (await json(`${root}/api/v1/history/metrics`)).active_sessions,
      active: async () => (await json(`${root}/api/v1/history/active-sessions`)).length,
      list: async () => (await json(`${root}/api/v1/history/sessions?status=in_progress`)).pagination.total_items,
      "rationale list": async () => JSON.parse(command(DASH_ROOT_CONFIG, "list", "--status", "in_progress", "--json")).sessions.length,
      Live: async () => (await page.goto(`${root}/live`), await page.locator("article.call").nth(2).waitFor(), Number((await figures(page)).Running)),
      Sessions: async () => (await page.goto(`${root}/sessions?status=in_progress`), await page.locator("tbody tr").first().waitFor(), page.locator("tbody tr").count()),
    };
    // A running call reaches the record shortly after its start.
    for (const [who, f] of Object.entries(count)) await until(`3 by ${who}`, async () => (await f()) === 3, 30_000);
    for (const [who, f] of Object.entries(count)) assert.equal(await f(), 3, who);
  } finally {
    for (const s of sessions) for (let i = 0; i < 2; i++) await fetch(`${provider}/__go?has=${s}`, { method: "POST" });
    await Promise.all(calls);
  }
});

test("a call takes as long by tail as on record", async () => {
  const tail = spawn(RATIONALE, ["tail", "--config", DASH_ROOT_CONFIG]);
  let text = "";
  tail.stdout.on("data", (d) => (text += d));
  try {
    const session = fresh("tail");
    const line = await until("its line", async () => {
      await call(root, "plain", { session });
      return text.split("\n").find((l) => l.startsWith("done") && l.includes(session));
    });
    const ms = Number(/ (\d+) ms /.exec(line)[1]);
    await until("the record", async () => (await json(`${root}/api/v1/history/sessions/${session}`)).chronological_timeline.some((e) => e.duration_ms === ms));
  } finally {
    tail.kill();
  }
});

await finish();
