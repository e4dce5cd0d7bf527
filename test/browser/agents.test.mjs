// agents.test.mjs - agents with a scripted model and an MCP server: defined, tried, watched, approved,
// cancelled. SPDX-License-Identifier: Apache-2.0
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { assert, eachLook, faults, finish, holds, isTooWide, json, NARROW, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_AGENTS, keyed = process.env.DASH_AGENTS_KEYED, bare = process.env.DASH_ROOT;
const home = fileURLToPath(new URL("../../dashboard/", import.meta.url));
const headers = { "content-type": "application/json" };
let n = 0;

const post = (path, body, more = {}) => json(`${root}${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
const start = (agent, input, more) => post(`/api/v1/agents/${agent}/runs`, { input, ...more });
const hold = (name) => rmSync(join(process.env.DASH_HOLD, name), { force: true });
const release = (name) => writeFileSync(join(process.env.DASH_HOLD, name), "");
const state = (page) => page.locator("article.run").getAttribute("data-state");
const step = (page, kind) => page.locator(`article.run li.event.${kind}`);

// Sends a text from the box of an agent's page.
async function tryIt(page, agent, input, thread = "") {
  await page.goto(`${root}/agents/${agent}`);
  await page.getByLabel("Try it").fill(input);
  if (thread) await page.getByLabel("Thread").fill(thread);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("article.run").waitFor();
}

// ---- definitions ----

test("definitions: model, level, strategy, tools, limits, approvals, handoffs, guards, stages", async ({ page }) => {
  await page.goto(`${root}/agents`);
  const card = (name) => page.locator("li.card", { has: page.getByRole("link", { name, exact: true }).and(page.locator("[data-item]")) });
  await card("librarian").waitFor();
  const text = await card("librarian").innerText();
  for (const words of ["Finds and lends books.", "medium", "native", "library", "library.lend", "cataloguer", "6 steps · 50,000 tokens · $0.500 · 10 min"]) assert.ok(text.includes(words), `${words} in ${text}`);
  assert.match(await card("careful").innerText(), /input: policy-check/);
  const flow = await card("triage").innerText();
  assert.match(flow, /librarian.*cataloguer.*at once, all must succeed.*judge/s);
  await card("librarian").locator("a[data-item]").click();
  await until("its page", () => page.url() === `${root}/agents/librarian`);
  await page.getByText("agent/librarian").waitFor();
  await page.goto(`${root}/agents/careful`);
  await page.getByText("Schema of its answer").click();
  await page.getByText('"shelf"').first().waitFor();
});

test("without agents the page says how to define one", async ({ page }) => {
  await page.goto(`${bare}/agents`);
  await page.locator(".empty").waitFor();
  const text = await page.locator(".empty").innerText();
  for (const words of ["agents:", "tools:", "approve:", "rationale config check", "SIGHUP"]) assert.ok(text.includes(words), words);
  assert.deepEqual(await faults(page), []);
});

test("an agent that is not there, and one that has not run, say what to do", async ({ page }) => {
  await page.goto(`${root}/agents/nobody`);
  await page.getByText("The configuration does not have this agent").waitFor();
  await page.goto(`${root}/agents/judge`);
  await page.getByText("It has not run yet").waitFor();
  await page.goto(`${root}/runs/nothing`);
  await page.getByText('there is no run "nothing"').waitFor();
}, { complaints: [/404.*runs\/nothing/] });

// ---- trying an agent ----

test("a tool is shown before its result, then the answer, light and dark, wide and narrow", async ({ page }) => {
  hold("tool");
  await tryIt(page, "librarian", "Look on the slow shelf for Dune");
  const tool = step(page, "tool");
  await tool.waitFor();
  assert.match(await tool.innerText(), /library\.find_slowly.*running.*Dune/s);
  assert.ok(!(await tool.innerText()).includes("shelf 7"), "no result yet");
  assert.equal(await state(page), "running");
  assert.match(await step(page, "model").innerText(), /Thought/);
  await eachLook(page, (look) => shot(page, `agents-${look.name}-running`, { fullPage: true }));
  // Reloaded in the middle, the page shows the same run at the same step.
  await page.reload();
  await tool.waitFor();
  assert.match(await tool.innerText(), /running/);
  release("tool");
  await until("the result", async () => (await tool.innerText()).includes("Dune is on shelf 7"));
  await page.getByLabel("Answer", { exact: true }).waitFor();
  assert.match(await page.getByLabel("Answer", { exact: true }).innerText(), /Yes: Dune is on shelf 7/);
  await page.locator(".reasoning-head").first().click();
  await step(page, "model").first().getByText("First I look whether Dune is here").waitFor();
  const row = page.locator("table.runs tbody tr").first();
  await until("its row", async () => /slow shelf.*done/s.test(await row.innerText()));
  await holds("its tokens and cost", async () => assert.match(await row.innerText(), /220.*\$0\.00056/s));
  await eachLook(page, async (look) => {
    await shot(page, `agents-${look.name}`, { fullPage: true });
    assert.ok(!(await isTooWide(page)), `wider than the page, ${look.name}`);
    assert.deepEqual(await faults(page), [], look.name);
  });
  // After the end, the run's own page shows the same.
  const live = await page.locator("article.run ol.timeline").allInnerTexts();
  const id = await page.locator("article.run").getAttribute("data-run");
  await page.goto(`${root}/runs/${id}`);
  await page.getByLabel("Answer", { exact: true }).waitFor();
  await page.locator(".reasoning-head").first().click();
  await holds("the same steps", async () => assert.deepEqual(await page.locator("article.run ol.timeline").allInnerTexts(), live));
}, NARROW);

test("while the model is asked, the page shows that it is", async ({ page }) => {
  hold("model");
  await tryIt(page, "librarian", "Is Dune here? held");
  await page.locator('article.call[aria-busy="true"]').waitFor();
  assert.equal(await state(page), "running");
  release("model");
  await page.getByLabel("Answer", { exact: true }).waitFor();
  await until("what has ended is a step", async () => (await page.locator("article.call").count()) === 0);
});

test("a thread goes on, and one run at a time is active in it", async ({ page }) => {
  const thread = `anna-${process.pid}`;
  await tryIt(page, "librarian", "Is Dune here?", thread);
  await page.getByLabel("Answer", { exact: true }).waitFor();
  assert.match(page.url(), new RegExp(`thread=${thread}`));
  hold("model");
  await page.getByLabel("Try it").fill("And now? held");
  await page.keyboard.press("Enter");
  await until("the second run", async () => (await page.locator("article.run > .asked").innerText()).startsWith("And now?"));
  await page.getByLabel("Try it").fill("Too early");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("a run is active in this thread").waitFor();
  release("model");
  await page.getByLabel("Answer", { exact: true }).waitFor();
}, { complaints: [/409.*runs/] });

test("handed over: the other agent's steps are a part of their own", async ({ page }) => {
  await tryIt(page, "librarian", "Where is it by the catalogue?");
  await page.locator(".part", { hasText: "Handed over to cataloguer" }).waitFor();
  await until("the answer", async () => (await page.getByLabel("Answer", { exact: true }).innerText()).includes("It is under H, shelf 7."));
});

test("a workflow: its stages, and what came of it", async ({ page }) => {
  await page.goto(`${root}/workflows/triage`);
  await page.getByLabel("Try it").fill("Is Dune here?");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByLabel("Answer", { exact: true }).waitFor();
  const parts = (await page.locator(".part h3").allInnerTexts()).map((t) => t.split(/\s{2,}|\n/)[0].trim());
  assert.deepEqual(parts.map((t) => t.replace(/ done$/, "")).sort(), ["Stage 1: cataloguer", "Stage 1: librarian", "Stage 2: judge"]);
  await page.locator("table.runs", { hasText: "Is Dune here" }).waitFor();
  await shot(page, "agents-workflow", { fullPage: true });
});

test("how a run ends is said in words", async ({ page }) => {
  await page.goto(`${root}/runs/${(await start("careful", "the forbidden book")).run_id}`);
  await page.getByText("A guard denied it: the input was denied: that book is locked away").waitFor();
  await page.goto(`${root}/runs/${(await start("librarian", "broken")).run_id}`);
  await page.getByText("The model could not be asked: no").waitFor();
  await page.locator("li.event.error .problem", { hasText: /^status 400: no$/ }).waitFor();
});

// ---- approvals ----

async function asked(page, more = "") {
  const { run_id } = await start("librarian", `Please lend me Dune, copy ${++n}${more}`);
  await page.goto(`${root}/runs/${run_id}`);
  const card = page.locator("section.approval");
  await card.waitFor();
  return { id: run_id, card };
}
const result = (id) => json(`${root}/api/v1/runs/${id}/result`);

test("a call that waits has the model's reason and its arguments, and is approved, light and dark, wide and narrow", async ({ page }) => {
  const { id, card } = await asked(page);
  const text = await card.innerText();
  assert.match(text, /May it call library\.lend\?/);
  assert.match(text, /She asked for it, and it is on the shelf\./);
  assert.match(text, /"days": 14/);
  await eachLook(page, async (look) => {
    await shot(page, `agents-approval-${look.name}`, { fullPage: true });
    assert.deepEqual(await faults(page), [], look.name);
  });
  await page.reload();
  await card.getByRole("button", { name: "Approve" }).click();
  await page.getByLabel("Answer", { exact: true }).waitFor();
  assert.equal((await result(id)).status, "done");
  assert.match(await page.getByLabel("Answer", { exact: true }).innerText(), /lent/);
  assert.match(await step(page, "approval").innerText(), /approved/);
  assert.equal(await card.count(), 0);
}, NARROW);

test("the model's whole reason and the whole input of the run can be read, whatever their length", async ({ page }) => {
  const { card } = await asked(page, `. ${"It is for the reading group. ".repeat(12)}long reason`);
  await card.getByText("I looked at every shelf").waitFor();
  for (const part of [card.locator(".why"), page.locator("article.run .asked")]) assert.ok(await part.evaluate((e) => e.scrollHeight <= e.clientHeight + 1), await part.innerText());
}, NARROW);

test("a call is allowed with other arguments; bad ones are refused in words", async ({ page }) => {
  const { id, card } = await asked(page);
  await card.getByRole("button", { name: "Change…" }).click();
  await card.locator("textarea").fill("{days: 3}");
  await card.getByRole("button", { name: "Approve with these arguments" }).click();
  await card.getByText("must be a JSON object").waitFor();
  await card.locator("textarea").fill('{"title": "Dune", "days": 3}');
  await card.getByRole("button", { name: "Approve with these arguments" }).click();
  await page.getByLabel("Answer", { exact: true }).waitFor();
  assert.match((await result(id)).text, /"days": 3/);
  assert.match(await step(page, "approval").innerText(), /approved with other arguments.*"days": 3/s);
});

test("a denied call is not made, and the model reads the note", async ({ page }) => {
  const { id, card } = await asked(page);
  await card.getByLabel("Note").fill("the card has expired");
  await card.getByRole("button", { name: "Deny" }).click();
  await page.getByLabel("Answer", { exact: true }).waitFor();
  const { text } = await result(id);
  assert.match(text, /denied: a person did not allow this call: the card has expired/);
  assert.match(await step(page, "approval").innerText(), /denied.*Note: the card has expired/s);
});

test("the session of a run says who decided, with which note", async ({ page }) => {
  const { run_id, session_id } = await start("librarian", `Please lend me Dune, copy ${++n}`);
  const { pending } = await result(run_id);
  await page.goto(`${root}/sessions/${session_id}`);
  const entry = page.locator("li.event.approval");
  await until("it waits", async () => /approval\s*library\.lend\s*waits for a person/.test(await entry.innerText()));
  await post(`/api/v1/runs/${run_id}/answer`, { seq: pending.seq, word: "approve", note: "She may." });
  await until("the end", async () => (await result(run_id)).status === "done");
  await until("who decided", async () => {
    await page.reload();
    await entry.waitFor();
    return /approved\s*by \S+[\s\S]*She asked for it[\s\S]*Note: She may\./.test(await entry.innerText());
  });
  assert.equal(await page.locator("li.event.approval + li.event.tool .name").innerText(), "lend");
  await eachLook(page, async (look) => {
    await shot(page, `agents-session-approval-${look.name}`, { fullPage: true });
    assert.deepEqual(await faults(page), [], look.name);
  });
}, NARROW);

test("what waits is on the page of all agents, and is answered there", async ({ page }) => {
  const { run_id } = await start("librarian", `Please lend me Dune, copy ${++n}`);
  await page.goto(`${root}/agents`);
  const card = page.locator("section.approval", { has: page.locator(`a[href="/runs/${run_id}"]`) });
  await card.getByRole("button", { name: "Deny" }).click();
  await card.waitFor({ state: "detached" });
  await until("the end", async () => (await result(run_id)).status === "done");
});

test("an answer that somebody else gave is seen", async ({ page }) => {
  const { id, card } = await asked(page);
  const { pending } = await result(id);
  await post(`/api/v1/runs/${id}/answer`, { seq: pending.seq, word: "approve" });
  await card.waitFor({ state: "detached" });
  await page.getByLabel("Answer", { exact: true }).waitFor();
});

// ---- cancel, tools of the caller ----

test("a run is cancelled while it works and while it waits", async ({ page }) => {
  // Waits for the reply: a tool released before the daemon read the request would let the run end by itself.
  const cancel = () => Promise.all([
    page.waitForResponse((r) => r.url().endsWith("/cancel") && r.ok()),
    page.getByRole("button", { name: "Cancel" }).click(),
  ]);
  hold("tool");
  await tryIt(page, "librarian", "Look on the slow shelf, and stop");
  await step(page, "tool").waitFor();
  await cancel();
  release("tool");
  await page.getByText("Somebody cancelled it.").waitFor();
  assert.equal(await state(page), "ended");
  const { id, card } = await asked(page);
  await cancel();
  await page.getByText("Somebody cancelled it.").waitFor();
  assert.equal((await result(id)).status, "cancelled");
  await card.waitFor({ state: "detached" });
});

test("a tool of the caller waits with its call id, and goes on with its result", async ({ page }) => {
  const { run_id } = await start("librarian", "order Dune", { tools: [{ name: "order", parameters: { type: "object" } }] });
  await page.goto(`${root}/runs/${run_id}`);
  const tool = step(page, "tool");
  await tool.waitFor();
  const call = (await result(run_id)).pending.calls[0].call_id;
  assert.ok((await tool.innerText()).includes(call));
  assert.match(await tool.innerText(), /waits for the caller/);
  await page.getByText("It waits for its caller").waitFor();
  await shot(page, "agents-caller", { fullPage: true });
  assert.deepEqual(await faults(page), []);
  await post(`/api/v1/runs/${run_id}/tool_results`, { call_id: call, result: "it comes tomorrow" });
  await until("the answer", async () => (await page.getByLabel("Answer", { exact: true }).innerText()).includes("it comes tomorrow"));
});

// ---- links ----

test("run, session and calls lead to one another", async ({ page }) => {
  const { run_id } = await start("librarian", "Is Dune here?");
  await page.goto(`${root}/runs/${run_id}`);
  await page.getByLabel("Answer", { exact: true }).waitFor();
  const to = await step(page, "model").first().getByRole("link", { name: "call" }).getAttribute("href");
  await until("the record", async () => (await json(`${root}/api/v1/history/sessions/${run_id}`)).chronological_timeline.length >= 3);
  await step(page, "tool").first().getByRole("link", { name: "entry" }).click();
  await page.locator("li.event.tool.marked").waitFor();
  await page.goto(root + to);
  await page.locator("li.event.model.marked").waitFor();
  await page.getByRole("link", { name: run_id }).click();
  await until("the run again", () => page.url() === `${root}/runs/${run_id}`);
  await page.locator("article.run").getByRole("link", { name: "session" }).click();
  await until("its session", () => page.url() === `${root}/sessions/${run_id}`);
});

// ---- permissions ----

test("a key that may not see reasoning is not shown any, and one that may not decide is told so", async ({ page }) => {
  const login = async (key) => {
    await page.goto(`${keyed}/agents/librarian`);
    await page.locator("#key").fill(key);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByLabel("Try it").waitFor();
  };
  await login(process.env.KEY_HIDDEN);
  await page.getByLabel("Try it").fill("lend me Dune");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("section.approval").waitFor();
  const thought = step(page, "model").first().locator('[data-testid="reasoning-display"]');
  assert.equal(await thought.getAttribute("data-state"), "hidden");
  assert.ok(!(await page.locator("article.run").innerText()).includes("First I look"));
  await page.locator("section.approval").getByRole("button", { name: "Approve" }).click();
  await page.getByText("is not an operator's").waitFor();
}, { complaints: [/401/, /403.*answer/, /WebSocket/] });

// ---- the steps of a run, without a page ----

test("the same events give the same steps, one by one or at once, and each once", async () => {
  const out = join(tmpdir(), `runs-${process.pid}.mjs`);
  execFileSync(join(home, "node_modules/.bin/esbuild"), [`${home}src/runs.ts`, "--bundle", "--format=esm", `--outfile=${out}`, "--log-level=error", "--jsx=automatic", "--jsx-import-source=preact"]);
  Object.assign(globalThis, { document: { hidden: true }, window: globalThis, location: { pathname: "/", search: "", hash: "" }, localStorage: { getItem: () => null } });
  const { RunLog, partTitle, reasonWords } = await import(pathToFileURL(out));
  if (existsSync(out)) rmSync(out);
  const events = [
    ["started", { run_id: "r", session_id: "s", created_at_us: 1 }],
    ["reasoning", { run_id: "r", seq: 0, text: "hm" }],
    ["message", { run_id: "r", seq: 0, text: "", tool_calls: [{ name: "a__b" }], usage: { input_tokens: 3, output_tokens: -1 } }],
    ["approval", { run_id: "r", seq: 1, tool: "a__b", arguments: {}, why: "because" }],
    ["waiting", { run_id: "r" }],
    ["decided", { run_id: "r", seq: 1, answer: { word: "approve" } }],
    ["tool_call", { run_id: "r", seq: 2, call_id: "c", tool: "a__b", arguments: {}, client: true }],
    ["started", { run_id: "r/other", created_at_us: 2 }],
    ["tool_result", { run_id: "r", seq: 2, call_id: "c", ok: false, result: "no" }],
    ["ended", { run_id: "r/other", status: "done", reason: "" }],
    ["ended", { run_id: "r", status: "done", reason: "" }],
  ];
  const [a, b] = [new RunLog("r"), new RunLog("r")];
  events.forEach(([name, data], i) => a.take(name, data, String(i)));
  const questions = [], calls = [], states = [];
  for (const [name, data] of events) {
    b.take(name, data);
    questions.push(b.questions.length);
    calls.push(b.clientCalls.length);
    states.push(b.state);
  }
  assert.deepEqual(a.parts, b.parts);
  assert.equal(a.last, "10");
  assert.deepEqual(a.root.steps.map((s) => s.kind), ["model", "approval", "tool"]);
  assert.deepEqual(questions, [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(calls, [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]);
  assert.deepEqual([states[3], states[4], states[5], states[9], states[10]], ["running", "waiting", "running", "running", "ended"]);
  assert.deepEqual(a.root.steps[0].tokens, { input: 3, output: 0, reasoning: 0 });
  assert.deepEqual(["guard.input", "x/guard.output", "2.1.logs", "other"].map(partTitle), ["Guard of the input", "Guard of the output", "Stage 2: logs", "Handed over to other"]);
  assert.equal(reasonWords("some_new_reason"), "some new reason");
});

await finish();
